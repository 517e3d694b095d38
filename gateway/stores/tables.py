"""Tables: what is stored, in one place, for every engine.

    WIDGETS = Table("widgets", "tenant:text id:text updated_at:int body:bytes", "tenant id", record=Widget)

Rules: every row belongs to a tenant, and every key begins with it (tokens, found by digest before the tenant is known, are the
one exception). Text sorts by its UTF-8 bytes everywhere. An index ends with the primary key, so that a position in it is
unique: pages go on from there. A table of records names their type: `body` is the record as JSON, and each further column, which
is there only to search by it, is the field of the same name or what the table computes. Such a table is written with `PutRecord`
and `DeleteRecord` and read with `Store.record` and `Store.records`; no other code is needed for it.

What changes here needs a step in `gateway.stores.engines.migrations`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
import sqlalchemy as sa

from gateway.records import (
    Approval,
    KeyInfo,
    RegistryEntry,
    Run,
    SecretInfo,
    Session,
    Snapshot,
    StoredPolicy,
    StoredToken,
    Tenant,
)
from gateway.stores import audit_chain
from gateway.stores.stored import Idempotency, StoredFile, WrappedKey
from sandbox.workers.interface import usual_mode

VERSION: Final = 7
Row: TypeAlias = tuple[Any, ...]
R = TypeVar("R")

_METADATA: Final = sa.MetaData()
_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_KINDS: Final[dict[str, sa.types.TypeEngine[Any]]] = {
    "text": _TEXT,
    "int": sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
    "bytes": sa.LargeBinary(),
}


class Table(Generic[R]):
    """A table, its columns in order, its primary key, the further orders to scan its rows in, and what a row is read as."""

    def __init__(
        self,
        name: str,
        columns: str,
        key: str,
        *orders: str,
        large: bool = False,
        noun: str = "",
        record: type[R] | None = None,
        decode: Callable[[Row], R] | None = None,
        **computed: Callable[[R], Any],
    ) -> None:
        """`computed` says what is in the columns that are not fields of the record."""
        pairs = [column.split(":") for column in columns.split()]
        self.name = name
        self.noun = noun or name.removesuffix("s")
        self.columns = tuple(column for column, _ in pairs)
        self.key = tuple(key.split())
        self.orders = tuple(tuple(order.split()) for order in orders)
        self.positions = {column: place for place, column in enumerate(self.columns)}
        self.record = record
        self.decode: Callable[[Row], R] = decode or _decoder(record, self.positions.get("body", 0))
        self._computed = {column: computed.get(column) or attrgetter(column) for column in self.columns}
        self.has_files = "file" in self.columns
        """Whether `file` may say where an engine keeps the row's `data`, which is then empty."""
        self.sql = sa.Table(
            name,
            _METADATA,
            *(sa.Column(column, _KINDS[kind.rstrip("?")], nullable=kind.endswith("?")) for column, kind in pairs),
            sa.PrimaryKeyConstraint(*self.key),
            *(sa.Index(f"{name}_by_{'_'.join(order[1:-1] or order)}", *order) for order in self.orders),
            *([_index_files(name)] if self.has_files else []),
            sqlite_with_rowid=large,
            sqlite_strict=True,
        )

    def make_row(self, record: R, body: bytes, **given: Any) -> Row:
        """`body` is the encoded record; `given` are columns that the record does not say."""
        given["body"] = body
        return tuple(given[column] if column in given else compute(record) for column, compute in self._computed.items())

    def key_of(self, row: Row) -> Row:
        return tuple(row[self.positions[column]] for column in self.key)


def _index_files(name: str) -> sa.Index:
    some = sa.text("file IS NOT NULL")
    return sa.Index(f"{name}_by_file", "file", sqlite_where=some, postgresql_where=some)


def _decoder(record: type[R] | None, place: int) -> Callable[[Row], R]:
    decode = msgspec.json.Decoder(cast("type[R]", record or object)).decode
    return lambda row: decode(row[place])


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
    mode: int | None


def _decode_file(row: Row) -> StoredFile:
    file = FileRow(*row)
    return StoredFile(
        id=file.id,
        session_id=file.session_id,
        path=file.path,
        name=file.path.rpartition("/")[2],
        is_directory=file.kind == "directory",
        is_readonly=bool(file.readonly),
        mode=usual_mode(file.kind, bool(file.readonly)) if file.mode is None else file.mode,  # type: ignore[arg-type]
        size_bytes=file.size_bytes,
        size=file.content_bytes,
        created_at=file.created_at,
        updated_at=file.updated_at,
        kind=file.kind,  # type: ignore[arg-type]
        encoding=file.encoding,  # type: ignore[arg-type]
        digest=file.digest,
        content_bytes=file.content_bytes,
    )


