"""Changes of approvals: decided once, used once, expired for good.

Rules: THREAT[TM-STORE-REPLAY]: a use is taken in the transaction that finds it. The column `expires_at` says when a sweep has
something to do with an approval; approval that has no use left is due never.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gateway.errors import BadRequest, Conflict
from gateway.records import Approval
from gateway.stores import changes as c
from gateway.stores.row_operations import Get, Rows, Scan, Steps
from gateway.stores.tables import APPROVALS
from gateway.stores.transaction import ENDING_BYTES, Writing, encode, own, replace

_NEVER: Final = 1 << 62
_BY_BINDING, _BY_END = APPROVALS.orders[1], APPROVALS.orders[3]


def _store(writing: Writing, old: Rows, approval: Approval) -> Steps[None]:
    """A new approval needs room; to decide approval does not."""
    usable = approval.verdict is None or (approval.verdict == "approved" and not approval.always and approval.uses_left > 0)
    body, due_at = encode(approval, writing.limits), approval.expires_at if usable else _NEVER
    row = APPROVALS.make_row(approval, body, expires_at=due_at)
    yield from replace(writing, APPROVALS, old, row, forgiven_bytes=ENDING_BYTES if old else 0)


def put_approval(writing: Writing, change: c.PutApproval) -> Steps[None]:
    approval = change.approval
    own(writing, approval.tenant)
    rows = yield Get(APPROVALS, (writing.tenant,), [approval.id])
    old = APPROVALS.decode(rows[0]) if rows else None
    if change.expect_pending and old is None:
        raise Conflict("APPROVAL_MISSING", f"there is no such approval: {approval.id}")
    if old is not None and old.verdict is not None and (change.expect_pending or old.verdict != approval.verdict):
        raise Conflict("APPROVAL_DECIDED", f"approval is decided already: {old.verdict}")
    yield from _store(writing, rows, approval)


def use_approval(writing: Writing, change: c.UseApproval) -> Steps[None]:
    if change.id is not None:
        rows = yield Get(APPROVALS, (writing.tenant,), [change.id])
    elif change.binding is not None:
        rows = yield Scan(APPROVALS, (writing.tenant, change.binding), _BY_BINDING)
    else:
        raise BadRequest("INVALID_ARGUMENT", "an approval is used by its id or its binding")
    for row in rows:
        approval = APPROVALS.decode(row)
        fits = change.binding is None or approval.binding == change.binding
        over = change.at is not None and approval.expires_at <= change.at and not approval.always
        if fits and not over and approval.verdict == "approved" and (approval.always or approval.uses_left > 0):
            if not approval.always:
                yield from _store(writing, [row], msgspec.structs.replace(approval, uses_left=approval.uses_left - 1))
            return
    raise Conflict("APPROVAL_MISSING", "there is no approval left for this call")


def expire_approvals(writing: Writing, change: c.ExpireApprovals) -> Steps[None]:
    for row in (yield Scan(APPROVALS, (writing.tenant,), _BY_END, until=(change.at + 1,))):
        approval = APPROVALS.decode(row)
        if approval.verdict is None:
            approval = msgspec.structs.replace(approval, verdict="expired", decided_at=change.at, uses_left=0)
        elif not approval.always:
            approval = msgspec.structs.replace(approval, uses_left=0)
        yield from _store(writing, [row], approval)
