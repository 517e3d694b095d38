"""Tables: what is stored, in one place, for every engine.

Rules: every row belongs to a tenant, and every key begins with it (tokens, found by digest before the tenant is known, are the
one exception). Text sorts by its UTF-8 bytes everywhere. An index ends with the primary key, so that a position in it is
unique: pages go on from there. Records are JSON in `body`; a column stands beside it only where something is searched by it.

What changes here needs a step in `gateway.stores.engines.migrations`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import sqlalchemy as sa

VERSION: Final = 3

_METADATA: Final = sa.MetaData()
_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_KINDS: Final[dict[str, sa.types.TypeEngine[Any]]] = {
    "text": _TEXT,
    "int": sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
    "bytes": sa.LargeBinary(),
}


class Table:
    """A table, its columns in order, its primary key, and the further orders its rows can be scanned in."""

    def __init__(self, name: str, columns: str, key: str, *orders: str, large: bool = False) -> None:
        pairs = [column.split(":") for column in columns.split()]
        self.name = name
        self.columns = tuple(column for column, _ in pairs)
        self.key = tuple(key.split())
        self.orders = tuple(tuple(order.split()) for order in orders)
        self.positions = {column: place for place, column in enumerate(self.columns)}
        self.sql = sa.Table(
            name,
            _METADATA,
            *(sa.Column(column, _KINDS[kind.rstrip("?")], nullable=kind.endswith("?")) for column, kind in pairs),
            sa.PrimaryKeyConstraint(*self.key),
            *(sa.Index(f"{name}_by_{'_'.join(order[1:-1] or order)}", *order) for order in self.orders),
            sqlite_with_rowid=large,
            sqlite_strict=True,
        )

    def key_of(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(row[self.positions[column]] for column in self.key)

    def __repr__(self) -> str:
        return f"<table {self.name}>"


class FileRow(NamedTuple):
    tenant: str
    session_id: str
    path: str
    parent: str
    id: str
    kind: str
    encoding: str
    readonly: int
    digest: str
    content_bytes: int
    size_bytes: int
    created_at: int
    updated_at: int


_USAGE: Final = "bytes:int files:int vals:int"
TENANTS: Final = Table(
    "tenants", f"tenant:text updated_at:int body:bytes {_USAGE} sessions:int audit_sequence:int audit_digest:text", "tenant"
)
TOKENS: Final = Table("tokens", "digest:text tenant:text id:text body:bytes", "digest", "tenant id digest")
SESSIONS: Final = Table("sessions", f"tenant:text id:text updated_at:int body:bytes {_USAGE}", "tenant id")
FILES: Final = Table(
    "files",
    "tenant:text session_id:text path:text parent:text id:text kind:text encoding:text readonly:int digest:text "
    "content_bytes:int size_bytes:int created_at:int updated_at:int",
    "tenant session_id path",
    "tenant session_id parent path",
    "tenant digest session_id path",
)
BLOBS: Final = Table("blobs", "tenant:text digest:text data:bytes", "tenant digest", large=True)
VALUES: Final = Table(
    "vals", "tenant:text session_id:text key:text value:bytes created_at:int updated_at:int", "tenant session_id key", large=True
)
SECRETS: Final = Table(
    "secrets", "tenant:text session_id:text name:text sealed:bytes created_at:int updated_at:int", "tenant session_id name"
)
KEYS: Final = Table("data_keys", "tenant:text id:text wrapped:bytes created_at:int", "tenant id")
RUNS: Final = Table(
    "runs",
    "tenant:text id:text session_id:text created_at:int body:bytes unfinished:int",
    "tenant id",
    "tenant created_at id",
    "tenant session_id created_at id",
    "tenant unfinished id",
    large=True,
)
SNAPSHOTS: Final = Table(
    "snapshots",
    "tenant:text id:text session_id:text base:text created_at:int size:int body:bytes kept:int template:text",
    "tenant id",
    "tenant created_at id",
    "tenant session_id created_at id",
    "tenant base id",
    "tenant kept created_at id",
    "tenant template created_at id",
)
PACKS: Final = Table("packs", "tenant:text id:text data:bytes", "tenant id", large=True)
APPROVALS: Final = Table(
    "approvals",
    "tenant:text id:text session_id:text binding:text decided:int created_at:int body:bytes expires_at:int",
    "tenant id",
    "tenant decided created_at id",
    "tenant binding created_at id",
    "tenant session_id id",
    "tenant expires_at id",
)
POLICIES: Final = Table(
    "policies",
    "tenant:text name:text version:int digest:text state:text body:bytes",
    "tenant name version",
    "tenant digest name version",
    "tenant state name version",
)
ENTRIES: Final = Table("entries", "tenant:text kind:text id:text updated_at:int body:bytes", "tenant kind id")
IDEMPOTENCY: Final = Table(
    "idempotency", "tenant:text key:text request_digest:text at:int response:bytes?", "tenant key", "tenant at key"
)
AUDIT: Final = Table("audit", "tenant:text sequence:int at:int body:bytes digest:text", "tenant sequence")

TABLES: Final = (
    TENANTS, TOKENS, SESSIONS, FILES, BLOBS, VALUES, SECRETS, KEYS, RUNS, SNAPSHOTS, PACKS, APPROVALS, POLICIES, ENTRIES,
    IDEMPOTENCY, AUDIT,
)  # fmt: skip
