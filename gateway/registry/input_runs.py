"""Turns: how an input of a worker is run. The port to the gateway's sessions and runs.

Rules: a worker's session is durable, so that it goes on after a crash of the gateway. A turn is a run like any other: policy,
hooks, limits and approvals apply, in the name of the sender. A turn that waits for an approval is waited for. When
`stop` is set the run is cancelled, as often as it takes. What a session has under way ends before the session is deleted.

Does not know: transcripts, workers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from gateway.errors import GatewayError, NotFound
from gateway.records import Principal, Run
from gateway.runs.runs import RunBody, Runs
from gateway.sessions.sessions import CreateSession, Sessions
from sandbox.wire import Language

OnOutput = Callable[[str, str], None]
OnWaiting = Callable[[str], Awaitable[None]]
Submit = Callable[[Principal, str, str], Awaitable[str]]
"""What is said to a worker, as the hooks of `user_prompt_submit` leave it."""
_FIRST_LOOK_SECONDS: Final = 0.005
_LAST_LOOK_SECONDS: Final = 1.0
_CANCEL_SECONDS: Final = 0.05


class Turns:
    def __init__(self, sessions: Sessions, runs: Runs, submit: Submit | None = None) -> None:
        self._sessions, self._runs, self._submit = sessions, runs, submit

    async def open(self, principal: Principal, language: Language, title: str) -> str:
        """A place for a worker; its name."""
        made = await self._sessions.create(principal, CreateSession(language=language, title=title, durable=True))
        return made.id

    async def begin(self, principal: Principal, place: str, code: str) -> str:
        """Let an input run; its run's id. Raises `GatewayError` if it cannot be begun."""
        if self._submit is not None:
            code = await self._submit(principal, place, code)
        return (await self._runs.start(principal, place, RunBody(code=code))).id

    async def follow(
        self, principal: Principal, run_id: str, on_output: OnOutput, on_waiting: OnWaiting, stop: asyncio.Event
    ) -> Run:
        """A run to its end. `on_waiting` is told if it comes to wait for an approval."""
        cancelling = asyncio.create_task(self._cancel_when(principal, run_id, stop))
        try:
            feed = self._runs.watch(principal.tenant, run_id)
            if feed is not None:
                async for event in feed.events():
                    if event.kind in ("stdout", "stderr"):
                        on_output(event.kind, event.data)
            return await self._wait_for_end(principal, run_id, on_waiting)
        finally:
            cancelling.cancel()
            await asyncio.wait((cancelling,))

    async def _cancel_when(self, principal: Principal, run_id: str, stop: asyncio.Event) -> None:
        await stop.wait()
        while True:
            with contextlib.suppress(GatewayError):
                await self._runs.cancel(principal, run_id)
            await asyncio.sleep(_CANCEL_SECONDS)  # it may still have stood in a queue, where there is nothing to cancel

    async def _wait_for_end(self, principal: Principal, run_id: str, on_waiting: OnWaiting) -> Run:
        """Its record is written a moment after its last event; or it waits for an approval."""
        pause_seconds, is_told = _FIRST_LOOK_SECONDS, False
        while (run := await self._runs.get(principal, run_id)).state != "finished":
            if run.state == "waiting" and not is_told:
                await on_waiting(run_id)
                is_told = True
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LAST_LOOK_SECONDS)
        return run

    async def abandon(self, principal: Principal, place: str) -> None:
        """Whatever is left of a turn there will not go on."""
        with contextlib.suppress(NotFound):
            await self._runs.cancel_all(principal, place)

    async def close(self, principal: Principal, place: str) -> None:
        with contextlib.suppress(NotFound):
            await self._runs.delete_session(principal, place)
