"""From the canonical form to Python functions, through `ast` nodes and never through text.

One function per event: load and check the fields it reads, then deny, ask, allow in that order, cheap comparisons first. A
group of more than `DISPATCH_ABOVE` rules is split by a table on its most selective condition (`indexes.py`). Outcomes are looked
up by an integer whose bits say which conditional obligations and rules matched, so equal outcomes are one object.
Any exception inside a generated function is a denial; `interpreter.py` says what the result must be.
THREAT[TM-POL-006]: generated code holds no text from a policy except as constants.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from policy.evaluation import ast_nodes as nodes
from policy.evaluation.indexes import Index, Place, Way, choose_index, find_equal, find_folders, find_hosts, find_stretch
from policy.evaluation.interpreter import read_values
from policy.model import ir
from policy.model.catalog import Field
from policy.model.decisions import DEFAULT, INTERNAL, Decision, assemble, lifecycle
from policy.model.kinds import MAX_NAME_CHARS
from policy.text.literals import is_composed

Attributes = Mapping[str, object]
Decide = Callable[[Attributes], Decision]
DISPATCH_ABOVE = 8
MAX_REMEMBERED = 4096
_COST = {"true": 1, "range": 2, "same": 2, "in": 3, "like": 6, "host": 8, "under": 10}
_COST |= {"like.": 12, "like/": 12, "beneath": 12, "segment": 14}
_NODES: Mapping[ir.Op, Callable[[ast.expr, nodes.Args, bool], ast.expr]] = {
    "true": nodes.is_true,
    "in": nodes.is_in,
    "range": nodes.in_range,
    "host": nodes.host_in,
    "under": nodes.path_under,
    "like": nodes.is_like,
    "like/": partial(nodes.is_like, separator="/"),
    "like.": partial(nodes.is_like, separator="."),
    "segment": nodes.has_segment,
}
_RELATION_NODES: Mapping[ir.Op, Callable[[ast.expr, ast.expr, nodes.Args, bool], ast.expr]] = {
    "same": nodes.is_same,
    "beneath": nodes.is_beneath,
}


_FINDERS: Mapping[Way, Callable[..., int]] = {
    "equal": find_equal,
    "under": find_folders,
    "host": find_hosts,
    "range": find_stretch,
}


def emit_event(policy: ir.Policy, event: str) -> Decide:
    return _Event(policy, event).build()


def count_worst_case(policy: ir.Policy, event: str) -> int:
    """The most literals one decision can evaluate, after indexing."""
    maker = _Event(policy, event)
    maker.function()
    return maker.comparisons


class _Event:
    def __init__(self, policy: ir.Policy, event: str) -> None:
        self.policy, self.event = policy, event
        self.fields = policy.reads[event]
        self.names = {field.name: f"v{i}" for i, field in enumerate(self.fields)}
        self.rules = [rule for rule in policy.rules if event in rule.capabilities]
        self.limits = [limit for limit in policy.limits if event in limit.capabilities]
        self.hooks = [hook for hook in policy.hooks if hook.is_on(event)]
        self.scope: dict[str, Any] = {"__builtins__": {}, "Failure": Exception}
        self.functions: list[ast.stmt] = []
        self.comparisons = 0
        self.conditional: list[ir.Expr] = []
        self.bits: dict[ir.Expr, int] = {}
        autos = [rule.auto for rule in self.rules if rule.auto is not None]
        for expr in (*autos, *(limit.guard for limit in self.limits), *(hook.guard for hook in self.hooks)):
            if expr != ir.TRUE and expr != ir.FALSE and expr not in self.bits:
                self.bits[expr] = 1 << len(self.conditional)
                self.conditional.append(expr)
        self.shift = len(self.conditional)

    def build(self) -> Decide:
        main = self.function()
        module = ast.Module(body=[*self.functions, main], type_ignores=[])
        self.scope["invalid"] = self._refuse_invalid()
        exec(compile(module, f"<policy {self.event}>", "exec"), self.scope)  # built from nodes, see the docstring
        decide: Decide = self.scope["decide"]
        return decide

    def function(self) -> ast.stmt:
        body = self._loads()
        if self.event in ir.LIFECYCLE:
            body += self._outcome("event", 0)
        else:
            body += self._deny() + self._permit("ask") + self._permit("allow")
            body.append(nodes.return_(self._constant("default", DEFAULT)))
        return nodes.function("decide", ["attributes"], [nodes.try_(body, nodes.load("Failure"), [_refuse()])])

    def _loads(self) -> list[ast.stmt]:
        """Load and check every field. THREAT[TM-POL-007]: a value its type does not allow is denied before any rule is read."""
        body: list[ast.stmt] = []
        tests: list[ast.expr] = []
        for field in self.fields:
            local = self.names[field.name]
            load = nodes.subscript(nodes.load("attributes"), nodes.const(field.name))
            if field.default is not None:
                present = nodes.compare(nodes.const(field.name), ast.In(), nodes.load("attributes"))
                load = ast.IfExp(test=present, body=load, orelse=nodes.const(field.default), **nodes.AT)
            body.append(nodes.assign(local, load))
            tests.extend(self._faults(field, local))
        if tests:
            body.append(nodes.if_(nodes.or_(tests), [_refuse()]))
        return body

    def _faults(self, field: Field, local: str) -> list[ast.expr]:
        """Conditions under which a loaded value is not one the field can hold."""
        value = nodes.load(local)
        kind = field.type
        its_class = nodes.attribute(value, "__class__")
        if kind.shape == "flag":
            return [nodes.and_([nodes.compare(value, ast.IsNot(), nodes.const(flag)) for flag in (True, False)])]
        if kind.is_number:
            in_range = nodes.between(field.low, value, field.high)
            return [nodes.compare(its_class, ast.IsNot(), self._constant("int", int)), nodes.not_(in_range)]
        if kind.shape == "choice":
            # Classes are compared too: 1 == True must not slip through, nor a str subclass with its own equality.
            return [
                nodes.compare(its_class, ast.IsNot(), self._constant("str", str)),
                nodes.compare(value, ast.NotIn(), nodes.const(frozenset(field.values))),
            ]
        if kind.accepts is not None:
            return [nodes.not_(nodes.call(self._constant(f"is_{kind.name}", kind.accepts), [value]))]
        too_long = nodes.compare(nodes.call(self._constant("len", len), [value]), ast.Gt(), nodes.const(MAX_NAME_CHARS))
        plain = nodes.call(nodes.attribute(value, "isascii"), [])
        composed = nodes.or_([plain, nodes.call(self._constant("is_composed", is_composed), [value])])
        return [nodes.compare(its_class, ast.IsNot(), self._constant("str", str)), too_long, nodes.not_(composed)]

    def _refuse_invalid(self) -> Decide:
        policy, event = self.policy, self.event

        def invalid(attributes: Attributes) -> Decision:
            try:
                values = read_values(policy, event, attributes)
            except Exception:  # a hostile mapping; INVARIANT: what cannot be judged is denied
                return INTERNAL
            return values if isinstance(values, Decision) else INTERNAL

        return invalid

    def _group(self, verdict: str) -> list[tuple[int, ir.Rule]]:
        return [(i, rule) for i, rule in enumerate(self.rules) if rule.verdict == verdict and rule.guard != ir.FALSE]

    def _deny(self) -> list[ast.stmt]:
        group = self._group("deny")
        if len(group) > DISPATCH_ABOVE:
            mask = self._dispatch(group, plain=True)
            outcomes = {1 << i: assemble("deny", [rule], [], [], []) for i, rule in group}
            found = nodes.subscript(self._constant("denials", outcomes), nodes.lowest_bit("m"))
            return [nodes.assign("m", mask), nodes.if_(nodes.load("m"), [nodes.return_(found)])]
        return self._emit_first("deny", group)

    def _emit_first(self, verdict: ir.Verdict, group: list[tuple[int, ir.Rule]]) -> list[ast.stmt]:
        """One rule after the other; the first that matches decides."""
        found = [(rule, self._constant(f"{verdict}{i}", self._decision(verdict, [rule], 0))) for i, rule in group]
        return [nodes.if_(self._condition(rule.guard), [nodes.return_(decision)]) for rule, decision in found]

    def _permit(self, verdict: ir.Verdict) -> list[ast.stmt]:
        group = self._group(verdict)
        if not group:
            return []
        plain = all(rule.plain for _, rule in group)
        if plain and not self.conditional and len(group) <= DISPATCH_ABOVE:
            return self._emit_first(verdict, group)
        body: list[ast.stmt] = []
        if len(group) > DISPATCH_ABOVE:
            body.append(nodes.assign("m", self._dispatch(group, plain=plain)))
        else:
            body += self._sequence(group, plain=plain)
        # Only the first plain rule matters, so that the number of distinct outcomes stays small.
        heavy = sum(1 << i for i, rule in group if not rule.plain)
        kept = nodes.lowest_bit("m")
        if heavy:
            kept = nodes.binop(kept, ast.BitOr(), nodes.binop(nodes.load("m"), ast.BitAnd(), nodes.const(heavy)))
        key = nodes.binop(kept, ast.LShift(), nodes.const(self.shift)) if self.shift else kept
        return [*body, nodes.if_(nodes.load("m"), [nodes.assign("k", key), *self._outcome(verdict, len(group))])]

    def _outcome(self, verdict: str, rules: int) -> list[ast.stmt]:
        """Add the bits of conditional obligations to `k` and return the decision they stand for."""
        body: list[ast.stmt] = [] if rules else [nodes.assign("k", nodes.const(0))]
        for expr in self.conditional:
            body.append(nodes.if_(self._condition(expr), [nodes.add_bits("k", self.bits[expr])]))
        remembered: dict[int, Decision] = {}

        def make(key: int) -> Decision:
            matched = [rule for i, rule in enumerate(self.rules) if key >> self.shift >> i & 1]
            decision = self._decision(verdict, matched, key)  # type: ignore[arg-type]
            if len(remembered) >= MAX_REMEMBERED:
                remembered.clear()
            return remembered.setdefault(key, decision)

        table, maker = self._constant(f"{verdict}_known", remembered), self._constant(f"{verdict}_make", make)
        get = nodes.call(nodes.attribute(table, "get"), [nodes.load("k")])
        return [*body, nodes.return_(nodes.or_([get, nodes.call(maker, [nodes.load("k")])]))]

    def _decision(self, verdict: ir.Verdict, matched: list[ir.Rule], key: int) -> Decision:
        def on(expr: ir.Expr | None) -> bool:
            return expr is not None and (expr == ir.TRUE or bool(key & self.bits.get(expr, 0)))

        hooks = [hook for hook in self.hooks if on(hook.guard)]
        if self.event in ir.LIFECYCLE:
            return lifecycle(hooks)
        return assemble(
            verdict, matched, [on(rule.auto) for rule in matched], [limit for limit in self.limits if on(limit.guard)], hooks
        )

    def _sequence(self, group: list[tuple[int, ir.Rule]], *, plain: bool) -> list[ast.stmt]:
        """Set `m` to the bits of the matching rules (of the first one only, when no rule carries obligations)."""
        if plain:
            chain: ast.expr = nodes.const(0)
            for i, rule in reversed(group):
                chain = ast.IfExp(test=self._condition(rule.guard), body=nodes.const(1 << i), orelse=chain, **nodes.AT)
            return [nodes.assign("m", chain)]
        body: list[ast.stmt] = [nodes.assign("m", nodes.const(0))]
        for i, rule in group:
            body.append(nodes.if_(self._condition(rule.guard), [nodes.add_bits("m", 1 << i)]))
        return body

    def _dispatch(self, group: list[tuple[int, ir.Rule]], *, plain: bool) -> ast.expr:
        """An expression giving the bits of matching rules, by a table on the most selective condition, repeatedly."""
        parts: list[ast.expr] = []
        rest, used = group, set[Place]()
        while len(rest) > DISPATCH_ABOVE:
            index = choose_index(rest, used)
            if index is None:
                break
            used.add((index.way, index.field))
            before, worst = self.comparisons, 0
            names: dict[int | str, str] = {}
            for key, members in index.buckets.items():
                self.comparisons = 0
                if members:
                    names[key] = self._leaf(members, plain=plain)
                worst = max(worst, self.comparisons)
            # A path or host can be found under several keys: as many rules as `most` says, each with as much to compare.
            several = index.most if index.way in ("under", "host") else 1
            self.comparisons = before + worst * several + 1
            parts.append(self._look_up(index, names))
            rest = index.others
        if rest:
            parts.append(nodes.call(nodes.load(self._leaf(rest, plain=plain)), [nodes.load(n) for n in self.names.values()]))
        result = parts[0]
        for part in parts[1:]:
            result = nodes.binop(result, ast.BitOr(), part)
        return result

    def _look_up(self, index: Index, names: dict[int | str, str]) -> ast.expr:
        """A call that finds rules in a table, which is made together with the functions that it holds."""
        number = len(self.functions)
        keys: list[ast.expr] = [nodes.const(key) for key in index.buckets]
        leaves = [nodes.load(names[key]) if key in names else nodes.const(None) for key in index.buckets]
        table: ast.expr = ast.Dict(keys=list[ast.expr | None](keys), values=leaves, **nodes.AT)
        if index.way == "range":
            table = nodes.tuple_([nodes.tuple_(keys), nodes.tuple_(leaves)])
        self.functions.append(nodes.assign(f"t{number}", table))
        find = self._constant(f"find_{index.way}", _FINDERS[index.way])
        value = nodes.load(self.names[index.field])
        return nodes.call(find, [nodes.load(f"t{number}"), value, *(nodes.load(n) for n in self.names.values())])

    def _leaf(self, group: list[tuple[int, ir.Rule]], *, plain: bool) -> str:
        # Statements, not one nested expression: a group can have thousands of rules, and Python's compiler recurses.
        if plain:
            body = [nodes.if_(self._condition(rule.guard), [nodes.return_(nodes.const(1 << i))]) for i, rule in group]
            body.append(nodes.return_(nodes.const(0)))
        else:
            body = [*self._sequence(group, plain=False), nodes.return_(nodes.load("m"))]
        name = f"g{len(self.functions)}"
        self.functions.append(nodes.function(name, list(self.names.values()), body))
        return name

    def _condition(self, expr: ir.Expr) -> ast.expr:
        def together(
            make: Callable[[list[ast.expr]], ast.expr], empty: bool
        ) -> Callable[[list[tuple[int, ast.expr]]], tuple[int, ast.expr]]:
            def combine(parts: list[tuple[int, ast.expr]]) -> tuple[int, ast.expr]:
                if not parts:
                    return 0, nodes.const(empty)
                parts = sorted(parts, key=lambda part: part[0])
                return sum(cost for cost, _ in parts), make([node for _, node in parts])

            return combine

        return ir.fold(expr, self._literal, together(nodes.and_, True), together(nodes.or_, False))[1]

    def _literal(self, lit: ir.Lit) -> tuple[int, ast.expr]:
        self.comparisons += 1
        value = nodes.load(self.names[lit.field])
        if lit.op in _RELATION_NODES:
            node = _RELATION_NODES[lit.op](value, nodes.load(self.names[str(lit.args[0])]), lit.args, lit.neg)
        else:
            node = _NODES[lit.op](value, lit.args, lit.neg)
        return _COST[lit.op] + len(lit.args) // 4, node

    def _constant(self, name: str, value: Any) -> ast.expr:
        self.scope[f"c_{name}"] = value
        return nodes.load(f"c_{name}")


def _refuse() -> ast.stmt:
    return nodes.return_(nodes.call(nodes.load("invalid"), [nodes.load("attributes")]))
