"""What commands show: complaints as one line with a hint, tables and facts for people.

Rules: colours, progress and a table's titles only on a terminal. Times are UTC. Nothing that is shown is obeyed by the terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import msgspec

STATUS_EXIT = {
    "timeout": 124,
    "resource_exhausted": 137,
    "cancelled": 130,
    "permission_denied": 126,
    "waiting_for_approval": 126,
}


def paint(text: str, colour: str, stream: IO[str]) -> str:
    codes = {"red": "31", "yellow": "33", "green": "32", "dim": "2", "bold": "1"}
    return f"\x1b[{codes[colour]}m{text}\x1b[0m" if stream.isatty() else text


def complain(message: str, hint: str | None = None) -> None:
    print(f"{paint('error', 'red', sys.stderr)}: {message}", file=sys.stderr)
    if hint:
        print(f"{paint('hint', 'yellow', sys.stderr)}: {hint}", file=sys.stderr)


def show_progress(what: str, done: float, end: str = "") -> None:
    """A bar while something is built for the first time; off a terminal only a line at its end."""
    if sys.stderr.isatty():
        bar = ("#" * int(done * 30)).ljust(30, ".")
        print(f"\r{what:24} [{bar}] {done:4.0%}", end="\n" if done >= 1 else "", file=sys.stderr, flush=True)
    elif done >= 1:
        print(end or f"{what}: done", file=sys.stderr, flush=True)


def write_output(stream: int, data: bytes) -> None:
    target = (sys.stdout, sys.stderr)[stream]
    if target is not None:  # it is None where the parent process has closed it
        target.buffer.write(data)
        target.flush()


def say(text: str) -> None:
    """A line on stdout, in UTF-8 like the programs' own output, whatever the terminal's encoding."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write((text + "\n").encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()


def printable(text: str) -> str:
    """On one line, and without what a terminal would obey: labels and names are chosen by tenants."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def show_table(items: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    rows = [[render_cell(find(item, column), column) for column in columns] for item in items]
    if sys.stdout.isatty() and rows:
        rows.insert(0, [column.rpartition(".")[2].removesuffix("_at").replace("_", " ").upper() for column in columns])
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns))] if rows else []
    numbers = {place for place, column in enumerate(columns) if any(_is_number(find(item, column), column) for item in items)}
    for row in rows:
        aligns = (str.rjust if place in numbers else str.ljust for place in range(len(columns)))
        print("  ".join(align(text, width) for align, text, width in zip(aligns, row, widths, strict=True)).rstrip())


def show_facts(value: Mapping[str, Any]) -> None:
    for line in _list_facts(value):
        print(line)


def _list_facts(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """A line for each thing that is known; what is in an object stands below its name."""
    width = max((len(name) for name in value), default=0)
    for name, fact in value.items():
        if fact is None or fact == "" or fact == [] or fact == {}:
            continue
        if isinstance(fact, Mapping):
            yield f"{indent}{printable(name)}"
            yield from _list_facts(fact, indent + "  ")
        else:
            yield f"{indent}{printable(name):{width}}  {render_cell(fact, name)}"


def find(item: Any, column: str) -> Any:
    for name in column.split("."):
        item = item.get(name) if isinstance(item, Mapping) else None
    return item


def _is_number(value: Any, column: str) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and not _is_time(column)


def render_cell(value: Any, column: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return printable(value)
    if _is_time(column) and isinstance(value, int):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(value / 1000))
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return printable(", ".join(value))
    return printable(msgspec.json.encode(value).decode())


def _is_time(column: str) -> bool:
    return column == "at" or column.endswith("_at")


def show_verdict(found: Mapping[str, Any], name: str = "") -> None:
    """About an audit log."""
    span = f"records {found['first']} to {found['head'].partition(':')[0]}" if found["records"] else "no records"
    print(f"{name}{'BROKEN' if found['findings'] else 'whole'}, {span}, head {found['head']}")
    for finding in found["findings"]:
        print(f"  {finding['problem']}: {printable(finding['message'])}")


def show_differences(found: Mapping[str, Any]) -> None:
    """Between two snapshots."""
    groups = [("file", found["files"]), *((f"{name} variable", change) for name, change in found["variables"].items())]
    for title, change in groups:
        for sign, kind in (("+", "added"), ("-", "removed"), ("~", "changed")):
            for name in change.get(kind, ()):
                print(f"{sign} {title} {printable(name)}")
    for name, count in found["pages"].items():
        print(f"  {count} pages of {name} memory differ")
