"""Searching texts for a pattern, within bounds.

Rules: THREAT[TM-STORE-GREP]: patterns are substrings or RE2 (no backtracking, bounded memory), at most PATTERN_BYTES_MAX long;
files over FILE_BYTES_MAX are skipped, a search reads at most TOTAL_BYTES_MAX and answers at most MATCHES_MAX lines, each cut
to LINE_CHARS_MAX. RE2's time grows with pattern times text, so programs are small, text is given to it in windows, and a
search that took TIME_MAX_S ends. A match never spans lines. Only files whose encoding is text are looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import re2  # type: ignore[import-untyped,unused-ignore]

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
_GROUP_BYTES: Final = 1 << 20
_GROUP_FILES: Final = 500


class Searched(msgspec.Struct, frozen=True):
    """`complete` is False if a bound was met; `skipped` counts files that were too large or came after the last byte."""

    matches: list[GrepMatch]
    complete: bool
    skipped: int


class Searching:
    def __init__(self, pattern: str, *, regex: bool) -> None:
        try:
            needle = pattern.encode("utf-8")
        except UnicodeEncodeError:
            raise BadRequest("INVALID_PATTERN", "the pattern is not valid text") from None
        if len(needle) > PATTERN_BYTES_MAX:
            raise BadRequest("PATTERN_TOO_LONG", f"a pattern has at most {PATTERN_BYTES_MAX} bytes")
        self._needle = needle
        self._regex = _compile(pattern) if regex else None
        self._matches: list[GrepMatch] = []
        self._skipped = 0
        self._full = False
        self._left_s = TIME_MAX_S
        self._ends = 0.0

    def choose(self, files: Iterable[StoredFile]) -> Iterator[list[StoredFile]]:
        """The files worth looking at, in groups that fit into memory."""
        group: list[StoredFile] = []
        held = total = 0
        for file in files:
            if file.kind != "file" or file.encoding != "text":
                continue
            if file.content_bytes > FILE_BYTES_MAX or total + file.content_bytes > TOTAL_BYTES_MAX:
                self._skipped += 1
                continue
            group.append(file)
            held, total = held + file.content_bytes, total + file.content_bytes
            if held >= _GROUP_BYTES or len(group) >= _GROUP_FILES:
                yield group
                group, held = [], 0
        if group:
            yield group

    def look(self, files: Iterable[tuple[str, bytes]]) -> bool:
        """Search some files; False when there are matches enough, or the time is over."""
        self._ends = time.monotonic() + self._left_s
        for path, content in files:
            for number, line in self._lines(content):
                if len(self._matches) == MATCHES_MAX:
                    self._full = True
                    return False
                text = line.decode("utf-8", "replace")[:LINE_CHARS_MAX]
                self._matches.append(GrepMatch(path=path, line_number=number, line=text))
            if self._full:
                return False
        self._left_s = self._ends - time.monotonic()
        return True

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
                self._full = True
                return -1
            end = _window(content, place)
            found = self._regex.search(content, place, end)
            if found is not None:
                return int(found.start())
            place = end
        return -1

    def result(self) -> Searched:
        return Searched(self._matches, not (self._full or self._skipped), self._skipped)


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
