"""What the visitors of a tree write into: edits of the text, and diagnostics.

Rules: offsets are bytes of the original text. Does not know: which edit means what, or how edits are applied.
"""

from __future__ import annotations

from tree_sitter import Node

from sandbox.typescript.edits import Blank, Insert
from sandbox.wire import Diagnostic, Severity, Span


class Editor:
    """Edits and diagnostics of one text. `path` are the nodes around the one that is visited, the outermost first."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.blanks: list[Blank] = []
        self._openings: list[Insert] = []
        self._closings: list[Insert] = []
        self.diagnostics: list[Diagnostic] = []
        self.path: list[Node] = []
        self._names = 0

    def blank(self, start: int, end: int, head: str = " ", tail: str = " ") -> None:
        self.blanks.append(Blank(start, end, head, tail))

    def blank_node(self, node: Node) -> bool:
        self.blank(node.start_byte, node.end_byte)
        return False

    def blank_tokens(self, node: Node, *tokens: str) -> bool:
        for child in node.children:
            if child.type in tokens and not child.is_named:
                self.blank_node(child)
        return True

    @property
    def inserts(self) -> list[Insert]:
        """At one place, what ends something comes before what begins something, and what is inside ends first."""
        return [*reversed(self._closings), *self._openings]

    def insert(self, at: int, text: str) -> None:
        """Write `text` before what begins at `at`."""
        if text:
            self._openings.append(Insert(at, text))

    def close(self, node: Node, text: str) -> None:
        """Write `text` behind a node and what is inserted inside of it."""
        self._closings.append(Insert(node.end_byte, text))

    def replace(self, node: Node, text: str) -> None:
        """Write `text` in place of a node, whose line breaks stay."""
        self.insert(node.start_byte, text)
        self.blank_node(node)

    def wrap(self, node: Node, before: str, after: str) -> None:
        self.insert(node.start_byte, before)
        self.close(node, after)

    def new_name(self) -> str:
        """A private name that no program has."""
        self._names += 1
        return f"#$typescript{self._names}"

    def read(self, node: Node) -> str:
        """The node's own text: the tree may be of a text that was simplified."""
        return self.text[node.start_byte : node.end_byte].decode("utf-8")

    def complain(self, message: str, node: Node, start: int | None = None) -> None:
        span = span_of(self.text, node.start_byte if start is None else start, node.end_byte)
        self.diagnostics.append(Diagnostic(severity=Severity.ERROR, code="SYNTAX_ERROR", message=message, span=span))

    def refuse(self, node: Node, message: str, hint: str) -> bool:
        span = span_of(self.text, node.start_byte, node.end_byte)
        found = Diagnostic(severity=Severity.ERROR, code="UNSUPPORTED_FEATURE", message=message, hint=hint, span=span)
        self.diagnostics.append(found)
        return False


def span_of(text: bytes, start: int, end: int) -> Span:
    """The 1-based span of a range of bytes; columns count code points."""

    def position(at: int) -> tuple[int, int]:
        line_start = text.rfind(b"\n", 0, at) + 1
        return text.count(b"\n", 0, at) + 1, len(text[line_start:at].decode("utf-8", "replace")) + 1

    (line, column), (end_line, end_column) = position(start), position(end)
    return Span(line=line, column=column, end_line=end_line, end_column=end_column)
