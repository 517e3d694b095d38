"""Searching texts for a pattern, within bounds.

Rules: THREAT[TM-STORE-GREP]: patterns are substrings or RE2 (no backtracking, bounded memory), at most PATTERN_BYTES_MAX long;
files over FILE_BYTES_MAX are skipped, a search reads at most TOTAL_BYTES_MAX and answers at most MATCHES_MAX lines, each cut
to LINE_CHARS_MAX. RE2's time grows with pattern times text, so programs are small, text is given to it in windows, and a
search that took TIME_MAX_S ends. A match never spans lines. Only files whose encoding is text are looked at. All of that happens
in a child (`gateway.children`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import re2  # type: ignore[import-untyped,unused-ignore]

from gateway.children import Overrun, run_in_child
from gateway.errors import BadRequest
from gateway.records import GrepMatch
from gateway.stores.stored import StoredFile

PATTERN_BYTES_MAX: Final = 1000
FILE_BYTES_MAX: Final = 512 << 10
TOTAL_BYTES_MAX: Final = 5 << 20
MATCHES_MAX: Final = 10_000
LINE_CHARS_MAX: Final = 2000
PROGRAM_MAX: Final = 4000
WINDOW_BYTES: Final = 32 << 10
TIME_MAX_S: Final = 1.0
_REGEX_MEMORY_BYTES: Final = 8 << 20


class Searched(msgspec.Struct, frozen=True):
    """`complete` is False if a bound was met; `skipped` counts files that were too large or came after the last byte."""

    matches: list[GrepMatch]
    complete: bool
    skipped: int


def choose(files: Iterable[StoredFile]) -> tuple[list[StoredFile], int]:
    """The files that are looked at, and how many are too large or come after the last byte."""
    chosen: list[StoredFile] = []
    total = skipped = 0
    for file in files:
        if file.kind != "file" or file.encoding != "text":
            continue
        if file.content_bytes > FILE_BYTES_MAX or total + file.content_bytes > TOTAL_BYTES_MAX:
            skipped += 1
            continue
        chosen.append(file)
        total += file.content_bytes
    return chosen, skipped


async def search(tenant: str, pattern: str, files: list[tuple[str, bytes]], *, regex: bool) -> Searched:
    """Lines of texts that match. Waits for a child."""
    try:
        pattern.encode()
        return await run_in_child(tenant, look, pattern, regex, files)
    except UnicodeEncodeError:
        raise BadRequest("INVALID_PATTERN", "the pattern is not valid text") from None
    except Overrun:
        raise BadRequest("PATTERN_TOO_COMPLEX", "the search takes too long", "search for something simpler") from None


def look(pattern: str, regex: bool, files: list[tuple[str, bytes]]) -> Searched:
    """In the child."""
    return _Searching(pattern, regex=regex).look(files)


class _Searching:
    def __init__(self, pattern: str, *, regex: bool) -> None:
        needle = pattern.encode()
        if len(needle) > PATTERN_BYTES_MAX:
            raise BadRequest("PATTERN_TOO_LONG", f"a pattern has at most {PATTERN_BYTES_MAX} bytes")
        self._needle = needle
        self._regex = _compile(pattern) if regex else None
        self._is_full = False
        self._ends = time.monotonic() + TIME_MAX_S

    def look(self, files: Iterable[tuple[str, bytes]]) -> Searched:
        """What is found until there are matches enough, or the time is over."""
        matches: list[GrepMatch] = []
        for path, content in files:
            for number, line in self._lines(content):
                if len(matches) == MATCHES_MAX:
                    return Searched(matches, complete=False, skipped=0)
                text = line.decode("utf-8", "replace")[:LINE_CHARS_MAX]
                matches.append(GrepMatch(path=path, line_number=number, line=text))
            if self._is_full:
                break
        return Searched(matches, complete=not self._is_full, skipped=0)

    def _lines(self, content: bytes) -> Iterator[tuple[int, bytes]]:
        """Lines with a match, found by jumping from match to match."""
        place, number, counted = 0, 1, 0
        while place < len(content):
            found = self._find(content, place)
            if found < 0:
                return
            start = content.rfind(b"\n", 0, found) + 1
            end = content.find(b"\n", found)
            end = len(content) if end < 0 else end
            number += content.count(b"\n", counted, start)
            counted = start
            if start < len(content):
                yield number, content[start:end].removesuffix(b"\r")
            place = end + 1

    def _find(self, content: bytes, place: int) -> int:
        if self._regex is None:
            return content.find(self._needle, place) if b"\n" not in self._needle else -1
        while place < len(content):
            if time.monotonic() > self._ends:
                self._is_full = True
                return -1
            end = _window(content, place)
            found = self._regex.search(content, place, end)
            if found is not None:
                return int(found.start())
            place = end
        return -1


def _window(content: bytes, place: int) -> int:
    """Where a piece of text ends that is short enough for RE2: after a line, or inside of one that is too long."""
    if len(content) - place <= WINDOW_BYTES:
        return len(content)
    return content.rfind(b"\n", place, place + WINDOW_BYTES) + 1 or place + WINDOW_BYTES


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.max_mem = _REGEX_MEMORY_BYTES
    try:
        # Bytes on purpose: offsets are then bytes too, and need no counting of characters. The encoding stays UTF-8.
        compiled = re2.compile(f"(?m:{pattern})".encode(), options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        reason = reason.replace(f"(?m:{pattern})", pattern)
        raise BadRequest("INVALID_PATTERN", f"not a valid pattern: {reason[:200]}", "RE2 syntax: no look-around") from None
    if compiled.programsize > PROGRAM_MAX:
        raise BadRequest("PATTERN_TOO_COMPLEX", "the pattern is too complex", "repeat less: {n,m} multiplies its size")
    return compiled
