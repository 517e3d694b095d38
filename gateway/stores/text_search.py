"""Searching texts for a pattern, within bounds.

Rules: THREAT[TM-STORE-GREP]: patterns are substrings or RE2 (no backtracking, bounded memory), at most PATTERN_BYTES_MAX long;
files are read whole, in groups of GROUP_BYTES_MAX (or one that is larger), so that no more are held at once; the answer has
at most MATCHES_MAX lines, each cut to LINE_CHARS_MAX. RE2's time grows with pattern times text, so programs are small, text is
given to it in windows, and a search that took TIME_MAX_S of CPU ends; what it has not looked at is counted. A match never spans
lines. Only files whose encoding is text are looked at. All of that happens in a child (`gateway.children`), which ends when its
caller leaves.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec
import re2  # type: ignore[import-untyped,unused-ignore]

from gateway.children import Overrun, run_in_child
from gateway.errors import BadRequest
from gateway.records import GrepMatch
from gateway.stores.changes import detect_encoding
from gateway.stores.stored import StoredFile

PATTERN_BYTES_MAX: Final = 1000
GROUP_BYTES_MAX: Final = 8 << 20
MATCHES_MAX: Final = 10_000
LINE_CHARS_MAX: Final = 2000
PROGRAM_MAX: Final = 4000
WINDOW_BYTES: Final = 32 << 10
TIME_MAX_S: Final = 2.0
_REGEX_MEMORY_BYTES: Final = 8 << 20
Load: TypeAlias = Callable[[list[str]], Awaitable[Mapping[str, bytes]]]


class Searched(msgspec.Struct, frozen=True):
    """`complete` is False if a bound was met; `skipped` counts the files that were not looked at then, or not to their end."""

    matches: list[GrepMatch]
    complete: bool
    skipped: int


class _Found(msgspec.Struct, array_like=True):
    """What a child has found in a group: in how many of its files it came to the end, and the CPU time that it took."""

    matches: list[GrepMatch]
    looked: int
    seconds: float


async def search(tenant: str, pattern: str, files: Iterable[StoredFile], load: Load, *, regex: bool) -> Searched:
    """Lines of texts that match; `load` gives contents by digest. Waits for a child."""
    texts = [file for file in files if file.kind == "file" and file.encoding == "text"]
    matches: list[GrepMatch] = []
    looked, left_s = 0, TIME_MAX_S
    for group in _group(texts) if texts else [[]]:  # without a text, the pattern is checked all the same
        blobs = await load([file.digest for file in group])
        given = [(file.path, blobs.get(file.digest, b"")) for file in group]
        found = await _ask(tenant, pattern, regex, given, MATCHES_MAX - len(matches), left_s)
        matches += found.matches
        looked, left_s = looked + found.looked, left_s - found.seconds
        if found.looked < len(group):
            break
    return Searched(matches, looked == len(texts), len(texts) - looked)


async def search_texts(tenant: str, pattern: str, files: list[tuple[str, bytes]], *, regex: bool) -> Searched:
    """The same for files that are not in the store: paths with their contents, those that are text."""
    texts = [(path, content) for path, content in files if detect_encoding(content) == "text"]
    found = await _ask(tenant, pattern, regex, texts, MATCHES_MAX, TIME_MAX_S)
    return Searched(found.matches, found.looked == len(texts), len(texts) - found.looked)


def _group(files: list[StoredFile]) -> Iterator[list[StoredFile]]:
    group: list[StoredFile] = []
    held = 0
    for file in files:
        if group and held + file.content_bytes > GROUP_BYTES_MAX:
            yield group
            group, held = [], 0
        group.append(file)
        held += file.content_bytes
    yield group


async def _ask(
    tenant: str, pattern: str, regex: bool, files: list[tuple[str, bytes]], matches_max: int, seconds: float
) -> _Found:
    try:
        pattern.encode()
        return await run_in_child(tenant, look, pattern, regex, files, matches_max, seconds)
    except UnicodeEncodeError:
        raise BadRequest("INVALID_PATTERN", "the pattern is not valid text") from None
    except Overrun:
        raise BadRequest("PATTERN_TOO_COMPLEX", "the search takes too long", "search for something simpler") from None


def look(pattern: str, regex: bool, files: list[tuple[str, bytes]], matches_max: int, seconds: float) -> _Found:
    """In the child."""
    return _Searching(pattern, regex, matches_max, seconds).look(files)


class _Searching:
    def __init__(self, pattern: str, regex: bool, matches_max: int, seconds: float) -> None:
        needle = pattern.encode()
        if len(needle) > PATTERN_BYTES_MAX:
            raise BadRequest("PATTERN_TOO_LONG", f"a pattern has at most {PATTERN_BYTES_MAX} bytes")
        self._needle = needle
        self._regex = _compile(pattern) if regex else None
        self._matches_max = matches_max
        self._is_over = False
        self._began = time.process_time()
        self._ends = self._began + seconds

    def look(self, files: Iterable[tuple[str, bytes]]) -> _Found:
        """What is found until there are matches enough, or the time is over."""
        found = _Found([], 0, 0.0)
        for path, content in files:
            for number, line in self._lines(content):
                if len(found.matches) == self._matches_max:
                    self._is_over = True
                    break
                text = line[: LINE_CHARS_MAX * 4].decode("utf-8", "replace")[:LINE_CHARS_MAX]
                found.matches.append(GrepMatch(path=path, line_number=number, line=text))
            if self._is_over:
                break
            found.looked += 1
        found.seconds = time.process_time() - self._began
        return found

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
        if time.process_time() > self._ends:
            self._is_over = True
            return -1
        if self._regex is None:
            return content.find(self._needle, place) if b"\n" not in self._needle else -1
        while place < len(content):
            if time.process_time() > self._ends:
                self._is_over = True
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
