"""The compiled policy at work: one table of functions, and the same table folded for one session.

Rules: `decide` never raises; what cannot be judged is denied. A session's fixed facts (tenant, plan, role) are folded once,
and sessions for which all conditions on them come out alike share one set of functions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TypeVar

from msgspec.structs import replace

from policy.errors import PolicyError
from policy.evaluation.emitter import Attributes, emit_event
from policy.evaluation.interpreter import lit_holds
from policy.model import ir
from policy.model.catalog import Field
from policy.model.decisions import DEFAULT, INTERNAL, UNKNOWN, Decision, lifecycle

MAX_SPECIALISED = 256
MAX_EAGER = 256
_QUIET = lifecycle(())
DecideEvent = Callable[[Attributes], Decision]
T = TypeVar("T", ir.Rule, ir.Limit, ir.Hook)


class Evaluator:
    """`decide(event, attributes)` for one canonical policy. `event` is a capability's name or a session event's."""

    __slots__ = ("_table", "decide", "policy")

    def __init__(self, policy: ir.Policy, *, eager: bool = True) -> None:
        """With `eager`, functions are made now rather than on first use, unless there are very many events."""
        self.policy = policy
        self._table: dict[str, DecideEvent] = {}
        busy = {name for rule in policy.rules for name in rule.capabilities} | {
            event for hook in policy.hooks for event in (hook.capabilities or (hook.phase,))
        }
        eager = eager and len(busy) <= MAX_EAGER
        for event in policy.reads:
            if event not in busy and not policy.reads[event]:
                self._table[event] = (lambda _: _QUIET) if event in ir.LIFECYCLE else (lambda _: DEFAULT)
            elif eager:
                self._table[event] = emit_event(policy, event)
        self.decide: Callable[[str, Attributes], Decision] = self._make_decide()

    def _make_decide(self) -> Callable[[str, Attributes], Decision]:
        table, compile_event = self._table, self._compile

        def decide(event: str, attributes: Attributes) -> Decision:
            try:
                return table[event](attributes)
            except Exception:
                return compile_event(event, attributes)

        return decide

    def _compile(self, event: str, attributes: Attributes) -> Decision:
        """The first question about an event (its function is made then), or a question about nothing."""
        try:
            if event in self._table:
                return INTERNAL
            if event not in self.policy.reads:
                return UNKNOWN
            self._table[event] = emit_event(self.policy, event)
            return self._table[event](attributes)
        except Exception:  # INVARIANT: what cannot be judged is denied
            return INTERNAL


class Specialiser:
    """Makes and keeps evaluators folded for a session's fixed facts."""

    def __init__(self, policy: ir.Policy, context: Mapping[str, Field]) -> None:
        self._policy, self._context = policy, context
        self._known: OrderedDict[tuple[object, ...], Evaluator] = OrderedDict()
        self._lock = Lock()
        self._literals: dict[str, list[ir.Lit]] = {}
        exprs = [rule.guard for rule in policy.rules] + [rule.auto for rule in policy.rules if rule.auto is not None]
        exprs += [limit.guard for limit in policy.limits] + [hook.guard for hook in policy.hooks]
        self._compared: set[str] = set()
        for lit in dict.fromkeys(ir.Lit(lit.field, lit.op, lit.args) for expr in exprs for lit in ir.literals(expr)):
            self._literals.setdefault(lit.field, []).append(lit)
            if len(lit.fields) > 1:
                self._compared.update(lit.fields)

    def open(self, facts: Mapping[str, object], *, eager: bool = False) -> Callable[[str, Attributes], Decision]:
        """`decide` for a session, which needs no `facts` any more. Those that are compared with other fields are given with each
        question and not folded: there would be functions for each value."""
        kept = {name: value for name, value in facts.items() if name in self._compared}
        decide = self.evaluator(facts, eager=eager).decide
        if not kept:
            return decide

        def decide_with_facts(event: str, attributes: Attributes) -> Decision:
            try:
                return decide(event, {**attributes, **kept})
            except Exception:  # a hostile mapping; INVARIANT: what cannot be judged is denied
                return INTERNAL

        return decide_with_facts

    def evaluator(self, facts: Mapping[str, object], *, eager: bool = False) -> Evaluator:
        """An evaluator into which `facts` are folded, other than those compared with fields. Raises PolicyError for a fact that
        the policy's types refuse."""
        for name, value in facts.items():
            field = self._context.get(name)
            if field is None or not field.accepts(value):
                raise PolicyError(f"`{name}` is not a fact about a session, or {value!r} is not a value it can hold")
        names = tuple(sorted(facts.keys() - self._compared))
        answers = {lit: lit_holds(lit, facts) for name in names for lit in self._literals.get(name, ())}
        key = (names, tuple(answers.values()))
        with self._lock:
            known = self._known.get(key)
            if known is None:
                known = Evaluator(specialise(self._policy, frozenset(names), answers), eager=eager)
                self._known[key] = known
                if len(self._known) > MAX_SPECIALISED:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return known


def specialise(policy: ir.Policy, names: frozenset[str], answers: Mapping[ir.Lit, bool]) -> ir.Policy:
    """The policy with every condition on `names` replaced by its answer. Ids and order stay, so decisions are equal."""
    done: dict[ir.Expr, ir.Expr] = {}

    def leaf(lit: ir.Lit) -> ir.Expr:
        if lit.field not in names:
            return lit
        return ir.TRUE if answers[ir.Lit(lit.field, lit.op, lit.args)] != lit.neg else ir.FALSE

    def fold_facts(expr: ir.Expr) -> ir.Expr:
        if expr not in done:
            done[expr] = ir.fold(expr, leaf, ir.conj, ir.disj)
        return done[expr]

    def fold_guards(items: tuple[T, ...]) -> tuple[T, ...]:
        folded = [replace(item, guard=fold_facts(item.guard)) for item in items]
        return tuple(item for item in folded if item.guard != ir.FALSE)

    rules = tuple(
        replace(rule, auto=fold_facts(rule.auto)) if rule.auto is not None else rule for rule in fold_guards(policy.rules)
    )
    reads = {event: tuple(field for field in fields if field.name not in names) for event, fields in policy.reads.items()}
    return replace(policy, rules=rules, limits=fold_guards(policy.limits), hooks=fold_guards(policy.hooks), reads=reads)
