"""Source texts and places in them: pairs of character offsets. Lines and columns (1-based) are computed on demand."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(slots=True, eq=False)
class Source:
    """One file's text. `path` is what messages show."""

    path: str
    text: str
    _starts: list[int] = field(default_factory=list, repr=False)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both 1-based, of a character offset."""
        if not self._starts:
            self._starts.append(0)
            at = self.text.find("\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = self.text.find("\n", at + 1)
        line = bisect_right(self._starts, max(0, min(offset, len(self.text))))
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The inverse of `position`, clamped to the text."""
        self.position(0)
        line = max(1, min(line, len(self._starts)))
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        return min(self._starts[line - 1] + column - 1, end)

    def line(self, number: int) -> str:
        self.position(0)
        if not 1 <= number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]


class Span(NamedTuple):
    """A stretch of one source, `start` inclusive, `end` exclusive."""

    source: Source
    start: int
    end: int

    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def place(self) -> dict[str, int]:
        (line, column), (end_line, end_column) = self.source.position(self.start), self.source.position(self.end)
        return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
