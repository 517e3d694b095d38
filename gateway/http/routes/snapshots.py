"""Snapshots: save a session, export it, import it, restore it, compare, make templates."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest, Conflict
from gateway.http.api.decoding import LINE_MAX, check_line
from gateway.http.api.operation import Call, Operation, Raw, in_session
from gateway.http.api.pagination import Page, PageQuery, paginate
from gateway.records import Session, Snapshot
from gateway.service import Service
from gateway.sessions.snapshots import Diff
from sandbox.wire import ErrorObject, SessionLimits

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


class Checked(msgspec.Struct, frozen=True):
    """`error` says why it cannot be restored here. Whether its capabilities are here, restoring it says."""

    is_restorable: bool
    error: ErrorObject | None = None


class DiffQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot to compare with."""

    new: str


def operations(service: Service) -> list[Operation]:
    async def take_snapshot(call: Call) -> Snapshot:
        asked: TakeSnapshot = call.body or TakeSnapshot()
        check_line("label", asked.label)
        if asked.template and not asked.label:
            raise BadRequest("INVALID_BODY", "a template needs a label", "sessions are started from it by its label")
        return await service.snapshots.take(*in_session(call), asked.label, template=asked.template)

    async def export_snapshot(call: Call) -> Raw:
        return Raw(await service.snapshots.export(call.principal, call.path["snapshot_id"]), CBOR)

    async def import_snapshot(call: Call) -> Snapshot:
        wanted = call.query.label
        check_line("label", wanted)
        made = await service.snapshots.add(call.principal, call.body, wanted)
        if wanted and made.label != wanted:
            message = f"it is there already, as {made.id} with the label {made.label!r}"
            raise Conflict("SNAPSHOT_EXISTS", message, "leave out label")
        return made

    async def restore_snapshot(call: Call) -> Session:
        asked: Restore = call.body or Restore()
        return await service.sessions.restore(
            call.principal, call.path["snapshot_id"], asked.session_id, limits=asked.limits, strict=asked.strict
        )

    row, path, snapshot = partial(Operation, tag="snapshots"), "/v1/snapshots", "/v1/snapshots/{snapshot_id}"
    made = partial(row, answer=Snapshot, status=201, location="/v1/snapshots/{0.id}", finishes=True)
    return [
        made("POST", "/v1/sessions/{session_id}/snapshots", "Save a session as it is now", take_snapshot, body=TakeSnapshot,
             body_optional=True),
        row("GET", path, "List snapshots, the newest first: the log of a session, or the templates",
            paginate(lambda call: service.snapshots.page(
                call.principal, call.query.session_id, call.query.kind, **call.query.window)),
            name="list_snapshots", query=SnapshotsQuery, answer=Page[Snapshot]),
        made("POST", path, "Bring a snapshot in", import_snapshot, query=LabelQuery, body=bytes,
             body_types=(CBOR, "application/octet-stream"), upload=True,
             statuses={409: "It is there already, with another label.", 422: "It is damaged, or another tenant's."}),
        *_checks(service),
        row("GET", snapshot, "Look at a snapshot",
            lambda call: service.snapshots.get(call.principal, call.path["snapshot_id"]), name="get_snapshot", answer=Snapshot),
        row("GET", snapshot + "/content", "Carry a snapshot away: sealed CBOR", export_snapshot, answer=bytes,
            answer_types=(CBOR,)),
        row("GET", snapshot + "/diff", "What changed from this one to another",
            lambda call: service.snapshots.diff(call.principal, call.path["snapshot_id"], call.query.new),
            name="diff_snapshots", query=DiffQuery, answer=Diff),
        row("POST", snapshot + "/restore", "Make a session of a snapshot", restore_snapshot, body=Restore, body_optional=True,
            answer=Session, status=201, location="/v1/sessions/{0.id}", finishes=True,
            statuses={409: "There is a session with this id.", 422: "A capability it was taken with is not here as then."}),
        row("DELETE", snapshot, "Delete a snapshot",
            lambda call: service.snapshots.delete(call.principal, call.path["snapshot_id"]),
            name="delete_snapshot", finishes=True, statuses={409: "A session was started from it and still needs it."}),
    ]  # fmt: skip


def _checks(service: Service) -> list[Operation]:
    async def check_snapshot(call: Call) -> Checked:
        return await check(call, call.body)

    async def check_stored_snapshot(call: Call) -> Checked:
        return await check(call, await service.snapshots.export(call.principal, call.path["snapshot_id"]))

    async def check(call: Call, blob: bytes) -> Checked:
        error = await service.snapshots.check(call.principal, blob)
        return Checked(error is None, error)

    row = partial(Operation, tag="snapshots", answer=Checked)
    return [
        row("POST", "/v1/snapshots/check", "Whether a snapshot that was carried away can be restored", check_snapshot, body=bytes,
            body_types=(CBOR, "application/octet-stream"), upload=True),
        row("GET", "/v1/snapshots/{snapshot_id}/check", "Whether a snapshot can be restored", check_stored_snapshot),
    ]  # fmt: skip
