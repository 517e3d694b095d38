"""TypeScript to JavaScript in place: types are replaced by spaces, and what has a value is compiled where it stands.

Purpose: `erase(source)` gives JavaScript text with the same lines, or diagnostics that say what is wrong and where. Enums,
namespaces, parameter properties, decorators, JSX, `import =` and `export =` are compiled; all else keeps its columns too.

Rules: a blanked statement leaves a `;` behind, so that the lines around it cannot run together. Nothing is reordered, except
that a bracket moves over a blanked type that contains a line break where JavaScript allows none. Input is capped.
Imports that are used only as types are kept, as Node does: say `import type`.

Does not know: what types mean, the guest, the session. Type errors are not found here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sandbox.typescript.edits import apply_edits
from sandbox.typescript.grammar import read
from sandbox.typescript.walk import Eraser
from sandbox.wire import Diagnostic, Severity, Span

MAX_SOURCE_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Erased:
    """`code` is JavaScript when no diagnostic is an error; otherwise it is the source as it was given. `cpu_ns` is what erasing
    took on another thread than the caller's."""

    code: str
    diagnostics: tuple[Diagnostic, ...]
    cpu_ns: int = 0


def erase(source: str, filename: str = "<run>") -> Erased:
    """Erase the types of `source`, and compile the rest. Never raises for any text."""
    try:
        text = source.encode("utf-8")
    except UnicodeEncodeError as error:
        place = Span(source.count("\n", 0, error.start) + 1, error.start - source.rfind("\n", 0, error.start))
        return refuse(source, "the source is not valid Unicode: it has half of a surrogate pair", span=place)
    if len(text) > MAX_SOURCE_BYTES:
        return refuse(source, f"the source is larger than {MAX_SOURCE_BYTES} bytes")
    eraser = Eraser(text)
    eraser.walk(read(text, is_jsx=filename.endswith(".tsx")))
    if eraser.diagnostics:
        return Erased(source, tuple(eraser.diagnostics))
    return Erased(apply_edits(text, eraser.blanks, eraser.inserts) if eraser.blanks or eraser.inserts else source, ())


def refuse(source: str, message: str, hint: str | None = None, span: Span | None = None) -> Erased:
    found = Diagnostic(severity=Severity.ERROR, code="SYNTAX_ERROR", message=message, hint=hint, span=span)
    return Erased(source, (found,))
