"""Statements: operations as SQL text, made by SQLAlchemy once for each shape and kept.

Rules: values are always parameters. The text is compiled here and executed by the drivers themselves: SQLAlchemy's own execution
costs several times as much as a small statement (docs/stores.md has the numbers). THREAT[TM-STORE-INJECT]

Does not know: connections, and which dialects there are: an engine brings its own, because importing one takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from gateway.stores.row_operations import Clear, Delete, Get, Operation, Present, Put, Scan
from gateway.stores.tables import TABLES, Row, Table


@dataclass(frozen=True, slots=True)
class Statement:
    """`places` says which of our parameters, followed by the constants SQLAlchemy added, stands at each place of the text."""

    text: str
    places: tuple[int, ...]
    constants: tuple[Any, ...]
    is_plain: bool
    """Our parameters, each once and in order: as most are."""

    def arrange(self, parameters: Sequence[Any]) -> Sequence[Any]:
        if self.is_plain:
            return parameters
        everything = (*parameters, *self.constants)
        return [everything[place] for place in self.places]


class Statements:
    """Statements of one dialect. `array`, if there is one, is the type of a list of values as one parameter (PostgreSQL); else
    each value is a statement of its own (SQLite)."""

    def __init__(self, dialect: sa.Dialect, insert: Callable[..., Any], array: Callable[..., Any] | None = None) -> None:
        self._dialect = dialect
        self._insert = insert
        self._array = array
        self._kept: dict[tuple[Any, ...], Statement] = {}

    def schema(self) -> list[str]:
        texts = []
        for table in TABLES:
            texts.append(str(CreateTable(table.sql).compile(dialect=self._dialect)))
            ordered = sorted(table.sql.indexes, key=lambda index: str(index.name))
            texts += [str(CreateIndex(index).compile(dialect=self._dialect)) for index in ordered]
        return texts

    def of(self, operation: Operation) -> Statement:
        shape = _shape(operation)
        found = self._kept.get(shape)
        if found is None:
            found = self._kept[shape] = self._compile(operation)
        return found

    def _compile(self, operation: Operation) -> Statement:
        binds = _Binds()
        query = self._build(operation, binds)
        compiled = query.compile(dialect=self._dialect)
        names: Sequence[str] = compiled.positiontup or ()
        if self._array is not None:
            # Numeric parameters are numbered in the order SQLAlchemy met them, each once.
            names = list(dict.fromkeys(names))
        added = [name for name in names if name not in binds.names]
        order = {name: place for place, name in enumerate([*binds.names, *added])}
        places = tuple(order[name] for name in names)
        is_plain = not added and places == tuple(range(len(binds.names)))
        return Statement(str(compiled), places, tuple(compiled.params[name] for name in added), is_plain)

    def _build(self, operation: Operation, binds: _Binds) -> Any:
        table = operation.table.sql
        if isinstance(operation, Get):
            return sa.select(table).where(
                *self._match(operation.table, operation.table.key, operation.prefix, binds, listed=True)
            )
        if isinstance(operation, Scan):
            return _scan(operation, binds)
        if isinstance(operation, Present):
            column = table.c[operation.order[len(operation.prefix)]]
            matches = self._match(operation.table, operation.order, operation.prefix, binds, listed=True)
            found = sa.select(column).where(*matches)
            return found.distinct() if self._array is not None else found.limit(1)
        if isinstance(operation, Put):
            return self._put(operation, binds)
        if isinstance(operation, Delete):
            matches = self._match(operation.table, operation.table.key, operation.prefix, binds, listed=True)
            return sa.delete(table).where(*matches)
        order = operation.order or operation.table.key
        matches = self._match(operation.table, order, operation.prefix, binds, listed=False)
        if operation.before is not None:
            last = table.c[order[len(operation.prefix)]]
            matches.append(last < binds.next(_plain(last)))
        return sa.delete(table).where(*matches)

    def _match(self, table: Table[Any], order: tuple[str, ...], prefix: Row, binds: _Binds, *, listed: bool) -> list[Any]:
        columns = [table.sql.c[name] for name in order]
        found: list[Any] = [column == binds.next(_plain(column)) for column, _ in zip(columns, prefix, strict=False)]
        if listed:
            last = columns[len(prefix)]
            if self._array is not None:
                found.append(last == sa.any_(binds.next(self._array(_plain(last)))))
            else:
                found.append(last == binds.next(_plain(last)))
        return found

    def _put(self, operation: Put, binds: _Binds) -> Any:
        table = operation.table
        given = {name: binds.next(_plain(table.sql.c[name])) for name in table.columns}
        insert: Any = self._insert(table.sql).values(given)
        rest = [name for name in table.columns if name not in table.key]
        if operation.keep or not rest:
            return insert.on_conflict_do_nothing(index_elements=list(table.key))
        return insert.on_conflict_do_update(index_elements=list(table.key), set_={name: insert.excluded[name] for name in rest})


class _Binds:
    def __init__(self) -> None:
        self.names: list[str] = []

    def next(self, kind: Any) -> Any:
        self.names.append(f"p{len(self.names)}")
        return sa.bindparam(self.names[-1], type_=kind)


def _plain(column: Any) -> Any:
    """A parameter's type: a column's without its collation, which the column itself brings to every comparison."""
    return sa.Text() if isinstance(column.type, sa.Text) else column.type


def _scan(scan: Scan, binds: _Binds) -> Any:
    columns = [scan.table.sql.c[name] for name in scan.order or scan.table.key]
    rest = columns[len(scan.prefix) :]
    query = sa.select(scan.table.sql).where(
        *(column == binds.next(_plain(column)) for column, _ in zip(columns, scan.prefix, strict=False))
    )
    for bound, upper in ((scan.after, scan.reverse), (scan.until, not scan.reverse)):
        if bound is not None:
            left: Any = sa.tuple_(*rest[: len(bound)])
            right = sa.tuple_(*(binds.next(_plain(column)) for column, _ in zip(rest, bound, strict=False)))
            query = query.where(left < right if upper else left > right)
    query = query.order_by(*(column.desc() if scan.reverse else column for column in rest))
    return query.limit(binds.next(sa.BigInteger())) if scan.limit >= 0 else query


def _shape(operation: Operation) -> tuple[Any, ...]:
    kind, name = type(operation), operation.table.name
    if isinstance(operation, Scan):
        bounds = tuple(None if bound is None else len(bound) for bound in (operation.after, operation.until))
        return kind, name, operation.order, len(operation.prefix), bounds, operation.limit >= 0, operation.reverse
    if isinstance(operation, Put):
        return kind, name, operation.keep
    if isinstance(operation, Present):
        return kind, name, operation.order, len(operation.prefix)
    if isinstance(operation, Clear):
        return kind, name, operation.order, len(operation.prefix), operation.before is None
    return kind, name, len(operation.prefix)


def scan_parameters(scan: Scan) -> list[Any]:
    limit = [scan.limit] if scan.limit >= 0 else []
    return [*scan.prefix, *(scan.after or ()), *(scan.until or ()), *limit]
