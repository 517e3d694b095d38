"""Applying changes: what each change means, for every engine.

Theory: `apply` is a generator of operations (see `operations`) that an engine runs inside one transaction in which nobody else
writes to this tenant; so it may read, decide and write without races. Whatever it raises undoes the whole write.

Rules: a change is a few lines here, found by its type in one table. Everything stored but the audit log is charged to its tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from gateway.errors import BadRequest, Conflict, PreconditionFailed, TooLarge, missing
from gateway.records import StoredPolicy, StoredToken
from gateway.stores import approval_mutations, session_mutations
from gateway.stores import changes as c
from gateway.stores.audit_chain import CHECKPOINT
from gateway.stores.ledger import Head
from gateway.stores.row_operations import Clear, Get, Put, Scan, Steps
from gateway.stores.stored import StoreLimits
from gateway.stores.tables import AUDIT, ENTRIES, IDEMPOTENCY, KEYS, POLICIES, RUNS, SECRETS, TABLES, TOKENS, VALUES
from gateway.stores.transaction import ENDING_BYTES, Writing, encode, expect_record, own, remove, replace

_FILE_CHANGES: Final = (c.PutFile, c.DeleteFile)
_decode_policy = msgspec.json.Decoder(StoredPolicy).decode
_decode_token = msgspec.json.Decoder(StoredToken).decode


def apply(tenant: str, changes: Sequence[c.Change], limits: StoreLimits) -> Steps[None]:
    if len(changes) > limits.changes_max:
        raise TooLarge("TOO_MANY_CHANGES", f"{len(changes)} changes at once; {limits.changes_max} are allowed")
    writing = Writing(tenant, limits)
    ledger = writing.ledger
    yield from ledger.load(named for change in changes if (named := getattr(change, "session_id", "")))
    if not ledger.exists and not (changes and isinstance(changes[0], c.PutTenant)):
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
    yield from ledger.flush()


def _load_files(writing: Writing, changes: Sequence[c.Change]) -> Steps[None]:
    named: dict[str, list[str]] = {}
    for change in changes:
        if isinstance(change, _FILE_CHANGES):
            named.setdefault(change.session_id, []).append(change.path)
    for session_id, paths in named.items():
        yield from writing.tree(session_id).load(paths)


def _put_tenant(writing: Writing, change: c.PutTenant) -> Steps[None]:
    record, ledger = change.tenant, writing.ledger
    if record.id != writing.tenant or not record.id:
        raise BadRequest("INVALID_ARGUMENT", "a tenant is written under its own id")
    expect_record(ledger.head.updated_at if ledger.exists else None, change.expect, "tenant", record.id)
    if ledger.exists:
        ledger.head.updated_at, ledger.head.body = record.updated_at, encode(record, writing.limits)
    else:
        ledger.head = Head(record.id, record.updated_at, encode(record, writing.limits))
    yield from ()


def _delete_tenant(tenant: str) -> Steps[None]:
    """THREAT[TM-STORE-REMAINS]: every table there is, so that none can be forgotten."""
    for table in TABLES:
        yield Clear(table, (tenant,), table.orders[0] if table is TOKENS else None)


def _put_file(writing: Writing, change: c.PutFile) -> Steps[None]:
    yield from writing.ledger.session(change.session_id)
    yield from writing.tree(change.session_id).put(change)


def _delete_file(writing: Writing, change: c.DeleteFile) -> Steps[None]:
    yield from writing.tree(change.session_id).delete(change)


def _expect_bytes(kind: str, name: str, old: bytes | None, expect: str | None) -> None:
    if expect == c.ABSENT:
        if old is not None:
            raise PreconditionFailed(f"{kind.upper()}_EXISTS", f"{kind} exists already: {name}")
    elif expect is not None and (old is None or c.digest_of(old) != expect):
        raise PreconditionFailed(f"{kind.upper()}_CHANGED", f"{kind} was changed by somebody else: {name}", "read it again")


def _put_value(writing: Writing, change: c.PutValue) -> Steps[None]:
    session = yield from writing.ledger.session(change.session_id)
    if len(change.value) > writing.limits.value_bytes:
        raise TooLarge("VALUE_TOO_LARGE", f"a value has {len(change.value)} bytes; {writing.limits.value_bytes} are allowed")
    prefix = (writing.tenant, change.session_id)
    rows = yield Get(VALUES, prefix, [change.key])
    old = rows[0] if rows else None
    _expect_bytes("value", change.key, old[3] if old else None, change.expect)
    growth = len(change.value) - (len(old[3]) if old else 0)
    writing.ledger.charge(growth, values=int(old is None), session=session)
    yield Put(VALUES, [(*prefix, change.key, change.value, old[4] if old else change.at, change.at)])


def _delete_value(writing: Writing, change: c.DeleteValue) -> Steps[None]:
    session = yield from writing.ledger.find_session(change.session_id)
    yield from remove(writing.ledger, VALUES, (writing.tenant, change.session_id), change.key, session=session)


def _put_secret(writing: Writing, change: c.PutSecret) -> Steps[None]:
    if change.session_id:
        yield from writing.ledger.session(change.session_id)
    if len(change.sealed) > writing.limits.value_bytes:
        raise TooLarge("SECRET_TOO_LARGE", f"a secret has more than {writing.limits.value_bytes} bytes")
    prefix = (writing.tenant, change.session_id)
    rows = yield Get(SECRETS, prefix, [change.name])
    _expect_bytes("secret", change.name, rows[0][3] if rows else None, change.expect)
    created_at = rows[0][4] if rows else change.at
    yield from replace(writing.ledger, SECRETS, rows, (*prefix, change.name, change.sealed, created_at, change.at))


def _delete_secret(writing: Writing, change: c.DeleteSecret) -> Steps[None]:
    yield from remove(writing.ledger, SECRETS, (writing.tenant, change.session_id), change.name)


def _put_key(writing: Writing, change: c.PutKey) -> Steps[None]:
    rows = yield Get(KEYS, (writing.tenant,), [change.id])
    if change.expect == c.ABSENT and rows:
        raise Conflict("KEY_EXISTS", f"key exists already: {change.id}")
    row = (writing.tenant, change.id, change.wrapped, rows[0][3] if rows else change.at)
    yield from replace(writing.ledger, KEYS, rows, row)


def _put_run(writing: Writing, change: c.PutRun) -> Steps[None]:
    run = change.run
    own(writing, run.tenant)
    yield from writing.ledger.session(run.session_id)
    rows = yield Get(RUNS, (writing.tenant,), [run.id])
    unfinished = int(run.state != "finished")
    row = (writing.tenant, run.id, run.session_id, run.created_at, encode(run, writing.limits), unfinished)
    ends = bool(rows) and not unfinished
    yield from replace(writing.ledger, RUNS, rows, row, forgiven_bytes=ENDING_BYTES if ends else 0)


def _delete_run(writing: Writing, change: c.DeleteRun) -> Steps[None]:
    yield from remove(writing.ledger, RUNS, (writing.tenant,), change.id)


def _put_policy(writing: Writing, change: c.PutPolicy) -> Steps[None]:
    policy = change.policy
    own(writing, policy.tenant)
    rows = yield Get(POLICIES, (writing.tenant, policy.name), [policy.version])
    if rows and change.expect == c.ABSENT:
        raise Conflict("POLICY_EXISTS", f"policy exists already: {policy.name} {policy.version}")
    if policy.state != "retired":
        before = yield Scan(POLICIES, (writing.tenant, policy.state, policy.name), POLICIES.orders[1])
        for row in before:
            if row[2] != policy.version:
                retired = msgspec.structs.replace(_decode_policy(row[5]), state="retired")
                yield from replace(writing.ledger, POLICIES, [row], (*row[:4], "retired", encode(retired, writing.limits)))
    row = (writing.tenant, policy.name, policy.version, policy.digest, policy.state, encode(policy, writing.limits))
    yield from replace(writing.ledger, POLICIES, rows, row)


def _put_entry(writing: Writing, change: c.PutEntry) -> Steps[None]:
    entry = change.entry
    own(writing, entry.tenant)
    rows = yield Get(ENTRIES, (writing.tenant, entry.kind), [entry.id])
    expect_record(rows[0][3] if rows else None, change.expect, "entry", entry.id)
    row = (writing.tenant, entry.kind, entry.id, entry.updated_at, encode(entry, writing.limits))
    yield from replace(writing.ledger, ENTRIES, rows, row)


def _delete_entry(writing: Writing, change: c.DeleteEntry) -> Steps[None]:
    yield from remove(writing.ledger, ENTRIES, (writing.tenant, change.kind), change.id)


def _put_token(writing: Writing, change: c.PutToken) -> Steps[None]:
    stored = change.token
    own(writing, stored.token.tenant)
    holders = yield Get(TOKENS, (), [stored.digest])
    if holders and (holders[0][1], holders[0][2]) != (writing.tenant, stored.token.id):
        raise Conflict("TOKEN_EXISTS", "this token belongs to somebody else")
    revoked = stored.token.revoked_at is not None
    for row in (yield Scan(TOKENS, (writing.tenant, stored.token.id), TOKENS.orders[0])):
        if _decode_token(row[3]).token.revoked_at is not None and not revoked:
            raise Conflict("TOKEN_REVOKED", f"token was revoked: {stored.token.id}", "make a new one")
        yield from remove(writing.ledger, TOKENS, (), row[0])
    row = (stored.digest, writing.tenant, stored.token.id, encode(stored, writing.limits))
    yield from replace(writing.ledger, TOKENS, [], row, forgiven_bytes=ENDING_BYTES if revoked else 0)


def _put_idempotency(writing: Writing, change: c.PutIdempotency) -> Steps[None]:
    rows = yield Get(IDEMPOTENCY, (writing.tenant,), [change.key])
    completes = rows and change.response is not None and rows[0][4] is None and rows[0][2] == change.request_digest
    if rows and not completes:
        raise Conflict("IDEMPOTENCY_KEY_USED", f"idempotency key was used already: {change.key}")
    at = rows[0][3] if rows else change.at
    yield from replace(
        writing.ledger, IDEMPOTENCY, rows, (writing.tenant, change.key, change.request_digest, at, change.response)
    )


def _delete_idempotency(writing: Writing, change: c.DeleteIdempotency) -> Steps[None]:
    yield from remove(writing.ledger, IDEMPOTENCY, (writing.tenant,), change.key)


def _append_audit(writing: Writing, change: c.AppendAudit) -> Steps[None]:
    writing.ledger.chain(change)
    yield from ()


def _trim_audit(writing: Writing, change: c.TrimAudit) -> Steps[None]:
    yield from writing.ledger.flush_audit()
    rows = yield Get(AUDIT, (writing.tenant,), [change.through])
    if rows:
        yield Clear(AUDIT, (writing.tenant,), before=change.through + 1)
        facts = {"through": change.through, "digest": rows[0][4]}
        writing.ledger.chain(c.AppendAudit(at=change.at, kind=CHECKPOINT, actor="hatchway", data=facts))


_APPLY: Final[dict[type[c.Change], Callable[[Writing, Any], Steps[None]]]] = {
    c.PutTenant: _put_tenant,
    c.PutSession: session_mutations.put_session,
    c.DeleteSession: session_mutations.delete_session,
    c.PutFile: _put_file,
    c.DeleteFile: _delete_file,
    c.PutValue: _put_value,
    c.DeleteValue: _delete_value,
    c.PutSecret: _put_secret,
    c.DeleteSecret: _delete_secret,
    c.PutKey: _put_key,
    c.PutRun: _put_run,
    c.DeleteRun: _delete_run,
    c.PutSnapshot: session_mutations.put_snapshot,
    c.DeleteSnapshot: session_mutations.delete_snapshot,
    c.PutApproval: approval_mutations.put_approval,
    c.UseApproval: approval_mutations.use_approval,
    c.ExpireApprovals: approval_mutations.expire_approvals,
    c.DeleteApproval: approval_mutations.delete_approval,
    c.PutPolicy: _put_policy,
    c.PutEntry: _put_entry,
    c.DeleteEntry: _delete_entry,
    c.PutToken: _put_token,
    c.PutIdempotency: _put_idempotency,
    c.DeleteIdempotency: _delete_idempotency,
    c.AppendAudit: _append_audit,
    c.TrimAudit: _trim_audit,
}
