"""The syntax tree: what was written, with places, before anything is looked up.

Rules: nodes are immutable once the parser has returned; leaves are tokens, which know their offsets. `And` and `Or` are flat,
and `depth` counts the nesting, so that later stages may rely on the parser's bound.
This file does not know what names mean.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from lark import Token

ValueKind = Literal["string", "symbol", "number", "size", "duration"]


class Value(NamedTuple):
    kind: ValueKind
    token: Token


class Compare(NamedTuple):
    field: Token
    op: Token
    value: Value


class Within(NamedTuple):
    field: Token
    values: tuple[Value, ...]


class WithinName(NamedTuple):
    field: Token
    name: Token


class Between(NamedTuple):
    field: Token
    low: Value
    high: Value


class Under(NamedTuple):
    field: Token
    values: tuple[Value, ...]


class Truth(NamedTuple):
    name: Token


class Not(NamedTuple):
    item: Expr
    depth: int


class And(NamedTuple):
    items: list[Expr]
    depth: int


class Or(NamedTuple):
    items: list[Expr]
    depth: int


class Group(NamedTuple):
    item: Expr
    depth: int


Atom: TypeAlias = "Compare | Within | WithinName | Between | Under | Truth"
Expr: TypeAlias = "Atom | Not | And | Or | Group"


class Target(NamedTuple):
    kind: Literal["capability", "family", "effects"]
    token: Token | None
    effects: tuple[Value, ...] = ()


class Rate(NamedTuple):
    rate: Token
    per: Token


class Approver(NamedTuple):
    who: Token
    within: Token | None


class Auto(NamedTuple):
    expr: Expr


class Because(NamedTuple):
    text: Token


Clause: TypeAlias = "Rate | Approver | Auto | Because"


class Header(NamedTuple):
    name: Token
    version: Token
    narrows: Token | None
    catalog: Token | None


class Import(NamedTuple):
    path: Token


class SetDef(NamedTuple):
    name: Token
    values: tuple[Value, ...]


class LetDef(NamedTuple):
    name: Token
    expr: Expr


class Rule(NamedTuple):
    effect: Token
    target: Target
    when: Expr | None
    clauses: tuple[Clause, ...]


class Limit(NamedTuple):
    target: Target
    when: Expr | None
    settings: tuple[tuple[Token, Value], ...]


class Hook(NamedTuple):
    name: Token
    phase: Token
    target: Target | None
    when: Expr | None
    executor: Token
    program: Token
    uses: tuple[Value, ...] | None
    timeout: Token | None
    on_error: Token | None


class Scope(NamedTuple):
    """`expr` is absent when the condition could not be read."""

    expr: Expr | None
    items: tuple[Rule | Limit | Hook, ...]


class Prove(NamedTuple):
    target: Target
    when: Expr | None


class TestCase(NamedTuple):
    capability: Token
    fields: tuple[tuple[Token, Value], ...]
    verdict: Token


class Test(NamedTuple):
    title: Token
    caller: tuple[tuple[Token, Value], ...]
    cases: tuple[TestCase, ...]


Item: TypeAlias = "Import | SetDef | LetDef | Scope | Rule | Limit | Hook | Prove | Test"


class File(NamedTuple):
    header: Header | None
    items: tuple[Item, ...]


def measure_depth(expr: Expr) -> int:
    return expr.depth if isinstance(expr, (Not, And, Or, Group)) else 1


def find_extent(expr: Expr) -> tuple[int, int]:
    """First and last offset of an expression, found without recursion."""
    return _edge(expr, first=True), _edge(expr, first=False)


def find_written(expr: Expr, text: str) -> tuple[int, int]:
    """The extent with what stands around it: `not`, parentheses, the brace that ends a set."""
    start, end = find_extent(expr)
    for node in _path(expr, first=True):
        if isinstance(node, (Not, Group)):
            start = max(0, text.rfind("not" if isinstance(node, Not) else "(", 0, start))
    last, *around = _path(expr, first=False)
    if isinstance(last, (Within, Under)) and "{" in text[offsets(last.field)[1] : end]:
        end = text.find("}", end) + 1 or end
    for node in around:
        if isinstance(node, Group):
            end = text.find(")", end) + 1 or end
    return start, end


def _path(expr: Expr, *, first: bool) -> list[Expr]:
    """From the first or last comparison of an expression outwards to the expression itself."""
    path = [expr]
    while True:
        if isinstance(expr, (And, Or)):
            expr = expr.items[0] if first else expr.items[-1]
        elif isinstance(expr, (Not, Group)):
            expr = expr.item
        else:
            return path[::-1]
        path.append(expr)


def _edge(expr: Expr, *, first: bool) -> int:
    expr = _path(expr, first=first)[0]
    assert not isinstance(expr, (Not, Group, And, Or))
    if first:
        return offsets(expr.name if isinstance(expr, Truth) else expr.field)[0]
    match expr:
        case Compare(value=value):
            return offsets(value.token)[1]
        case Within(values=values) | Under(values=values):
            return offsets(values[-1].token if values else expr.field)[1]
        case WithinName(name=name) | Truth(name=name):
            return offsets(name)[1]
        case Between(high=high):
            return offsets(high.token)[1]
    raise AssertionError(expr)


def offsets(token: Token) -> tuple[int, int]:
    """A token's place. INVARIANT: every token made by the parser has one."""
    start = token.start_pos
    assert start is not None
    return start, start + len(token)


def list_atoms(expr: Expr) -> list[Atom]:
    """The comparisons of an expression, in order, found without recursion."""
    found: list[Atom] = []
    pending = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, (And, Or)):
            pending.extend(reversed(node.items))
        elif isinstance(node, (Not, Group)):
            pending.append(node.item)
        else:
            found.append(node)
    return found


def clause_token(clause: Clause) -> Token:
    """The token to point at when something is wrong with a clause."""
    match clause:
        case Rate():
            return clause.rate
        case Approver():
            return clause.who
        case Because():
            return clause.text
        case Auto():
            expr = clause.expr
            start, _ = find_extent(expr)
            return Token("NAME", "x", start_pos=start)
