"""Runs: run a program and wait, start one and come back, or watch it live."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from gateway.events import Event
from gateway.http.api.operation import Answer, Call, Events, Live, Operation
from gateway.http.api.pagination import Page, PageQuery, paginate
from gateway.http.api.sse import resume_after
from gateway.records import Principal, Run
from gateway.runs.runs import RunBody
from gateway.runs.single_runs import OneShot

if TYPE_CHECKING:
    from gateway.service import Service

_WAITING = "The session's last run waits for an approval, or is under way."
_NOT_READY = "The language is still being compiled (NOT_READY), a worker process died, or there is too much to do."


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`wait` answers when the run has ended; `async` at once, with 202; `stream` with its events."""

    mode: Literal["wait", "async", "stream"] = "wait"


class RunsQuery(PageQuery, frozen=True, kw_only=True):
    session_id: str | None = None


class LiveQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Events after this one."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0


class LiveMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client may say on a run's WebSocket."""

    kind: Literal["cancel"]


class Cancelled(msgspec.Struct, frozen=True):
    """False: there was nothing to cancel any more."""

    cancelled: bool


def operations(service: Service) -> list[Operation]:
    async def run_in_session(call: Call) -> Answer | Events:
        session_id, mode = call.path["session_id"], call.query.mode
        if mode == "wait" and "text/event-stream" not in call.headers.get("accept", ""):
            return Answer(await service.runs.run(call.principal, session_id, call.body))
        return await _begin(service, call, session_id, call.body)

    async def run_once(call: Call) -> Answer | Events:
        if call.query.mode == "wait" and "text/event-stream" not in call.headers.get("accept", ""):
            return Answer(await service.single_runs.run(call.principal, call.body))
        session, body = await service.single_runs.prepare(call.principal, call.body)
        return await _begin(service, call, session.id, body)

    async def cancel_run(call: Call) -> Cancelled:
        return Cancelled(await service.runs.cancel(call.principal, call.path["run_id"]))

    async def watch_run(call: Call) -> Events:
        after = resume_after(call.headers) or call.query.after
        await _require_known(service, call.principal, call.path["run_id"])
        return Events(_events(service, call.principal, call.path["run_id"], after))

    async def live_run(call: Call) -> Live:
        run_id = call.path["run_id"]
        await _require_known(service, call.principal, run_id)

        async def receive(message: LiveMessage) -> None:
            await service.runs.cancel(call.principal, run_id)

        return Live(_events(service, call.principal, run_id, call.query.after), receive, LiveMessage)

    row, run = partial(Operation, tag="runs"), "/v1/runs/{run_id}"
    return [
        row("POST", "/v1/sessions/{session_id}/runs", "Run a program in a session", run_in_session, query=RunQuery, body=RunBody,
            answer=Run, streamed=True, statuses={202: "It is under way.", 409: _WAITING, 503: _NOT_READY}),
        row("POST", "/v1/runs", "Run a program in a fresh session that is gone afterwards", run_once, query=RunQuery,
            body=OneShot, answer=Run, streamed=True, statuses={202: "It is under way.", 503: _NOT_READY}),
        row("GET", "/v1/runs", "List runs, the newest first",
            paginate(lambda call: service.store.runs(call.principal.tenant, call.query.session_id, **call.query.window)),
            name="list_runs", query=RunsQuery, answer=Page[Run]),
        row("GET", run, "Look at a run", lambda call: service.runs.get(call.principal, call.path["run_id"]), name="get_run",
            answer=Run),
        row("POST", run + "/cancel", "Stop a run", cancel_run, answer=Cancelled),
        row("GET", run + "/events", "A run's events as they happen", watch_run, query=LiveQuery, streamed=True,
            headers={"Last-Event-ID": "Go on after this event."}),
        row("GET", run + "/live", "A run's events on a WebSocket", live_run, query=LiveQuery, websocket=True),
    ]  # fmt: skip


async def _require_known(service: Service, principal: Principal, run_id: str) -> None:
    """Raises NotFound before a stream is begun."""
    if service.runs.watch(principal.tenant, run_id) is None:
        await service.runs.get(principal, run_id)


async def _events(service: Service, principal: Principal, run_id: str, after: int) -> AsyncIterator[Event]:
    feed = service.runs.watch(principal.tenant, run_id)
    if feed is not None:
        async for event in feed.events(after):
            yield event
        return
    record = await service.runs.get(principal, run_id)
    kind = {"finished": "result", "waiting": "waiting"}.get(record.state, "gap")
    yield Event(0, kind, msgspec.to_builtins(record))


async def _begin(service: Service, call: Call, session_id: str, body: RunBody) -> Answer | Events:
    begun = await service.runs.start(call.principal, session_id, body)
    if call.query.mode == "async":
        return Answer(begun, 202, {"location": f"/v1/runs/{begun.id}"})
    return Events(_events(service, call.principal, begun.id, 0))
