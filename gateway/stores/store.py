"""The store: everything the gateway remembers.

    await store.write(tenant, [PutFile(...), PutRun(run=...), AppendAudit(...)])     all or none, durable when it returns
    await store.file(tenant, "s1", "/a.txt")                                         reads name the tenant, always

Rules: every read and write is of one tenant; the exceptions are `token` (found by its digest, before the caller is known) and
`tenants` (for admins). Another tenant's object is absent. A write for an unknown tenant is NotFound (TENANT_NOT_FOUND); of a
file, value, run or snapshot of an unknown session, NotFound (SESSION_NOT_FOUND). Lists are pages: `after` is the `next` of the
page before, opaque; `limit` is capped at PAGE_MAX.

Errors: Conflict and PreconditionFailed (an expectation did not hold), TooMany and TooLarge with QUOTA_EXCEEDED, StoreFailed
(STORE_FULL: no space; STORE_IO: the disk or database failed). After any of them nothing of the write is stored, and the store
goes on serving without a restart.
"""

from __future__ import annotations

import contextlib
import functools
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, Unpack

from gateway.errors import missing
from gateway.ids import ONCE, PAST_ONCE, is_single
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
from gateway.shielding import run_to_completion
from gateway.stores.changes import Change, is_deletion, list_contents
from gateway.stores.file_permissions import ancestors_of, require_way
from gateway.stores.mutations import apply
from gateway.stores.pages import find_bytes, find_one, read_lasting_sessions, read_list, read_page
from gateway.stores.row_operations import Get, Rows, Steps
from gateway.stores.stored import PAGE_MAX, Idempotency, Page, StoredFile, StoreLimits, Usage, Window, WrappedKey
from gateway.stores.tables import (
    APPROVALS,
    AUDIT,
    BLOBS,
    FILES,
    IDEMPOTENCY,
    KEYS,
    PACKS,
    POLICIES,
    RUNS,
    SECRETS,
    SESSIONS,
    SNAPSHOTS,
    TENANTS,
    TOKENS,
    VALUES,
    Row,
    Table,
    find_table,
)  # fmt: skip

T = TypeVar("T")
R = TypeVar("R")
Carrier = Callable[[str, Sequence[Change]], Coroutine[Any, Any, None] | None]
_DEPTH_MAX: Final = 1000


