"""One layout for every policy.

Works on tokens, so comments stay where they were; the result is compared token by token with the input before it is returned.
Formatting twice gives the same as formatting once: line breaks depend on tokens and widths only, and of the author's own layout
only blank lines between statements are kept (at most one). A text with syntax errors is not formatted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lark import Token
from lark.exceptions import UnexpectedInput

from policy.errors import PolicyError
from policy.syntax.parser import engine, parse, read_tokens
from policy.syntax.statement_recovery import TAKE_SETS
from policy.syntax.tree import offsets
from policy.text.diagnostics import Findings
from policy.text.sources import Source

WIDTH = 100
_STARTS = {"POLICY", "IMPORT", "SET", "LET", "SCOPE", "EFFECT", "LIMIT", "HOOK", "PROVE", "TEST"}
_TAKE_SETS = {word.upper() for word in TAKE_SETS}
_CLAUSES = {"rate", "by", "auto", "because"}
_GAP = re.compile(r"#[^\n]*|\n")


@dataclass(slots=True)
class _Piece:
    """A token with the comments in front of it."""

    token: Token | None
    trailing: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    blank: bool = False


def format_text(text: str, path: str = "policy.hatch") -> str:
    """The text in its one layout. Raises PolicyError when it does not parse."""
    findings = Findings()
    source = Source(path, text)
    parse(source, findings)
    tokens = _tokens(text)
    if findings.errors or tokens is None:
        raise PolicyError.from_diagnostics(findings.sort())
    result = _Printer().run(_pieces(text, tokens), _places(tokens))
    again = _tokens(result)
    if (
        again is None
        or [(t.type, str(t)) for t in again] != [(t.type, str(t)) for t in tokens]
        or _comments(text) != _comments(result)
    ):
        raise PolicyError("formatting would have changed the policy; it was left alone")
    return result


def _tokens(text: str) -> list[Token] | None:
    try:
        interactive = engine().parse_interactive(text, start="file")
        tokens = []
        for token in read_tokens(interactive):
            tokens.append(token)
            interactive.feed_token(token)
    except UnexpectedInput:
        return None
    return tokens


def _comments(text: str) -> list[str]:
    return [m.group().rstrip() for m in re.finditer(r'"[^"\n]*"|#[^\n]*', text) if m.group()[0] == "#"]


def _pieces(text: str, tokens: list[Token]) -> list[_Piece]:
    pieces: list[_Piece] = []
    at = 0
    for token in [*tokens, None]:
        start = offsets(token)[0] if token is not None else len(text)
        piece = _Piece(token)
        newlines = 0
        for match in _GAP.finditer(text, at, start):
            if match.group() == "\n":
                newlines += 1
                continue
            comment = match.group().rstrip()
            if newlines == 0 and pieces:
                piece.trailing.append(comment)
            else:
                piece.own.append(("\n" if newlines > 1 and (pieces or piece.own) else "") + comment)
            newlines = 0
        piece.blank = newlines > 1
        pieces.append(piece)
        at = offsets(token)[1] if token is not None else at
    return pieces


class _Place(NamedTuple):
    """Where a token goes: on a new line as a statement or clause, or on in the `flow`."""

    start: Literal["statement", "close", "clause", "flow"]
    indent: int
    breakable: bool = False


def _places(tokens: list[Token]) -> list[_Place]:
    """Decide by token types alone where lines begin."""
    places: list[_Place] = []
    blocks: list[str] = []
    statement, depth = "", 0
    previous: Token | None = None
    for token in tokens:
        base = 2 * len(blocks)
        kind = token.type
        in_test = bool(blocks) and blocks[-1] == "TEST"
        if depth == 0 and (kind in _STARTS or (in_test and kind in ("AS", "NAME"))):
            statement = kind
            places.append(_Place("statement", base))
        elif depth == 0 and kind == "RBRACE" and blocks:
            blocks.pop()
            statement = ""
            places.append(_Place("close", base - 2))
        elif (
            depth == 0
            and kind != "NAME"
            and ((statement == "EFFECT" and token in _CLAUSES) or (statement == "HOOK" and kind == "RUN"))
        ):
            places.append(_Place("clause", base + 2))
        else:
            setting = (
                statement == "LIMIT" and depth == 1 and kind == "NAME" and previous is not None and previous.type != "LBRACE"
            )
            may_break = kind in ("AND", "OR") or setting or (previous is not None and previous.type == "COMMA")
            places.append(_Place("flow", base, may_break))
            if kind == "LBRACE":
                opens = statement == "TEST" or (statement == "SCOPE" and previous is not None and previous.type not in _TAKE_SETS)
                if depth == 0 and opens:
                    blocks.append(statement)
                else:
                    depth += 1
            elif kind == "RBRACE":
                depth -= 1
        previous = token
    return places


class _Printer:
    """Lines out of placed tokens; `base` is the indent of the statement being written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.units: list[str] = []
        self.indent = self.base = 0
        self.after_open = True

    def run(self, pieces: list[_Piece], places: list[_Place]) -> str:
        for piece, place in zip(pieces, [*places, _Place("statement", 0)], strict=True):
            self._comments(piece, place)
            if piece.token is None:
                break
            if place.start != "flow":
                self._end_line()
                if place.start == "statement" and piece.blank:
                    self._blank()
                self.indent = place.indent
                self.base = place.indent if place.start == "statement" else self.base
            elif not self.units:
                self.indent = self.base + 4
            self._add(str(piece.token), place.breakable)
            self.after_open = False
            if place.start == "flow" and piece.token.type == "LBRACE":
                self.after_open = True
        self._end_line()
        return "\n".join(self.lines) + "\n" if self.lines else ""

    def _comments(self, piece: _Piece, place: _Place) -> None:
        for comment in piece.trailing:
            self._end_line(f"  {comment}")
        if not piece.own:
            return
        self._end_line()
        indent = {"statement": place.indent, "close": place.indent + 2, "clause": place.indent, "flow": self.base + 4}[
            place.start
        ]
        for comment in piece.own:
            if comment.startswith("\n") and place.start in ("statement", "close"):
                self._blank()
            self.lines.append(" " * indent + comment.lstrip("\n"))
            self.after_open = False

    def _blank(self) -> None:
        if self.lines and self.lines[-1] and not self.after_open:
            self.lines.append("")

    def _add(self, text: str, breakable: bool) -> None:
        if not self.units:
            self.units.append(text)
        elif breakable:
            self.units.append(" " + text)
        else:
            last = self.units[-1]
            tight = text in (",", ")", "..", ".*") or last.endswith(("(", "..")) or (text == "}" and last.endswith("{"))
            self.units[-1] += text if tight else " " + text

    def _end_line(self, comment: str = "") -> None:
        """Write the collected units, wrapped where they may break."""
        if not self.units:
            if comment and self.lines:
                self.lines[-1] += comment
            return
        line = " " * self.indent
        for position, unit in enumerate(self.units):
            if position and len(line) + len(unit) > WIDTH:
                self.lines.append(line)
                line = " " * (self.base + 4) + unit.lstrip()
            else:
                line += unit
        self.lines.append(line + comment)
        self.units = []
