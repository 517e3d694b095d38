"""Changes of approvals: decided once, used once, expired for good.

Rules: THREAT[TM-STORE-REPLAY]: a use is taken in the transaction that finds it. The column `expires_at` says when a sweep has
something to do with an approval; one that has no use left is due never.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gateway.errors import BadRequest, Conflict
from gateway.records import Approval
from gateway.stores import changes as c
from gateway.stores.row_operations import Get, Row, Rows, Scan, Steps
from gateway.stores.tables import APPROVALS
from gateway.stores.transaction import ENDING_BYTES, Writing, encode, own, remove, replace

_NEVER: Final = 1 << 62
_BY_BINDING, _BY_END = APPROVALS.orders[1], APPROVALS.orders[3]
decode_approval = msgspec.json.Decoder(Approval).decode


def _row(writing: Writing, one: Approval) -> Row:
    usable = one.verdict is None or (one.verdict == "approved" and not one.always and one.uses_left > 0)
    return (
        writing.tenant,
        one.id,
        one.session_id,
        one.binding,
        int(one.verdict is not None),
        one.created_at,
        encode(one, writing.limits),
        one.expires_at if usable else _NEVER,
    )


def _store(writing: Writing, old: Rows, one: Approval) -> Steps[None]:
    """A new one needs room; to decide one does not."""
    yield from replace(writing.ledger, APPROVALS, old, _row(writing, one), forgiven_bytes=ENDING_BYTES if old else 0)


def put_approval(writing: Writing, change: c.PutApproval) -> Steps[None]:
    one = change.approval
    own(writing, one.tenant)
    rows = yield Get(APPROVALS, (writing.tenant,), [one.id])
    old = decode_approval(rows[0][6]) if rows else None
    if change.expect_pending and old is None:
        raise Conflict("APPROVAL_MISSING", f"there is no such approval: {one.id}")
    if old is not None and old.verdict is not None and (change.expect_pending or old.verdict != one.verdict):
        raise Conflict("APPROVAL_DECIDED", f"approval is decided already: {old.verdict}")
    yield from _store(writing, rows, one)


def use_approval(writing: Writing, change: c.UseApproval) -> Steps[None]:
    if change.id is not None:
        rows = yield Get(APPROVALS, (writing.tenant,), [change.id])
    elif change.binding is not None:
        rows = yield Scan(APPROVALS, (writing.tenant, change.binding), _BY_BINDING)
    else:
        raise BadRequest("INVALID_ARGUMENT", "an approval is used by its id or its binding")
    for row in rows:
        one = decode_approval(row[6])
        fits = change.binding is None or one.binding == change.binding
        over = change.at is not None and one.expires_at <= change.at and not one.always
        if fits and not over and one.verdict == "approved" and (one.always or one.uses_left > 0):
            if not one.always:
                yield from _store(writing, [row], msgspec.structs.replace(one, uses_left=one.uses_left - 1))
            return
    raise Conflict("APPROVAL_MISSING", "there is no approval left for this call")


def expire_approvals(writing: Writing, change: c.ExpireApprovals) -> Steps[None]:
    for row in (yield Scan(APPROVALS, (writing.tenant,), _BY_END, until=(change.at + 1,))):
        one = decode_approval(row[6])
        if one.verdict is None:
            one = msgspec.structs.replace(one, verdict="expired", decided_at=change.at, uses_left=0)
        elif not one.always:
            one = msgspec.structs.replace(one, uses_left=0)
        yield from _store(writing, [row], one)


def delete_approval(writing: Writing, change: c.DeleteApproval) -> Steps[None]:
    yield from remove(writing.ledger, APPROVALS, (writing.tenant,), change.id)
