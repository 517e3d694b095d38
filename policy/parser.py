"""Text to syntax tree, with every mistake reported once.

A well-formed text is parsed in one go by Lark's LALR engine, which builds the tree as it reduces (no recursion). When that
fails, the text is cut at statement keywords that stand first on a line or after a brace, and each piece is parsed alone: a
mistake spoils its own statement only, and three mistakes give three reports.
THREAT[TM-POL-001]: the text is untrusted. Size, nesting and the number of reports are bounded; terminals cannot backtrack.
This file does not know what names mean.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from importlib import resources
from typing import Any, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternRE, PatternStr, TerminalDef

from policy import syntax as s
from policy.builder import Builder
from policy.diagnostics import Findings
from policy.sources import Source, Span

MAX_TEXT_CHARS = 1_000_000
MAX_DEPTH = 48
MAX_SYNTAX_REPORTS = 100

_INVISIBLE = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
STATEMENTS = ("import", "set", "let", "scope", "allow", "ask", "deny", "limit", "hook", "prove", "test")
_WORD_OR_MARK = re.compile(r'"[^"\n]*"|#[^\n]*|[A-Za-z_][\w.]*|[{}]|\n|=>|[^\s]')
_CLAUSES = (
    "when",
    "rate",
    "by",
    "within",
    "auto",
    "because",
    "timeout",
    "on_error",
    "uses",
    "run",
    "and",
    "or",
    "not",
    "in",
    "under",
)


def grammar_text() -> str:
    return resources.files("policy").joinpath("grammar.lark").read_text(encoding="utf-8")


def _whole_words(terminal: TerminalDef) -> None:
    """Keywords end where the word ends: without this, `prove now` would be read as `prove no w`."""
    if isinstance(terminal.pattern, PatternStr) and terminal.pattern.value.isidentifier():
        terminal.pattern = PatternRE(terminal.pattern.value + r"\b")
        terminal.priority = 6


@lru_cache(maxsize=1)
def engine() -> Lark:
    return Lark(
        grammar_text(),
        parser="lalr",
        lexer="contextual",
        start=["file", "header", "item"],
        maybe_placeholders=True,
        transformer=cast(Any, Builder()),
        edit_terminals=_whole_words,
    )


def parse(source: Source, findings: Findings) -> s.File:
    """The tree of everything that could be read; what could not is in `findings`."""
    if len(source.text) > MAX_TEXT_CHARS:
        findings.add(
            "HP003", f"the text has {len(source.text):,} characters; at most {MAX_TEXT_CHARS:,} are read", Span(source, 0, 1)
        )
        return s.File(None, ())
    bad = _INVISIBLE.search(source.text)
    if bad:
        findings.add("HP004", f"invisible character U+{ord(bad.group()):04X}", Span(source, bad.start(), bad.end()), "delete it")
        return s.File(None, ())
    try:
        tree = _parse_whole(source.text)
    except UnexpectedInput:
        tree = _parse_pieces(source, findings)
    return _bounded(tree, source, findings)


def _parse_whole(text: str) -> s.File:
    """The fast way for a text without mistakes: Lark's tables and terminals, one regular expression per parser state.

    Each match skips white space and comments and reads one token. Raises UnexpectedInput at the first mistake, without a good
    description of it: `_parse_pieces` will find it again.
    """
    state = engine().parse_interactive("", start="file").parser_state
    stack, states, feed = state.state_stack, state.parse_conf.states, state.feed_token
    at = 0
    while True:
        scanner = _SCANNERS.get(stack[-1]) or _scanner(stack[-1], states[stack[-1]])
        match = scanner.match(text, at)
        kind = match.lastgroup if match is not None else None
        if match is None or kind is None:
            break
        feed(Token(kind, match.group(kind), match.start(kind)))
        at = match.end()
    if not _SKIPPED.fullmatch(text, at):
        raise UnexpectedInput(f"nothing fits at {at}")
    return cast(s.File, feed(Token("$END", "", at), True))


_SCANNERS: dict[Any, re.Pattern[str]] = {}
# Atomic: a comment is skipped whole or not at all. Otherwise a failed match would be tried again with a shorter comment, and the
# rest of the comment would be read as code.
_SKIPPED = re.compile(r"(?>(?:[ \t\r\n]+|#[^\n]*)*)")


def _scanner(state: Any, accepted: Collection[str]) -> re.Pattern[str]:
    """What can come next in a parser state, in Lark's own order of preference."""
    terminals = [terminal for terminal in engine().terminals if terminal.name in accepted]
    terminals.sort(key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    choices = "|".join(f"(?P<{terminal.name}>{terminal.pattern.to_regexp()})" for terminal in terminals)
    found = re.compile(f"{_SKIPPED.pattern}(?:{choices})" if choices else "(?!)")
    _SCANNERS[state] = found
    return found


def _parse_pieces(source: Source, findings: Findings) -> s.File:
    """Statement by statement, after the whole text failed."""
    header: s.Header | None = None
    headed = False
    items: list[s.Item] = []
    scopes: list[tuple[s.Expr | None, list[s.Rule | s.Limit | s.Hook]]] = []
    reports = 0
    for piece in _pieces(source.text):
        headed = headed or piece.kind in ("policy", "unknown")
        if piece.kind == "close":
            if scopes:
                _close(*scopes.pop(), items)
            else:
                findings.add("HP001", "this `}` closes nothing", Span(source, piece.start, piece.end), "delete it")
            continue
        try:
            node = _parse_piece(source.text, piece)
        except UnexpectedInput as error:
            reports += 1
            if reports <= MAX_SYNTAX_REPORTS:
                _report(error, source, piece, findings)
            if piece.kind == "scope":
                scopes.append((None, []))
            continue
        if isinstance(node, s.Header):
            header = node
        elif isinstance(node, s.Scope):
            scopes.append((node.expr, []))
        elif scopes and isinstance(node, (s.Rule, s.Limit, s.Hook)):
            scopes[-1][1].append(node)
        else:
            items.append(node)
    for expr, inner in scopes:
        _close(expr, inner, items)
        if expr is not None:
            findings.add("HP001", "this scope is never closed", Span(source, *s.extent(expr)), "add `}`")
    if not headed:
        findings.add("HP001", "the policy has no header", Span(source, 0, 0), "begin with `policy NAME v 1`")
    return s.File(header, tuple(items))


def _close(expr: s.Expr | None, inner: list[s.Rule | s.Limit | s.Hook], items: list[s.Item]) -> None:
    """End a scope; the statements of one whose condition could not be read are kept, so that they are still checked."""
    if expr is None:
        items.extend(inner)
    else:
        items.append(s.Scope(expr, tuple(inner)))


class _Piece:
    """A stretch of text that should be one statement. `fed` is the last token the parser was given from it."""

    __slots__ = ("end", "fed", "kind", "start")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind, self.start, self.end = kind, start, end
        self.fed: Token | None = None


def _pieces(text: str) -> Iterator[_Piece]:
    """Cut at statement keywords that begin a line or follow a brace; linear in the text."""
    fresh, depth, opened = True, 0, False
    current: _Piece | None = None
    last_end, previous = 0, ""
    for match in _WORD_OR_MARK.finditer(text):
        word = match.group()
        if word == "\n":
            fresh = True
            continue
        if word[0] == "#":
            continue
        starts = fresh and previous != "=>" and (word in STATEMENTS or (word == "policy" and current is None))
        if starts:
            if current is not None:
                current.end = last_end
                yield current
            current = _Piece("scope" if word == "scope" else word, match.start(), match.end())
            depth, opened = 0, False
        elif current is None and word != "}":
            current = _Piece("unknown", match.start(), match.end())
        fresh = False
        if word == "{":
            if current is not None and current.kind == "scope" and not opened and previous != "in" and previous != "under":
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
                yield _Piece("close", match.start(), match.end())
            else:
                depth -= 1
            fresh = True
        last_end, previous = match.end(), word
    if current is not None:
        current.end = last_end
        yield current


def last_statement(text: str, offset: int) -> int:
    """Where the statement around an offset begins; the offset itself when none has begun."""
    last: _Piece | None = None
    for piece in _pieces(text[:offset]):
        last = piece
    if last is None or last.kind == "close" or (last.kind == "scope" and text[last.end - 1] == "{"):
        return offset
    return last.start


def read_tokens(interactive: Any) -> Iterator[Token]:
    """Tokens as the lexer finds them in the parser's current state; the caller feeds each before asking for the next."""
    yield from interactive.lexer_thread.lex(interactive.parser_state)


def _parse_piece(text: str, piece: _Piece) -> Any:
    start = "header" if piece.kind in ("policy", "unknown") else "item"
    body = text[piece.start : piece.end] + (" }" if piece.kind == "scope" else "")
    interactive = engine().parse_interactive(body, start=start)
    for token in read_tokens(interactive):
        # Shifting by hand keeps token offsets relative to the whole text without copying the text before the piece.
        if token.start_pos is not None:
            token.start_pos += piece.start
        piece.fed = token
        interactive.feed_token(token)
    return cast(Any, interactive).feed_eof(Token("$END", "", start_pos=piece.end))


def _report(error: UnexpectedInput, source: Source, piece: _Piece, findings: Findings) -> None:
    text = source.text
    if isinstance(error, UnexpectedCharacters):
        start = piece.start + (error.pos_in_stream or 0)
        found, accepted = text[start : start + 1], error.allowed or set()
        end = start + 1
        if start >= piece.end:
            start, end, found = max(piece.start, piece.end - 1), piece.end, "the end of the statement"
        elif word := re.compile(r"[A-Za-z_][\w.]*").match(text, start):
            found, end = word.group(), word.end()
        elif found == '"':
            findings.add("HP001", "this string is not closed on its line", Span(source, start, start + 1), 'add the closing `"`')
            return
    elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
        start, end = s.offsets(error.token)
        if error.token is not piece.fed:  # raised by the lexer, which counts from the start of the piece
            start, end = start + piece.start, end + piece.start
        found, accepted = str(error.token), error.accepts or error.expected or set()
    else:
        assert isinstance(error, (UnexpectedToken, UnexpectedEOF))
        start, end = max(piece.start, piece.end - 1), piece.end
        found = "the end of the statement"
        accepted = (error.accepts if isinstance(error, UnexpectedToken) else None) or set(error.expected or ())
    words = _describe(accepted)
    found = found if len(found) <= 40 else found[:40] + "…"
    if piece.kind == "unknown":
        guess = findings.guess(found, (*STATEMENTS, "policy"))
        hint = f"did you mean `{guess}`?" if guess else "a statement begins with " + ", ".join(f"`{w}`" for w in STATEMENTS)
        findings.add("HP001", f"`{found}` does not begin a statement", Span(source, start, end), hint)
        return
    guess = findings.guess(found, [w for w in _CLAUSES if w.upper() in accepted])
    expected = f"expected {words}" if words else None
    shown = found if found.startswith("the end") else f"`{found}`"
    findings.add(
        "HP001", f"{shown} does not fit here", Span(source, start, end), f"did you mean `{guess}`?" if guess else expected
    )


_SPOKEN = {
    "NAME": "a name",
    "STRING": "a string in quotes",
    "INT": "a number",
    "SIZE": "a size such as 4MiB",
    "DUR": "a duration such as 15m",
    "RATE": "a rate such as 60/min",
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


def _describe(accepted: set[str]) -> str:
    words = sorted(_SPOKEN.get(name) or f"`{name.lower()}`" for name in accepted if not name.startswith("__"))
    return ", ".join(words[:6]) + (" …" if len(words) > 6 else "")


def _bounded(tree: s.File, source: Source, findings: Findings) -> s.File:
    """Drop statements nested beyond MAX_DEPTH. INVARIANT: no later stage sees a deeper expression."""

    def shallow(item: s.Item) -> bool:
        for expr in expressions(item):
            if s.depth_of(expr) > MAX_DEPTH:
                start, end = s.extent(expr)
                findings.add(
                    "HP002", f"nested deeper than {MAX_DEPTH}", Span(source, start, min(end, start + 1)), "name parts with `let`"
                )
                return False
        return True

    kept: list[s.Item] = []
    for item in tree.items:
        if isinstance(item, s.Scope):
            if shallow(item):
                kept.append(s.Scope(item.expr, tuple(i for i in item.items if shallow(i))))
        elif shallow(item):
            kept.append(item)
    return s.File(tree.header, tuple(kept))


def expressions(item: s.Item) -> Iterator[s.Expr]:
    """The expressions a statement holds itself (not those of statements inside it)."""
    if isinstance(item, (s.LetDef, s.Scope)):
        yield item.expr
    elif isinstance(item, (s.Rule, s.Limit, s.Hook, s.Prove)) and item.when is not None:
        yield item.when
    if isinstance(item, s.Rule):
        yield from (clause.expr for clause in item.clauses if isinstance(clause, s.Auto))
