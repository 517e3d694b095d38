"""The syntax tree: what was written, with places, before anything is looked up.

Leaves are tokens, which know their offsets. `Joined` is flat, and `depth` counts the nesting, so that later stages may rely on
the parser's bound.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from lark import Token

ValueKind = Literal["string", "symbol", "number", "size", "duration", "set"]


class Value(NamedTuple):
    """A constant, or the name of a `set` that stands for its values."""

    kind: ValueKind
    token: Token


class Comparison(NamedTuple):
    """A field against constants. `op` is a sign (then it is a token), `in`, `..` or `under`."""

    field: Token
    op: str
    values: tuple[Value, ...]


class Truth(NamedTuple):
    name: Token


class Wrapped(NamedTuple):
    """`not …` or `( … )`, by what stands in front."""

    mark: Literal["not", "("]
    item: Expr
    depth: int


class Joined(NamedTuple):
    word: Literal["and", "or"]
    items: list[Expr]
    depth: int


Atom: TypeAlias = "Comparison | Truth"
Expr: TypeAlias = "Atom | Wrapped | Joined"


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
    digest: Token | None
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
    return expr.depth if isinstance(expr, (Wrapped, Joined)) else 1


def find_extent(expr: Expr) -> tuple[int, int]:
    """First and last offset of an expression, found without recursion."""
    first, last = list_around(expr, first=True)[0], list_around(expr, first=False)[0]
    start = first.name if isinstance(first, Truth) else first.field
    end = last.name if isinstance(last, Truth) else last.values[-1].token if last.values else last.field
    return offsets(start)[0], offsets(end)[1]


def find_written(expr: Expr, text: str) -> tuple[int, int]:
    """The extent with what stands around it: `not`, parentheses, the brace that ends a set."""
    start, end = find_extent(expr)
    for node in list_around(expr, first=True)[1]:
        start = max(0, text.rfind(node.mark, 0, start))
    last, around = list_around(expr, first=False)
    if isinstance(last, Comparison) and "{" in text[offsets(last.field)[1] : end]:
        end = text.find("}", end) + 1 or end
    for node in around:
        if node.mark == "(":
            end = text.find(")", end) + 1 or end
    return start, end


def list_around(expr: Expr, *, first: bool) -> tuple[Atom, list[Wrapped]]:
    """The first or last comparison of an expression, and what it is wrapped in, from the inside outwards."""
    around: list[Wrapped] = []
    while True:
        if isinstance(expr, Joined):
            expr = expr.items[0] if first else expr.items[-1]
        elif isinstance(expr, Wrapped):
            around.append(expr)
            expr = expr.item
        else:
            return expr, around[::-1]


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
        if isinstance(node, Joined):
            pending.extend(reversed(node.items))
        elif isinstance(node, Wrapped):
            pending.append(node.item)
        else:
            found.append(node)
    return found


def clause_token(clause: Clause) -> Token:
    """The token to point at when something is wrong with a clause."""
    return Token("NAME", "x", start_pos=find_extent(clause.expr)[0]) if isinstance(clause, Auto) else clause[0]
