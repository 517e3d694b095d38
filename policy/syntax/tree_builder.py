"""From reductions to the syntax tree: one entry per rule or alias of `grammar.lark`.

Called by the LALR engine while it parses, innermost first, so nothing here recurses. An absent `[...]` arrives as None.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal

from policy.syntax import tree as s

Build = Callable[[list[Any]], Any]


def _make(node: Callable[..., Any]) -> Build:
    """A node with a part for each child."""
    return lambda c: node(*c)


def _gather(node: Callable[..., Any], first: int) -> Build:
    """A node whose last part is all children from `first` on."""
    return lambda c: node(*c[:first], tuple(c[first:]))


def _value(kind: s.ValueKind) -> Build:
    return lambda c: s.Value(kind, c[0])


def _keep_present(c: list[Any]) -> tuple[Any, ...]:
    return tuple(v for v in c if v is not None)


def _wrap(mark: Literal["not", "("]) -> Build:
    return lambda c: s.Wrapped(mark, c[0], s.measure_depth(c[0]) + 1)


def _join(word: Literal["and", "or"]) -> Build:
    """`a and b and c` is reduced from the left and stays one flat node."""

    def join(c: list[Any]) -> s.Expr:
        left, right = c
        items = left.items if isinstance(left, s.Joined) and left.word == word else [left]
        items.append(right)
        return s.Joined(word, items, max(s.measure_depth(left), s.measure_depth(right) + 1))

    return join


BUILDER = SimpleNamespace(
    string=_value("string"),
    symbol=_value("symbol"),
    number=_value("number"),
    size=_value("size"),
    duration=_value("duration"),
    set=_keep_present,
    record=_keep_present,
    pair=tuple,
    setting=tuple,
    compare=lambda c: s.Comparison(c[0], c[1], (c[2],)),
    within=lambda c: s.Comparison(c[0], "in", c[1]),
    within_name=lambda c: s.Comparison(c[0], "in", (s.Value("set", c[1]),)),
    between=lambda c: s.Comparison(c[0], "..", (c[1], c[2])),
    under=lambda c: s.Comparison(c[0], "under", (c[1],)),
    under_set=lambda c: s.Comparison(c[0], "under", c[1]),
    truth=_make(s.Truth),
    group=_wrap("("),
    not_=_wrap("not"),
    and_=_join("and"),
    or_=_join("or"),
    capability=lambda c: s.Target("capability", c[0]),
    family=lambda c: s.Target("family", c[0]),
    effects=lambda c: s.Target("effects", None, c[0]),
    rate=_make(s.Rate),
    approver=_make(s.Approver),
    approver_only=lambda c: s.Approver(c[0], None),
    auto=_make(s.Auto),
    because=_make(s.Because),
    import_=_make(s.Import),
    setdef=_make(s.SetDef),
    letdef=_make(s.LetDef),
    scope=_gather(s.Scope, 1),
    rule=_gather(s.Rule, 3),
    limit=_gather(s.Limit, 2),
    phase=tuple,
    event=lambda c: (c[0], None),
    hook=lambda c: s.Hook(c[0], *c[1], *c[2:]),
    prove=_make(s.Prove),
    check=_make(s.TestCase),
    test=_gather(s.Test, 2),
    header=_make(s.Header),
    file=_gather(s.File, 1),
)
