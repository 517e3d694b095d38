"""Sessions: make, look at, rename, fork, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest
from gateway.http.api.operation import Answer, Call, Operation
from gateway.http.api.pagination import Page, PageQuery, make_cursor
from gateway.http.api.text_fields import LINE_MAX, check_line
from gateway.http.routes.runs import Cancelled
from gateway.records import Session
from gateway.sessions.sessions import CreateSession

if TYPE_CHECKING:
    from gateway.service import Service


class SessionsQuery(PageQuery, frozen=True, kw_only=True):
    """`singles`: also the sessions of single runs (`POST /v1/runs`) that are still kept."""

    singles: bool = False


class UpdateSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`repin` puts the session under the tenant's active policy."""

    title: Annotated[str, Meta(max_length=LINE_MAX)] | None = None
    repin: bool = False


class Fork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names for the forks, or how many to make; one, if neither is said."""

    ids: Annotated[list[str], Meta(min_length=1, max_length=100)] | None = None
    count: Annotated[int, Meta(ge=1, le=100)] | None = None


def operations(service: Service) -> list[Operation]:
    async def create_session(call: Call) -> Answer:
        asked: CreateSession = call.body or CreateSession()
        check_line("title", asked.title)
        made = await service.sessions.create(call.principal, asked)
        return Answer(made, 201, {"location": f"/v1/sessions/{made.id}"})

    async def list_sessions(call: Call) -> Page[Session]:
        asked: SessionsQuery = call.query
        page = await service.store.sessions(call.principal.tenant, after=asked.after, limit=asked.limit, singles=asked.singles)
        return Page(page.items, make_cursor(page.next))

    async def get_session(call: Call) -> Session:
        return await service.sessions.get(call.principal, call.path["session_id"])

    async def update_session(call: Call) -> Session:
        asked: UpdateSession = call.body
        check_line("title", asked.title or "")
        return await service.sessions.update(call.principal, call.path["session_id"], title=asked.title, repin=asked.repin)

    async def delete_session(call: Call) -> None:
        await service.runs.delete_session(call.principal, call.path["session_id"])

    async def cancel_session(call: Call) -> Cancelled:
        """What waits for an approval, and what anybody has queued or under way."""
        return Cancelled(await service.runs.cancel_all(call.principal, call.path["session_id"]))

    async def fork_session(call: Call) -> Answer:
        asked: Fork = call.body or Fork()
        if asked.ids is not None and asked.count not in (None, len(asked.ids)):
            raise BadRequest(
                "INVALID_BODY", f"count is {asked.count}, and {len(asked.ids)} ids are named", "leave out one of them"
            )
        forks = await service.snapshots.fork(call.principal, call.path["session_id"], asked.ids, asked.count or 1)
        return Answer(forks, 201)

    one = "/v1/sessions/{session_id}"
    tag = "sessions"
    return [
        Operation("POST", "/v1/sessions", "Make a session", create_session, body=CreateSession, body_optional=True,
                  answer=Session, status=201, statuses={409: "There is one with this id."}, tag=tag, finishes=True),
        Operation("GET", "/v1/sessions", "List sessions", list_sessions, query=SessionsQuery, answer=Page[Session], tag=tag),
        Operation("GET", one, "Look at a session", get_session, answer=Session, tag=tag),
        Operation("PATCH", one, "Rename a session, or put it under the active policy", update_session, body=UpdateSession,
                  answer=Session, tag=tag, finishes=True),
        Operation("DELETE", one, "Delete a session with everything in it", delete_session, tag=tag, finishes=True),
        Operation("POST", one + "/cancel", "Stop what the session has under way", cancel_session, answer=Cancelled, tag=tag),
        Operation("POST", one + "/fork", "Make sessions that start with all this one has", fork_session, body=Fork,
                  body_optional=True, answer=list[Session], status=201, tag=tag, finishes=True,
                  statuses={409: "An id is taken."}),
    ]  # fmt: skip
