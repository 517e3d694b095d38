"""Reads: one record, a bounded list, a page, and every item of a list that is answered in pages.

    async for session in walk(store.sessions, "acme"): ...

Rules: a cursor is the place in the order where the next page begins, opaque to the caller. What is written meanwhile may or may
not be met; nothing is met twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from gateway.errors import BadRequest
from gateway.ids import is_single
from gateway.records import Session
from gateway.stores.row_operations import Get, Scan, Steps
from gateway.stores.stored import PAGE_MAX, Page
from gateway.stores.tables import SESSIONS, Row, Table

T = TypeVar("T")
_CURSOR_CHARS_MAX: Final = 8192


async def walk(read: Callable[..., Awaitable[Page[T]]], *which: str, limit: int = PAGE_MAX, **more: Any) -> AsyncIterator[T]:
    """All that `read` gives page by page, `limit` at a time."""
    after = None
    while True:
        page = await read(*which, **more, after=after, limit=limit)
        for item in page.items:
            yield item
        after = page.next
        if after is None:
            return


def find_one(table: Table[T], prefix: Row, value: Any) -> Steps[T | None]:
    rows = yield Get(table, prefix, [value])
    return table.decode(rows[0]) if rows else None


def find_bytes(table: Table[Any], prefix: Row, value: Any, column: str) -> Steps[bytes | None]:
    rows = yield Get(table, prefix, [value])
    return bytes(rows[0][table.positions[column]]) if rows else None


def read_list(
    table: Table[T],
    prefix: Row,
    order: tuple[str, ...] | None = None,
    *,
    after: Row | None = None,
    limit: int = PAGE_MAX,
    reverse: bool = False,
) -> Steps[list[T]]:
    """The first of those that begin with `prefix`; with a limit of -1, all."""
    rows = yield Scan(table, prefix, order, after=after, limit=limit, reverse=reverse)
    return [table.decode(row) for row in rows]


def read_page(
    table: Table[T],
    prefix: Row,
    order: tuple[str, ...] | None = None,
    *,
    after: str | None = None,
    limit: int = 100,
    reverse: bool = False,
    within: tuple[Row, Row] | None = None,
) -> Steps[Page[T]]:
    """`within`: only what comes after the first place and before the second."""
    columns = (order or table.key)[len(prefix) :]
    kinds = [table.sql.c[name].type.python_type for name in columns]
    limit = max(0, min(limit, PAGE_MAX))
    first, until = within or (None, None)
    start = first if after is None else _decode_cursor(after, kinds)
    rows = yield Scan(table, prefix, order, after=start, until=until, limit=limit + 1, reverse=reverse)
    more = len(rows) > limit
    if more and limit == 0:
        return Page([], after)
    place = _encode_cursor([rows[limit - 1][table.positions[name]] for name in columns]) if more else None
    return Page([table.decode(row) for row in rows[:limit]], place)


def read_lasting_sessions(tenant: str, after: str | None = None, limit: int = 100) -> Steps[Page[Session]]:
    """All but those of single runs, of which there may be thousands in a row: they are passed over in longer and longer steps."""
    size = limit = max(0, min(limit, PAGE_MAX))
    found: list[Session] = []
    while True:
        part = yield from read_page(SESSIONS, (tenant,), after=after, limit=size)
        found += [session for session in part.items if not is_single(session.id)]
        if len(found) > limit:
            return Page(found[:limit], _encode_cursor([found[limit - 1].id]))
        after = part.next
        if after is None or len(found) == limit:
            return Page(found, after)
        size = min(4 * size, PAGE_MAX)


def _encode_cursor(place: Sequence[Any]) -> str:
    return msgspec.json.encode(place).decode()


def _decode_cursor(cursor: str, kinds: Sequence[type]) -> Row:
    try:
        if len(cursor) > _CURSOR_CHARS_MAX:
            raise ValueError
        place = msgspec.json.decode(cursor)
        if not isinstance(place, list) or [type(value) for value in place] != list(kinds):
            raise ValueError
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise BadRequest("INVALID_CURSOR", "this is not a cursor of this list", "use `next` of the page before") from None
    return tuple(place)
