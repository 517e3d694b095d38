"""Statements: operations as SQL text and its parameters, made by SQLAlchemy once for each shape and kept.

Rules: values are always parameters, in the order in which the text names them. The text is compiled here and executed by the
drivers themselves: SQLAlchemy's own execution costs several times as much as a small statement (docs/stores.md has the numbers).
THREAT[TM-STORE-INJECT]. THREAT[TM-STORE-TEXT]: text and numbers are checked here before a driver sees them, so that what one
engine refuses (a NUL, half a surrogate, a number of 65 bits) all refuse, with the same error. An engine brings its own dialect,
because importing one takes long.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from gateway.errors import BadRequest
from gateway.stores.row_operations import Clear, Delete, Get, Operation, Present, Put, Scan
from gateway.stores.tables import TABLES, Row, Table

_TEXT_CHARS_MAX: Final = 8192
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Statements:
    """Statements of one dialect. `array`, if there is one, is the type of a list of values as one parameter (PostgreSQL); else
    a statement is executed once for each value (SQLite)."""

    def __init__(self, dialect: sa.Dialect, insert: Callable[..., Any], array: Callable[..., Any] | None = None) -> None:
        self._dialect = dialect
        self._insert = insert
        self._array = array
        self._kept: dict[tuple[Any, ...], str] = {}

    @functools.cached_property
    def schema(self) -> list[str]:
        texts = []
        for table in TABLES:
            texts.append(str(CreateTable(table.sql).compile(dialect=self._dialect)))
            ordered = sorted(table.sql.indexes, key=lambda index: str(index.name))
            texts += [str(CreateIndex(index).compile(dialect=self._dialect)) for index in ordered]
        return texts

    def prepare(self, operation: Operation) -> tuple[str, Sequence[Sequence[Any]]]:
        """The text, and the parameters of each time it is executed."""
        shape = _shape(operation)
        text = self._kept.get(shape)
        if text is None:
            text = self._kept[shape] = str(self._build(operation, _Binds()).compile(dialect=self._dialect))
        parameters = self._parameters(operation)
        for row in parameters:
            _check(row)
        return text, parameters

    def _parameters(self, operation: Operation) -> Sequence[Sequence[Any]]:
        if isinstance(operation, Put):
            return operation.rows
        if isinstance(operation, Scan):
            limit = (operation.limit,) if operation.limit >= 0 else ()
            return [(*operation.prefix, *(operation.after or ()), *(operation.until or ()), *limit)]
        if isinstance(operation, Clear):
            return [operation.prefix if operation.before is None else (*operation.prefix, operation.before)]
        if self._array is not None:
            return [(*operation.prefix, list(operation.values))]
        return [(*operation.prefix, value) for value in operation.values]

    def _build(self, operation: Operation, binds: _Binds) -> Any:
        table = operation.table.sql
        if isinstance(operation, Put):
            return self._put(operation.table, operation.keep, binds)
        if isinstance(operation, Get | Delete):
            columns = [table.c[name] for name in operation.table.key]
        else:
            columns = [table.c[name] for name in operation.order or operation.table.key]
        matches = [column == binds.next(column) for column, _ in zip(columns, operation.prefix, strict=False)]
        rest = columns[len(matches) :]
        if isinstance(operation, Scan):
            return _scan(operation, matches, rest, binds)
        if isinstance(operation, Clear):
            if operation.before is not None:
                matches.append(rest[0] < binds.next(rest[0]))
            return _delete(operation.table, matches)
        one_of = binds.next(rest[0], self._array)
        matches.append(rest[0] == (one_of if self._array is None else sa.any_(one_of)))
        if isinstance(operation, Delete):
            return _delete(operation.table, matches)
        if isinstance(operation, Get):
            return sa.select(table).where(*matches)
        found = sa.select(rest[0]).where(*matches)
        return _limit(found, sa.literal_column("1")) if self._array is None else found.distinct()

    def _put(self, table: Table[Any], keep: bool, binds: _Binds) -> Any:
        insert: Any = self._insert(table.sql).values({name: binds.next(table.sql.c[name]) for name in table.columns})
        rest = [name for name in table.columns if name not in table.key]
        if keep or not rest:
            return insert.on_conflict_do_nothing(index_elements=list(table.key))
        return insert.on_conflict_do_update(index_elements=list(table.key), set_={name: insert.excluded[name] for name in rest})


class _Binds:
    """Parameters, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self._count = 0

    def next(self, column: Any, array: Callable[..., Any] | None = None) -> Any:
        """One of a column's type, without its collation, which the column itself brings to every comparison."""
        kind = sa.Text() if isinstance(column.type, sa.Text) else column.type
        self._count += 1
        return sa.bindparam(f"p{self._count}", type_=kind if array is None else array(kind))


def _delete(table: Table[Any], matches: list[Any]) -> Any:
    """Which says what the rows referred to, if they may."""
    deletion = sa.delete(table.sql).where(*matches)
    return deletion.returning(table.sql.c.file) if table.has_files else deletion


def _scan(scan: Scan, matches: list[Any], rest: list[Any], binds: _Binds) -> Any:
    query = sa.select(scan.table.sql).where(*matches)
    for bound, upper in ((scan.after, scan.reverse), (scan.until, not scan.reverse)):
        if bound is not None:
            left: Any = sa.tuple_(*rest[: len(bound)])
            right = sa.tuple_(*(binds.next(column) for column, _ in zip(rest, bound, strict=False)))
            query = query.where(left < right if upper else left > right)
    query = query.order_by(*(column.desc() if scan.reverse else column for column in rest))
    return _limit(query, sa.bindparam("limit", type_=sa.BigInteger())) if scan.limit >= 0 else query


def _limit(query: Any, most: Any) -> Any:
    """With an offset that is said: SQLite's dialect would else add one, as a parameter."""
    return query.limit(most).offset(sa.literal_column("0"))


def _shape(operation: Operation) -> tuple[Any, ...]:
    kind, name = type(operation), operation.table.name
    if isinstance(operation, Put):
        return kind, name, operation.keep
    depth = len(operation.prefix)
    if isinstance(operation, Scan):
        bounds = tuple(None if bound is None else len(bound) for bound in (operation.after, operation.until))
        return kind, name, operation.order, depth, bounds, operation.limit >= 0, operation.reverse
    if isinstance(operation, Clear):
        return kind, name, operation.order, depth, operation.before is None
    return kind, name, operation.order if isinstance(operation, Present) else None, depth


def _check(row: Row | Sequence[Any]) -> None:
    for value in row:
        if isinstance(value, str):
            if "\0" in value or len(value) > _TEXT_CHARS_MAX or (not value.isascii() and _SURROGATE.search(value)):
                raise BadRequest("INVALID_ARGUMENT", f"this text cannot be stored: {value[:100]!a}")
        elif isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 63:
                raise BadRequest("INVALID_ARGUMENT", "this number is too large to be stored")
        elif isinstance(value, list):
            _check(value)
