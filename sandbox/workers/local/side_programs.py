"""Asides: programs that run next to a session, in a fork of it, and are thrown away afterwards. How hooks run.

A fork has the session's files as they are, copy on write, and a *fresh* interpreter.
THREAT[TM-HOOK-001]: a program of the session could have redefined `grep` or `json.loads`; an aside that ran in the session's own
interpreter would be judged by what it judges.
THREAT[TM-HOOK-002]: whatever an aside does, it does to its fork; its caller gets the changes it made, and keeps what it likes.

A spare is a session with a started interpreter that has run nothing, and an empty filesystem, made ahead of time; it becomes a
fork when a session's files are put under it. There is one for each language that asides have used. INVARIANT: it is used once.

An aside's own files are put down when it looks for any: most have what they need from standard input. Time spent waiting for a
slot and a thread counts against the deadline, and the first byte of output over the limit ends the program.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from sandbox.capabilities.registry import Registry
from sandbox.engine.limits import MOST, Cancel
from sandbox.engine.wasmtime import NativeError, Prepared
from sandbox.errors import SandboxError, failure
from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.images import images
from sandbox.guests.state import SessionState
from sandbox.sessions.request_checks import check_limits
from sandbox.sessions.session import Session
from sandbox.wire import ErrorObject, Language, RunRequest, RunResult, SessionLimits
from sandbox.workers.interface import Aside, AsideOutcome, FileEntry
from sandbox.workers.local.file_changes import carry_out, compare, put
from sandbox.workers.local.wasm_programs import Modules, run_module

_replace = msgspec.structs.replace


class Fork(Session):
    """A session that can be started before it is known whose files it will have."""

    def warm(self) -> None:
        self._guest(self.language, None)

    def become(self, files: Checkpoint, quotas: VfsLimits, limits: SessionLimits, registry: Registry) -> None:
        """Take over a session's files, and nothing else of it."""
        self.limits = limits
        self.registry = registry
        self.vfs.limits = quotas
        self.vfs.rollback(files)


class Spares:
    """Thread-safe. Used forks are kept for a moment: taking one down is nothing a run should wait for."""

    def __init__(self) -> None:
        self._waiting: dict[Language, Fork] = {}
        self._used: list[Fork] = []
        self._wanted: set[Language] = set()
        self._closed = False
        self._lock = threading.Lock()

    def take(self, language: Language | None) -> Fork:
        """None is for programs that bring their own interpreter: files only."""
        if language is None:
            return self._make(Language.SHELL)
        with self._lock:
            spare = self._waiting.pop(language, None)
            self._wanted.add(language)
        return spare or self._make(language)

    def discard(self, fork: Fork) -> None:
        with self._lock:
            self._used.append(fork)

    def tidy(self) -> None:
        """Take used forks down, and make spares of what was used. A spare that cannot be made is no loss: the next aside tries
        again, and says why it failed."""
        with self._lock:
            used, self._used = self._used, []
            missing, self._wanted = self._wanted - self._waiting.keys(), set()
        for fork in used:
            fork.close()
        for language in missing if not self._closed else ():
            with contextlib.suppress(SandboxError, NativeError, OSError):
                self._keep(self._make(language))

    def _keep(self, made: Fork) -> None:
        made.warm()
        with self._lock:
            extra = made if self._closed else self._waiting.get(made.language)
            if extra is not made:
                self._waiting[made.language] = made
        if extra is not None:
            extra.close()

    def _make(self, language: Language) -> Fork:
        return Fork("aside", language=language, state=SessionState(language, images.files(), time.monotonic_ns(), {}))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            spares, self._waiting = list(self._waiting.values()), {}
        for spare in spares:
            spare.close()
        self.tidy()


class Asides:
    """Those of one worker. `run` is called on any thread; `tidy` when there is time, after some of them."""

    def __init__(self) -> None:
        self.spares = Spares()
        self._modules = Modules()
        self.tidy = self.spares.tidy
        self.close = self.spares.close

    def run(
        self, aside: Aside, files: Checkpoint, quotas: VfsLimits, registry: Registry, cancel: Cancel, asked_ns: int
    ) -> AsideOutcome:
        """Run it on a fork of `files`; `asked_ns` (monotonic) is when its time began."""
        prepared = self._modules.load(aside.module) if aside.module else None
        limits = check_limits(aside.limits)
        left_ms = limits.wall_ms - (time.monotonic_ns() - asked_ns) // 1_000_000
        if left_ms < 1:
            return AsideOutcome(result=_make_late(limits))
        meter = _Meter(limits.max_stdout_bytes, cancel)
        limits = _replace(limits, wall_ms=left_ms, max_stdout_bytes=min(limits.max_stdout_bytes + 1, MOST.max_stdout_bytes))
        fork = self.spares.take(None if prepared is not None else aside.language or Language.SHELL)
        try:
            fork.become(files, quotas, limits, registry)
            return _run(fork, aside, prepared, cancel, meter)
        finally:
            self.spares.discard(fork)


@dataclass(slots=True)
class _Meter:
    """Ends a program at the first byte of output over its limit."""

    _left_bytes: int
    _cancel: Cancel
    is_over: bool = False

    def __call__(self, stream: int, data: bytes) -> None:
        self._left_bytes -= len(data)
        if self._left_bytes < 0 and not self.is_over:
            self.is_over = True
            self._cancel.ask()


class _Delivery:
    """Puts an aside's files down, and knows how everything was before the program changed something."""

    def __init__(self, vfs: Vfs, files: Sequence[FileEntry]) -> None:
        self._vfs, self._files = vfs, files
        self.before = vfs.checkpoint()
        if files:
            vfs.late = self.make

    def make(self) -> None:
        for entry in self._files:
            with contextlib.suppress(VfsError):  # a full disk: what a program needs is on its standard input too
                put(self._vfs, entry)
        self.before = self._vfs.checkpoint()


def _run(fork: Fork, aside: Aside, prepared: Prepared | None, cancel: Cancel, meter: _Meter) -> AsideOutcome:
    vfs = fork.vfs
    for changes in aside.changes:
        carry_out(vfs, changes)
    delivery = _Delivery(vfs, aside.files)
    if prepared is not None:
        result = run_module(prepared, vfs, aside, fork.limits, fork.registry, cancel, meter)
    else:
        result = fork.run(_make_request(aside, fork.language), cancel=cancel, on_output=meter)
    if meter.is_over or result.error is not None:
        return AsideOutcome(result=result, is_cut=meter.is_over)
    return AsideOutcome(result=result, changes=compare(delivery.before, vfs.checkpoint()))


def _make_request(aside: Aside, language: Language) -> RunRequest:
    return RunRequest(
        session_id="aside",
        language=language,
        code=aside.code,
        inputs={},
        return_snapshot=False,
        validate_only=False,
        stdin=aside.stdin.decode("utf-8", "replace"),
        filename=aside.filename or None,
        env=aside.env,
        starts=[],  # THREAT[TM-HOOK-001]: a judge starts nothing that the session has prepared
    )


def _make_late(limits: SessionLimits) -> RunResult:
    return failure(ErrorObject(code="TIMEOUT_WALL", message=f"the program had not begun after {limits.wall_ms} ms"))
