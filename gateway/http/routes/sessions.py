"""Sessions: make, look at, rename, fork, delete."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest
from gateway.http.api.decoding import LINE_MAX, check_line
from gateway.http.api.operation import Call, Operation, in_session
from gateway.http.api.pagination import Page, PageQuery, paginate
from gateway.http.routes.runs import Cancelled
from gateway.records import Session
from gateway.service import Service
from gateway.sessions.sessions import CreateSession


class SessionsQuery(PageQuery, frozen=True, kw_only=True):
    """`singles`: also the sessions of single runs (`POST /v1/runs`) that are still kept."""

    singles: bool = False


class UpdateSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`repin` puts the session under the tenant's active policy. `facts`, which operators alone may give, are added to what
    policies believe about it: `{"tainted": true}` after it has read untrusted content."""

    title: Annotated[str, Meta(max_length=LINE_MAX)] | None = None
    repin: bool = False
    facts: dict[str, Any] = {}


class Fork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names for the forks, or how many to make; one, if neither is said."""

    ids: Annotated[list[str], Meta(min_length=1, max_length=100)] | None = None
    count: Annotated[int, Meta(ge=1, le=100)] | None = None


def operations(service: Service) -> list[Operation]:
    async def create_session(call: Call) -> Session:
        asked: CreateSession = call.body or CreateSession()
        check_line("title", asked.title)
        if asked.thread_id is not None:
            await service.runners.session(call.principal.tenant, asked.thread_id)  # it must be there
        return await service.sessions.create(call.principal, asked)

    async def update_session(call: Call) -> Session:
        asked: UpdateSession = call.body
        check_line("title", asked.title or "")
        return await service.sessions.update(*in_session(call), title=asked.title, repin=asked.repin, facts=asked.facts)

    async def cancel_session(call: Call) -> Cancelled:
        """What waits for an approval, and what any caller has queued or under way."""
        return Cancelled(await service.runs.cancel_all(*in_session(call)))

    async def fork_session(call: Call) -> list[Session]:
        asked: Fork = call.body or Fork()
        if asked.ids is not None and asked.count not in (None, len(asked.ids)):
            message = f"count is {asked.count}, and {len(asked.ids)} ids are named"
            raise BadRequest("INVALID_BODY", message, "leave out one of them")
        return await service.snapshots.fork(*in_session(call), asked.ids, asked.count or 1)

    row, path, session = partial(Operation, tag="sessions"), "/v1/sessions", "/v1/sessions/{session_id}"
    return [
        row("POST", path, "Make a session", create_session, body=CreateSession, body_optional=True, answer=Session, status=201,
            location="/v1/sessions/{0.id}", statuses={409: "There is one with this id."}, finishes=True),
        row("GET", path, "List sessions",
            paginate(lambda call: service.sessions.page(call.principal, **call.query.window, singles=call.query.singles)),
            name="list_sessions", query=SessionsQuery, answer=Page[Session]),
        row("GET", session, "Look at a session", lambda call: service.sessions.get(*in_session(call)),
            name="get_session", answer=Session),
        row("PATCH", session, "Rename a session, put it under the active policy, or change facts about it", update_session,
            body=UpdateSession, answer=Session, finishes=True),
        row("DELETE", session, "Delete a session with everything in it",
            lambda call: service.runs.delete_session(*in_session(call)), name="delete_session", finishes=True),
        row("POST", session + "/cancel", "Stop what the session has under way", cancel_session, answer=Cancelled),
        row("POST", session + "/fork", "Make sessions that start with all this one has", fork_session, body=Fork,
            body_optional=True, answer=list[Session], status=201, finishes=True, statuses={409: "An id is taken."}),
    ]  # fmt: skip
