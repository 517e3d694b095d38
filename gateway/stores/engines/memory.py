"""The store in memory: for tests, for one process, and as the plainest statement of what the other engines must do.

Rules: steps run to their end without giving way, so that a write is alone by itself; what it changed is undone if it fails. Rows
are found by key in a dict, and in order in sorted lists of keys. Nothing outlives the process.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from gateway.stores.row_operations import Clear, Delete, Get, Operation, Present, Put, Rows, Scan, Steps
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits
from gateway.stores.tables import TABLES, Row, Table

T = TypeVar("T")


class _Rows:
    """The rows of one table, by key and in each of its orders."""

    def __init__(self, table: Table[Any]) -> None:
        self.table = table
        self.by_key: dict[Row, Row] = {}
        self.orders: dict[tuple[str, ...], list[Row]] = {order: [] for order in (table.key, *table.orders)}

    def set(self, key: Row, row: Row | None) -> Row | None:
        """Put or (None) remove a row; answers what was there."""
        old = self.by_key.pop(key, None)
        for order, places in self.orders.items():
            if old is not None:
                place = self._place(order, old)
                del places[bisect_left(places, place)]
            if row is not None:
                insort(places, self._place(order, row))
        if row is not None:
            self.by_key[key] = row
        return old

    def _place(self, order: tuple[str, ...], row: Row) -> Row:
        return tuple(row[self.table.positions[column]] for column in order)

    def between(self, scan: Scan) -> Iterable[Row]:
        order = scan.order or self.table.key
        places, depth = self.orders[order], len(scan.prefix)
        low, high = (scan.until, scan.after) if scan.reverse else (scan.after, scan.until)
        start = bisect_left(places, scan.prefix)
        if low is not None:
            size = depth + len(low)
            while_equal = bisect_left(places, (*scan.prefix, *low))
            start = while_equal
            while start < len(places) and places[start][:size] == (*scan.prefix, *low):
                start += 1
        end = start
        limit = scan.limit if scan.limit >= 0 else len(places)
        if scan.reverse:
            end = self._end(places, scan.prefix, high)
            chosen = places[max(start, end - limit) : end][::-1] if limit else []
        else:
            while end < len(places) and places[end][:depth] == scan.prefix and end - start < limit:
                if high is not None and places[end][depth : depth + len(high)] >= high:
                    break
                end += 1
            chosen = places[start:end]
        keys = [order.index(column) for column in self.table.key]
        return (self.by_key[tuple(place[at] for at in keys)] for place in chosen)

    def _end(self, places: list[Row], prefix: Row, high: Row | None) -> int:
        if high is not None:
            return bisect_left(places, (*prefix, *high))
        low, top = bisect_left(places, prefix), len(places)
        while low < top:
            middle = (low + top) // 2
            if places[middle][: len(prefix)] == prefix:
                low = middle + 1
            else:
                top = middle
        return low


class MemoryStore(Store):
    def __init__(self, limits: StoreLimits | None = None) -> None:
        self.limits = limits or StoreLimits()
        self._tables = {table.name: _Rows(table) for table in TABLES}

    async def _read(self, steps: Steps[T], *, several: bool) -> T:
        return self._run(steps, [])

    async def _write(self, tenant: str, make_steps: Callable[[], Steps[None]]) -> None:
        undo: list[tuple[_Rows, Row, Row | None]] = []
        try:
            self._run(make_steps(), undo)
        except BaseException:
            for rows, key, old in reversed(undo):
                rows.set(key, old)
            raise

    def _run(self, steps: Steps[T], undo: list[tuple[_Rows, Row, Row | None]]) -> T:
        try:
            operation = next(steps)
            while True:
                operation = steps.send(self._do(operation, undo))
        except StopIteration as stop:
            answer: T = stop.value
            return answer

    def _do(self, operation: Operation, undo: list[tuple[_Rows, Row, Row | None]]) -> Rows:
        rows = self._tables[operation.table.name]
        if isinstance(operation, Get):
            found = (rows.by_key.get((*operation.prefix, value)) for value in operation.values)
            return [row for row in found if row is not None]
        if isinstance(operation, Scan):
            return list(rows.between(operation))
        if isinstance(operation, Present):
            probes = (Scan(rows.table, (*operation.prefix, value), operation.order, limit=1) for value in operation.values)
            return [(probe.prefix[-1],) for probe in probes if list(rows.between(probe))]
        for key, row in _changes(rows, operation):
            undo.append((rows, key, rows.set(key, row)))
        return []

    async def compact(self) -> None:
        pass

    async def close(self) -> None:
        pass


def _changes(rows: _Rows, operation: Put | Delete | Clear) -> list[tuple[Row, Row | None]]:
    table = rows.table
    if isinstance(operation, Put):
        given = [(table.key_of(row), tuple(row)) for row in operation.rows]
        return [(key, row) for key, row in given if not (operation.keep and key in rows.by_key)]
    if isinstance(operation, Delete):
        return [((*operation.prefix, value), None) for value in operation.values]
    until = None if operation.before is None else (operation.before,)
    cleared = rows.between(Scan(table, operation.prefix, operation.order, until=until))
    return [(table.key_of(row), None) for row in cleared]
