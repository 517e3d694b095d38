"""Why a request got its answer: the rule that decided, every condition with its truth, and what a denied request lacks.

Made from the canonical form without the compiled function, evaluating every condition instead of stopping early.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policy.evaluation import interpreter
from policy.model import ir
from policy.model.catalog import Field
from policy.model.decisions import Decision
from policy.model.kinds import KINDS
from policy.model.patterns import write_patterns
from policy.text.literals import INT_MAX, INT_MIN
from policy.text.matching import PATTERNS

Missing = tuple[int, tuple[ir.Lit, ...]]


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison; or `one of` or `all of` those that follow with a greater `depth`."""

    text: str
    holds: bool
    depth: int = 0

    def __str__(self) -> str:
        return f"      {'yes' if self.holds else ' no'}  {'  ' * self.depth}{self.text}"


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """One rule about the requested capability, with each of its conditions, and those of its automatic approval."""

    rule: str
    verdict: str
    matched: bool
    conditions: tuple[Condition, ...]
    auto: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The rule that would have permitted the request, and the conditions that would have to change."""

    rule: str
    verdict: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """`blocked_by` is the deny that decided; `also_blocked_by` the other denies that apply."""

    event: str
    decision: Decision
    rules: tuple[RuleTrace, ...]
    nearest: NearMiss | None
    blocked_by: NearMiss | None
    also_blocked_by: tuple[NearMiss, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.decision.verdict} {self.event}, by {self.decision.rule}"]
        if self.decision.because:
            lines[0] += f": {self.decision.because}"
        for trace in self.rules:
            lines.append(f"  {'+' if trace.matched else '-'} {trace.rule}")
            lines.extend(map(str, trace.conditions))
            lines.extend(f"{condition} (auto)" for condition in trace.auto)
        lines += [f"with {obligation}" for obligation in obligations(self.decision)]
        for deny in (self.blocked_by, *self.also_blocked_by):
            if deny is not None:
                lines.append(
                    f"{deny.rule} {'would not apply with: ' + ' and '.join(deny.missing) if deny.missing else 'applies'}"
                )
        if self.nearest is not None:
            if self.nearest.missing:
                lines.append(
                    f"nearest: {self.nearest.rule} ({self.nearest.verdict}) lacks: " + " and ".join(self.nearest.missing)
                )
            else:
                lines.append(f"otherwise {self.nearest.rule} would {self.nearest.verdict} it")
        return "\n".join(lines)


def obligations(decision: Decision) -> list[str]:
    """What a permitted request comes with, in words."""
    words = [f"approval by {a.approver} within {KINDS['duration'].write(a.within_ms)}" for a in decision.approvals]
    if decision.auto is not None:
        words = [f"automatic approval: every `auto when` holds, no person is asked ({word})" for word in words]
    words += [f"rate {rate.count} per {rate.window_s} s per {rate.per}" for rate in decision.rates]
    words += [f"limit {name} {value:_}" for name, value in decision.limits]
    for hook in decision.hooks:
        bound = f" sha256:{hook.sha256}" if hook.sha256 else ""
        words.append(f"hook {hook.name} {hook.phase}, {hook.executor} {hook.program}{bound}")
    return words


def explain(policy: ir.Policy, event: str, attributes: Mapping[str, object]) -> Explanation:
    decision = interpreter.decide(policy, event, attributes)
    fields = {field.name: field for field in policy.reads.get(event, ())}
    values = interpreter.read_values(policy, event, attributes)
    if isinstance(values, Decision) or event in ir.LIFECYCLE:
        return Explanation(event, decision, (), None, None)
    rules = policy.rules_for(event)
    traces = tuple(
        RuleTrace(
            rule.id,
            rule.verdict,
            interpreter.holds(rule.guard, values),
            conditions(rule.guard, fields, values),
            conditions(rule.auto, fields, values) if rule.auto is not None else (),
        )
        for rule in rules
    )
    if decision.verdict != "deny":
        return Explanation(event, decision, traces, None, None)
    blocks: list[NearMiss] = []
    for rule, trace in zip(rules, traces, strict=True):
        if rule.verdict == "deny" and trace.matched:
            away = distance(ir.negate(rule.guard), values)[1]
            blocks.append(NearMiss(rule.id, "deny", tuple(describe(lit, fields) for lit in away)))
    return Explanation(
        event, decision, traces, _find_near(rules, fields, values), blocks[0] if blocks else None, tuple(blocks[1:])
    )


def _find_near(rules: Iterable[ir.Rule], fields: Mapping[str, Field], values: Mapping[str, object]) -> NearMiss | None:
    """The rule that permits after the fewest changes. Where several already match, an ask beats an allow."""
    misses = [(distance(rule.guard, values), rule) for rule in rules if rule.verdict != "deny"]
    if not misses:
        return None
    (_, missing), rule = min(misses, key=lambda miss: (miss[0][0], (miss[1].verdict == "allow") == (miss[0][0] == 0)))
    return NearMiss(rule.id, rule.verdict, tuple(describe(lit, fields) for lit in missing))


def conditions(expr: ir.Expr, fields: Mapping[str, Field], values: Mapping[str, object]) -> tuple[Condition, ...]:
    """Every comparison of a condition with its truth; what is joined by `or` stands under a line of its own."""
    found: list[Condition] = []
    pending: list[tuple[ir.Expr, int]] = [(part, 0) for part in reversed(ir.conjuncts(expr))]
    while pending:
        part, depth = pending.pop()
        if isinstance(part, ir.Lit):
            found.append(Condition(describe(part, fields), interpreter.lit_holds(part, values), depth))
        else:
            words = "one of" if isinstance(part, ir.Any) else "all of"
            found.append(Condition(words, interpreter.holds(part, values), depth))
            pending.extend((item, depth + 1) for item in reversed(part.items))
    return tuple(found)


def distance(expr: ir.Expr, values: Mapping[str, object]) -> Missing:
    """How many conditions would have to change for `expr` to hold, and which."""

    def leaf(lit: ir.Lit) -> Missing:
        return (0, ()) if interpreter.lit_holds(lit, values) else (1, (lit,))

    def every(parts: list[Missing]) -> Missing:
        return sum(count for count, _ in parts), tuple(lit for _, lits in parts for lit in lits)

    def some(parts: list[Missing]) -> Missing:
        return min(parts, key=lambda part: part[0]) if parts else (1_000_000, ())

    return ir.fold(expr, leaf, every, some)


def describe(lit: ir.Lit, fields: Mapping[str, Field]) -> str:
    """A condition in the words of the language."""
    kind = fields[lit.field].type if lit.field in fields else KINDS["name"]
    args = [kind.write(arg) for arg in lit.args]
    not_ = "not " if lit.neg else ""
    if lit.op == "true":
        return f"{not_}{lit.field}"
    if lit.op == "range":
        low, high = lit.args
        if low == high:
            return f"{lit.field} {'!=' if lit.neg else '=='} {args[0]}"
        if low == INT_MIN:
            return f"{lit.field} {'>' if lit.neg else '<='} {args[1]}"
        if high == INT_MAX:
            return f"{lit.field} {'<' if lit.neg else '>='} {args[0]}"
        return f"{not_}{lit.field} in {args[0]}..{args[1]}"
    if lit.op == "same":
        return f"{lit.field} {'!=' if lit.neg else '=='} {lit.args[0]}"
    if lit.op == "beneath":
        return f'{not_}{lit.field} under "{lit.args[1]}{{{lit.args[0]}}}{lit.args[2]}"'
    if lit.op in PATTERNS:
        return not_ + write_patterns(lit.field, lit.op, tuple(str(arg) for arg in lit.args))
    if lit.op == "under":
        return f"{not_}{lit.field} under " + (args[0] if len(args) == 1 else "{ " + ", ".join(args) + " }")
    if len(args) == 1:
        return f"{lit.field} {'!=' if lit.neg else '=='} {args[0]}"
    return f"{not_}{lit.field} in {{ " + ", ".join(args) + " }"
