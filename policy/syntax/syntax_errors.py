"""Mistakes of grammar in plain words: what stands there, what could, and what was probably meant. One finding per piece."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from policy.syntax import tree as s
from policy.syntax.statement_recovery import CLAUSES, STATEMENTS, Piece
from policy.text.diagnostics import Findings
from policy.text.sources import Source, Span

_WORD = re.compile(r"[A-Za-z_][\w.]*")
_SHOWN_CHARS = 40
_SPOKEN = {
    "NAME": "a name",
    "STRING": "a string in quotes",
    "INT": "a number",
    "SIZE": "a size such as 4MiB",
    "DUR": "a duration such as 15m",
    "RATE": "a rate such as 60/min",
    "DIGEST": "a digest `sha256:` with 64 hexadecimal digits",
    "CMP": "a comparison",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "EFFECT": "`allow`, `ask` or `deny`",
    "VERDICT": "a verdict",
    "PHASE": "`before` or `after`",
    "EVENT": "an event such as session_start",
    "EQUAL": "`=`",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "$END": "the end",
}
_HABITS = {
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "'": 'write text in double quotes, as in "text"',
    "`": 'write text in double quotes, as in "text"',
    ";": "statements need no mark between them",
    "//": "a comment begins with `#`",
}


def report(error: UnexpectedInput | None, source: Source, piece: Piece, findings: Findings) -> None:
    """Say why a piece is not a statement: by the parser's error, or because its first word begins none."""
    if error is None:
        _report_beginning(source, piece, findings)
        return
    text = source.text
    if isinstance(error, UnexpectedCharacters):
        start = piece.start + (error.pos_in_stream or 0)
        found, accepted = text[start : start + 1], error.allowed or set()
        end = start + 1
        if start >= piece.end:
            start, end, found = max(piece.start, piece.end - 1), piece.end, "the end of the statement"
        elif word := _WORD.match(text, start):
            found, end = word.group(), word.end()
        elif found == '"':
            findings.add("HP001", "this string is not closed on its line", Span(source, start, start + 1), 'add the closing `"`')
            return
    elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
        start, end = s.offsets(error.token)
        if error.token is not piece.fed:  # raised by the lexer, which counts from the start of the piece
            start, end = start + piece.start, end + piece.start
        found, accepted = str(error.token), error.accepts or error.expected or set()
        if start >= piece.end:  # what was fed so that a statement without its end is one
            start, end, found = max(piece.start, piece.end - 1), piece.end, "the end of the statement"
    else:
        assert isinstance(error, (UnexpectedToken, UnexpectedEOF))
        start, end = max(piece.start, piece.end - 1), piece.end
        found = "the end of the statement"
        accepted = (error.accepts if isinstance(error, UnexpectedToken) else None) or set(error.expected or ())
    otherwise = _habit(text, start, found, accepted) or _list_expected(accepted)
    hint = findings.guess(found, [w for w in CLAUSES if w.upper() in accepted], otherwise)
    shown = found if found.startswith("the end") else f"`{_shorten(found)}`"
    findings.add("HP001", f"{shown} does not fit here", Span(source, start, end), hint)


def _report_beginning(source: Source, piece: Piece, findings: Findings) -> None:
    """Say that a piece begins with a word that begins no statement."""
    word = _WORD.match(source.text, piece.start)
    found = word.group() if word else source.text[piece.start : piece.start + 1]
    if found == '"' and source.text.find('"', piece.start + 1, piece.end) < 0:
        findings.add("HP001", "this string is not closed on its line", Span(source, piece.start, piece.start + 1))
        return
    guess = piece.kind if piece.kind != "unknown" else None
    hint = f"did you mean `{guess}`?" if guess else "a statement begins with " + ", ".join(f"`{w}`" for w in STATEMENTS)
    where = Span(source, piece.start, piece.start + len(found))
    findings.add("HP001", f"`{_shorten(found)}` does not begin a statement", where, hint)


def report_place(source: Source, piece: Piece, message: str, hint: str, findings: Findings) -> None:
    """Say that a statement, well formed in itself, stands where it cannot."""
    findings.add("HP001", message, Span(source, piece.start, piece.start + len(piece.kind)), hint)


def _habit(text: str, start: int, found: str, accepted: set[str]) -> str | None:
    """The right spelling of what other languages write here."""
    if found == "=" and "CMP" in accepted:
        return "write `==` to compare"
    if start > 0 and text[start - 1].isdigit() and found.isalpha():
        return "units are B, KiB, MiB, GiB for sizes and ms, s, m, h, d for durations"
    return _HABITS.get(text[start : start + 2]) or _HABITS.get(found)


def _shorten(found: str) -> str:
    return found if len(found) <= _SHOWN_CHARS else found[:_SHOWN_CHARS] + "…"


def _list_expected(accepted: set[str]) -> str | None:
    words = sorted(_SPOKEN.get(name) or f"`{name.lower()}`" for name in accepted if not name.startswith("__"))
    return "expected " + ", ".join(words[:6]) + (" …" if len(words) > 6 else "") if words else None
