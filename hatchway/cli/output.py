"""Things of a gateway for people: tables, facts and texts on a terminal.

Rules: what is shown is made of plain values, as JSON has them. A table's titles are only for a terminal; a program reads the rest
by its columns, or asks for JSON. Times are UTC. Nothing that is shown is obeyed by the terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec


def printable(text: str) -> str:
    """On one line, and without what a terminal would obey: labels and names are chosen by tenants."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def show_table(items: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    rows = [[cell(find(item, column), column) for column in columns] for item in items]
    if sys.stdout.isatty() and rows:
        rows.insert(0, [column.rpartition(".")[2].removesuffix("_at").replace("_", " ").upper() for column in columns])
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns))] if rows else []
    numbers = {place for place, column in enumerate(columns) if any(is_number(find(item, column), column) for item in items)}
    for row in rows:
        cells = (
            one.rjust(width) if place in numbers else one.ljust(width)
            for place, (one, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())


def show_facts(value: Mapping[str, Any]) -> None:
    for line in facts(value):
        print(line)


def facts(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """A line for each thing that is known; what is in an object stands below its name."""
    width = max((len(name) for name in value), default=0)
    for name, one in value.items():
        if one is None or one == "" or one == [] or one == {}:
            continue
        if isinstance(one, Mapping):
            yield f"{indent}{printable(name)}"
            yield from facts(one, indent + "  ")
        else:
            yield f"{indent}{printable(name):{width}}  {cell(one, name)}"


def find(item: Any, column: str) -> Any:
    for name in column.split("."):
        item = item.get(name) if isinstance(item, Mapping) else None
    return item


def is_number(value: Any, column: str) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and not _is_time(column)


def cell(value: Any, column: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return printable(value)
    if _is_time(column) and isinstance(value, int):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(value / 1000))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return printable(", ".join(value))
    return printable(msgspec.json.encode(value).decode())


def _is_time(column: str) -> bool:
    return column == "at" or column.endswith("_at")