KEPT: Final = ("saved", "template")
"""The snapshots that outlive the session they were taken of."""
_USAGE: Final = "bytes:int files:int vals:int"
TENANTS: Final = Table(
    "tenants",
    f"tenant:text updated_at:int body:bytes {_USAGE} sessions:int audit_sequence:int audit_digest:text",
    "tenant",
    record=Tenant,
)
TOKENS: Final = Table(
    "tokens",
    "digest:text tenant:text id:text body:bytes",
    "digest",
    "tenant id digest",
    record=StoredToken,
    tenant=lambda stored: stored.token.tenant,
    id=lambda stored: stored.token.id,
)
SESSIONS: Final = Table("sessions", f"tenant:text id:text updated_at:int body:bytes {_USAGE}", "tenant id", record=Session)
FILES: Final = Table(
    "files",
    "tenant:text session_id:text path:text parent:text id:text kind:text encoding:text readonly:int digest:text "
    "content_bytes:int size_bytes:int created_at:int updated_at:int mode:int?",
    "tenant session_id path",
    "tenant session_id parent path",
    "tenant digest session_id path",
    decode=_decode_file,
)
BLOBS: Final = Table[bytes]("blobs", "tenant:text digest:text data:bytes file:text?", "tenant digest", large=True)
VALUES: Final = Table(
    "vals",
    "tenant:text session_id:text key:text value:bytes created_at:int updated_at:int",
    "tenant session_id key",
    large=True,
    decode=lambda row: KeyInfo(key=row[2], created_at=row[4], updated_at=row[5]),
)
SECRETS: Final = Table(
    "secrets",
    "tenant:text session_id:text name:text sealed:bytes created_at:int updated_at:int",
    "tenant session_id name",
    decode=lambda row: SecretInfo(name=row[2], created_at=row[4], updated_at=row[5]),
)
KEYS: Final = Table(
    "data_keys",
    "tenant:text id:text wrapped:bytes created_at:int",
    "tenant id",
    decode=lambda row: WrappedKey(id=row[1], wrapped=row[2], created_at=row[3]),
)
RUNS: Final = Table(
    "runs",
    "tenant:text id:text session_id:text created_at:int body:bytes unfinished:int",
    "tenant id",
    "tenant created_at id",
    "tenant session_id created_at id",
    "tenant unfinished id",
    large=True,
    record=Run,
    unfinished=lambda run: int(run.state != "finished"),
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
    record=Snapshot,
    base=lambda snapshot: snapshot.base or "",
    kept=lambda snapshot: int(snapshot.kind in KEPT),
    template=lambda snapshot: snapshot.label if snapshot.kind == "template" else "",
)
PACKS: Final = Table[bytes]("packs", "tenant:text id:text data:bytes file:text?", "tenant id", large=True)
APPROVALS: Final = Table(
    "approvals",
    "tenant:text id:text session_id:text binding:text decided:int created_at:int body:bytes expires_at:int",
    "tenant id",
    "tenant decided created_at id",
    "tenant binding created_at id",
    "tenant session_id id",
    "tenant expires_at id",
    record=Approval,
    decided=lambda approval: int(approval.verdict is not None),
)
POLICIES: Final = Table(
    "policies",
    "tenant:text name:text version:int digest:text state:text body:bytes",
    "tenant name version",
    "tenant digest name version",
    "tenant state name version",
    record=StoredPolicy,
)
ENTRIES: Final = Table(
    "entries", "tenant:text kind:text id:text updated_at:int body:bytes", "tenant kind id", noun="entry", record=RegistryEntry
)
IDEMPOTENCY: Final = Table(
    "idempotency",
    "tenant:text key:text request_digest:text at:int response:bytes?",
    "tenant key",
    "tenant at key",
    decode=lambda row: Idempotency(key=row[1], request_digest=row[2], at=row[3], response=row[4]),
)
AUDIT: Final = Table(
    "audit",
    "tenant:text sequence:int at:int body:bytes digest:text",
    "tenant sequence",
    decode=lambda row: audit_chain.decode(*row),
)

TABLES: Final[tuple[Table[Any], ...]] = (
    TENANTS, TOKENS, SESSIONS, FILES, BLOBS, VALUES, SECRETS, KEYS, RUNS, SNAPSHOTS, PACKS, APPROVALS, POLICIES, ENTRIES,
    IDEMPOTENCY, AUDIT,
)  # fmt: skip
_BY_RECORD: Final = {table.record: table for table in TABLES if table.record is not None}


def find_table(record: type[R]) -> Table[R]:
    """The table of a type of records."""
    return _BY_RECORD[record]
