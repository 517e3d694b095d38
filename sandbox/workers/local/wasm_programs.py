"""Modules: tenants' wasm programs, loaded once and run on a fork's files.

Rules: a module comes as native code that its sender has had made of an inspected module: INVARIANT: `_start` and
`host_alloc` are called unchecked. Every run is a new instance with WASI preview 1 over the fork's filesystem. Limits are those of
every guest; memory is all of the module's, not growth over an image. Loaded code lives as long as the process, so its total is
bounded.
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
from sandbox.engine.memory import GuestMemory, MemoryFault
from sandbox.engine.signals import sheltered
from sandbox.engine.wasmtime import Call, Instance, NativeError, Prepared, Trap
from sandbox.errors import RequestError, Stop
from sandbox.filesystem.descriptors import DescriptorTable
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.guest import MESSAGE_BYTES_MAX
from sandbox.guests.host_inputs import World
from sandbox.guests.images import IMPORTS, Images
from sandbox.sessions.session import failure
from sandbox.wasi.wasi import SIGNATURES, GuestExit, Wasi
from sandbox.wire import ErrorObject, Metrics, RunResult, RunStatus, SessionLimits
from sandbox.workers.interface import Aside

CODE_BYTES_MAX: Final = 256 << 20
_U32: Final = 0xFFFFFFFF


class Modules:
    """Loaded modules by the digest of their code."""

    def __init__(self, store: Images) -> None:
        self._images = store
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
            return Prepared(self._images.engine(False).load_code(code), IMPORTS)
        except NativeError as error:
            raise RequestError("INVALID_ARGUMENT", f"the module cannot be loaded: {str(error).splitlines()[0]}") from None


class _World(World):
    """A module's surroundings: arguments and environment of its own."""

    def __init__(self, run: Run, aside: Aside) -> None:
        super().__init__(run, aside.stdin)
        self.args: Sequence[bytes] = (aside.filename.encode(),)
        self.environ: Sequence[bytes] = tuple(f"{name}={value}".encode() for name, value in aside.env.items())


class _Host:
    """The import `host.call` (ABI.md): opcode `C` calls a capability, `N` tells their names. INVARIANT: a module that imports it
    has a `host_alloc` of the right type; the inspection of the module has seen to that."""

    def __init__(self, registry: Registry, run: Run) -> None:
        self.calls = Calls(registry, run)
        self.instance: Instance | None = None
        self.memory: GuestMemory | None = None
        self._registry = registry
        self._allocating = False

    def __call__(self, pointer: int, length: int, reply_pointer: int, reply_length: int) -> int:
        length, memory, instance = length & _U32, self.memory, self.instance
        if memory is None or instance is None or self._allocating or not 0 < length <= MESSAGE_BYTES_MAX:
            return -2
        try:
            message = memory.read(pointer & _U32, length)
            for place in (reply_pointer, reply_length):  # tried before anything is done
                memory.put_u32(place & _U32, 0)
            if message[:1] not in (b"C", b"N"):
                return -2
            reply = self.calls.call(message[1:]) if message[:1] == b"C" else msgspec.json.encode(self._registry.names())
            address = self._allocate(instance, len(reply))
            if not address:
                return -2
            memory.write(address, reply)
            memory.put_u32(reply_pointer & _U32, address)
            memory.put_u32(reply_length & _U32, len(reply))
        except MemoryFault:
            return -2
        return 0

    def _allocate(self, instance: Instance, length: int) -> int:
        # THREAT[TM-ISO-REENTRY]: an allocator that calls back would nest for ever.
        self._allocating = True
        try:
            return instance.call("host_alloc", length) & _U32
        finally:
            self._allocating = False


def run_module(
    prepared: Prepared,
    vfs: Vfs,
    aside: Aside,
    limits: SessionLimits,
    registry: Registry,
    cancel: Cancel,
    on_output: Callable[[int, bytes], None],
) -> RunResult:
    """Run a module's `_start` once."""
    if not stacks.is_enough():
        return stacks.on_large_stack(lambda: run_module(prepared, vfs, aside, limits, registry, cancel, on_output))
    run = Run(limits, on_output=on_output)
    cancel.attach(run)
    host = _Host(registry, run)
    exit_code, error, status = 0, None, None
    try:
        _start(prepared, vfs, aside, run, host)
    except GuestExit as left:
        exit_code = left.code & 255
    except Stop as stop:
        error, status = stop.error, stop.status
    except (Trap, NativeError) as broken:
        lines = str(broken).strip().splitlines() or ["no reason given"]
        error = ErrorObject(code="RUNTIME_ERROR", message=f"the module broke off: {lines[-1].strip()}")
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in run.output)
    made = host.calls.records
    metrics = Metrics(
        duration_ms=run.elapsed_ns() // 1_000_000, cpu_ms=run.cpu_ns() // 1000 / 1000, external_calls_count=len(made)
    )
    said: dict[str, Any] = {"stdout": stdout, "stderr": stderr, "metrics": metrics, "external_calls": made}
    if error is not None:
        return failure(error, status=status, exit_code=exit_code, **said)
    return RunResult(status=RunStatus.OK, exit_code=exit_code, **said)


def _start(prepared: Prepared, vfs: Vfs, aside: Aside, run: Run, host: _Host) -> None:
    table = DescriptorTable.standard(vfs)
    wasi = Wasi(None, vfs, table, _World(run, aside))  # type: ignore[arg-type]  # the memory exists only after the instance
    functions = [host, *(getattr(wasi, name) for name in SIGNATURES)]
    vfs.run_bytes_max = vfs.used_bytes + (run.limits.memory_mb << 20)
    with sheltered(run.cancel):
        ticker.start(run)
        instance = None
        try:
            instance = Instance(prepared, Call(functions, run.find_overrun))
            instance.limit_memory(run.limits.memory_mb << 20)
            host.instance, host.memory = instance, GuestMemory(instance)
            wasi.memory = host.memory
            instance.watch()
            instance.call("_start")
        finally:
            ticker.stop(run)
            table.close_all(vfs)
            host.instance = host.memory = None
            if instance is not None:
                instance.close()
