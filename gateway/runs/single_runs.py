"""Single runs: a program in a session of its own (`POST /v1/runs`), which is deleted afterwards.

Rules: the session is retained if the run waits for an approval or was interrupted, so that it can be read; and if the caller does
not wait for the end (`prepare`, then `Runs.start`). Retention or a full quota deletes it then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gateway.errors import NotFound, Unavailable
from gateway.files.governed_files import GovernedFiles
from gateway.ids import single_id
from gateway.records import InitialFile, Principal, Run, Session
from gateway.runs.results import INTERRUPTED
from gateway.runs.runs import Runs
from gateway.runs.turn import RunBody
from gateway.sessions.sessions import CreateSession, Sessions
from sandbox.engine.limits import MOST
from sandbox.wire import DEFAULT_LIMITS, Language


class OneShot(RunBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run in a session of its own, which is deleted afterwards; later, so that it can be looked at, if the run waits for an
    approval, is interrupted, or the caller does not wait for it."""

    template: str | None = None
    files: list[InitialFile] = []


@dataclass(eq=False)
class SingleRuns:
    _sessions: Sessions
    _runs: Runs
    _files: GovernedFiles
    _check_ready: Callable[[Language], None]

    async def prepare(self, principal: Principal, asked: OneShot) -> tuple[Session, RunBody]:
        """A new session with the request's files, and what to run in it. The session has the limits that the request asks for:
        under no others could it run for longer than the default."""
        language = asked.language or Language.PYTHON
        self._check_ready(language)
        limits = asked.limits
        if limits is None and asked.timeout_ms is not None and asked.timeout_ms > DEFAULT_LIMITS.wall_ms:
            limits = msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=min(asked.timeout_ms, MOST.wall_ms))
        wanted = CreateSession(id=single_id(), language=language, limits=limits, template=asked.template)
        session = await self._sessions.create(principal, wanted)
        try:
            for file in asked.files:
                await self._files.seed(principal, session.id, file)
        except BaseException:
            await asyncio.shield(self._sessions.delete(principal, session.id))
            raise
        return session, RunBody(**{name: getattr(asked, name) for name in RunBody.__struct_fields__})

    async def run(self, principal: Principal, asked: OneShot) -> Run:
        """Run the program, wait for its end, and delete its session."""
        session, body = await self.prepare(principal, asked)
        is_retained = False
        try:
            done = await self._runs.run(principal, session.id, body)
            is_retained = done.state == "waiting"
            return done
        except Unavailable as refused:
            is_retained = refused.code == INTERRUPTED.code
            raise
        finally:
            if not is_retained:
                with contextlib.suppress(NotFound):  # it may have been deleted to make room for another session
                    await asyncio.shield(self._sessions.delete(principal, session.id))
