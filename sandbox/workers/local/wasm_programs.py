"""Modules: tenants' wasm programs, loaded once and run on a fork's files.

A module comes as native code that its sender has had made of an inspected module: INVARIANT: `_start` and `host_alloc`, which a
module that imports `host.call` has, are called unchecked; the inspection has seen to their types. Every run is a new instance
with WASI preview 1 over the fork's filesystem. Memory is all of the module's, not growth over an image. Loaded code lives as long
as the process, so its total is bounded.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from sandbox.capabilities.registry import Calls, Registry
from sandbox.engine import stacks
from sandbox.engine.limits import Cancel, Run, ticker
from sandbox.engine.memory import GuestMemory
from sandbox.engine.signals import shelter
from sandbox.engine.wasmtime import Call, Instance, NativeError, Prepared, Trap
from sandbox.errors import RequestError, Stop, failure
from sandbox.filesystem.descriptors import DescriptorTable
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.guest import HostCall
from sandbox.guests.host_inputs import World
from sandbox.guests.images import IMPORTS, images
from sandbox.sessions.results import read_stream
from sandbox.wasi.wasi import SIGNATURES, GuestExit, Wasi
from sandbox.wire import ErrorObject, Metrics, RunResult, RunStatus, SessionLimits
from sandbox.workers.interface import Aside

CODE_BYTES_MAX: Final = 256 << 20


class Modules:
    def __init__(self) -> None:
        self._ready: dict[bytes, Prepared] = {}
        self._code_bytes = 0
        self._lock = threading.Lock()

    def load(self, code: bytes) -> Prepared:
        """THREAT[TM-ISO-CODE]: the sender of code has had it made by our own compiler; a wrong byte here is native code."""
        if code.startswith(b"\0asm"):
            raise RequestError("INVALID_ARGUMENT", "a module is sent as native code; this one is not compiled")
        digest = hashlib.sha256(code).digest()
        with self._lock:
            found = self._ready.get(digest)
            if found is None:
                if self._code_bytes + len(code) > CODE_BYTES_MAX:
                    raise RequestError("RESOURCE_EXHAUSTED", "there are too many wasm modules in this worker")
                found = self._ready[digest] = self._load(code)
                self._code_bytes += len(code)
            return found

    def _load(self, code: bytes) -> Prepared:
        try:
            return Prepared(images.engine(False).load_code(code), IMPORTS)
        except NativeError as error:
            raise RequestError("INVALID_ARGUMENT", f"the module cannot be loaded: {str(error).splitlines()[0]}") from None


class _World(World):
    """A module's surroundings: arguments and environment of its own."""

    def __init__(self, run: Run, aside: Aside) -> None:
        super().__init__(run, aside.stdin)
        self.args: Sequence[bytes] = (aside.filename.encode(),)
        self.environ: Sequence[bytes] = tuple(f"{name}={value}".encode() for name, value in aside.env.items())


def run_module(
    prepared: Prepared,
    vfs: Vfs,
    aside: Aside,
    limits: SessionLimits,
    registry: Registry,
    cancel: Cancel,
    on_output: Callable[[int, bytes], None],
) -> RunResult:
    if not stacks.is_enough():
        return stacks.on_large_stack(lambda: run_module(prepared, vfs, aside, limits, registry, cancel, on_output))
    run = Run(limits, on_output=on_output)
    cancel.attach(run)
    calls = Calls(registry, run)
    exit_code, error, status = 0, None, None
    try:
        _start(prepared, vfs, aside, run, registry, calls)
    except GuestExit as left:
        exit_code = left.code & 255
    except Stop as stop:
        error, status = stop.error, stop.status
    except (Trap, NativeError) as broken:
        lines = str(broken).strip().splitlines() or ["no reason given"]
        error = ErrorObject(code="RUNTIME_ERROR", message=f"the module broke off: {lines[-1].strip()}")
    made = calls.records
    spent_ns, cpu_ns = run.measure()
    metrics = Metrics(duration_ms=spent_ns // 1_000_000, cpu_ms=cpu_ns // 1000 / 1000, external_calls_count=len(made))
    said: dict[str, Any] = {"metrics": metrics, "external_calls": made}
    said["stdout"], said["stdout_base64"] = read_stream(run, 0)
    said["stderr"], said["stderr_base64"] = read_stream(run, 1)
    if error is not None:
        return failure(error, status=status, exit_code=exit_code, **said)
    return RunResult(status=RunStatus.OK, exit_code=exit_code, **said)


def _start(prepared: Prepared, vfs: Vfs, aside: Aside, run: Run, registry: Registry, calls: Calls) -> None:
    def answer(message: bytes) -> bytes | None:
        """Opcode `C` calls a capability, `N` tells their names."""
        if message[:1] == b"N":
            return msgspec.json.encode(registry.names())
        return calls.call(message[1:]) if message[:1] == b"C" else None

    table = DescriptorTable.standard(vfs)
    wasi = Wasi(None, vfs, table, _World(run, aside))  # type: ignore[arg-type]  # the memory exists only after the instance
    functions: list[Callable[..., int]] = [_refuse, *(getattr(wasi, name) for name in SIGNATURES)]
    vfs.run_bytes_max = vfs.used_bytes + (run.limits.memory_mb << 20)
    with shelter(run.cancel):
        ticker.start(run)
        instance = None
        try:
            instance = Instance(prepared, Call(functions, run.find_overrun))
            instance.limit_memory(run.limits.memory_mb << 20)
            wasi.memory = GuestMemory(instance)
            functions[0] = HostCall(answer, instance, wasi.memory)
            instance.watch()
            instance.call("_start")
        finally:
            ticker.stop(run)
            table.close_all(vfs)
            functions[0] = _refuse
            if instance is not None:
                instance.close()


def _refuse(*arguments: int) -> int:
    """A call of a module that has not begun."""
    return -2
