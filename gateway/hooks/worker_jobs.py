"""Hooks in workers: a hook's job as a program beside a session, wherever that session lives.

Purpose: implements `hooks.jobs.Forks` on a worker, and translates between what hooks say about files and what workers do. Paths
of hooks are guests' (`/workspace/a`), those of workers the store's (`/a`).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence

from gateway.hooks.jobs import Changes, Done, Job
from gateway.hooks.wasm_compiler import Compiler
from gateway.hooks.wasm_inspection import BadModule
from sandbox.capabilities.registry import Capability
from sandbox.errors import RequestError, SetupError
from sandbox.wire import RunStatus
from sandbox.workers.interface import Aside, AsideOutcome, FileChanges, FileEntry, OnCall, Worker, WorkerLost

_ROOT = "/workspace"
_OWN = "/.hooks"
_LATE = (RunStatus.TIMEOUT, RunStatus.CANCELLED)
_NO_CHANGES = Changes()


class WorkerForks:
    """Runs a session's hooks in its worker. `uses` gives the capabilities a hook may call, who answers, and where the files they
    write come to."""

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
            module = await _compiled(job) if job.module else b""
        except BadModule as bad:
            return Done(failure=str(bad))
        aside = Aside(
            language=job.language,
            code=job.code,
            module=module,
            filename=job.filename,
            stdin=job.stdin,
            env=dict(job.env),
            files=[FileEntry(path=_stored(path), data=letter)],
            changes=[file_changes(one) for one in job.changes],
            limits=job.limits,
            tools=tools,
        )
        try:
            outcome = await (await self._worker()).aside(session_id, aside, on_call)
        except WorkerLost:
            return Done(failure="the worker died while the hook ran")
        except RequestError as refused:
            return Done(failure=refused.error.message)
        except SetupError:
            return Done(failure=f"{job.language.value if job.language else 'it'} is not ready here yet; see /readyz")
        return _done(outcome, left)


@functools.cache
def _compiler() -> Compiler:
    return Compiler()


async def _compiled(job: Job) -> bytes:
    """A hook's wasm module as native code: workers compile nothing."""
    return await asyncio.to_thread(_compiler().compile, job.module, job.limits.memory_mb << 20)


def _done(outcome: AsideOutcome, left: Sequence[FileChanges]) -> Done:
    result, changes = outcome.result, outcome.changes
    if left:  # what it wrote itself comes last
        every = [*left, changes]
        changes = FileChanges(removed=[path for one in every for path in one.removed], written=_last(every))
    return Done(
        stdout=result.stdout,
        stderr=result.stderr,
        exit_code=result.exit_code,
        is_late=result.status in _LATE,
        is_cut=outcome.is_cut,
        failure=result.error.message if result.error is not None else None,
        changes=hook_changes(changes) if changes else _NO_CHANGES,
    )


def _last(every: Sequence[FileChanges]) -> list[FileEntry]:
    """What was written, each path as it was written last."""
    return list({one.path: one for changes in every for one in changes.written}.values())


def _stored(path: str) -> str:
    return path.removeprefix(_ROOT)


def file_changes(changes: Changes) -> FileChanges:
    """What a hook did, for a worker or the store."""
    written = [FileEntry(path=_stored(path), kind="directory") for path in changes.directories]
    written += [FileEntry(path=_stored(path), data=data) for path, data in changes.files.items()]
    written += [FileEntry(path=_stored(path), kind="symlink", data=to.encode()) for path, to in changes.links.items()]
    return FileChanges(removed=[_stored(path) for path in changes.removed], written=written)


def hook_changes(changes: FileChanges) -> Changes:
    """What a worker reports, as hooks speak of it. A hook's own payload is none of it."""
    kept = [one for one in changes.written if not _is_own(one.path)]
    return Changes(
        files={_ROOT + one.path: one.data for one in kept if one.kind == "file"},
        directories=tuple(_ROOT + one.path for one in kept if one.kind == "directory"),
        links={_ROOT + one.path: one.data.decode("utf-8", "replace") for one in kept if one.kind == "symlink"},
        removed=tuple(_ROOT + path for path in changes.removed if not _is_own(path)),
    )


def _is_own(path: str) -> bool:
    return path == _OWN or path.startswith(_OWN + "/")
