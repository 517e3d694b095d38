"""Modules: tenants' wasm programs, loaded once and run on a fork's files.

Rules: a module comes as native code that whoever sends it has had made of an inspected module: INVARIANT: `_start` is called
unchecked. Every run is a new instance with WASI preview 1 over the fork's filesystem. Limits are those of every guest; memory is
all of the module's, not growth over an image. Loaded code lives as long as the process, so its total is bounded.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Final

from sandbox import stacks
from sandbox.descriptors import DescriptorTable
from sandbox.errors import RequestError, Stop
from sandbox.images import IMPORTS, Images
from sandbox.limits import Cancel, Run, ticker
from sandbox.memory import GuestMemory
from sandbox.native import Call, Instance, NativeError, Prepared, Trap
from sandbox.session import failure
from sandbox.shelter import sheltered
from sandbox.vfs import Vfs
from sandbox.wasi import SIGNATURES, GuestExit, Wasi
from sandbox.wire import ErrorObject, Metrics, RunResult, RunStatus, SessionLimits
from sandbox.workers.interface import Aside
from sandbox.worlds import World

CODE_BYTES_MAX: Final = 256 << 20


class Modules:
    """Loaded modules by the digest of their code."""

    def __init__(self, store: Images) -> None:
        self._images = store
        self._ready: dict[bytes, Prepared] = {}
        self._code_bytes = 0
        self._lock = threading.Lock()

    def load(self, code: bytes) -> Prepared:
        """THREAT[TM-ISO-CODE]: whoever sends code has had it made by our own compiler; a wrong byte here is native code."""
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


def run_module(
    prepared: Prepared, vfs: Vfs, aside: Aside, limits: SessionLimits, cancel: Cancel, on_output: Callable[[int, bytes], None]
) -> RunResult:
    """Run a module's `_start` once."""
    if not stacks.is_enough():
        return stacks.on_large_stack(lambda: run_module(prepared, vfs, aside, limits, cancel, on_output))
    run = Run(limits, on_output=on_output)
    cancel.attach(run)
    exit_code, error, status = 0, None, None
    try:
        _start(prepared, vfs, aside, run)
    except GuestExit as left:
        exit_code = left.code & 255
    except Stop as stop:
        error, status = stop.error, stop.status
    except (Trap, NativeError) as broken:
        lines = str(broken).strip().splitlines() or ["no reason given"]
        error = ErrorObject(code="RUNTIME_ERROR", message=f"the module broke off: {lines[-1].strip()}")
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in run.output)
    metrics = Metrics(duration_ms=run.elapsed_ns() // 1_000_000, cpu_ms=run.cpu_ns() // 1000 / 1000)
    if error is not None:
        return failure(error, status=status, stdout=stdout, stderr=stderr, metrics=metrics, exit_code=exit_code)
    return RunResult(status=RunStatus.OK, stdout=stdout, stderr=stderr, metrics=metrics, exit_code=exit_code)


def _start(prepared: Prepared, vfs: Vfs, aside: Aside, run: Run) -> None:
    table = DescriptorTable.standard(vfs)
    wasi = Wasi(None, vfs, table, _World(run, aside))  # type: ignore[arg-type]  # the memory exists only after the instance
    functions = [_no_host, *(getattr(wasi, name) for name in SIGNATURES)]
    with sheltered(run.cancel):
        ticker.start(run)
        instance = None
        try:
            instance = Instance(prepared, Call(functions, lambda: run.overdrawn() or run.ticks_to_next_check()))
            instance.limit_memory(run.limits.memory_mb << 20)
            wasi.memory = GuestMemory(instance)
            instance.watch()
            instance.call("_start")
        finally:
            ticker.stop(run)
            table.close_all(vfs)
            if instance is not None:
                instance.close()


def _no_host(*arguments: int) -> int:
    return -1
