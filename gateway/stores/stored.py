"""What a store's reads return, in addition to the records of `gateway.records`, and the limits it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypedDict, TypeVar

import msgspec

from gateway.records import FileInfo
from gateway.stores.changes import Encoding, Kind

PAGE_MAX: Final = 1000
T = TypeVar("T")


class Window(TypedDict, total=False):
    """Which part of a list: what comes `after` the page whose `next` this is, and 100 or `limit` of it."""

    after: str | None
    limit: int


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
    """What a tenant, or one session, has. `bytes` counts contents of files, values, secrets and packs, shared or not, and
    audit records."""

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
