"""From reductions to the syntax tree: one method per rule or alias of `grammar.lark`.

Rules: called by the LALR engine while it parses, innermost first, so nothing here recurses. An absent `[...]` arrives as None.
This file does not know how errors are handled (`parser.py`).
"""

from __future__ import annotations

from typing import Any

from lark import Token

from policy.syntax import tree as s


class Builder:
    """Called by the LALR engine at each reduction; one method per rule or alias of the grammar."""

    def string(self, c: list[Any]) -> s.Value:
        return s.Value("string", c[0])

    def symbol(self, c: list[Any]) -> s.Value:
        return s.Value("symbol", c[0])

    def number(self, c: list[Any]) -> s.Value:
        return s.Value("number", c[0])

    def size(self, c: list[Any]) -> s.Value:
        return s.Value("size", c[0])

    def duration(self, c: list[Any]) -> s.Value:
        return s.Value("duration", c[0])

    def set(self, c: list[Any]) -> tuple[s.Value, ...]:
        return tuple(v for v in c if v is not None)

    def pair(self, c: list[Any]) -> tuple[Token, s.Value]:
        return (c[0], c[1])

    setting = pair

    def record(self, c: list[Any]) -> tuple[Any, ...]:
        return tuple(v for v in c if v is not None)

    def compare(self, c: list[Any]) -> s.Expr:
        return s.Compare(c[0], c[1], c[2])

    def within(self, c: list[Any]) -> s.Expr:
        return s.Within(c[0], c[1])

    def within_name(self, c: list[Any]) -> s.Expr:
        return s.WithinName(c[0], c[1])

    def between(self, c: list[Any]) -> s.Expr:
        return s.Between(c[0], c[1], c[2])

    def under(self, c: list[Any]) -> s.Expr:
        return s.Under(c[0], (c[1],))

    def under_set(self, c: list[Any]) -> s.Expr:
        return s.Under(c[0], c[1])

    def truth(self, c: list[Any]) -> s.Expr:
        return s.Truth(c[0])

    def group(self, c: list[Any]) -> s.Expr:
        return s.Group(c[0], s.measure_depth(c[0]) + 1)

    def not_(self, c: list[Any]) -> s.Expr:
        return s.Not(c[0], s.measure_depth(c[0]) + 1)

    def and_(self, c: list[Any]) -> s.Expr:
        left, right = c
        items = left.items if isinstance(left, s.And) else [left]
        items.append(right)
        return s.And(items, max(s.measure_depth(left), s.measure_depth(right) + 1))

    def or_(self, c: list[Any]) -> s.Expr:
        left, right = c
        items = left.items if isinstance(left, s.Or) else [left]
        items.append(right)
        return s.Or(items, max(s.measure_depth(left), s.measure_depth(right) + 1))

    def capability(self, c: list[Any]) -> s.Target:
        return s.Target("capability", c[0])

    def family(self, c: list[Any]) -> s.Target:
        return s.Target("family", c[0])

    def effects(self, c: list[Any]) -> s.Target:
        return s.Target("effects", None, c[0])

    def rate(self, c: list[Any]) -> s.Clause:
        return s.Rate(c[0], c[1])

    def approver(self, c: list[Any]) -> s.Clause:
        return s.Approver(c[0], c[1])

    def approver_only(self, c: list[Any]) -> s.Clause:
        return s.Approver(c[0], None)

    def auto(self, c: list[Any]) -> s.Clause:
        return s.Auto(c[0])

    def because(self, c: list[Any]) -> s.Clause:
        return s.Because(c[0])

    def import_(self, c: list[Any]) -> s.Item:
        return s.Import(c[0])

    def setdef(self, c: list[Any]) -> s.Item:
        return s.SetDef(c[0], c[1])

    def letdef(self, c: list[Any]) -> s.Item:
        return s.LetDef(c[0], c[1])

    def scope(self, c: list[Any]) -> s.Item:
        return s.Scope(c[0], tuple(c[1:]))

    def rule(self, c: list[Any]) -> s.Item:
        return s.Rule(c[0], c[1], c[2], tuple(c[3:]))

    def limit(self, c: list[Any]) -> s.Item:
        return s.Limit(c[0], c[1], tuple(c[2:]))

    def phase(self, c: list[Any]) -> tuple[Token, s.Target]:
        return (c[0], c[1])

    def event(self, c: list[Any]) -> tuple[Token, None]:
        return (c[0], None)

    def hook(self, c: list[Any]) -> s.Item:
        phase, target = c[1]
        return s.Hook(c[0], phase, target, c[2], c[3], c[4], c[5], c[6], c[7])

    def prove(self, c: list[Any]) -> s.Item:
        return s.Prove(c[0], c[1])

    def check(self, c: list[Any]) -> s.TestCase:
        return s.TestCase(c[0], c[1], c[2])

    def test(self, c: list[Any]) -> s.Item:
        return s.Test(c[0], c[1], tuple(c[2:]))

    def header(self, c: list[Any]) -> s.Header:
        return s.Header(c[0], c[1], c[2], c[3])

    def file(self, c: list[Any]) -> s.File:
        return s.File(c[0], tuple(c[1:]))
