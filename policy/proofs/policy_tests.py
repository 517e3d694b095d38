"""A policy's own tests: running them, what they reach, and which mistakes they would miss.

A test passes only on the verdict it names (`auto` is an ask approved by rule); one that leaves out a field the decision reads is
a mistake, not a denial. Coverage counts a rule as tested when some request matches it and, if it has a condition, another of its
capability does not; a mutant is the policy with one condition, of a rule or of its `auto`, flipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from msgspec.structs import replace

from policy.evaluation import interpreter
from policy.lowering.program import Program, TestCase
from policy.model import ir
from policy.model.decisions import Decision
from policy.proofs.claims import Decide
from policy.text.diagnostics import Findings
from policy.text.sources import Span


@dataclass(frozen=True, slots=True)
class Result:
    case: TestCase
    decision: Decision
    passed: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """Per rule: was it hit, was it missed by a request to the same capability? `always`: it has no condition to miss."""

    rule: str
    hit: bool
    missed: bool
    always: bool = False

    @property
    def both(self) -> bool:
        return self.hit and (self.missed or self.always)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A condition that can be flipped without any test noticing."""

    rule: str
    literal: ir.Lit
    span: Span


def _verdict_fits(decision: Decision, expected: str) -> bool:
    if expected == "auto":
        return decision.verdict == "ask" and decision.auto is not None
    return decision.verdict == expected


def check_tests(program: Program, decide: Decide, findings: Findings) -> list[Result]:
    """Run all tests, reporting failures, incomplete requests and the absence of tests."""
    if not program.tests:
        hint = 'add `test "what it shows" { as { … } capability { … } => allow }`'
        findings.add("HP090", "the policy has no tests", Span(program.source, 0, 0), hint)
    results: list[Result] = []
    for case in program.tests:
        event, attributes = case.request.capability, case.request.attributes
        decision = decide(event, attributes)
        results.append(Result(case, decision, _verdict_fits(decision, case.verdict)))
        missing = [field.name for field in program.ir.reads[event] if field.required and field.name not in attributes]
        if missing:
            hint = "add " + ", ".join(f"`{name} …`" for name in missing)
            findings.add("HP092", f"the decision reads {', '.join(missing)}", case.span, hint)
        elif not results[-1].passed:
            why = f" ({decision.because})" if decision.because else ""
            message = f"`{case.title}` expects {case.verdict}, got {decision.verdict} by `{decision.rule}`{why}"
            findings.add("HP091", message, case.span, "`policy explain` shows every condition")
    return results


def coverage(program: Program, match: str = "") -> list[Coverage]:
    """What the tests reach; with `match`, only those whose title contains it."""
    hit: set[str] = set()
    missed: set[str] = set()
    about: dict[str, list[ir.Rule]] = {}
    for rule in program.ir.rules:
        for capability in rule.capabilities:
            about.setdefault(capability, []).append(rule)
    for case in program.tests:
        values = interpreter.read_values(program.ir, case.request.capability, case.request.attributes)
        if match not in case.title or isinstance(values, Decision):
            continue
        for rule in about.get(case.request.capability, ()):
            if rule.id not in hit or rule.id not in missed:
                (hit if interpreter.holds(rule.guard, values) else missed).add(rule.id)
    return [Coverage(rule.id, rule.id in hit, rule.id in missed, rule.guard == ir.TRUE) for rule in program.ir.rules]


def check_coverage(program: Program, findings: Findings) -> None:
    """Warn about rules the tests do not see both ways."""
    found = coverage(program)
    lacking = [item for item in found if not item.both]
    if lacking:
        message = f"{len(lacking)} of {len(found)} rules are not both hit and missed by tests"
        findings.add("HP104", message, program.spans[lacking[0].rule], "`policy test --coverage` names them")


def mutants(program: Program, match: str = "") -> tuple[int, list[Mutant]]:
    """How many conditions were flipped, and the flips that no test (whose title contains `match`) noticed."""
    tried, survivors = 0, []
    for position, rule in enumerate(program.ir.rules):
        cases = [case for case in program.tests if case.request.capability in rule.capabilities and match in case.title]
        changes = [(lit, replace(rule, guard=flipped)) for lit, flipped in _flips(rule.guard)]
        changes += [(lit, replace(rule, auto=flipped)) for lit, flipped in _flips(rule.auto)] if rule.auto is not None else []
        for lit, changed in changes:
            tried += 1
            # INVARIANT: `reads` stays the original's, so a mutant differs in this condition only.
            rules = (*program.ir.rules[:position], changed, *program.ir.rules[position + 1 :])
            policy = replace(program.ir, rules=rules, limits=(), hooks=(), claims=())
            if all(
                _verdict_fits(interpreter.decide(policy, c.request.capability, c.request.attributes), c.verdict) for c in cases
            ):
                where = _find_span(program, rule.id, lit) if changed.auto == rule.auto else program.autos[rule.id]
                survivors.append(Mutant(rule.id, lit, where))
    return tried, survivors


def _flips(expr: ir.Expr) -> Iterator[tuple[ir.Lit, ir.Expr]]:
    """The expression with each literal negated in turn."""
    for target, chosen in enumerate(ir.literals(expr)):
        places = count()

        def leaf(lit: ir.Lit, target: int = target, places: Iterator[int] = places) -> ir.Expr:
            return ir.negate_lit(lit) if next(places) == target else lit

        yield chosen, ir.fold(expr, leaf, lambda parts: ir.All(tuple(parts)), lambda parts: ir.Any(tuple(parts)))


def _find_span(program: Program, rule: str, lit: ir.Lit) -> Span:
    for expr, span in program.parts[rule]:
        if any(part == lit for part in ir.literals(expr)):
            return span
    return program.spans[rule]
