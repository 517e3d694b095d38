"""Edits of a source that keep its lines: ranges that are blanked, and texts that are inserted.

Purpose: `apply_edits` gives the edited text. A blanked range keeps its shape, so that positions behind it stay true. An inserted
text moves the rest of its line; a comment at the end of the edited text says where (`//# moves=`), as a source map does, and the
guest gives its compiled code the positions of the source by it.

Rules: an inserted text has no line break. Offsets are bytes of the source. Does not know: TypeScript.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

LINE_ENDS: Final = frozenset("\n\r\u2028\u2029")


@dataclass(frozen=True, slots=True)
class Blank:
    """Bytes to blank, and what to write over their first and last characters instead of a space."""

    start: int
    end: int
    head: str = " "
    tail: str = " "


@dataclass(frozen=True, slots=True)
class Insert:
    """A text to write before the byte at `at`. Of several at one place, the first comes first."""

    at: int
    text: str


def apply_edits(text: bytes, blanks: Sequence[Blank], inserts: Sequence[Insert]) -> str:
    waiting = sorted(inserts, key=lambda insert: insert.at)
    pieces: list[str] = []
    moves: list[str] = []
    line, column, taken = 1, 1, 0
    for start, piece in _cut(text, blanks, [insert.at for insert in waiting]):
        while taken < len(waiting) and waiting[taken].at <= start:
            inserted = waiting[taken].text
            taken += 1
            width = len(inserted.encode())
            pieces.append(inserted)
            moves.append(f"{line},{column},{width}")
            column += width
        pieces.append(piece)
        line += piece.count("\n")
        column = len(piece.encode()) - piece.rfind("\n") if "\n" in piece else column + len(piece.encode())
    if moves:
        pieces.append(f"\n//# moves={';'.join(moves)}")
    return "".join(pieces)


def _cut(text: bytes, blanks: Sequence[Blank], places: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The whole text in pieces, blanked or not, that do not reach over any of `places` unless a blank does. The last is empty."""
    at = 0
    following = iter([*places, len(text)])
    place = next(following)
    for start, end, blank in [*_order(blanks), (len(text), len(text), None)]:
        while at < start:
            while place <= at and place < len(text):
                place = next(following)
            stop = min(start, place) if place > at else start
            yield at, text[at:stop].decode("utf-8")
            at = stop
        if blank is not None:
            yield start, _blank_out(text[start:end].decode("utf-8"), blank, start)
            at = end
    yield len(text), ""


def _order(blanks: Sequence[Blank]) -> Iterator[tuple[int, int, Blank]]:
    """The ranges to blank, none of which reaches over another."""
    at = 0
    for blank in sorted(blanks, key=lambda b: (b.start, -b.end)):
        if blank.end > at:
            yield max(blank.start, at), blank.end, blank
            at = blank.end


def _blank_out(gone: str, blank: Blank, start: int) -> str:
    spaces = [c if c in LINE_ENDS else " " for c in gone]
    if blank.start == start and blank.head != " ":
        spaces[0] = blank.head
    if blank.tail != " ":
        spaces[-1] = blank.tail
    return "".join(spaces)
