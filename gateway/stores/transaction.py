"""One write while it is applied, and the moves every record makes: it is put, replaced or removed, and its tenant is charged."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from gateway.errors import BadRequest, Conflict, TooLarge
from gateway.stores.file_mutations import Tree, check_expected
from gateway.stores.ledger import Ledger, SessionRow
from gateway.stores.row_operations import Delete, Get, Put, Rows, Scan, Steps
from gateway.stores.stored import StoreLimits
from gateway.stores.tables import VALUES, Row, Table, find_table

_SWEEP_ROWS = 100
R = TypeVar("R", bound=msgspec.Struct)

ENDING_BYTES: Final = 8 << 10
"""What the record of something may grow by when it ends, whatever the quota: a run that was interrupted, an approval with its
reason, a token that was revoked."""


class Writing(Ledger):
    """With the trees of the sessions whose files change, and the snapshots that sessions say their heap is in."""

    def __init__(self, tenant: str, limits: StoreLimits) -> None:
        super().__init__(tenant, limits)
        self.heads: set[str] = set()
        self._trees: dict[str, Tree] = {}

    def tree(self, session_id: str) -> Tree:
        if session_id not in self._trees:
            self._trees[session_id] = Tree(self, session_id)
        return self._trees[session_id]

    def flush_trees(self) -> Steps[None]:
        for tree in self._trees.values():
            yield from tree.flush()
        self._trees = {}


def encode(record: msgspec.Struct, limits: StoreLimits) -> bytes:
    try:
        body = msgspec.json.encode(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest("INVALID_ARGUMENT", f"this cannot be stored: {error}") from None
    if len(body) > limits.record_bytes:
        raise TooLarge("RECORD_TOO_LARGE", f"a record has {len(body)} bytes; {limits.record_bytes} are allowed")
    return body


def own(writing: Writing, tenant: str) -> None:
    """THREAT[TM-STORE-TENANT]: a record is stored under the tenant it names, and no other."""
    if tenant != writing.tenant:
        raise BadRequest("INVALID_ARGUMENT", "a record is written by its own tenant")


def put_record(writing: Writing, record: R, expect: str | int | None = None, *, ending_bytes: int = 0) -> Steps[None]:
    """Store a record in the table of its type. `ending_bytes`: by that much a stored record may grow whatever the quota."""
    table = find_table(type(record))
    row = table.make_row(record, encode(record, writing.limits))
    own(writing, row[table.positions["tenant"]])
    *lead, last = table.key_of(row)
    old = yield Get(table, tuple(lead), [last])
    if expect is not None:
        check_expected(old[0][table.positions["updated_at"]] if old else None, expect, table.noun, str(last), exists=Conflict)
    yield from replace(writing, table, old, row, forgiven_bytes=ending_bytes if old else 0)


def measure(row: Row) -> int:
    return sum(len(value) for value in row if isinstance(value, bytes))


def replace(ledger: Ledger, table: Table[Any], old: Rows, row: Row, *, forgiven_bytes: int = 0) -> Steps[None]:
    """`forgiven_bytes`: that much of the growth may lead over a quota."""
    growth = measure(row) - (measure(old[0]) if old else 0)
    ledger.charge(growth)
    if forgiven_bytes:
        ledger.end_something(min(growth, forgiven_bytes))
    yield Put(table, [row])


def remove(ledger: Ledger, table: Table[Any], prefix: Row, value: Any, *, session: SessionRow | None = None) -> Steps[None]:
    for row in (yield Get(table, prefix, [value])):
        ledger.charge(-measure(row), values=-int(table is VALUES), session=session)
        ledger.end_something()
        yield Delete(table, prefix, [value])


def sweep(ledger: Ledger, table: Table[Any], prefix: Row, order: tuple[str, ...]) -> Steps[None]:
    """Remove all rows that begin with `prefix` in the given order, a hundred at a time."""
    while rows := (yield Scan(table, prefix, order, limit=_SWEEP_ROWS)):
        ledger.charge(-sum(map(measure, rows)))
        for lead in {table.key_of(row)[:-1] for row in rows}:
            yield Delete(table, lead, [key[-1] for row in rows if (key := table.key_of(row))[:-1] == lead])
