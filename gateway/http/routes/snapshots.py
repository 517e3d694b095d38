"""Snapshots: save a session, carry it away, bring it back, compare, make templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest, Conflict
from gateway.http.api.operation import Answer, Call, Operation, Raw
from gateway.http.api.pagination import Page, PageQuery, make_cursor
from gateway.http.api.text_fields import LINE_MAX, check_line
from gateway.records import Session, Snapshot
from gateway.sessions.snapshots import Diff
from sandbox.wire import SessionLimits

if TYPE_CHECKING:
    from gateway.service import Service

CBOR = "application/cbor"


class TakeSnapshot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`template`: sessions may be started from it by its label."""

    label: Annotated[str, Meta(max_length=LINE_MAX)] = ""
    template: bool = False


class Restore(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`limits` are the new session's. `strict`: refuse also if there is more to call here than it was taken with."""

    session_id: str | None = None
    limits: SessionLimits | None = None
    strict: bool = False


class SnapshotsQuery(PageQuery, frozen=True, kw_only=True):
    session_id: str | None = None
    kind: Literal["saved", "template"] | None = None


class LabelQuery(msgspec.Struct, frozen=True, kw_only=True):
    label: Annotated[str, Meta(max_length=LINE_MAX)] = ""


class DiffQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot to compare with."""

    new: str


def operations(service: Service) -> list[Operation]:
    async def take_snapshot(call: Call) -> Answer:
        asked: TakeSnapshot = call.body or TakeSnapshot()
        check_line("label", asked.label)
        if asked.template and not asked.label:
            raise BadRequest("INVALID_BODY", "a template needs a label", "sessions are started from it by its label")
        made = await service.snapshots.take(call.principal, call.path["session_id"], asked.label, template=asked.template)
        return Answer(made, 201, {"location": f"/v1/snapshots/{made.id}"})

    async def list_snapshots(call: Call) -> Page[Snapshot]:
        asked: SnapshotsQuery = call.query
        tenant, after, limit = call.principal.tenant, asked.after, asked.limit
        if asked.session_id is None:
            page = await service.store.kept_snapshots(tenant, after=after, limit=limit)
        else:
            page = await service.store.snapshots(tenant, asked.session_id, after=after, limit=limit)
        kinds = ("saved", "template") if asked.kind is None else (asked.kind,)
        return Page([one for one in page.items if one.kind in kinds], make_cursor(page.next))

    async def get_snapshot(call: Call) -> Snapshot:
        return await service.snapshots.get(call.principal, call.path["snapshot_id"])

    async def export_snapshot(call: Call) -> Raw:
        return Raw(await service.snapshots.export(call.principal, call.path["snapshot_id"]), CBOR)

    async def import_snapshot(call: Call) -> Answer:
        wanted = call.query.label
        check_line("label", wanted)
        made = await service.snapshots.add(call.principal, call.body, wanted)
        if wanted and made.label != wanted:
            raise Conflict(
                "SNAPSHOT_EXISTS", f"it is there already, as {made.id} with the label {made.label!r}", "leave out label"
            )
        return Answer(made, 201, {"location": f"/v1/snapshots/{made.id}"})

    async def restore_snapshot(call: Call) -> Answer:
        asked: Restore = call.body or Restore()
        made = await service.snapshots.restore(
            call.principal, call.path["snapshot_id"], asked.session_id, limits=asked.limits, strict=asked.strict
        )
        return Answer(made, 201, {"location": f"/v1/sessions/{made.id}"})

    async def diff_snapshots(call: Call) -> Diff:
        return await service.snapshots.diff(call.principal, call.path["snapshot_id"], call.query.new)

    async def delete_snapshot(call: Call) -> None:
        await service.snapshots.delete(call.principal, call.path["snapshot_id"])

    one = "/v1/snapshots/{snapshot_id}"
    tag = "snapshots"
    return [
        Operation("POST", "/v1/sessions/{session_id}/snapshots", "Save a session as it is now", take_snapshot, body=TakeSnapshot,
                  body_optional=True, answer=Snapshot, status=201, tag=tag, finishes=True),
        Operation("GET", "/v1/snapshots", "List snapshots, the newest first: the log of a session, or the templates",
                  list_snapshots, query=SnapshotsQuery, answer=Page[Snapshot], tag=tag),
        Operation("POST", "/v1/snapshots", "Bring a snapshot in", import_snapshot, query=LabelQuery, body=bytes,
                  body_types=(CBOR, "application/octet-stream"), upload=True, answer=Snapshot, status=201, tag=tag, finishes=True,
                  statuses={409: "It is there already, with another label.", 422: "It is damaged, or another tenant's."}),
        Operation("GET", one, "Look at a snapshot", get_snapshot, answer=Snapshot, tag=tag),
        Operation("GET", one + "/content", "Carry a snapshot away: sealed CBOR", export_snapshot, answer=bytes,
                  answer_types=(CBOR,), tag=tag),
        Operation("GET", one + "/diff", "What changed from this one to another", diff_snapshots, query=DiffQuery, answer=Diff,
                  tag=tag),
        Operation("POST", one + "/restore", "Make a session of a snapshot", restore_snapshot, body=Restore, body_optional=True,
                  answer=Session, status=201, tag=tag, finishes=True,
                  statuses={409: "There is a session with this id.", 422: "A capability it was taken with is not here as then."}),
        Operation("DELETE", one, "Delete a snapshot", delete_snapshot, tag=tag, finishes=True,
                  statuses={409: "A session was started from it and still needs it."}),
    ]  # fmt: skip
