"""Queries: what each question to a store means, for every engine.

Rules: as in `mutations`, a question is a generator of operations; an engine runs one question in one snapshot of the data.
Pages are bounded; a cursor is the place in the order where the next page begins, opaque to the caller.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from gateway.errors import BadRequest
from gateway.ids import ONCE, PAST_ONCE, is_single
from gateway.records import Approval, AuditRecord, Session, Snapshot, StoredPolicy, Token
from gateway.stores import audit_chain
from gateway.stores.row_operations import Get, Scan, Steps
from gateway.stores.stored import PAGE_MAX, Page, StoredFile, Usage, WrappedKey
from gateway.stores.tables import (
    APPROVALS,
    AUDIT,
    BLOBS,
    FILES,
    KEYS,
    PACKS,
    POLICIES,
    SESSIONS,
    SNAPSHOTS,
    TENANTS,
    TOKENS,
    Row,
    Table,
)  # fmt: skip

R = TypeVar("R")
CURSOR_CHARS_MAX: Final = 8192
DEPTH_MAX: Final = 1000


def find_one(table: Table[R], prefix: Row, value: Any) -> Steps[R | None]:
    rows = yield Get(table, prefix, [value])
    return table.decode(rows[0]) if rows else None


def find_bytes(table: Table[Any], prefix: Row, value: Any, column: str) -> Steps[bytes | None]:
    rows = yield Get(table, prefix, [value])
    return bytes(rows[0][table.positions[column]]) if rows else None


def read_page(
    table: Table[R],
    prefix: Row,
    *,
    order: tuple[str, ...] | None = None,
    after: str | None,
    limit: int,
    reverse: bool = False,
    within: tuple[Row, Row] | None = None,
) -> Steps[Page[R]]:
    """`within`: only what comes after the first place and before the second."""
    columns = (order or table.key)[len(prefix) :]
    kinds = [table.sql.c[name].type.python_type for name in columns]
    limit = max(0, min(limit, PAGE_MAX))
    first, until = within or (None, None)
    start = first if after is None else _decode_cursor(after, kinds)
    rows = yield Scan(table, prefix, order, after=start, until=until, limit=limit + 1, reverse=reverse)
    more = len(rows) > limit
    if more and limit == 0:
        return Page([], after)
    place = _encode_cursor([rows[limit - 1][table.positions[name]] for name in columns]) if more else None
    return Page([table.decode(row) for row in rows[:limit]], place)


def _encode_cursor(place: Sequence[Any]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode("ascii").rstrip("=")


def _decode_cursor(cursor: str, kinds: Sequence[type]) -> Row:
    try:
        if len(cursor) > CURSOR_CHARS_MAX:
            raise ValueError
        place = msgspec.json.decode(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        if not isinstance(place, list) or [type(value) for value in place] != list(kinds):
            raise ValueError
    except (ValueError, TypeError, binascii.Error, msgspec.DecodeError, RecursionError):
        raise BadRequest("INVALID_CURSOR", "this is not a cursor of this list", "use `next` of the page before") from None
    return tuple(place)


def lasting_sessions(tenant: str, after: str | None, limit: int) -> Steps[Page[Session]]:
    """All but those of single runs, of which there may be thousands in a row: they are passed over in longer and longer steps."""
    size = limit = max(0, min(limit, PAGE_MAX))
    found: list[Session] = []
    while True:
        part = yield from read_page(SESSIONS, (tenant,), after=after, limit=size)
        found += [session for session in part.items if not is_single(session.id)]
        if len(found) > limit:
            return Page(found[:limit], _encode_cursor([found[limit - 1].id]))
        after = part.next
        if after is None or len(found) == limit:
            return Page(found, after)
        size = min(4 * size, PAGE_MAX)


def single_sessions(tenant: str, after: str | None, limit: int) -> Steps[Page[Session]]:
    within = (ONCE,), (PAST_ONCE,)
    named = yield from read_page(SESSIONS, (tenant,), after=after, limit=limit, within=within)
    return Page([session for session in named.items if is_single(session.id)], named.next)


def usage(tenant: str, session_id: str | None) -> Steps[Usage]:
    if session_id is None:
        rows = yield Get(TENANTS, (), [tenant])
        return Usage(bytes=rows[0][3], files=rows[0][4], values=rows[0][5], sessions=rows[0][6]) if rows else Usage()
    rows = yield Get(SESSIONS, (tenant,), [session_id])
    return Usage(bytes=rows[0][4], files=rows[0][5], values=rows[0][6], sessions=1) if rows else Usage()


def token(digest: str) -> Steps[Token | None]:
    rows = yield Get(TOKENS, (), [digest])
    return TOKENS.decode(rows[0]).token if rows else None


def content(tenant: str, session_id: str, path: str) -> Steps[tuple[StoredFile, bytes] | None]:
    rows = yield Get(FILES, (tenant, session_id), [path])
    if not rows:
        return None
    file = FILES.decode(rows[0])
    if file.is_directory:
        return file, b""
    blobs = yield Get(BLOBS, (tenant,), [file.digest])
    return file, blobs[0][2]


def children(tenant: str, session_id: str, path: str, after: str | None, limit: int) -> Steps[list[StoredFile]]:
    start = None if after is None else (after,)
    rows = yield Scan(FILES, (tenant, session_id, path), FILES.orders[0], after=start, limit=limit)
    return [FILES.decode(row) for row in rows]


def tree(tenant: str, session_id: str) -> Steps[list[StoredFile]]:
    rows = yield Scan(FILES, (tenant, session_id))
    return [FILES.decode(row) for row in rows]


def blobs(tenant: str, digests: list[str]) -> Steps[dict[str, bytes]]:
    rows = yield Get(BLOBS, (tenant,), digests)
    return {row[1]: row[2] for row in rows}


def keys(tenant: str) -> Steps[list[WrappedKey]]:
    rows = yield Scan(KEYS, (tenant,), limit=PAGE_MAX)
    # Ids are numbers: a clock that went back does not make a newer key older.
    return sorted(map(KEYS.decode, rows), key=lambda key: (len(key.id), key.id))


def template(tenant: str, label: str) -> Steps[Snapshot | None]:
    rows = (yield Scan(SNAPSHOTS, (tenant, label), SNAPSHOTS.orders[4], limit=1, reverse=True)) if label else []
    return SNAPSHOTS.decode(rows[0]) if rows else None


def packs(tenant: str, snapshot_id: str) -> Steps[list[bytes]]:
    wanted: list[str] = []
    current: str | None = snapshot_id
    while current and len(wanted) < DEPTH_MAX:
        rows = yield Get(SNAPSHOTS, (tenant,), [current])
        if not rows:
            return []
        wanted.append(current)
        current = rows[0][3]
    found = {row[1]: row[2] for row in (yield Get(PACKS, (tenant,), wanted))}
    return [found[each] for each in reversed(wanted)]


def approvals_by_binding(tenant: str, binding: str) -> Steps[list[Approval]]:
    rows = yield Scan(APPROVALS, (tenant, binding), APPROVALS.orders[1], limit=100, reverse=True)
    return [APPROVALS.decode(row) for row in rows]


def policy(tenant: str, digest: str) -> Steps[StoredPolicy | None]:
    rows = yield Scan(POLICIES, (tenant, digest), POLICIES.orders[0], limit=PAGE_MAX)
    return max(map(POLICIES.decode, rows), key=lambda found: (found.created_at, found.version), default=None)


def policies_in(tenant: str, state: str) -> Steps[list[StoredPolicy]]:
    rows = yield Scan(POLICIES, (tenant, state), POLICIES.orders[1], limit=PAGE_MAX)
    return [POLICIES.decode(row) for row in rows]


def audit_records(tenant: str, after: int, limit: int) -> Steps[list[AuditRecord]]:
    rows = yield Scan(AUDIT, (tenant,), after=(after,), limit=max(0, min(limit, PAGE_MAX)))
    return [audit_chain.decode(row[3], row[4]) for row in rows]


def audit_head(tenant: str) -> Steps[tuple[int, str]]:
    rows = yield Get(TENANTS, (), [tenant])
    return (rows[0][7], rows[0][8]) if rows else (0, "")
