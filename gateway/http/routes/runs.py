"""Runs: run a program and wait, start one and come back, or watch it live."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from gateway.errors import NotFound, Unavailable
from gateway.events import Event
from gateway.http.api.operation import Answer, Call, Events, Live, Operation
from gateway.http.api.pagination import Page, PageQuery, make_cursor
from gateway.http.api.sse import resume_after
from gateway.ids import single_id
from gateway.records import InitialFile, Principal, Run, Session
from gateway.runs.results import INTERRUPTED
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from sandbox.engine.limits import MOST
from sandbox.wire import DEFAULT_LIMITS, Language

if TYPE_CHECKING:
    from gateway.service import Service

_WAITING = "The session's last run waits for an approval, or is under way."
_NOT_READY = "The language is still being compiled (NOT_READY), a worker died, or there is too much to do."


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`wait` answers when the run has ended; `async` at once, with 202; `stream` with its events."""

    mode: Literal["wait", "async", "stream"] = "wait"


class RunsQuery(PageQuery, frozen=True, kw_only=True):
    session_id: str | None = None


class LiveQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Events after this one."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0


class OneShot(RunBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run in a session of its own, which is gone afterwards; if the run waits for an approval, is interrupted, or nobody waits
    for it, a while after it has ended, so that it can be looked at."""

    template: str | None = None
    files: list[InitialFile] = []


class LiveMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client may say on a run's WebSocket."""

    kind: Literal["cancel"]


class Cancelled(msgspec.Struct, frozen=True):
    """False: there was nothing to cancel any more."""

    cancelled: bool


def operations(service: Service) -> list[Operation]:
    async def run_in_session(call: Call) -> Answer | Events:
        session_id, mode = call.path["session_id"], call.query.mode
        session = await service.sessions.get(call.principal, session_id)
        service.readiness.require(call.body.language or session.language)
        if mode == "wait" and "text/event-stream" not in call.headers.get("accept", ""):
            return Answer(await service.runs.run(call.principal, session_id, call.body))
        return await _begin(service, call, session_id, call.body)

    async def run_once(call: Call) -> Answer | Events:
        session = await _session_for(service, call.principal, call.body)
        if call.query.mode == "wait" and "text/event-stream" not in call.headers.get("accept", ""):
            return Answer(await _run_once(service, call.principal, session, _body_of(call.body)))
        return await _begin(service, call, session.id, _body_of(call.body))

    async def list_runs(call: Call) -> Page[Run]:
        asked: RunsQuery = call.query
        page = await service.store.runs(call.principal.tenant, asked.session_id, after=asked.after, limit=asked.limit)
        return Page(page.items, make_cursor(page.next))

    async def get_run(call: Call) -> Run:
        return await service.runs.get(call.principal, call.path["run_id"])

    async def cancel_run(call: Call) -> Cancelled:
        return Cancelled(await service.runs.cancel(call.principal, call.path["run_id"]))

    async def watch_run(call: Call) -> Events:
        after = resume_after(call.headers) or call.query.after
        await _known(service, call.principal, call.path["run_id"])
        return Events(_events(service, call.principal, call.path["run_id"], after))

    async def live_run(call: Call) -> Live:
        run_id = call.path["run_id"]
        await _known(service, call.principal, run_id)

        async def receive(message: LiveMessage) -> None:
            await service.runs.cancel(call.principal, run_id)

        return Live(_events(service, call.principal, run_id, call.query.after), receive, LiveMessage)

    tag = "runs"
    return [
        Operation("POST", "/v1/sessions/{session_id}/runs", "Run a program in a session", run_in_session, query=RunQuery,
                  body=RunBody, answer=Run, streamed=True, tag=tag,
                  statuses={202: "It is under way.", 409: _WAITING, 503: _NOT_READY}),
        Operation("POST", "/v1/runs", "Run a program in a fresh session that is gone afterwards", run_once, query=RunQuery,
                  body=OneShot, answer=Run, streamed=True, tag=tag, statuses={202: "It is under way.", 503: _NOT_READY}),
        Operation("GET", "/v1/runs", "List runs, the newest first", list_runs, query=RunsQuery, answer=Page[Run], tag=tag),
        Operation("GET", "/v1/runs/{run_id}", "Look at a run", get_run, answer=Run, tag=tag),
        Operation("POST", "/v1/runs/{run_id}/cancel", "Stop a run", cancel_run, answer=Cancelled, tag=tag),
        Operation("GET", "/v1/runs/{run_id}/events", "A run's events as they happen", watch_run, query=LiveQuery, streamed=True,
                  headers={"Last-Event-ID": "Go on after this event."}, tag=tag),
        Operation("GET", "/v1/runs/{run_id}/live", "A run's events on a WebSocket", live_run, query=LiveQuery, websocket=True,
                  tag=tag),
    ]  # fmt: skip


async def _known(service: Service, principal: Principal, run_id: str) -> None:
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


async def _run_once(service: Service, principal: Principal, session: Session, body: RunBody) -> Run:
    is_kept = False
    try:
        done = await service.runs.run(principal, session.id, body)
        is_kept = done.state == "waiting"
        return done
    except Unavailable as refused:
        is_kept = refused.code == INTERRUPTED.code
        raise
    finally:
        if not is_kept:
            with contextlib.suppress(NotFound):  # another session may have needed its room by now
                await asyncio.shield(service.sessions.delete(principal, session.id))


async def _session_for(service: Service, principal: Principal, asked: OneShot) -> Session:
    """With the limits that the request asks for: under no others could it run for longer than the default."""
    language = asked.language or Language.PYTHON
    service.readiness.require(language)
    limits = asked.limits
    if limits is None and asked.timeout_ms is not None and asked.timeout_ms > DEFAULT_LIMITS.wall_ms:
        limits = msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=min(asked.timeout_ms, MOST.wall_ms))
    wanted = CreateSession(id=single_id(), language=language, limits=limits, template=asked.template)
    session = await service.sessions.create(principal, wanted)
    try:
        for file in asked.files:
            await service.workspace.seed(principal, session.id, file)
    except BaseException:
        await asyncio.shield(service.sessions.delete(principal, session.id))
        raise
    return session


def _body_of(asked: OneShot) -> RunBody:
    return RunBody(**{name: getattr(asked, name) for name in RunBody.__struct_fields__})
