"""Mutations: what each change means, for every engine.

`apply` is a generator of operations (see `row_operations`) that an engine runs inside one transaction in which no other write to
this tenant happens; so it may read, decide and write without races. An error undoes the whole write. Everything stored is charged
to its tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from gateway.errors import BadRequest, Conflict, TooLarge, missing
from gateway.stores import approval_mutations, session_mutations
from gateway.stores import changes as c
from gateway.stores.audit_chain import CHECKPOINT
from gateway.stores.file_mutations import check_expected
from gateway.stores.ledger import Head
from gateway.stores.row_operations import Clear, Get, Put, Scan, Steps, Tell
from gateway.stores.stored import StoreLimits
from gateway.stores.tables import (
    AUDIT,
    ENTRIES,
    IDEMPOTENCY,
    KEYS,
    POLICIES,
    SECRETS,
    TABLES,
    TOKENS,
    VALUES,
    Table,
    find_table,
)  # fmt: skip
from gateway.stores.transaction import ENDING_BYTES, Writing, encode, measure, own, put_record, remove, replace

_FILE_CHANGES: Final = (c.PutFile, c.DeleteFile, c.ChangeMode)
_TRIMMED_AT_ONCE: Final = 1000


def apply(tenant: str, changes: Sequence[c.Change], limits: StoreLimits) -> Steps[None]:
    if len(changes) > limits.changes_max:
        raise TooLarge("TOO_MANY_CHANGES", f"{len(changes)} changes at once; {limits.changes_max} are allowed")
    writing = Writing(tenant, limits)
    yield from writing.load(named for change in changes if (named := getattr(change, "session_id", "")))
    if writing.found is None and not (changes and isinstance(changes[0], c.PutTenant)):
        raise missing("tenant", tenant)
    if any(isinstance(change, c.DeleteTenant) for change in changes):
        if len(changes) > 1:
            raise BadRequest("INVALID_ARGUMENT", "deleting a tenant must stand alone in its write")
        yield from _delete_tenant(tenant)
        return
    yield from _load_files(writing, changes)
    for change in changes:
        yield from _APPLY[type(change)](writing, change)
    yield from session_mutations.check_heads(writing)
    yield from writing.flush_trees()
    yield from writing.flush()


def _load_files(writing: Writing, changes: Sequence[c.Change]) -> Steps[None]:
    named: dict[str, list[str]] = {}
    for change in changes:
        if isinstance(change, _FILE_CHANGES):
            named.setdefault(change.session_id, []).append(change.path)
    for session_id, paths in named.items():
        yield from writing.tree(session_id).load(paths)


def _put_tenant(writing: Writing, change: c.PutTenant) -> Steps[None]:
    record = change.tenant
    if record.id != writing.tenant or not record.id:
        raise BadRequest("INVALID_ARGUMENT", "a tenant is written under its own id")
    old = writing.found
    check_expected(None if old is None else old.updated_at, change.expect, "tenant", record.id, exists=Conflict)
    head = writing.found = old or Head(record.id, 0, b"")
    head.updated_at, head.body = record.updated_at, encode(record, writing.limits)
    yield Tell("tenant", record.id)


def _delete_tenant(tenant: str) -> Steps[None]:
    """THREAT[TM-STORE-REMAINS]: every table there is, so that none can be forgotten."""
    for table in TABLES:
        yield Clear(table, (tenant,), table.orders[0] if table is TOKENS else None)
    yield Tell("tenant", tenant)


def _put_file(writing: Writing, change: c.PutFile) -> Steps[None]:
    yield from writing.session(change.session_id)
    yield from writing.tree(change.session_id).put(change)


def _put_value(writing: Writing, change: c.PutValue) -> Steps[None]:
    session = yield from writing.session(change.session_id)
    if len(change.value) > writing.limits.value_bytes:
        raise TooLarge("VALUE_TOO_LARGE", f"a value has {len(change.value)} bytes; {writing.limits.value_bytes} are allowed")
    prefix = (writing.tenant, change.session_id)
    rows = yield Get(VALUES, prefix, [change.key])
    old = rows[0] if rows else None
    check_expected(c.digest_of(old[3]) if old else None, change.expect, "value", change.key)
    growth = len(change.value) - (len(old[3]) if old else 0)
    writing.charge(growth, values=int(old is None), session=session)
    yield Put(VALUES, [(*prefix, change.key, change.value, old[4] if old else change.at, change.at)])


def _delete_value(writing: Writing, change: c.DeleteValue) -> Steps[None]:
    session = yield from writing.find_session(change.session_id)
    prefix = (writing.tenant, change.session_id)
    rows = yield Get(VALUES, prefix, [change.key])
    check_expected(c.digest_of(rows[0][3]) if rows else None, change.expect, "value", change.key)
    yield from remove(writing, VALUES, prefix, change.key, session=session)


def _put_secret(writing: Writing, change: c.PutSecret) -> Steps[None]:
    if change.session_id:
        yield from writing.session(change.session_id)
    if len(change.sealed) > writing.limits.value_bytes:
        raise TooLarge("SECRET_TOO_LARGE", f"a secret has more than {writing.limits.value_bytes} bytes")
    prefix = (writing.tenant, change.session_id)
    rows = yield Get(SECRETS, prefix, [change.name])
    check_expected(c.digest_of(rows[0][3]) if rows else None, change.expect, "secret", change.name)
    created_at = rows[0][4] if rows else change.at
    yield from replace(writing, SECRETS, rows, (*prefix, change.name, change.sealed, created_at, change.at))


def _put_key(writing: Writing, change: c.PutKey) -> Steps[None]:
    rows = yield Get(KEYS, (writing.tenant,), [change.id])
    check_expected(c.digest_of(rows[0][2]) if rows else None, change.expect, "key", change.id, exists=Conflict)
    row = (writing.tenant, change.id, change.wrapped, rows[0][3] if rows else change.at)
    yield from replace(writing, KEYS, rows, row)


def _put_run(writing: Writing, change: c.PutRun) -> Steps[None]:
    own(writing, change.run.tenant)
    yield from writing.session(change.run.session_id)
    yield from put_record(writing, change.run, ending_bytes=ENDING_BYTES if change.run.state == "finished" else 0)


def _put_policy(writing: Writing, change: c.PutPolicy) -> Steps[None]:
    policy = change.policy
    own(writing, policy.tenant)
    rows = yield Get(POLICIES, (writing.tenant, policy.name), [policy.version])
    check_expected(rows[0][3] if rows else None, change.expect, "policy", f"{policy.name} {policy.version}", exists=Conflict)
    if policy.state != "retired":
        before = yield Scan(POLICIES, (writing.tenant, policy.state, policy.name), POLICIES.orders[1])
        for row in before:
            if row[2] != policy.version:
                retired = msgspec.structs.replace(POLICIES.decode(row), state="retired")
                yield from replace(writing, POLICIES, [row], (*row[:4], "retired", encode(retired, writing.limits)))
    yield from replace(writing, POLICIES, rows, POLICIES.make_row(policy, encode(policy, writing.limits)))
    yield Tell("policy", writing.tenant)


def _put_token(writing: Writing, change: c.PutToken) -> Steps[None]:
    stored = change.token
    own(writing, stored.token.tenant)
    holders = yield Get(TOKENS, (), [stored.digest])
    if holders and (holders[0][1], holders[0][2]) != (writing.tenant, stored.token.id):
        raise Conflict("TOKEN_EXISTS", "this token belongs to another tenant or has another id")
    revoked = stored.token.revoked_at is not None
    for row in (yield Scan(TOKENS, (writing.tenant, stored.token.id), TOKENS.orders[0])):
        if TOKENS.decode(row).token.revoked_at is not None and not revoked:
            raise Conflict("TOKEN_REVOKED", f"token was revoked: {stored.token.id}", "make a new one")
        yield from remove(writing, TOKENS, (), row[0])
    row = TOKENS.make_row(stored, encode(stored, writing.limits))
    yield from replace(writing, TOKENS, [], row, forgiven_bytes=ENDING_BYTES if revoked else 0)
    if revoked:
        yield Tell("token", writing.tenant)


def _put_idempotency(writing: Writing, change: c.PutIdempotency) -> Steps[None]:
    rows = yield Get(IDEMPOTENCY, (writing.tenant,), [change.key])
    completes = rows and change.response is not None and rows[0][4] is None and rows[0][2] == change.request_digest
    if rows and not completes:
        raise Conflict("IDEMPOTENCY_KEY_USED", f"idempotency key was used already: {change.key}")
    at = rows[0][3] if rows else change.at
    yield from replace(writing, IDEMPOTENCY, rows, (writing.tenant, change.key, change.request_digest, at, change.response))


def _append_audit(writing: Writing, change: c.AppendAudit) -> Steps[None]:
    writing.chain(change)
    yield from ()


def _trim_audit(writing: Writing, change: c.TrimAudit) -> Steps[None]:
    yield from writing.flush_audit()
    rows = yield Get(AUDIT, (writing.tenant,), [change.through])
    if rows:
        while gone := (yield Scan(AUDIT, (writing.tenant,), until=(change.through + 1,), limit=_TRIMMED_AT_ONCE)):
            writing.charge(-sum(map(measure, gone)))
            yield Clear(AUDIT, (writing.tenant,), before=gone[-1][1] + 1)
        facts = {"through": change.through, "digest": rows[0][4]}
        writing.chain(c.AppendAudit(at=change.at, kind=CHECKPOINT, actor="hatchway", data=facts))


def _remove(writing: Writing, table: Table[Any], *key: str | int) -> Steps[None]:
    *lead, last = (writing.tenant, *key)
    yield from remove(writing, table, tuple(lead), last)


_APPLY: Final[dict[type[c.Change], Callable[[Writing, Any], Steps[None]]]] = {
    c.PutRecord: lambda writing, change: put_record(writing, change.record, change.expect),
    c.DeleteRecord: lambda writing, change: _remove(writing, find_table(change.kind), *change.key),
    c.PutTenant: _put_tenant,
    c.PutSession: session_mutations.put_session,
    c.DeleteSession: session_mutations.delete_session,
    c.PutFile: _put_file,
    c.DeleteFile: lambda writing, change: writing.tree(change.session_id).delete(change),
    c.ChangeMode: lambda writing, change: writing.tree(change.session_id).change_mode(change),
    c.PutValue: _put_value,
    c.DeleteValue: _delete_value,
    c.PutSecret: _put_secret,
    c.DeleteSecret: lambda writing, change: _remove(writing, SECRETS, change.session_id, change.name),
    c.PutKey: _put_key,
    c.PutRun: _put_run,
    c.PutSnapshot: session_mutations.put_snapshot,
    c.DeleteSnapshot: session_mutations.delete_snapshot,
    c.PutApproval: approval_mutations.put_approval,
    c.UseApproval: approval_mutations.use_approval,
    c.ExpireApprovals: approval_mutations.expire_approvals,
    c.PutPolicy: _put_policy,
    c.PutEntry: lambda writing, change: put_record(writing, change.entry, change.expect),
    c.DeleteEntry: lambda writing, change: _remove(writing, ENTRIES, change.kind, change.id),
    c.PutToken: _put_token,
    c.PutIdempotency: _put_idempotency,
    c.DeleteIdempotency: lambda writing, change: _remove(writing, IDEMPOTENCY, change.key),
    c.AppendAudit: _append_audit,
    c.TrimAudit: _trim_audit,
}
