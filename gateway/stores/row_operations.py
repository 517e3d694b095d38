"""Operations: the few things an engine can do with rows.

What a write or a read means is written once, as a generator that yields operations and is sent rows (`mutations`, `pages`). An
engine only knows how to do an operation, and what a transaction is.

    def session(tenant, session_id):
        rows = yield Get(SESSIONS, (tenant,), [session_id])
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

from gateway.stores.tables import Row, Table

Rows: TypeAlias = list[Row]
LARGE_BYTES: Final = 64 << 10
"""A content that an engine may keep elsewhere than in its row. It is put only where there is none: to hand it over costs."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Get:
    """Rows whose key is `prefix` and one of `values`, in any order."""

    table: Table[Any]
    prefix: Row
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows in the given order (default: the primary key's) that begin with `prefix`, from `after` (not included) on, while before
    `until`; both may be shorter than what is left of the order."""

    table: Table[Any]
    prefix: Row
    order: tuple[str, ...] | None = None
    after: Row | None = None
    until: Row | None = None
    limit: int = -1
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Present:
    """Those of `values` for which a row begins with `prefix` and the value in the given order; as rows of one column."""

    table: Table[Any]
    order: tuple[str, ...]
    prefix: Row
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Put:
    """Insert, or replace what has the same key; with `keep`, leave what is there."""

    table: Table[Any]
    rows: Sequence[Row]
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    table: Table[Any]
    prefix: Row
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Clear:
    """Delete all rows that begin with `prefix` in the given order and whose next column is less than `before`."""

    table: Table[Any]
    prefix: Row
    order: tuple[str, ...] | None = None
    before: Any = None


@dataclass(frozen=True, slots=True)
class Tell:
    """What other gateways of the store remember of a tenant has changed: its `token`s, its `policy`, the `tenant` itself. They
    hear of it when the write is durable; an engine with one gateway has none to tell."""

    kind: Literal["token", "policy", "tenant"]
    tenant: str


Operation: TypeAlias = Get | Scan | Present | Put | Delete | Clear
Steps: TypeAlias = Generator[Operation | Tell, Rows, T]
