"""The store: everything the gateway remembers.

    await store.write(tenant, [PutFile(...), PutRun(run=...), AppendAudit(...)])     all or none, durable when it returns
    await store.file(tenant, "s1", "/a.txt")                                         reads name the tenant, always

Rules: every read and write is of one tenant; the exceptions are `token` (found by its digest, before the caller is known) and
`tenants` (for admins). Another tenant's object is absent. A write for an unknown tenant is NotFound (TENANT_NOT_FOUND); of a
file, value, run or snapshot of an unknown session, NotFound (SESSION_NOT_FOUND). Lists are pages: `after` is the `next` of the
page before, opaque; `limit` is capped at PAGE_MAX. An engine gives `_read` and `_write`, which run steps in a snapshot and in a
transaction. THREAT[TM-STORE-TEXT]: text and numbers are checked here before any engine sees them, so that what one engine
refuses (a NUL, half a surrogate, a number of 65 bits) all refuse, with the same error.

Errors: Conflict and PreconditionFailed (an expectation did not hold), TooMany and TooLarge with QUOTA_EXCEEDED, StoreFailed
(STORE_FULL: no space; STORE_IO: the disk or database failed). After any of them nothing of the write is stored, and the store
goes on serving without a restart.

Does not know: HTTP, policies, what files mean to guests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from gateway.errors import BadRequest
from gateway.records import (
    Approval,
    AuditRecord,
    KeyInfo,
    RegistryEntry,
    Run,
    SecretInfo,
    Session,
    Snapshot,
    StoredPolicy,
    StoredToken,
    Tenant,
    Token,
)
from gateway.stores import queries
from gateway.stores.changes import Change
from gateway.stores.mutations import apply
from gateway.stores.queries import one, page
from gateway.stores.row_operations import Clear, Operation, Put, Row, Rows, Scan, Steps
from gateway.stores.stored import Idempotency, Page, StoredFile, StoreLimits, Usage, WrappedKey
from gateway.stores.tables import (
    APPROVALS,
    ENTRIES,
    FILES,
    IDEMPOTENCY,
    POLICIES,
    RUNS,
    SECRETS,
    SESSIONS,
    SNAPSHOTS,
    TENANTS,
    TOKENS,
    VALUES,
)  # fmt: skip

T = TypeVar("T")
_TEXT_CHARS_MAX = 8192


def checked(steps: Steps[T]) -> Steps[T]:
    """The same steps, stopped before an operation whose text or numbers cannot be stored everywhere."""
    rows: Rows = []
    try:
        operation = next(steps)
        while True:
            _check(operation)
            rows = yield operation
            operation = steps.send(rows)
    except StopIteration as stop:
        answer: T = stop.value
        return answer


def _check(operation: Operation) -> None:
    if isinstance(operation, Put):
        for row in operation.rows:
            _check_row(row)
        return
    _check_row(operation.prefix)
    if isinstance(operation, Scan):
        _check_row((*(operation.after or ()), *(operation.until or ())))
    elif isinstance(operation, Clear):
        _check_row((operation.before,))
    else:
        _check_row(operation.values)


def _check_row(row: Row | Sequence[Any]) -> None:
    for value in row:
        if isinstance(value, str):
            if "\0" in value or len(value) > _TEXT_CHARS_MAX or not (value.isascii() or _encodable(value)):
                raise BadRequest("INVALID_ARGUMENT", f"this text cannot be stored: {value[:100]!a}")
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise BadRequest("INVALID_ARGUMENT", "this number is too large to be stored")


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class Store(ABC):
    """Everything the gateway remembers. An engine adds `_read` and `_write`."""

    limits: StoreLimits
    _observer: Callable[[str, Sequence[Change]], None] | None = None

    @abstractmethod
    async def _read(self, steps: Steps[T], *, several: bool) -> T:
        """Run steps; with `several` of them, in one snapshot."""

    @abstractmethod
    async def _write(self, tenant: str, make_steps: Callable[[], Steps[None]]) -> None:
        """Run steps in one transaction in which nobody else writes to this tenant. They are made anew for another attempt."""

    @abstractmethod
    async def compact(self) -> None:
        """Give freed space back and make deleted bytes unreadable, as far as the engine can."""

    @abstractmethod
    async def close(self) -> None: ...

    def observe(self, observer: Callable[[str, Sequence[Change]], None]) -> None:
        """`observer` is told of every write once it is durable."""
        self._observer = observer

    async def write(self, tenant: str, changes: Sequence[Change]) -> None:
        if changes:
            await self._write(tenant, lambda: checked(apply(tenant, changes, self.limits)))
            if self._observer is not None:
                self._observer(tenant, changes)

    async def _ask(self, steps: Steps[T], *, several: bool = False) -> T:
        return await self._read(checked(steps), several=several)

    async def tenant(self, tenant: str) -> Tenant | None:
        return await self._ask(one(TENANTS, (), tenant, queries.to_tenant))

    async def tenants(self, *, after: str | None = None, limit: int = 100) -> Page[Tenant]:
        return await self._ask(page(TENANTS, (), queries.to_tenant, after=after, limit=limit))

    async def usage(self, tenant: str, session_id: str | None = None) -> Usage:
        return await self._ask(queries.usage(tenant, session_id))

    async def token(self, digest: str) -> Token | None:
        return await self._ask(queries.token(digest))

    async def tokens(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[StoredToken]:
        return await self._ask(page(TOKENS, (tenant,), queries.to_stored_token, order=TOKENS.orders[0], after=after, limit=limit))

    async def session(self, tenant: str, session_id: str) -> Session | None:
        return await self._ask(one(SESSIONS, (tenant,), session_id, queries.to_session))

    async def sessions(self, tenant: str, *, after: str | None = None, limit: int = 100, singles: bool = True) -> Page[Session]:
        """By id; without `singles`, those of single runs are left out."""
        if not singles:
            return await self._ask(queries.lasting_sessions(tenant, after, limit), several=True)
        return await self._ask(page(SESSIONS, (tenant,), queries.to_session, after=after, limit=limit))

    async def singles(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[Session]:
        """Those of single runs, the oldest first."""
        return await self._ask(queries.single_sessions(tenant, after, limit))

    async def file(self, tenant: str, session_id: str, path: str) -> StoredFile | None:
        return await self._ask(one(FILES, (tenant, session_id), path, queries.to_file))

    async def content(self, tenant: str, session_id: str, path: str) -> tuple[StoredFile, bytes] | None:
        return await self._ask(queries.content(tenant, session_id, path), several=True)

    async def children(
        self, tenant: str, session_id: str, path: str, *, after: str | None = None, limit: int = -1
    ) -> list[StoredFile]:
        """Direct children, sorted by path; with `after`, a path, those that come after it; at most `limit`, if it is not -1."""
        return await self._ask(queries.children(tenant, session_id, path, after, limit))

    async def tree(self, tenant: str, session_id: str) -> list[StoredFile]:
        """Everything, sorted by path; a session's quota bounds it."""
        return await self._ask(queries.tree(tenant, session_id))

    async def blobs(self, tenant: str, digests: Iterable[str]) -> Mapping[str, bytes]:
        """Those that are there."""
        return await self._ask(queries.blobs(tenant, sorted(set(digests))))

    async def value(self, tenant: str, session_id: str, key: str) -> bytes | None:
        return await self._ask(one(VALUES, (tenant, session_id), key, lambda row: bytes(row[3])))

    async def values(self, tenant: str, session_id: str, *, after: str | None = None, limit: int = 100) -> Page[KeyInfo]:
        return await self._ask(page(VALUES, (tenant, session_id), queries.to_key, after=after, limit=limit))

    async def secret(self, tenant: str, name: str, session_id: str = "") -> bytes | None:
        """Sealed."""
        return await self._ask(one(SECRETS, (tenant, session_id), name, lambda row: bytes(row[3])))

    async def secrets(self, tenant: str, session_id: str = "", *, after: str | None = None, limit: int = 100) -> Page[SecretInfo]:
        return await self._ask(page(SECRETS, (tenant, session_id), queries.to_secret, after=after, limit=limit))

    async def keys(self, tenant: str) -> list[WrappedKey]:
        """Oldest first."""
        return await self._ask(queries.keys(tenant))

    async def run(self, tenant: str, run_id: str) -> Run | None:
        return await self._ask(one(RUNS, (tenant,), run_id, queries.to_run))

    async def runs(
        self,
        tenant: str,
        session_id: str | None = None,
        *,
        after: str | None = None,
        limit: int = 100,
        oldest_first: bool = False,
    ) -> Page[Run]:
        """Newest first, unless it is to be the other way round."""
        prefix, order = _by_time(tenant, session_id)
        steps = page(RUNS, prefix, queries.to_run, order=order, after=after, limit=limit, reverse=not oldest_first)
        return await self._ask(steps)

    async def unfinished(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[Run]:
        """Runs that are queued, under way or waiting, by id."""
        return await self._ask(page(RUNS, (tenant, 1), queries.to_run, order=RUNS.orders[2], after=after, limit=limit))

    async def snapshot(self, tenant: str, snapshot_id: str) -> Snapshot | None:
        return await self._ask(one(SNAPSHOTS, (tenant,), snapshot_id, queries.to_snapshot))

    async def snapshots(
        self, tenant: str, session_id: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> Page[Snapshot]:
        """Newest first."""
        prefix, order = _by_time(tenant, session_id)
        steps = page(SNAPSHOTS, prefix, queries.to_snapshot, order=order, after=after, limit=limit, reverse=True)
        return await self._ask(steps)

    async def kept_snapshots(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[Snapshot]:
        """Those that somebody saved, and templates; newest first."""
        order = SNAPSHOTS.orders[3]
        steps = page(SNAPSHOTS, (tenant, 1), queries.to_snapshot, order=order, after=after, limit=limit, reverse=True)
        return await self._ask(steps)

    async def template(self, tenant: str, label: str) -> Snapshot | None:
        """The newest template with this label."""
        return await self._ask(queries.template(tenant, label))

    async def packs(self, tenant: str, snapshot_id: str) -> list[bytes]:
        """The sealed packs it takes to build the snapshot, the first one whole, each next a difference; [] if there is none."""
        return await self._ask(queries.packs(tenant, snapshot_id), several=True)

    async def approval(self, tenant: str, approval_id: str) -> Approval | None:
        return await self._ask(one(APPROVALS, (tenant,), approval_id, queries.to_approval))

    async def approvals(
        self, tenant: str, *, pending: bool | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Approval]:
        """Pending ones first, oldest first in each group."""
        prefix = (tenant,) if pending is None else (tenant, int(not pending))
        return await self._ask(page(APPROVALS, prefix, queries.to_approval, order=APPROVALS.orders[0], after=after, limit=limit))

    async def approvals_by_binding(self, tenant: str, binding: str) -> list[Approval]:
        """The newest hundred with this binding, newest first."""
        return await self._ask(queries.approvals_by_binding(tenant, binding))

    async def policy(self, tenant: str, digest: str) -> StoredPolicy | None:
        """The newest with this digest."""
        return await self._ask(queries.policy(tenant, digest))

    async def policies(
        self, tenant: str, name: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> Page[StoredPolicy]:
        """By name, newest version first within a name."""
        prefix = (tenant,) if name is None else (tenant, name)
        return await self._ask(page(POLICIES, prefix, queries.to_policy, after=after, limit=limit, reverse=True))

    async def policies_in(self, tenant: str, state: str) -> list[StoredPolicy]:
        """All in one state: `active` ones decide. At most PAGE_MAX."""
        return await self._ask(queries.policies_in(tenant, state))

    async def entry(self, tenant: str, kind: str, entry_id: str) -> RegistryEntry | None:
        return await self._ask(one(ENTRIES, (tenant, kind), entry_id, queries.to_entry))

    async def entries(self, tenant: str, kind: str, *, after: str | None = None, limit: int = 100) -> Page[RegistryEntry]:
        return await self._ask(page(ENTRIES, (tenant, kind), queries.to_entry, after=after, limit=limit))

    async def idempotency(self, tenant: str, key: str) -> Idempotency | None:
        return await self._ask(one(IDEMPOTENCY, (tenant,), key, queries.to_idempotency))

    async def idempotencies(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[Idempotency]:
        """By the time they were claimed, oldest first."""
        order = IDEMPOTENCY.orders[0]
        return await self._ask(page(IDEMPOTENCY, (tenant,), queries.to_idempotency, order=order, after=after, limit=limit))

    async def audit(self, tenant: str, *, after: int = 0, limit: int = 100) -> list[AuditRecord]:
        """Records with a sequence greater than `after`, in order."""
        return await self._ask(queries.audit_records(tenant, after, limit))

    async def audit_head(self, tenant: str) -> tuple[int, str]:
        """The newest record's sequence and digest; (0, "") before the first."""
        return await self._ask(queries.audit_head(tenant))


def _by_time(tenant: str, session_id: str | None) -> tuple[Row, tuple[str, ...]]:
    """Runs and snapshots have the same two orders."""
    return ((tenant,), RUNS.orders[0]) if session_id is None else ((tenant, session_id), RUNS.orders[1])
