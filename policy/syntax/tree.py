"""The syntax tree: what was written, with places, before anything is looked up.

Leaves are tokens, which know their offsets. `Joined` is flat, and `depth` counts the nesting, so that later stages may rely on
the parser's bound. `BUILDER` has an entry for each rule or alias of `grammar.lark`; the LALR engine calls them while it parses,
innermost first, so nothing here recurses. An absent `[...]` arrives as None.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, TypeAlias

from lark import Token

Build = Callable[[list[Any]], Any]
ValueKind = Literal["string", "symbol", "number", "size", "duration", "set"]


class Value(NamedTuple):
    """A constant, or the name of a `set` that stands for its values."""

    kind: ValueKind
    token: Token


class Comparison(NamedTuple):
    """A field against constants. `op` is a sign (then it is a token), `in`, `..`, or words that take texts (`under`, `like`, …);
    `sign` is what stands in `any segment == …`."""

    field: Token
    op: str
    values: tuple[Value, ...]
    sign: Token | None = None


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


def _make(node: Callable[..., Any]) -> Build:
    """A node with a part for each child."""
    return lambda c: node(*c)


def _gather(node: Callable[..., Any], first: int) -> Build:
    """A node whose last part is all children from `first` on."""
    return lambda c: node(*c[:first], tuple(c[first:]))


def _value(kind: ValueKind) -> Build:
    return lambda c: Value(kind, c[0])


def _look(op: str) -> Build:
    """A field against one text, or against those of a set."""
    return lambda c: Comparison(c[0], op, (c[1],) if isinstance(c[1], Value) else c[1])


def _keep_present(c: list[Any]) -> tuple[Any, ...]:
    return tuple(v for v in c if v is not None)


def _wrap(mark: Literal["not", "("]) -> Build:
    return lambda c: Wrapped(mark, c[0], measure_depth(c[0]) + 1)


def _join(word: Literal["and", "or"]) -> Build:
    """`a and b and c` is reduced from the left and stays one flat node."""

    def join(c: list[Any]) -> Expr:
        left, right = c
        items = left.items if isinstance(left, Joined) and left.word == word else [left]
        items.append(right)
        return Joined(word, items, max(measure_depth(left), measure_depth(right) + 1))

    return join


BUILDER = SimpleNamespace(
    string=_value("string"),
    symbol=_value("symbol"),
    number=_value("number"),
    size=_value("size"),
    duration=_value("duration"),
    set=_keep_present,
    words=_keep_present,
    record=_keep_present,
    pair=tuple,
    setting=tuple,
    compare=lambda c: Comparison(c[0], c[1], (c[2],)),
    within=lambda c: Comparison(c[0], "in", c[1]),
    within_name=lambda c: Comparison(c[0], "in", (Value("set", c[1]),)),
    between=lambda c: Comparison(c[0], "..", (c[1], c[2])),
    under=_look("under"),
    like=_look("like"),
    starts=_look("starts"),
    ends=_look("ends"),
    segment=lambda c: Comparison(c[0], "segment ==", (c[2],), c[1]),
    segment_in=_look("segment in"),
    segment_starts=_look("segment starts"),
    segment_ends=_look("segment ends"),
    truth=_make(Truth),
    group=_wrap("("),
    not_=_wrap("not"),
    and_=_join("and"),
    or_=_join("or"),
    capability=lambda c: Target("capability", c[0]),
    family=lambda c: Target("family", c[0]),
    effects=lambda c: Target("effects", None, c[0]),
    rate=_make(Rate),
    approver=_make(Approver),
    approver_only=lambda c: Approver(c[0], None),
    auto=_make(Auto),
    because=_make(Because),
    import_=_make(Import),
    setdef=_make(SetDef),
    letdef=_make(LetDef),
    scope=_gather(Scope, 1),
    rule=_gather(Rule, 3),
    limit=_gather(Limit, 2),
    phase=tuple,
    event=lambda c: (c[0], None),
    hook=lambda c: Hook(c[0], *c[1], *c[2:]),
    prove=_make(Prove),
    check=_make(TestCase),
    test=_gather(Test, 2),
    header=_make(Header),
    file=_gather(File, 1),
)
