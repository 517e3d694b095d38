"""`ast` nodes for generated statements and for the kinds of condition, with the position that `compile` insists on."""

from __future__ import annotations

import ast
from typing import Any

from policy.text.literals import INT_MAX, INT_MIN

AT: dict[str, Any] = {"lineno": 1, "col_offset": 0}
Args = tuple[int | str, ...]


def is_true(value: ast.expr, args: Args, neg: bool) -> ast.expr:
    return not_(value) if neg else value


def is_in(value: ast.expr, args: Args, neg: bool) -> ast.expr:
    if len(args) == 1:
        return compare(value, ast.NotEq() if neg else ast.Eq(), const(args[0]))
    return compare(value, ast.NotIn() if neg else ast.In(), const(frozenset(args)))


def in_range(value: ast.expr, args: Args, neg: bool) -> ast.expr:
    low, high = args
    if low == high:
        return compare(value, ast.NotEq() if neg else ast.Eq(), const(low))
    if low == INT_MIN:
        return compare(value, ast.Gt() if neg else ast.LtE(), const(high))
    if high == INT_MAX:
        return compare(value, ast.Lt() if neg else ast.GtE(), const(low))
    inside = between(low, value, high)
    return not_(inside) if neg else inside


def host_in(value: ast.expr, args: Args, neg: bool) -> ast.expr:
    exact = tuple(a for a in args if not str(a).startswith("*."))
    below = tuple(str(a)[1:] for a in args if str(a).startswith("*."))
    tests = [is_in(value, exact, False)] if exact else []
    if below:
        tests.append(call(attribute(value, "endswith"), [const(below)]))
    return not_(or_(tests)) if neg else or_(tests)


def path_under(value: ast.expr, args: Args, neg: bool) -> ast.expr:
    # A final slash on both sides makes a prefix end at a segment: /data/acme is not above /data/acmex.
    slashed = binop(value, ast.Add(), const("/"))
    test = call(attribute(slashed, "startswith"), [const(tuple(f"{a}/" for a in args))])
    return not_(test) if neg else test


def is_like(value: ast.expr, args: Args, neg: bool, separator: str = "") -> ast.expr:
    tests: list[ast.expr] = []
    for method, texts in (
        ("startswith", tuple(str(a)[:-1] for a in args if str(a).endswith("*"))),
        ("endswith", tuple(str(a)[1:] for a in args if str(a).startswith("*"))),
    ):
        if texts and not separator:
            tests.append(call(attribute(value, method), [const(texts[0] if len(texts) == 1 else texts)]))
    for arg in args:
        head, _, tail = str(arg).partition("*")
        if separator or (head and tail):
            tests.append(_is_around(value, head, tail, separator))
    return not_(or_(tests)) if neg else or_(tests)


def _is_around(value: ast.expr, head: str, tail: str, separator: str) -> ast.expr:
    ends = (("startswith", head), ("endswith", tail))
    parts = [call(attribute(value, method), [const(text)]) for method, text in ends if text]
    if head and tail:
        # The two ends of a pattern share no character.
        parts.append(compare(call(attribute(value, "__len__"), []), ast.GtE(), const(len(head) + len(tail))))
    if separator:
        count = call(attribute(value, "count"), [const(separator)])
        parts.append(compare(count, ast.Eq(), const((head + tail).count(separator))))
    return and_(parts)


def has_segment(value: ast.expr, args: Args, neg: bool) -> ast.expr:
    tests = [compare(const(arg), ast.In(), binop(value, ast.Add(), const("/"))) for arg in args]
    return not_(or_(tests)) if neg else or_(tests)


def is_same(value: ast.expr, other: ast.expr, args: Args, neg: bool) -> ast.expr:
    return compare(value, ast.NotEq() if neg else ast.Eq(), other)


def is_beneath(value: ast.expr, other: ast.expr, args: Args, neg: bool) -> ast.expr:
    folder = binop(binop(const(args[1]), ast.Add(), other), ast.Add(), const(f"{args[2]}/"))
    inside = call(attribute(binop(value, ast.Add(), const("/")), "startswith"), [folder])
    test = and_([other, compare(const("/"), ast.NotIn(), other), inside])
    return not_(test) if neg else test


def load(name: str) -> ast.expr:
    return ast.Name(id=name, ctx=ast.Load(), **AT)


def attribute(value: ast.expr, name: str) -> ast.expr:
    return ast.Attribute(value=value, attr=name, ctx=ast.Load(), **AT)


def subscript(value: ast.expr, key: ast.expr) -> ast.expr:
    return ast.Subscript(value=value, slice=key, ctx=ast.Load(), **AT)


def const(value: Any) -> ast.expr:
    return ast.Constant(value=value, **AT)


def tuple_(items: list[ast.expr]) -> ast.expr:
    return ast.Tuple(elts=items, ctx=ast.Load(), **AT)


def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    return ast.Compare(left=left, ops=[op], comparators=[right], **AT)


def between(low: int | str, value: ast.expr, high: int | str) -> ast.expr:
    return ast.Compare(left=const(low), ops=[ast.LtE(), ast.LtE()], comparators=[value, const(high)], **AT)


def binop(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
    return ast.BinOp(left=left, op=op, right=right, **AT)


def not_(value: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=value, **AT)


def and_(values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(op=ast.And(), values=values, **AT)


def or_(values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(op=ast.Or(), values=values, **AT)


def call(function: ast.expr, args: list[ast.expr]) -> ast.expr:
    return ast.Call(func=function, args=args, keywords=[], **AT)


def assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store(), **AT)], value=value, **AT)


def add_bits(name: str, bits: int) -> ast.stmt:
    return ast.AugAssign(target=ast.Name(id=name, ctx=ast.Store(), **AT), op=ast.BitOr(), value=const(bits), **AT)


def lowest_bit(name: str) -> ast.expr:
    return binop(load(name), ast.BitAnd(), ast.UnaryOp(op=ast.USub(), operand=load(name), **AT))


def if_(test: ast.expr, body: list[ast.stmt]) -> ast.stmt:
    return ast.If(test=test, body=body, orelse=[], **AT)


def try_(body: list[ast.stmt], failure: ast.expr, handle: list[ast.stmt]) -> ast.stmt:
    handler = ast.ExceptHandler(type=failure, name=None, body=handle, **AT)
    return ast.Try(body=body, handlers=[handler], orelse=[], finalbody=[], **AT)


def return_(value: ast.expr) -> ast.stmt:
    return ast.Return(value=value, **AT)


def function(name: str, args: list[str], body: list[ast.stmt]) -> ast.stmt:
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=a, **AT) for a in args], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    more: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    return ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[], **more, **AT)
