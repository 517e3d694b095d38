"""Hooks in workers: implements `hooks.jobs.Forks` by running a hook's job as a side program in the session's worker."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence

from gateway.hooks.jobs import Changes, Done, Job, from_worker, to_store_path, to_worker
from gateway.hooks.wasm_compiler import Compiler
from gateway.hooks.wasm_inspection import BadModule
from sandbox.capabilities.registry import Capability
from sandbox.errors import RequestError, SetupError
from sandbox.wire import RunStatus
from sandbox.workers.interface import Aside, AsideOutcome, FileChanges, FileEntry, OnCall, Worker, WorkerLost

_LATE = (RunStatus.TIMEOUT, RunStatus.CANCELLED)
_NO_CHANGES = Changes()


class WorkerForks:
    """Runs a session's hooks in its worker. `uses` gives the capabilities a hook may call, what answers the calls, and the list
    that receives the files they write."""

    def __init__(
        self,
        worker: Callable[[], Awaitable[Worker]],
        uses: Callable[[Sequence[str]], tuple[list[Capability], OnCall | None, list[FileChanges]]] | None = None,
    ) -> None:
        self._worker = worker
        self._uses = uses

    async def run(self, session_id: str, job: Job) -> Done:
        tools, on_call, left = self._uses(job.uses) if self._uses is not None and job.uses else ([], None, [])
        path, letter = job.letter
        try:
            module = await _compile(job) if job.module else b""
        except BadModule as bad:
            return Done(failure=str(bad))
        aside = Aside(
            language=job.language,
            code=job.code,
            module=module,
            filename=job.filename,
            stdin=job.stdin,
            env=dict(job.env),
            files=[FileEntry(path=to_store_path(path), data=letter)],
            changes=[to_worker(changes) for changes in job.changes],
            limits=job.limits,
            tools=tools,
        )
        try:
            outcome = await (await self._worker()).aside(session_id, aside, on_call=on_call)
        except WorkerLost:
            return Done(failure="the worker died while the hook ran")
        except RequestError as refused:
            return Done(failure=refused.error.message)
        except SetupError:
            return Done(failure=f"{job.language.value if job.language else 'it'} is not ready here yet; see /readyz")
        return _describe_end(outcome, left)


@functools.cache
def _compiler() -> Compiler:
    return Compiler()


async def _compile(job: Job) -> bytes:
    """A hook's wasm module as native code: workers compile nothing."""
    return await asyncio.to_thread(_compiler().compile, job.module, job.limits.memory_mb << 20)


def _describe_end(outcome: AsideOutcome, left: Sequence[FileChanges]) -> Done:
    result, changes = outcome.result, outcome.changes
    if left:  # what the hook wrote itself comes last
        every = [*left, changes]
        changes = FileChanges(removed=[path for changes in every for path in changes.removed], written=_last(every))
    return Done(
        stdout=result.stdout,
        stderr=result.stderr,
        exit_code=result.exit_code,
        is_late=result.status in _LATE,
        is_cut=outcome.is_cut,
        failure=result.error.message if result.error is not None else None,
        changes=from_worker(changes) if changes else _NO_CHANGES,
    )


def _last(every: Sequence[FileChanges]) -> list[FileEntry]:
    """Each path as it was written last."""
    return list({file.path: file for changes in every for file in changes.written}.values())
