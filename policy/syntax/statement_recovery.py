"""Where statements begin: a text that does not parse is cut here into pieces that should each be one statement.

One pass, linear in the text. A statement begins at its keyword, or at a word that can only be a misspelt one, first on a line or
after a brace; a scope's `scope … {` and its `}` are pieces of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token

from policy.text.spelling import find_nearest

STATEMENTS = ("import", "set", "let", "scope", "allow", "ask", "deny", "limit", "hook", "prove", "test")
TAKE_SETS = ("in", "under", "like", "starts", "ends")
"""Words of a condition that a set may follow: the brace after them opens no scope."""
_OPERATORS = ("and", "or", "not", *TAKE_SETS)
CLAUSES = ("when", "rate", "by", "within", "auto", "because", "timeout", "on_error", "uses", "run", *_OPERATORS)
_JOINING = (*CLAUSES, "per", "on", "no", "any", "with", "effects", "as", "before", "after", "policy", "v", "narrows", "catalog")
_WANT_MORE = frozenset((*_JOINING, *STATEMENTS, "=", "==", "!=", "<", "<=", ">", ">=", "=>", "(", ",", ".", "-", "{"))
_CONTINUES = frozenset(CLAUSES) - {"run"}  # `run` is a capability too
_WORD_OR_MARK = re.compile(r'"[^"\n]*"|#[^\n]*|[A-Za-z_][\w.]*|[{}]|\n|=>|[=!<>]=|[^ \t\r\n]')
_AHEAD = re.compile(r'[ \t]+(?:"|([A-Za-z_][\w.]*))|[ \t\r]*(?=\n|\Z)')
_MAX_GUESSES = 100


@dataclass(slots=True)
class Piece:
    """A stretch of text that should be one statement. `kind` is the keyword it begins with (`close` for a brace, `unknown` for a
    word that is none); `misspelt` when the word only resembles it. `fed` is the last token the parser was given from it."""

    kind: str
    start: int
    end: int
    misspelt: bool = False
    fed: Token | None = None


def pieces(text: str) -> Iterator[Piece]:
    """Cut at words that begin a statement, first on a line or after a brace."""
    fresh, depth, opened, guesses = True, 0, False, 0
    current: Piece | None = None
    last_end, previous = 0, ""
    for match in _WORD_OR_MARK.finditer(text):
        word = match.group()
        if word == "\n":
            fresh = True
            continue
        if word[0] == "#":
            continue
        begun: Piece | None = None
        if fresh and previous != "=>" and (word in STATEMENTS or word == "policy"):
            begun = Piece(word, match.start(), match.end())
        elif word != "}" and (
            current is None or (fresh and depth == 0 and previous not in _WANT_MORE and guesses < _MAX_GUESSES and _begins(match))
        ):
            begun, guesses = _misread(match, guesses), guesses + 1
        if begun is not None:
            if current is not None:
                current.end = last_end
                yield current
            current, depth, opened = begun, 0, False
        fresh = False
        if word == "{":
            if current is not None and current.kind == "scope" and not opened and previous not in TAKE_SETS:
                current.end = match.end()
                yield current
                current = None
            else:
                depth, opened = depth + 1, True
            fresh = True
        elif word == "}":
            if depth == 0:
                if current is not None:
                    current.end = last_end
                    yield current
                    current = None
                yield Piece("close", match.start(), match.end())
            else:
                depth -= 1
            fresh = True
        last_end, previous = match.end(), word
    if current is not None:
        current.end = last_end
        yield current


def _misread(match: re.Match[str], guesses: int) -> Piece:
    """A piece that begins with no keyword: the nearest one says how to go on, while mistakes are few."""
    meant = find_nearest(match.group(), (*STATEMENTS, "policy")) if guesses < _MAX_GUESSES else None
    return Piece(meant or "unknown", match.start(), match.end(), misspelt=True)


def _begins(match: re.Match[str]) -> bool:
    """Whether a word first on a line is a statement's misspelt keyword: it is no clause, and a name or nothing follows it."""
    word = match.group()
    ahead = _AHEAD.match(match.string, match.end())
    if not (word[0].isalpha() or word[0] == "_") or word in _JOINING or ahead is None or ahead.group(1) in _CONTINUES:
        return False
    meant = find_nearest(word, (*STATEMENTS, *CLAUSES))
    return meant not in CLAUSES and (meant is not None or ahead.group(0).strip() != "")


def find_last_statement(text: str, offset: int) -> int:
    """Where the statement around an offset begins; the offset itself when none has begun."""
    last: Piece | None = None
    for piece in pieces(text[:offset]):
        last = piece
    if last is None or last.kind == "close" or (last.kind == "scope" and text[last.end - 1] == "{"):
        return offset
    return last.start
