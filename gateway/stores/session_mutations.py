"""Changes of sessions and snapshots.

Rules: INVARIANT: the base of a stored snapshot is stored, and so is the snapshot a session's heap is in. A session that is
deleted takes with it all that is its own, except snapshots that a caller saved, or that another one builds on.
"""

from __future__ import annotations

import msgspec

from gateway.errors import Conflict, TooLarge
from gateway.records import Session
from gateway.stores import changes as c
from gateway.stores.file_mutations import check_expected, drop_blobs
from gateway.stores.ledger import SessionRow
from gateway.stores.row_operations import Clear, Delete, Get, Present, Put, Rows, Scan, Steps
from gateway.stores.tables import APPROVALS, FILES, KEPT, PACKS, RUNS, SECRETS, SESSIONS, SNAPSHOTS, VALUES, Row
from gateway.stores.transaction import Writing, encode, measure, own, sweep

_BY_SESSION, _BY_BASE = SNAPSHOTS.orders[1], SNAPSHOTS.orders[2]
_decode_session = msgspec.json.Decoder(Session).decode


def put_session(writing: Writing, change: c.PutSession) -> Steps[None]:
    session = change.session
    own(writing, session.tenant)
    old = yield from writing.find_session(session.id)
    check_expected(old.updated_at if old else None, change.expect, "session", session.id, exists=Conflict)
    body = encode(session, writing.limits)
    if session.head is not None:
        writing.heads.add(session.head)
    if old is None:
        writing.charge(len(body))
        writing.add_session(SessionRow(writing.tenant, session.id, session.updated_at, body))
    else:
        writing.charge(len(body) - len(old.body))
        old.updated_at, old.body = session.updated_at, body


def check_heads(writing: Writing) -> Steps[None]:
    """At the end of a write: a session and its snapshot may come in any order."""
    if writing.heads:
        rows = yield Get(SNAPSHOTS, (writing.tenant,), sorted(writing.heads))
        for absent in writing.heads - {row[1] for row in rows}:
            raise Conflict("SNAPSHOT_MISSING", f"the session's snapshot is not stored: {absent[:64]}")


def delete_session(writing: Writing, change: c.DeleteSession) -> Steps[None]:
    tenant, session_id = writing.tenant, change.session_id
    session = yield from writing.find_session(session_id)
    if session is None:
        return
    yield from writing.flush_trees()
    whose = (tenant, session_id)
    digests = {row[8] for row in (yield Scan(FILES, whose)) if row[8]}
    for table in (FILES, VALUES):
        yield Clear(table, whose)
    yield from drop_blobs(tenant, digests)
    yield from sweep(writing, SECRETS, whose, SECRETS.key)
    yield from sweep(writing, RUNS, whose, RUNS.orders[1])
    yield from sweep(writing, APPROVALS, whose, APPROVALS.orders[2])
    writing.charge(-len(session.body))
    writing.drop_session(session)
    yield Delete(SESSIONS, (tenant,), [session_id])
    yield from _delete_snapshots(writing, session_id)


def _delete_snapshots(writing: Writing, session_id: str) -> Steps[None]:
    """Those that no other one builds on: tips first, so that a chain goes whole."""
    rows = yield Scan(SNAPSHOTS, (writing.tenant, session_id), _BY_SESSION)
    left: dict[str, Row] = {row[1]: row for row in rows if SNAPSHOTS.decode(row).kind not in KEPT}
    while left:
        used = {row[0] for row in (yield Present(SNAPSHOTS, _BY_BASE, (writing.tenant,), sorted(left)))}
        free = [row for snapshot_id, row in left.items() if snapshot_id not in used]
        if not free:
            return
        yield from _drop(writing, free)
        for row in free:
            del left[row[1]]


def _drop(writing: Writing, rows: Rows) -> Steps[None]:
    ids = [row[1] for row in rows]
    writing.charge(-sum(row[5] + measure(row) for row in rows))
    yield Delete(PACKS, (writing.tenant,), ids)
    yield Delete(SNAPSHOTS, (writing.tenant,), ids)


def put_snapshot(writing: Writing, change: c.PutSnapshot) -> Steps[None]:
    snapshot, pack, tenant = change.snapshot, change.pack, writing.tenant
    own(writing, snapshot.tenant)
    if snapshot.kind not in KEPT:
        yield from writing.session(snapshot.session_id)
    if len(pack) > writing.limits.pack_bytes:
        raise TooLarge("SNAPSHOT_TOO_LARGE", f"a snapshot has {len(pack)} bytes; {writing.limits.pack_bytes} are allowed")
    base = snapshot.base or ""
    if base == snapshot.id or (base and not (yield Get(SNAPSHOTS, (tenant,), [base]))):
        raise Conflict("SNAPSHOT_BASE_MISSING", f"the snapshot it builds on is not stored: {base[:64]}")
    old = yield Get(SNAPSHOTS, (tenant,), [snapshot.id])
    body = encode(snapshot, writing.limits)
    writing.charge(len(pack) + len(body) - sum(row[5] + measure(row) for row in old))
    yield Put(SNAPSHOTS, [SNAPSHOTS.make_row(snapshot, body, size=len(pack))])
    if old:
        yield Delete(PACKS, (tenant,), [snapshot.id])
    yield Put(PACKS, [(tenant, snapshot.id, pack, None)])


def delete_snapshot(writing: Writing, change: c.DeleteSnapshot) -> Steps[None]:
    rows = yield Get(SNAPSHOTS, (writing.tenant,), [change.id])
    if not rows:
        return
    session = yield from writing.find_session(rows[0][2])
    in_heap = session is not None and _decode_session(session.body).head == change.id
    if in_heap or (yield Present(SNAPSHOTS, _BY_BASE, (writing.tenant,), [change.id])):
        raise Conflict("SNAPSHOT_IN_USE", f"snapshot is in use: {change.id[:64]}", "delete what builds on it first")
    yield from _drop(writing, rows)
