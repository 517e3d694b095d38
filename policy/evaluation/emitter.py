"""From the canonical form to Python functions, through `ast` nodes and never through text.

One function per event: load and check the fields it reads, then deny, ask, allow in that order, cheap comparisons first. A
group of more than `DISPATCH_ABOVE` rules is split by a hash table on its most selective equality. Outcomes are looked up by
an integer whose bits say which conditional obligations and rules matched, so equal outcomes are one object.
Any exception inside a generated function is a denial; `interpreter.py` says what the result must be.
THREAT[TM-POL-006]: generated code holds no text from a policy except as constants.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from policy.evaluation import ast_nodes as nodes
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
_MAX_DISPATCH_VALUES = 16
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
        """An expression giving the bits of matching rules, by hash table on the most selective equality, repeatedly."""
        parts: list[ast.expr] = []
        rest, used = group, set[str]()
        while len(rest) > DISPATCH_ABOVE:
            field = _selective(rest, used)
            if field is None:
                break
            used.add(field)
            buckets: dict[object, list[tuple[int, ir.Rule]]] = {}
            others: list[tuple[int, ir.Rule]] = []
            for i, rule in rest:
                lit = _equalities(rule.guard).get(field)
                if lit is None:
                    others.append((i, rule))
                else:
                    for value in set(lit.args):
                        buckets.setdefault(value, []).append((i, rule))
            before, worst = self.comparisons, 0
            names: dict[object, str] = {}
            for key, members in buckets.items():
                self.comparisons = 0
                slim = [(i, _drop_condition(rule, _equalities(rule.guard)[field])) for i, rule in members]
                names[key] = self._leaf(slim, plain=plain)
                worst = max(worst, self.comparisons)
            self.comparisons = before + worst + 1
            parts.append(self._lookup(field, names))
            rest = others
        if rest:
            parts.append(nodes.call(nodes.load(self._leaf(rest, plain=plain)), [nodes.load(n) for n in self.names.values()]))
        result = parts[0]
        for part in parts[1:]:
            result = nodes.binop(result, ast.BitOr(), part)
        return result

    def _lookup(self, field: str, names: dict[object, str]) -> ast.expr:
        number = len(self.functions)
        keys: list[ast.expr | None] = [nodes.const(value) for value in names]
        self.functions.append(
            nodes.assign(f"t{number}", ast.Dict(keys=keys, values=[nodes.load(n) for n in names.values()], **nodes.AT))
        )
        if "none" not in self.scope:
            self.scope["none"] = lambda *values: 0
        get = nodes.attribute(nodes.load(f"t{number}"), "get")
        chosen = nodes.call(get, [nodes.load(self.names[field]), nodes.load("none")])
        return nodes.call(chosen, [nodes.load(n) for n in self.names.values()])

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


def _equalities(guard: ir.Expr) -> dict[str, ir.Lit]:
    """The conjuncts that fix a field to a few values, the first for each field."""
    found: dict[str, ir.Lit] = {}
    for part in ir.conjuncts(guard):
        if isinstance(part, ir.Lit) and not part.neg and part.field not in found:
            few = part.op == "in" and len(part.args) <= _MAX_DISPATCH_VALUES
            if few or (part.op == "range" and part.args[0] == part.args[1]):
                found[part.field] = part
    return found


def _selective(group: list[tuple[int, ir.Rule]], used: set[str]) -> str | None:
    """The field whose equalities split the group best: smallest largest bucket, counting the rules left over."""
    values: dict[str, dict[object, int]] = {}
    covered: dict[str, int] = {}
    for _, rule in group:
        for field, lit in _equalities(rule.guard).items():
            counts = values.setdefault(field, {})
            covered[field] = covered.get(field, 0) + 1
            for value in set(lit.args):
                counts[value] = counts.get(value, 0) + 1
    scores = {field: max(values[field].values()) + len(group) - covered[field] for field in values if field not in used}
    if not scores:
        return None
    best = min(scores, key=lambda field: (scores[field], field))
    return best if scores[best] < len(group) else None


def _drop_condition(rule: ir.Rule, lit: ir.Lit) -> ir.Rule:
    guard = ir.All(tuple(part for part in ir.conjuncts(rule.guard) if part is not lit))
    return ir.Rule(rule.id, rule.verdict, rule.capabilities, guard)
