"""Modules: tenants' wasm programs, made ready once and run on a fork's files.

Rules: a module is inspected, compiled in a child and loaded when first seen, outside of any hook's time. Every run is a new
instance with WASI preview 1 over the fork's filesystem: the payload on stdin, the answer on stdout. Limits are those of
every guest; memory is all of the module's, not growth. INVARIANT: only inspected modules are instantiated, because `_start`
is called unchecked. Loaded code lives as long as the process, so its total is bounded; past it, new modules are refused.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from gateway.hooks.compiling import Compiler
from gateway.hooks.inspection import BadModule
from gateway.hooks.jobs import Done, Job
from sandbox import stacks
from sandbox.descriptors import DescriptorTable
from sandbox.errors import Stop
from sandbox.images import IMPORTS, Images, images
from sandbox.limits import Cancel, Run, ticker
from sandbox.memory import GuestMemory
from sandbox.native import Call, Instance, NativeError, Prepared, Trap
from sandbox.shelter import sheltered
from sandbox.vfs import Vfs
from sandbox.wasi import SIGNATURES, GuestExit, Wasi
from sandbox.wire import RunStatus, SessionLimits
from sandbox.worlds import World

CODE_BYTES_MAX: Final = 256 << 20


class Modules:
    """Loaded modules by the digest of their code."""

    def __init__(self, store: Images = images, compiler: Compiler | None = None) -> None:
        self._store = store
        self._compiler = compiler or Compiler()
        self._ready: dict[bytes, Prepared] = {}
        self._code_bytes = 0
        self._lock = threading.Lock()

    def prepare(self, module: bytes, memory_bytes: int) -> Prepared:
        """Inspect, compile and load, unless that has been done. Raises `BadModule`. Takes a fraction of a second the first
        time."""
        code = self._compiler.compile(module, memory_bytes)
        digest = hashlib.sha256(code).digest()
        with self._lock:
            if digest not in self._ready:
                self._ready[digest] = self._load(code)
            return self._ready[digest]

    def _load(self, code: bytes) -> Prepared:
        if self._code_bytes + len(code) > CODE_BYTES_MAX:
            raise BadModule("there are too many wasm modules in this process")
        descriptor = os.memfd_create("hatchway-hook", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(code)
            loaded = self._store.engine(False).load(Path(f"/proc/self/fd/{descriptor}"))
            prepared = Prepared(loaded, IMPORTS)
        except NativeError as error:
            raise BadModule(f"the module cannot be loaded: {str(error).splitlines()[0]}") from None
        finally:
            os.close(descriptor)
        self._code_bytes += len(code)
        return prepared


class _World(World):
    """A module's surroundings: arguments and environment of its own."""

    def __init__(self, run: Run, job: Job) -> None:
        super().__init__(run, job.stdin)
        self.args: Sequence[bytes] = (job.filename.encode(),)
        self.environ: Sequence[bytes] = tuple(f"{name}={value}".encode() for name, value in job.env.items())


def run_module(
    prepared: Prepared, vfs: Vfs, job: Job, limits: SessionLimits, cancel: Cancel, on_output: Callable[[int, bytes], None]
) -> Done:
    """Run a module's `_start` once."""
    if not stacks.is_enough():
        return stacks.on_large_stack(lambda: run_module(prepared, vfs, job, limits, cancel, on_output))
    run = Run(limits, on_output=on_output)
    cancel.attach(run)
    exit_code, is_late, failure = 0, False, None
    try:
        _start(prepared, vfs, job, run)
    except GuestExit as left:
        exit_code = left.code & 255
    except Stop as stop:
        is_late = stop.status in (RunStatus.TIMEOUT, RunStatus.CANCELLED)
        failure = stop.error.message
    except (Trap, NativeError) as broken:
        lines = str(broken).strip().splitlines() or ["no reason given"]
        failure = f"the module broke off: {lines[-1].strip()}"
    return Done(
        stdout=run.output[0].decode("utf-8", "replace"),
        stderr=run.output[1].decode("utf-8", "replace"),
        exit_code=exit_code,
        is_late=is_late,
        failure=failure,
    )


def _start(prepared: Prepared, vfs: Vfs, job: Job, run: Run) -> None:
    table = DescriptorTable.standard(vfs)
    wasi = Wasi(None, vfs, table, _World(run, job))  # type: ignore[arg-type]  # the memory exists only after the instance
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
