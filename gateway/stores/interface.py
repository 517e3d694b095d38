"""The store: everything the gateway remembers, behind one protocol.

    await store.write(tenant, [PutFile(...), PutRun(run=...), AppendAudit(...)])     all or none, durable when it returns
    await store.file(tenant, "s1", "/a.txt")                                         reads name the tenant, always

Rules: every read and write is of one tenant; the exceptions are `token` (found by its digest, before anybody is known) and
`tenants` (for admins). Another tenant's object is absent. A write of an unknown tenant is NotFound (TENANT_NOT_FOUND), of a file,
value, run or snapshot of an unknown session NotFound (SESSION_NOT_FOUND). Lists are pages: `after` is the `next` of the page
before, opaque; `limit` is capped at PAGE_MAX.

Errors: Conflict and PreconditionFailed (an expectation did not hold), TooMany/TooLarge with QUOTA_EXCEEDED, StoreFailed
(STORE_FULL: no space; STORE_IO: the disk or database failed). After any of them nothing of the write is there, and the store
goes on serving: no restart is needed.

Does not know: HTTP, policies, what files mean to guests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from gateway.records import (
    Approval,
    AuditRecord,
    FileInfo,
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
from gateway.stores.changes import (
    ABSENT,
    AppendAudit,
    Change,
    DeleteApproval,
    DeleteEntry,
    DeleteFile,
    DeleteIdempotency,
    DeleteRun,
    DeleteSecret,
    DeleteSession,
    DeleteSnapshot,
    DeleteTenant,
    DeleteValue,
    Encoding,
    ExpireApprovals,
    Kind,
    PutApproval,
    PutEntry,
    PutFile,
    PutIdempotency,
    PutKey,
    PutPolicy,
    PutRun,
    PutSecret,
    PutSession,
    PutSnapshot,
    PutTenant,
    PutToken,
    PutValue,
    TrimAudit,
    UseApproval,
    digest_of,
)

__all__ = [
    "ABSENT",
    "PAGE_MAX",
    "AppendAudit",
    "Change",
    "DeleteApproval",
    "DeleteEntry",
    "DeleteFile",
    "DeleteIdempotency",
    "DeleteRun",
    "DeleteSecret",
    "DeleteSession",
    "DeleteSnapshot",
    "DeleteTenant",
    "DeleteValue",
    "Encoding",
    "ExpireApprovals",
    "Idempotency",
    "Kind",
    "Page",
    "PutApproval",
    "PutEntry",
    "PutFile",
    "PutIdempotency",
    "PutKey",
    "PutPolicy",
    "PutRun",
    "PutSecret",
    "PutSession",
    "PutSnapshot",
    "PutTenant",
    "PutToken",
    "PutValue",
    "Store",
    "StoreLimits",
    "StoredFile",
    "TrimAudit",
    "Usage",
    "UseApproval",
    "WrappedKey",
    "digest_of",
]

PAGE_MAX: Final = 1000
T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """`next` is None at the end. Iterating gives the items of this page."""

    items: list[T]
    next: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)


class StoredFile(FileInfo, frozen=True, kw_only=True):
    """`digest` names the content (`Store.blobs`); `content_bytes` is its real length, `size_bytes` the contract's."""

    kind: Kind
    encoding: Encoding
    digest: str
    content_bytes: int


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a tenant, or one session, has. `bytes` counts contents of files, values, secrets and packs, shared or not."""

    bytes: int = 0
    files: int = 0
    values: int = 0
    sessions: int = 0


class StoreLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one session and one object may take; a tenant's `Quotas` limit the sum."""

    session_bytes: int = 100 << 20
    session_files: int = 10_000
    session_values: int = 10_000
    file_bytes: int = 64 << 20
    value_bytes: int = 1 << 20
    pack_bytes: int = 512 << 20
    record_bytes: int = 16 << 20
    audit_bytes: int = 64 << 10
    changes_max: int = 50_000


class Idempotency(msgspec.Struct, frozen=True, kw_only=True):
    """`response` None: the request was begun and nothing more is known."""

    key: str
    request_digest: str
    response: bytes | None
    at: int


