"""Forks: where hooks run when sandboxes are in this process.

A fork for a hook has the session's files as they are, copy on write, and a *fresh* interpreter.
THREAT[TM-HOOK-001]: a program of the session could have redefined `grep` or `json.loads`; a hook that ran in the session's
own interpreter would be judged by what it judges.
THREAT[TM-HOOK-002]: whatever a hook does, it does to its fork; the session sees only the changes its caller keeps.

Rules: the session is between two runs, or its run waits in the very call the hook is about: nobody writes its files
meanwhile. Time spent waiting for a thread counts against the hook's deadline. Hooks have none of the session's capabilities
but those named in `uses`. Does not know: specs, events, decisions.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import msgspec

from gateway.hooks.changes import apply_changes, find_changes
from gateway.hooks.inspection import BadModule
from gateway.hooks.jobs import Done, Job
from gateway.hooks.modules import Modules, run_module
from gateway.hooks.spares import HookSession, Spares
from gateway.hooks.turns import Threads, Turns
from sandbox.capabilities import Registry
from sandbox.images import Images, images
from sandbox.limits import Cancel
from sandbox.native import Prepared
from sandbox.session import Session
from sandbox.vfs import VfsError
from sandbox.wire import Language, RunRequest, RunResult, RunStatus, SessionLimits

_ENDED_BY_TIME: Final = (RunStatus.TIMEOUT, RunStatus.CANCELLED)
Uses = Callable[[str, tuple[str, ...]], Registry]
"""The capabilities a hook may call: session and names in, a registry with those that exist out."""


class _Meter:
    """Ends a program at the first byte of output over its limit: nothing it says later could count."""

    def __init__(self, most_bytes: int, cancel: Cancel) -> None:
        self.is_over = False
        self._left_bytes = most_bytes
        self._cancel = cancel

    def __call__(self, stream: int, data: bytes) -> None:
        self._left_bytes -= len(data)
        if self._left_bytes < 0 and not self.is_over:
            self.is_over = True
            self._cancel.ask()


def _no_tools(session_id: str, uses: tuple[str, ...]) -> Registry:
    return Registry()


class SessionForks:
    """Runs jobs in forks of sessions that live in this process. `find` gives a session by its id, or None."""

    def __init__(
        self, find: Callable[[str], Session | None], *, uses: Uses = _no_tools, threads: int = 4, store: Images = images
    ) -> None:
        self._find = find
        self._uses = uses
        self._spares = Spares(store)
        self._modules = Modules(store)
        self._turns = Turns()
        self._threads = Threads(threads, "hatchway-hooks", self._spares.is_untidy, self._tidy)
        self._compilers = ThreadPoolExecutor(1, thread_name_prefix="hatchway-hooks-compiler")

    async def run(self, session_id: str, job: Job) -> Done:
        session = self._find(session_id)
        if session is None:
            return Done(failure=f"session not found: {session_id}")
        loop, prepared = asyncio.get_running_loop(), None
        if job.module:
            try:
                memory_bytes = job.limits.memory_mb << 20
                prepared = await loop.run_in_executor(self._compilers, self._modules.prepare, job.module, memory_bytes)
            except BadModule as bad:
                return Done(failure=str(bad))
        cancel, until_ns = Cancel(), time.monotonic_ns() + job.limits.wall_ms * 1_000_000
        answer: asyncio.Future[Done] = loop.create_future()
        self._threads.do(lambda: self._work(session, job, prepared, cancel, until_ns, answer))
        try:
            return await answer
        except asyncio.CancelledError:
            cancel.ask()
            raise

    def _work(
        self,
        session: Session,
        job: Job,
        prepared: Prepared | None,
        cancel: Cancel,
        until_ns: int,
        answer: asyncio.Future[Done],
    ) -> None:
        """In one of our threads. Never raises."""
        with self._turns.next():
            fork = None
            left_ms = (until_ns - time.monotonic_ns()) // 1_000_000
            try:
                if left_ms < 1:
                    done = Done(is_late=True)
                else:
                    fork = self._spares.take(job.language)
                    limits = msgspec.structs.replace(job.limits, wall_ms=min(left_ms, job.limits.wall_ms))
                    registry = self._uses(session.id, job.uses) if job.uses else Registry()
                    done = run_in_fork(fork, session, job, limits, registry, cancel, prepared)
            except Exception as error:
                done = Done(failure=f"the sandbox failed: {error}")
            _tell(answer, done)
            if fork is not None:
                self._spares.put_away(fork)

    def _tidy(self) -> None:
        # A spare that cannot be made is no loss: the next hook tries again, and says why it failed.
        with self._turns.next(), contextlib.suppress(Exception):
            self._spares.tidy()

    def close(self) -> None:
        self._compilers.shutdown(wait=True, cancel_futures=True)
        self._threads.close()
        self._spares.close()


def _tell(answer: asyncio.Future[Done], done: Done) -> None:
    def resolve() -> None:
        if not answer.done():
            answer.set_result(done)

    # A loop that has been closed raises: nobody waits any more.
    with contextlib.suppress(RuntimeError):
        answer.get_loop().call_soon_threadsafe(resolve)


def run_in_fork(
    fork: HookSession,
    session: Session,
    job: Job,
    limits: SessionLimits,
    registry: Registry,
    cancel: Cancel,
    prepared: Prepared | None = None,
) -> Done:
    """Make `fork` a fork of `session` and run one job in it. `prepared` is a wasm job's module."""
    meter = _Meter(limits.max_stdout_bytes, cancel)
    limits = msgspec.structs.replace(limits, max_stdout_bytes=limits.max_stdout_bytes + 1)
    fork.become_fork(session, limits, registry)
    fork.env = job.env
    for changes in job.changes:
        apply_changes(fork.vfs, changes)
    _leave_letter(fork, job)
    before = fork.vfs.checkpoint()
    if prepared is not None:
        done = run_module(prepared, fork.vfs, job, limits, cancel, meter)
    else:
        done = _done(fork.run(_request(job, fork.language), cancel=cancel, on_output=meter))
    if meter.is_over:
        return msgspec.structs.replace(done, is_cut=True)
    if done.failure is not None or done.is_late or fork.vfs.nodes is before.nodes:
        return done
    return msgspec.structs.replace(done, changes=find_changes(fork.vfs, before))


def _leave_letter(fork: HookSession, job: Job) -> None:
    path, text = job.letter
    try:
        fork.vfs.mkdir(path.rpartition("/")[0], exist_ok=True)
        fork.vfs.write_file(path, text, parents=False)
    except VfsError:
        pass  # a full disk: the payload is on standard input and in the environment too


def _request(job: Job, language: Language) -> RunRequest:
    return RunRequest(
        session_id="hook",
        language=language,
        code=job.code,
        inputs={},
        return_snapshot=False,
        validate_only=False,
        stdin=job.stdin.decode(),
        filename=job.filename,
    )


def _done(result: RunResult) -> Done:
    return Done(
        stdout=result.stdout,
        stderr=result.stderr,
        exit_code=result.exit_code,
        is_late=result.status in _ENDED_BY_TIME,
        failure=result.error.message if result.error is not None else None,
    )
