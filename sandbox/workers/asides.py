"""Asides: programs that run beside a session, on a fork of its files, and are thrown away afterwards.

Rules: an aside has fresh interpreters: a program of the session cannot have prepared them. Nothing it does reaches the session;
its caller gets the changes it made. Limits are those of every guest. A wasm module comes as native code that whoever sends it has
had made of an inspected module: INVARIANT: `_start` is called unchecked. Loaded code lives as long as the process, so its total
is bounded. Does not know: hooks.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_size_t, c_void_p
from typing import Final

import msgspec

from sandbox import stacks
from sandbox.capabilities import Registry
from sandbox.descriptors import DescriptorTable
from sandbox.errors import RequestError, Stop
from sandbox.generations import Checkpoint, VfsLimits
from sandbox.images import IMPORTS, Images
from sandbox.limits import Cancel, Run, ticker
from sandbox.memory import GuestMemory
from sandbox.native import Call, Engine, Instance, Module, NativeError, Prepared, Trap, _check, _lib
from sandbox.session import Session, failure
from sandbox.shelter import sheltered
from sandbox.states import SessionState
from sandbox.vfs import Vfs
from sandbox.wasi import SIGNATURES, GuestExit, Wasi
from sandbox.wire import ErrorObject, Language, Metrics, RunRequest, RunResult, RunStatus
from sandbox.workers.interface import Aside, AsideOutcome, FileChanges
from sandbox.workers.trees import carry_out, compare
from sandbox.worlds import World

CODE_BYTES_MAX: Final = 256 << 20
_encode = msgspec.json.Encoder().encode


class _AsideSession(Session):
    """A session whose turns get an environment (ABI.md: `env`), which requests of ordinary runs do not carry."""

    env: Mapping[str, str] = {}

    def _request(self, request: RunRequest, code: str, name: str, run: Run) -> bytes:
        message = super()._request(request, code, name, run)
        return message[:-1] + b',"env":' + _encode(self.env) + b"}" if self.env else message


def run_aside(
    aside: Aside,
    files: Checkpoint,
    quotas: VfsLimits,
    registry: Registry,
    prepared: Prepared | None,
    cancel: Cancel,
    store: Images,
) -> AsideOutcome:
    """Run it on a fork of `files`. `prepared` is its module."""
    language = aside.language or Language.SHELL
    state = SessionState(language, files, time.monotonic_ns(), {})
    fork = _AsideSession(
        "aside", language=language, limits=aside.limits, files=quotas, registry=registry, state=state, store=store
    )
    fork.env = aside.env
    try:
        for changes in aside.changes:
            carry_out(fork.vfs, changes)
        for entry in aside.files:
            try:
                carry_out(fork.vfs, FileChanges(written=[entry]))
            except RequestError:
                pass  # a full disk: what a program needs is on its standard input too
        before = fork.vfs.checkpoint()
        if prepared is not None:
            result = run_module(prepared, fork.vfs, aside, cancel)
        else:
            result = fork.run(_request(aside, language), cancel=cancel)
        return AsideOutcome(
            result=result, changes=compare(before, fork.vfs.checkpoint()) if result.error is None else FileChanges()
        )
    finally:
        fork.close()


def _request(aside: Aside, language: Language) -> RunRequest:
    return RunRequest(
        session_id="aside",
        language=language,
        code=aside.code,
        inputs={},
        return_snapshot=False,
        validate_only=False,
        stdin=aside.stdin.decode("utf-8", "replace"),
        filename=aside.filename or None,
    )


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
            return Prepared(_load(self._images.engine(False), code), IMPORTS)
        except NativeError as error:
            raise RequestError("INVALID_ARGUMENT", f"the module cannot be loaded: {str(error).splitlines()[0]}") from None


def _load(engine: Engine, code: bytes) -> Module:
    """Like `Engine.load`, from memory: in a jail no file can be opened, not even one without a name."""
    function = _lib.wasmtime_module_deserialize
    function.restype, function.argtypes = c_void_p, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)]
    module = c_void_p()
    _check(function(engine._pointer, code, len(code), byref(module)))
    return Module(engine, module.value or 0)


class _World(World):
    """A module's surroundings: arguments and environment of its own."""

    def __init__(self, run: Run, aside: Aside) -> None:
        super().__init__(run, aside.stdin)
        self.args: Sequence[bytes] = (aside.filename.encode(),)
        self.environ: Sequence[bytes] = tuple(f"{name}={value}".encode() for name, value in aside.env.items())


def run_module(prepared: Prepared, vfs: Vfs, aside: Aside, cancel: Cancel) -> RunResult:
    """Run a module's `_start` once. Its memory is all its own, not growth over an image."""
    if not stacks.is_enough():
        return stacks.on_large_stack(lambda: run_module(prepared, vfs, aside, cancel))
    run = Run(aside.limits)
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
    metrics = Metrics(duration_ms=run.elapsed_ns() // 1_000_000, cpu_ms=round(run.cpu_ns() / 1e6, 3))
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
