"""TypeScript to JavaScript by blanking: types are replaced by spaces, so every line and column of the program stays true.

Purpose: `erase(source)` gives JavaScript text with the same lines and the same code points per line, or diagnostics that say what
cannot be erased (enums, namespaces with values, parameter properties, decorators, JSX …) and where.

Rules: a blanked statement leaves a `;` behind, so that the lines around it cannot run together. Nothing is reordered, except
that a bracket moves over a blanked type that contains a line break where JavaScript allows none. Input is capped.
Imports that are used only as types are kept, as Node does: say `import type`.

Does not know: what types mean, the guest, the session. Type errors are not found here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sandbox.typescript.grammar import find_jsx, read
from sandbox.typescript.walk import LINE_ENDS, Blank, Eraser, unsupported
from sandbox.wire import Diagnostic, Severity, Span

MAX_SOURCE_BYTES: Final = 8 << 20

_JSX: Final = ("JSX is not supported", "build the value with function calls")


@dataclass(frozen=True, slots=True)
class Erased:
    """`code` is JavaScript when no diagnostic is an error; otherwise it is the source as it was given."""

    code: str
    diagnostics: tuple[Diagnostic, ...]


def erase(source: str, filename: str = "<run>") -> Erased:
    """Blanks the types of `source`. Never raises for any text."""
    try:
        text = source.encode("utf-8")
    except UnicodeEncodeError as error:
        place = Span(source.count("\n", 0, error.start) + 1, error.start - source.rfind("\n", 0, error.start))
        return refuse(source, "the source is not valid Unicode: it has half of a surrogate pair", span=place)
    if len(text) > MAX_SOURCE_BYTES:
        return refuse(source, f"the source is larger than {MAX_SOURCE_BYTES} bytes")
    tree = read(text)
    eraser = Eraser(text)
    eraser.walk(tree)
    if eraser.diagnostics:
        if (tree.root_node.has_error or filename.endswith(".tsx")) and (jsx := find_jsx(text)) is not None:
            return Erased(source, (unsupported(text, jsx, *_JSX),))
        return Erased(source, tuple(eraser.diagnostics))
    return Erased(_apply(source, text, eraser.blanks), ())


def _apply(source: str, text: bytes, blanks: list[Blank]) -> str:
    if not blanks:
        return source
    pieces: list[str] = []
    at = 0
    for blank in sorted(blanks, key=lambda b: (b.start, -b.end)):
        if blank.end <= at:
            continue
        start = max(blank.start, at)
        pieces.append(text[at:start].decode("utf-8"))
        gone = text[start : blank.end].decode("utf-8")
        spaces = [c if c in LINE_ENDS else " " for c in gone]
        if blank.start == start and blank.head != " ":
            spaces[0] = blank.head
        if blank.tail != " ":
            spaces[-1] = blank.tail
        pieces.append("".join(spaces))
        at = blank.end
    pieces.append(text[at:].decode("utf-8"))
    return "".join(pieces)


def refuse(source: str, message: str, hint: str | None = None, span: Span | None = None) -> Erased:
    found = Diagnostic(severity=Severity.ERROR, code="SYNTAX_ERROR", message=message, hint=hint, span=span)
    return Erased(source, (found,))