class Store(ABC):
    limits: StoreLimits
    _observer: Callable[[str, Sequence[Change]], None] | None = None
    _carrier: Carrier | None = None

    @abstractmethod
    async def _read(self, steps: Steps[T], *, several: bool = False) -> T:
        """Run steps; with `several` of them, in one snapshot."""

    async def _read_contents(self, make_steps: Callable[[], Steps[T]]) -> T:
        """Steps that read contents, in one snapshot. Another attempt makes them again."""
        return await self._read(make_steps(), several=True)

    @abstractmethod
    async def _write(
        self, tenant: str, make_steps: Callable[[], Steps[None]], *, deletes: bool, contents: Sequence[bytes]
    ) -> None:
        """Run steps in one transaction in which no other write to this tenant happens. Another attempt makes them again. What
        only `deletes` is written on a full disk too, as far as the engine can. `contents` will be in rows, as these objects."""

    @abstractmethod
    async def compact(self) -> None:
        """Give freed space back and make deleted bytes unreadable, as far as the engine can."""

    @abstractmethod
    async def close(self) -> None: ...

    @contextlib.asynccontextmanager
    async def exclude_others(self, what: str) -> AsyncIterator[None]:
        """No other gateway of this store does the same meanwhile. An engine with one gateway has none to wait for."""
        yield

    def observe(self, observer: Callable[[str, Sequence[Change]], None]) -> None:
        """`observer` is told of every write once it is durable."""
        self._observer = observer

    def carry(self, carrier: Carrier) -> None:
        """`carrier` is asked before every write; what it returns makes the write (`commit`), together with what waits for one."""
        self._carrier = carrier

    async def write(self, tenant: str, changes: Sequence[Change]) -> None:
        carrying = self._carrier(tenant, changes) if changes and self._carrier is not None else None
        await (self.commit(tenant, changes) if carrying is None else run_to_completion(carrying))

    async def commit(self, tenant: str, changes: Sequence[Change]) -> None:
        """As `write`, and nothing else with it."""
        if changes:
            make_steps = functools.partial(apply, tenant, changes, self.limits)
            await self._write(tenant, make_steps, deletes=is_deletion(changes), contents=list_contents(changes))
            if self._observer is not None:
                self._observer(tenant, changes)

    async def _get(self, table: Table[Any], prefix: Row, values: Sequence[Any]) -> Rows:
        return await self._read(_get(table, prefix, values))

    async def _find(self, table: Table[R], prefix: Row, value: Any) -> R | None:
        steps = find_one(table, prefix, value)
        return await self._read(steps)

    async def record(self, kind: type[R], tenant: str, *key: str | int) -> R | None:
        """A record of any type that has a table (`gateway.stores.tables`)."""
        *lead, last = (tenant, *key)
        return await self._find(find_table(kind), tuple(lead), last)

    async def require(self, kind: type[R], tenant: str, *key: str | int) -> R:
        """A record that must exist; else NotFound."""
        found = await self.record(kind, tenant, *key)
        if found is None:
            raise missing(find_table(kind).noun, str((tenant, *key)[-1]))
        return found

    async def records(
        self,
        kind: type[R],
        tenant: str,
        *prefix: str | int,
        order: tuple[str, ...] | None = None,
        reverse: bool = False,
        **window: Unpack[Window],
    ) -> Page[R]:
        """Those whose key, or whose columns in the given order, begin with `prefix`."""
        table = find_table(kind)
        return await self._read(read_page(table, (tenant, *prefix), order, **window, reverse=reverse))

    async def tenant(self, tenant: str) -> Tenant | None:
        return await self.record(Tenant, tenant)

    async def tenants(self, **window: Unpack[Window]) -> Page[Tenant]:
        return await self._read(read_page(TENANTS, (), **window))

    async def usage(self, tenant: str, session_id: str | None = None) -> Usage:
        if session_id is None:
            rows = await self._get(TENANTS, (), [tenant])
            return Usage(bytes=rows[0][3], files=rows[0][4], values=rows[0][5], sessions=rows[0][6]) if rows else Usage()
        rows = await self._get(SESSIONS, (tenant,), [session_id])
        return Usage(bytes=rows[0][4], files=rows[0][5], values=rows[0][6], sessions=1) if rows else Usage()

    async def token(self, digest: str) -> Token | None:
        found = await self._find(TOKENS, (), digest)
        return None if found is None else found.token

    async def tokens(self, tenant: str, **window: Unpack[Window]) -> Page[StoredToken]:
        return await self.records(StoredToken, tenant, order=TOKENS.orders[0], **window)

    async def session(self, tenant: str, session_id: str) -> Session | None:
        return await self.record(Session, tenant, session_id)

    async def sessions(self, tenant: str, *, singles: bool = True, **window: Unpack[Window]) -> Page[Session]:
        """By id; without `singles`, those of single runs are left out."""
        if not singles:
            return await self._read(read_lasting_sessions(tenant, **window), several=True)
        return await self.records(Session, tenant, **window)

    async def singles(self, tenant: str, **window: Unpack[Window]) -> Page[Session]:
        """Those of single runs, the oldest first."""
        within = (ONCE,), (PAST_ONCE,)
        named = await self._read(read_page(SESSIONS, (tenant,), **window, within=within))
        return Page([session for session in named.items if is_single(session.id)], named.next)

    async def file(self, tenant: str, session_id: str, path: str) -> StoredFile | None:
        return await self._find(FILES, (tenant, session_id), path)

    async def content(self, tenant: str, session_id: str, path: str) -> tuple[StoredFile, bytes] | None:
        """What is at a path that the session's user can reach."""
        return await self._read_contents(lambda: _content(tenant, session_id, path))

    async def children(
        self, tenant: str, session_id: str, path: str, *, after: str | None = None, limit: int = -1
    ) -> list[StoredFile]:
        """Direct children, sorted by path; with `after`, a path, those that come after it; at most `limit`, if it is not -1.
        Permissions do not matter."""
        start = None if after is None else (after,)
        return await self._read(read_list(FILES, (tenant, session_id, path), FILES.orders[0], after=start, limit=limit))

    async def tree(self, tenant: str, session_id: str) -> list[StoredFile]:
        """Everything, sorted by path; a session's quota bounds it."""
        return await self._read(read_list(FILES, (tenant, session_id), limit=-1))

    async def blobs(self, tenant: str, digests: Iterable[str]) -> Mapping[str, bytes]:
        """Those that are there."""
        wanted = sorted(set(digests))
        return {row[1]: row[2] for row in await self._read_contents(lambda: _get(BLOBS, (tenant,), wanted))}

    async def value(self, tenant: str, session_id: str, key: str) -> bytes | None:
        return await self._read(find_bytes(VALUES, (tenant, session_id), key, "value"))

    async def values(self, tenant: str, session_id: str, **window: Unpack[Window]) -> Page[KeyInfo]:
        return await self._read(read_page(VALUES, (tenant, session_id), **window))

    async def secret(self, tenant: str, name: str, session_id: str = "") -> bytes | None:
        """Sealed."""
        return await self._read(find_bytes(SECRETS, (tenant, session_id), name, "sealed"))

    async def secrets(self, tenant: str, session_id: str = "", **window: Unpack[Window]) -> Page[SecretInfo]:
        return await self._read(read_page(SECRETS, (tenant, session_id), **window))

    async def keys(self, tenant: str) -> list[WrappedKey]:
        """Oldest first."""
        found = await self._read(read_list(KEYS, (tenant,)))
        # Ids are numbers: a clock that went back does not make a newer key older.
        return sorted(found, key=lambda key: (len(key.id), key.id))

    async def run(self, tenant: str, run_id: str) -> Run | None:
        return await self.record(Run, tenant, run_id)

    async def runs(
        self, tenant: str, session_id: str | None = None, *, oldest_first: bool = False, **window: Unpack[Window]
    ) -> Page[Run]:
        """Newest first, unless it is to be the other way round."""
        prefix, order = _choose_order(tenant, session_id)
        return await self.records(Run, *prefix, order=order, **window, reverse=not oldest_first)

    async def unfinished(self, tenant: str, **window: Unpack[Window]) -> Page[Run]:
        """Runs that are queued, under way or waiting, by id."""
        return await self.records(Run, tenant, 1, order=RUNS.orders[2], **window)

    async def snapshot(self, tenant: str, snapshot_id: str) -> Snapshot | None:
        return await self.record(Snapshot, tenant, snapshot_id)

    async def snapshots(self, tenant: str, session_id: str | None = None, **window: Unpack[Window]) -> Page[Snapshot]:
        """Newest first."""
        prefix, order = _choose_order(tenant, session_id)
        return await self.records(Snapshot, *prefix, order=order, **window, reverse=True)

    async def kept_snapshots(self, tenant: str, **window: Unpack[Window]) -> Page[Snapshot]:
        """Those that a caller saved, and templates; newest first."""
        return await self.records(Snapshot, tenant, 1, order=SNAPSHOTS.orders[3], **window, reverse=True)

    async def template(self, tenant: str, label: str) -> Snapshot | None:
        """The newest template with this label."""
        steps = read_list(SNAPSHOTS, (tenant, label), SNAPSHOTS.orders[4], limit=1, reverse=True)
        return next(iter(await self._read(steps)), None) if label else None

    async def packs(self, tenant: str, snapshot_id: str) -> list[bytes]:
        """The sealed packs it takes to build the snapshot, the first one whole, each next a difference; [] if there is none."""
        return await self._read_contents(lambda: _packs(tenant, snapshot_id))

    async def approval(self, tenant: str, approval_id: str) -> Approval | None:
        return await self.record(Approval, tenant, approval_id)

    async def approvals(self, tenant: str, *, pending: bool | None = None, **window: Unpack[Window]) -> Page[Approval]:
        """Pending ones first, oldest first in each group."""
        group = () if pending is None else (int(not pending),)
        return await self.records(Approval, tenant, *group, order=APPROVALS.orders[0], **window)

    async def approvals_by_binding(self, tenant: str, binding: str) -> list[Approval]:
        """The newest hundred with this binding, newest first."""
        return await self._read(read_list(APPROVALS, (tenant, binding), APPROVALS.orders[1], limit=100, reverse=True))

    async def policy(self, tenant: str, digest: str) -> StoredPolicy | None:
        """The newest with this digest."""
        found = await self._read(read_list(POLICIES, (tenant, digest), POLICIES.orders[0]))
        return max(found, key=lambda policy: (policy.created_at, policy.version), default=None)

    async def policies(self, tenant: str, name: str | None = None, **window: Unpack[Window]) -> Page[StoredPolicy]:
        """By name, newest version first within a name."""
        named = () if name is None else (name,)
        return await self.records(StoredPolicy, tenant, *named, **window, reverse=True)

    async def policies_in(self, tenant: str, state: str) -> list[StoredPolicy]:
        """All in one state: `active` ones decide. At most PAGE_MAX."""
        return await self._read(read_list(POLICIES, (tenant, state), POLICIES.orders[1]))

    async def entry(self, tenant: str, kind: str, entry_id: str) -> RegistryEntry | None:
        return await self.record(RegistryEntry, tenant, kind, entry_id)

    async def entries(self, tenant: str, kind: str, **window: Unpack[Window]) -> Page[RegistryEntry]:
        return await self.records(RegistryEntry, tenant, kind, **window)

    async def idempotency(self, tenant: str, key: str) -> Idempotency | None:
        return await self._find(IDEMPOTENCY, (tenant,), key)

    async def idempotencies(self, tenant: str, **window: Unpack[Window]) -> Page[Idempotency]:
        """By the time they were claimed, oldest first."""
        return await self._read(read_page(IDEMPOTENCY, (tenant,), IDEMPOTENCY.orders[0], **window))

    async def audit(self, tenant: str, *, after: int = 0, limit: int = 100) -> list[AuditRecord]:
        """Records with a sequence greater than `after`, in order."""
        return await self._read(read_list(AUDIT, (tenant,), after=(after,), limit=max(0, min(limit, PAGE_MAX))))

    async def walk_audit(self, tenant: str, after: int = 0) -> AsyncIterator[AuditRecord]:
        """Every record after a sequence, a page at a time."""
        while page := await self.audit(tenant, after=after, limit=PAGE_MAX):
            for record in page:
                yield record
            after = page[-1].sequence

    async def audit_head(self, tenant: str) -> tuple[int, str]:
        """The newest record's sequence and digest; (0, "") before the first."""
        rows = await self._get(TENANTS, (), [tenant])
        return (rows[0][7], rows[0][8]) if rows else (0, "")