class WrappedKey(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    wrapped: bytes
    created_at: int


class Store(Protocol):
    limits: StoreLimits
    on_written: Callable[[str, Sequence[Change]], None] | None
    """Told of every write once it is durable."""

    async def write(self, tenant: str, changes: Sequence[Change]) -> None: ...

    async def tenant(self, tenant: str) -> Tenant | None: ...
    async def tenants(self, *, after: str | None = None, limit: int = 100) -> Page[Tenant]: ...
    async def usage(self, tenant: str, session_id: str | None = None) -> Usage: ...
    async def token(self, digest: str) -> Token | None: ...
    async def tokens(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[StoredToken]: ...

    async def session(self, tenant: str, session_id: str) -> Session | None: ...
    async def sessions(self, tenant: str, *, after: str | None = None, limit: int = 100, singles: bool = True) -> Page[Session]:
        """By id; without `singles`, those of single runs are left out."""
        ...

    async def singles(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[Session]:
        """Those of single runs, the oldest first."""
        ...

    async def file(self, tenant: str, session_id: str, path: str) -> StoredFile | None: ...
    async def content(self, tenant: str, session_id: str, path: str) -> tuple[StoredFile, bytes] | None: ...
    async def children(
        self, tenant: str, session_id: str, path: str, *, after: str | None = None, limit: int = -1
    ) -> list[StoredFile]:
        """Direct children, sorted by path; with `after`, a path, those that come after it; at most `limit`, if it is not -1."""
        ...

    async def tree(self, tenant: str, session_id: str) -> list[StoredFile]:
        """Everything, sorted by path; a session's quota bounds it."""
        ...

    async def blobs(self, tenant: str, digests: Iterable[str]) -> Mapping[str, bytes]:
        """Those that are there."""
        ...

    async def value(self, tenant: str, session_id: str, key: str) -> bytes | None: ...
    async def values(self, tenant: str, session_id: str, *, after: str | None = None, limit: int = 100) -> Page[KeyInfo]: ...
    async def secret(self, tenant: str, name: str, session_id: str = "") -> bytes | None:
        """Sealed."""
        ...

    async def secrets(
        self, tenant: str, session_id: str = "", *, after: str | None = None, limit: int = 100
    ) -> Page[SecretInfo]: ...
    async def keys(self, tenant: str) -> list[WrappedKey]:
        """Oldest first."""
        ...

    async def run(self, tenant: str, run_id: str) -> Run | None: ...
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
        ...

    async def unfinished(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[Run]:
        """Runs that are queued, under way or waiting, by id."""
        ...

    async def snapshot(self, tenant: str, snapshot_id: str) -> Snapshot | None: ...
    async def snapshots(
        self, tenant: str, session_id: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> Page[Snapshot]:
        """Newest first."""
        ...

    async def kept_snapshots(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[Snapshot]:
        """Those that somebody saved, and templates; newest first."""
        ...

    async def template(self, tenant: str, label: str) -> Snapshot | None:
        """The newest template with this label."""
        ...

    async def packs(self, tenant: str, snapshot_id: str) -> list[bytes]:
        """The sealed packs it takes to build the snapshot, the first one whole, each next a difference; [] if there is none."""
        ...

    async def approval(self, tenant: str, approval_id: str) -> Approval | None: ...
    async def approvals(
        self, tenant: str, *, pending: bool | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Approval]:
        """Pending ones first, oldest first in each group."""
        ...

    async def approvals_by_binding(self, tenant: str, binding: str) -> list[Approval]:
        """The newest hundred with this binding, newest first."""
        ...

    async def policy(self, tenant: str, digest: str) -> StoredPolicy | None:
        """The newest with this digest."""
        ...

    async def policies(
        self, tenant: str, name: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> Page[StoredPolicy]:
        """By name, newest version first within a name."""
        ...

    async def policies_in(self, tenant: str, state: str) -> list[StoredPolicy]:
        """All in one state: `active` ones decide. At most PAGE_MAX."""
        ...

    async def entry(self, tenant: str, kind: str, entry_id: str) -> RegistryEntry | None: ...
    async def entries(self, tenant: str, kind: str, *, after: str | None = None, limit: int = 100) -> Page[RegistryEntry]: ...
    async def idempotency(self, tenant: str, key: str) -> Idempotency | None: ...
    async def idempotencies(self, tenant: str, *, after: str | None = None, limit: int = 100) -> Page[Idempotency]:
        """By the time they were claimed, oldest first."""
        ...

    async def audit(self, tenant: str, *, after: int = 0, limit: int = 100) -> list[AuditRecord]:
        """Records with a sequence greater than `after`, in order."""
        ...

    async def audit_head(self, tenant: str) -> tuple[int, str]:
        """The newest record's sequence and digest; (0, "") before the first."""
        ...

    async def compact(self) -> None:
        """Give freed space back and make deleted bytes unreadable, as far as the engine can."""
        ...

    async def close(self) -> None: ...
