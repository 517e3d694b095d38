"""`narrows`: nothing is permitted here that the base refuses, with no weaker obligation and no higher limit.

Rules: the comparison is between meanings, not texts, and covers verdicts, approvals, rates, hooks and limits. A capability
the base's catalog does not know is refused by the base.
This file does not know how conditions are solved.
"""

from __future__ import annotations

from collections.abc import Iterator

from policy.errors import PolicyError, UnsettledClaim
from policy.lowering.program import Program
from policy.model import ir
from policy.proofs.claims import Decide, find, permitted, show, verdict_is
from policy.solver.cells import Universe
from policy.solver.solver import solve
from policy.text.diagnostics import Findings
from policy.text.sources import Span

Violation = tuple[str, str, ir.Expr]


def check_narrows(program: Program, base: Program, decide: Decide, span: Span, findings: Findings) -> None:
    """Report every way in which `program` exceeds `base`, one concrete request each."""
    for capability in program.catalog.capabilities:
        may = permitted(program.ir, capability)
        if may == ir.FALSE or _types_differ(program, base, capability, span, findings):
            continue
        if capability not in base.catalog.capabilities:
            conditions: list[Violation] = [("HP081", "the base does not know this capability", may)]
        else:
            conditions = list(_violations(program.ir, base.ir, capability, may))
        for code, words, condition in conditions:
            try:
                answer = find(condition, program, capability)
            except UnsettledClaim as error:
                findings.add("HP083", f"`narrows {base.ir.name}` could not be settled for {capability}: {error}", span)
                continue
            if answer.witness is None:
                continue
            decision = decide(capability, answer.witness)
            if not decision.permitted:
                raise PolicyError(f"spurious witness against {base.ir.name}: {show(ir.Request(capability, answer.witness))}")
            where = program.spans.get(decision.rule, span)
            findings.add(
                code,
                f"{base.ir.name} forbids it: {words}",
                where,
                None,
                [f"for example {show(ir.Request(capability, answer.witness))}"],
            )
    _lifecycle_hooks(program, base, span, findings)


def _types_differ(program: Program, base: Program, capability: str, span: Span, findings: Findings) -> bool:
    """Whether the two policies mean different things by a field; then their answers cannot be compared."""
    for field in base.ir.reads.get(capability, ()):
        mine = program.catalog.field(capability, field.name)
        if mine is None or (mine.kind, mine.values, mine.low, mine.high, mine.default) != (
            field.kind,
            field.values,
            field.low,
            field.high,
            field.default,
        ):
            message = f"`{field.name}` of {capability} is not the same in the base's catalog"
            findings.add("HP012", message, span, "write both against one catalog")
            return True
    return False


def _violations(child: ir.Policy, base: ir.Policy, capability: str, may: ir.Expr) -> Iterator[Violation]:
    base_may = permitted(base, capability)
    yield "HP081", "the base refuses this", ir.All((may, ir.complement(base_may)))
    yield "HP081", "the base asks first", ir.All((verdict_is(child, capability, "allow"), verdict_is(base, capability, "ask")))
    both = ir.All((may, base_may))
    yield from _approvals(child, base, capability)
    for rate in _rates(base, capability):
        counted = ir.Any(tuple(_decisive(base, rule, capability) for rule in base.rules_for(capability) if rule.rate == rate))
        kept = [
            _decisive(child, rule, capability)
            for rule in child.rules_for(capability)
            if rule.rate is not None and tighter(rule.rate, rate)
        ]
        yield (
            "HP081",
            f"the base counts {rate.count} per {rate.window_s} s per {rate.per}",
            ir.All((may, counted, *map(ir.complement, kept))),
        )
    for hook in base.hooks:
        if capability in hook.capabilities:
            same = [h.guard for h in child.hooks if capability in h.capabilities and as_strict(h, hook)]
            yield "HP081", f"the base runs the hook `{hook.name}`", ir.All((both, hook.guard, *map(ir.complement, same)))
    for limit in base.limits:
        if capability not in limit.capabilities:
            continue
        for name, value in limit.settings:
            lower = [
                lim.guard
                for lim in child.limits
                if capability in lim.capabilities and dict(lim.settings).get(name, value + 1) <= value
            ]
            yield "HP082", f"the base limits {name} to {value:_}", ir.All((both, limit.guard, *map(ir.complement, lower)))


def _lifecycle_hooks(program: Program, base: Program, span: Span, findings: Findings) -> None:
    for hook in base.ir.hooks:
        if hook.capabilities:
            continue
        same = [h.guard for h in program.ir.hooks if h.phase == hook.phase and as_strict(h, hook)]
        missing = ir.All((hook.guard, *map(ir.complement, same)))
        try:
            skipped = solve(missing, Universe(program.catalog.context, [missing]), program.effort).witness is not None
        except UnsettledClaim:
            skipped = True
        if skipped:
            findings.add(
                "HP081", f"{base.ir.name} runs the hook `{hook.name}` at {hook.phase}, and this policy does not always", span
            )


def _approvals(child: ir.Policy, base: ir.Policy, capability: str) -> Iterator[Violation]:
    """Where both ask: the same person, no later, and automatic only where the base's is."""
    asks = ir.All((verdict_is(child, capability, "ask"), verdict_is(base, capability, "ask")))
    child_asks = [rule for rule in child.rules_for(capability) if rule.verdict == "ask"]
    for rule in base.rules_for(capability):
        if rule.verdict != "ask" or rule.within_ms is None:
            continue
        alike = [c.guard for c in child_asks if c.approver == rule.approver and (c.within_ms or 0) <= rule.within_ms]
        yield (
            "HP081",
            f"the base wants {rule.approver} to approve in time",
            ir.All((asks, rule.guard, *map(ir.complement, alike))),
        )
        manual = ir.All((rule.guard, ir.complement(rule.auto) if rule.auto is not None else ir.TRUE))
        # Automatic here means: every matching ask of the child has its condition fulfilled.
        automatic = ir.All(
            tuple(ir.Any((ir.complement(c.guard), c.auto if c.auto is not None else ir.FALSE)) for c in child_asks)
        )
        yield "HP081", "the base wants a person to approve", ir.All((asks, manual, automatic))


def _rates(policy: ir.Policy, capability: str) -> list[ir.Rate]:
    return sorted({rule.rate for rule in policy.rules_for(capability) if rule.rate is not None})


def _decisive(policy: ir.Policy, rule: ir.Rule, capability: str) -> ir.Expr:
    """The requests on which a rule is among those that decide."""
    return ir.All((rule.guard, verdict_is(policy, capability, rule.verdict)))


def tighter(rate: ir.Rate, base: ir.Rate) -> bool:
    """Never lets through more than `base` does, in any window."""
    return rate.per == base.per and rate.count <= base.count and rate.window_s >= base.window_s


def as_strict(hook: ir.Hook, base: ir.Hook) -> bool:
    """The same program at the same moment, failing no more openly."""
    same = (hook.name, hook.phase, hook.executor, hook.program) == (base.name, base.phase, base.executor, base.program)
    return same and (hook.on_error == base.on_error or hook.on_error == "block") and set(hook.uses) <= set(base.uses)