def _choose_order(tenant: str, session_id: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Runs and snapshots have the same two orders."""
    return ((tenant,), RUNS.orders[0]) if session_id is None else ((tenant, session_id), RUNS.orders[1])


def _get(table: Table[Any], prefix: Row, values: Sequence[Any]) -> Steps[Rows]:
    return (yield Get(table, prefix, values))


def _content(tenant: str, session_id: str, path: str) -> Steps[tuple[StoredFile, bytes] | None]:
    rows = yield Get(FILES, (tenant, session_id), [path, *ancestors_of(path)])
    found = {file.path: file for file in map(FILES.decode, rows)}
    require_way(path, {file.path: file.mode for file in found.values() if file.is_directory}.get)
    if (file := found.get(path)) is None:
        return None
    if file.is_directory:
        return file, b""
    blobs = yield Get(BLOBS, (tenant,), [file.digest])
    return file, blobs[0][2]


def _packs(tenant: str, snapshot_id: str) -> Steps[list[bytes]]:
    wanted: list[str] = []
    current: str | None = snapshot_id
    while current and len(wanted) < _DEPTH_MAX:
        rows = yield Get(SNAPSHOTS, (tenant,), [current])
        if not rows:
            return []
        wanted.append(current)
        current = rows[0][3]
    found = {row[1]: row[2] for row in (yield Get(PACKS, (tenant,), wanted))}
    return [found[each] for each in reversed(wanted)]
