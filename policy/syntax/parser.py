"""Text to syntax tree, with every mistake reported once.

A well-formed text is parsed in one go by Lark's LALR engine, which builds the tree as it reduces (no recursion). When that
fails, the text is cut at statement keywords that stand first on a line or after a brace, and each piece is parsed alone: a
mistake spoils its own statement only, and three mistakes give three reports.
THREAT[TM-POL-001]: the text is untrusted. Size, nesting and the number of reports are bounded; terminals cannot backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import Any, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedInput
from lark.lexer import PatternRE, PatternStr, TerminalDef

from policy.syntax import tree as s
from policy.syntax.statement_recovery import Piece, pieces
from policy.syntax.syntax_errors import report, report_place
from policy.text.diagnostics import Findings
from policy.text.sources import Source, Span

MAX_TEXT_CHARS = 1_000_000
MAX_DEPTH = 48
MAX_SYNTAX_REPORTS = 100

# Control, format and filler characters, and carriage returns that end no line: each can hide a rule from a reader.
_INVISIBLE = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u2d7f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001345f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def grammar_text() -> str:
    return resources.files("policy.syntax").joinpath("grammar.lark").read_text(encoding="utf-8")


def _end_at_words(terminal: TerminalDef) -> None:
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
        transformer=cast(Any, s.BUILDER),
        edit_terminals=_end_at_words,
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
        hint = "end lines with LF or CRLF" if bad.group() == "\r" else "delete it"
        findings.add("HP004", f"invisible character U+{ord(bad.group()):04X}", Span(source, bad.start(), bad.end()), hint)
        return s.File(None, ())
    try:
        tree = cast(s.File, engine().parse(source.text, start="file"))
    except UnexpectedInput as error:
        before = findings.errors
        tree = _parse_pieces(source, findings)
        if findings.errors == before:
            # INVARIANT: a text the grammar refuses is never without an error, even if every piece of it reads well alone.
            at = error.pos_in_stream or 0
            findings.add("HP001", "the text does not fit together here", Span(source, at, min(at + 1, len(source.text))))
    return _bound_depth(tree, source, findings)


def _parse_pieces(source: Source, findings: Findings) -> s.File:
    """Statement by statement, after the whole text failed."""
    header: s.Header | None = None
    headed = False
    items: list[s.Item] = []
    scopes: list[_Open] = []
    reports = 0
    for number, piece in enumerate(pieces(source.text)):
        headed = headed or piece.kind == "policy" or (piece.misspelt and number == 0)
        if piece.kind == "close":
            if scopes:
                items.append(_close(scopes.pop()))
            else:
                findings.add("HP001", "this `}` closes nothing", Span(source, piece.start, piece.end), "delete it")
            continue
        try:
            node = _parse_piece(source.text, piece) if not piece.misspelt else None
        except UnexpectedInput as error:
            node = error
        if node is None or isinstance(node, UnexpectedInput):
            reports += 1
            if reports <= MAX_SYNTAX_REPORTS:
                report(node, source, piece, findings)
            if piece.kind == "scope":
                scopes.append((None, []))
        elif isinstance(node, s.Header):
            _check_header(header, number, source, piece, findings)
            header = header or node
        elif isinstance(node, s.Scope):
            if scopes:
                hint = "close the outer scope first, and join the two conditions with `and`"
                report_place(source, piece, "a scope cannot stand in a scope", hint, findings)
            scopes.append((None if scopes else node.expr, []))
        elif scopes and isinstance(node, (s.Rule, s.Limit, s.Hook)):
            scopes[-1][1].append(node)
        else:
            if scopes:
                message = f"`{piece.kind}` cannot stand in a scope"
                report_place(source, piece, message, "a scope holds rules, limits and hooks; write it outside", findings)
            items.append(node)
    for scope in scopes:
        items.append(_close(scope))
        if scope[0] is not None:
            findings.add("HP001", "this scope is never closed", Span(source, *s.find_extent(scope[0])), "add `}`")
    if not headed:
        findings.add("HP001", "the policy has no header", Span(source, 0, 0), "begin with `policy NAME v 1`")
    return s.File(header, tuple(items))


def _check_header(before: s.Header | None, number: int, source: Source, piece: Piece, findings: Findings) -> None:
    if before is not None:
        report_place(source, piece, "this is a second header", "a file holds one policy; delete one of them", findings)
    elif number > 0:
        report_place(source, piece, "the header does not come first", "move it to the beginning", findings)


_Open = tuple["s.Expr | None", "list[s.Rule | s.Limit | s.Hook]"]


def _close(scope: _Open) -> s.Scope:
    """The statements of a scope whose condition could not be read are kept, so that they are still checked."""
    return s.Scope(scope[0], tuple(scope[1]))


def read_tokens(interactive: Any) -> Iterator[Token]:
    """Tokens as the lexer finds them in the parser's current state; the caller feeds each before asking for the next."""
    yield from interactive.lexer_thread.lex(interactive.parser_state)


def _parse_piece(text: str, piece: Piece) -> Any:
    start = "header" if piece.kind == "policy" else "item"
    body = text[piece.start : piece.end] + (" }" if piece.kind == "scope" else "")
    interactive = engine().parse_interactive(body, start=start)
    for token in read_tokens(interactive):
        # Shifting by hand keeps token offsets relative to the whole text without copying the text before the piece.
        if token.start_pos is not None:
            token.start_pos += piece.start
        piece.fed = token
        interactive.feed_token(token)
    return cast(Any, interactive).feed_eof(Token("$END", "", start_pos=piece.end))


def _bound_depth(tree: s.File, source: Source, findings: Findings) -> s.File:
    """Drop statements nested beyond MAX_DEPTH. INVARIANT: no later stage sees a deeper expression."""

    def shallow(item: s.Item) -> bool:
        for expr in expressions(item):
            if s.measure_depth(expr) > MAX_DEPTH:
                start, end = s.find_extent(expr)
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
    if isinstance(item, (s.LetDef, s.Scope)) and item.expr is not None:
        yield item.expr
    elif isinstance(item, (s.Rule, s.Limit, s.Hook, s.Prove)) and item.when is not None:
        yield item.when
    if isinstance(item, s.Rule):
        yield from (clause.expr for clause in item.clauses if isinstance(clause, s.Auto))
