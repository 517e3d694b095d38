"""What a change of policy changes: every class of request whose verdict or obligations differ, each with a concrete request.

A class is a pair of deciding rules (before, after), one obligation present on one side only, one that became weaker, or another
order of hooks. Each request shown was put to both compiled policies.
A change loosens when the new answer is not as strict as the old one (`proofs/strictness.py`), whatever the verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from policy.errors import PolicyError
from policy.evaluation import interpreter
from policy.model import ir
from policy.model.catalog import Field
from policy.model.decisions import Decision
from policy.model.kinds import KINDS
from policy.policies import Policy
from policy.proofs.claims import show, verdict_is
from policy.proofs.strictness import Weakness, find_weaknesses, is_as_strict
from policy.solver.solver import solve
from policy.solver.universe import Universe

MAX_CLASSES_PER_CAPABILITY = 200
_MAX_ORDERED_HOOKS = 64
_VERDICTS: tuple[ir.Verdict, ...] = ("allow", "ask", "deny")


@dataclass(frozen=True, slots=True)
class Change:
    request: ir.Request
    before: Decision
    after: Decision
    what: str
    loosens: bool

    def __str__(self) -> str:
        mark = "!" if self.loosens else " "
        sides = f"{_side(self.before)}  →  {_side(self.after)}"
        return f"{mark} {self.request.capability}: {self.what}\n    e.g. {show(self.request)}\n    {sides}"


def _side(decision: Decision) -> str:
    return f"{decision.verdict} ({decision.rule})"


def diff(old: Policy, new: Policy) -> list[Change]:
    """Every class of change from `old` to `new`. Raises UnsettledClaim when a class cannot be settled."""
    changes: list[Change] = []
    for capability in (*sorted({*old.catalog.capabilities, *new.catalog.capabilities}), *ir.LIFECYCLE):
        changes += _Comparison(old, new, capability).run()
    return changes


def _list_differences(before: dict[str, ir.Expr], after: dict[str, ir.Expr]) -> Iterator[tuple[str, ir.Expr]]:
    """Where an element is lost, and where it is new."""
    for element in dict.fromkeys((*before, *after)):
        was, now = before.get(element, ir.FALSE), after.get(element, ir.FALSE)
        if was != now:
            yield f"- {element}", ir.All((was, ir.complement(now)))
            yield f"+ {element}", ir.All((now, ir.complement(was)))


def _find_unseen(weaker: Iterable[Weakness], changes: list[Change]) -> Iterator[tuple[str, ir.Expr]]:
    """Of the ways in which the new policy may be weaker, those that no request shown so far has shown. Verdicts are shown."""
    shown = [change.request.attributes for change in changes if change.loosens]
    for part, words, condition in weaker:
        if part != "verdict" and not any(interpreter.holds(condition, attributes) for attributes in shown):
            yield f"weaker: the old policy {words}", condition


def _find_swapped(old: ir.Policy, new: ir.Policy, event: str) -> list[ir.Expr]:
    """For each two hooks that change places: the requests on which both run, before and after."""
    mine = {hook.name: (place, hook) for place, hook in enumerate(new.hooks) if hook.is_on(event)}
    kept = [hook for hook in old.hooks if hook.is_on(event) and hook.name in mine][:_MAX_ORDERED_HOOKS]
    found: list[ir.Expr] = []
    for index, first in enumerate(kept):
        for second in kept[index + 1 :]:
            (place, one), (other_place, other) = mine[first.name], mine[second.name]
            if place > other_place and first.phase == second.phase == one.phase == other.phase:
                found.append(ir.All((first.guard, second.guard, one.guard, other.guard)))
    return found


class _Comparison:
    def __init__(self, old: Policy, new: Policy, capability: str) -> None:
        self.old, self.new, self.capability = old, new, capability
        self.old_rules, self.new_rules = old.ir.rules_for(capability), new.ir.rules_for(capability)
        self.old_is = {v: verdict_is(old.ir, capability, v) for v in _VERDICTS}
        self.new_is = {v: verdict_is(new.ir, capability, v) for v in _VERDICTS}

    def run(self) -> list[Change]:
        changes: list[Change] = []
        if self.old_is != self.new_is:
            for before in _VERDICTS:
                for after in _VERDICTS:
                    if before != after:
                        changes += self._verdicts(before, after)
        for verdict in _VERDICTS[:2]:
            changes += self._obligations(verdict)
        weaker = find_weaknesses(self.old.ir, self.new.ir, self.capability, self._can_hold)
        found = (self._find(condition, what, weaker=True) for what, condition in _find_unseen(weaker, changes))
        return changes + _merge([change for change in found if change is not None])

    def _verdicts(self, before: ir.Verdict, after: ir.Verdict) -> list[Change]:
        changes: list[Change] = []
        condition = ir.All((self.old_is[before], self.new_is[after]))
        while condition != ir.FALSE and len(changes) < MAX_CLASSES_PER_CAPABILITY:
            change = self._find(condition, f"{before} → {after}")
            if change is None:
                break
            changes.append(change)
            seen = ir.All((_reach(self.old_rules, change.before.rule), _reach(self.new_rules, change.after.rule)))
            condition = ir.All((condition, ir.complement(seen)))
        return changes

    def _obligations(self, verdict: ir.Verdict) -> list[Change]:
        same = ir.All((self.old_is[verdict], self.new_is[verdict]))
        if ir.FALSE in same.items:
            return []
        before, after = _elements(self.old.ir, self.capability, verdict), _elements(self.new.ir, self.capability, verdict)
        changes: list[Change] = []
        for what, differs in _list_differences(before, after):
            change = self._find(ir.All((same, differs)), what)
            if change is not None:
                changes.append(change)
        for pair in _find_swapped(self.old.ir, self.new.ir, self.capability):
            change = self._find(ir.All((same, pair)), "hooks run in another order")
            if change is not None:
                changes.append(change)
                break
        return _merge(changes)

    def _can_hold(self, condition: ir.Expr) -> bool:
        return condition != ir.FALSE and solve(condition, Universe(self._fields(condition), [condition])).witness is not None

    def _find(self, condition: ir.Expr, what: str, *, weaker: bool = False) -> Change | None:
        fields = self._fields(condition)
        answer = solve(condition, Universe(fields, [condition]))
        if answer.witness is None:
            return None
        before, after = self.old.decide(self.capability, answer.witness), self.new.decide(self.capability, answer.witness)
        request = ir.Request(self.capability, answer.witness)
        if before == after or "invalid" in (before.rule, after.rule):
            raise PolicyError(f"spurious witness: {show(request)} gets the same answer twice")
        return Change(request, before, after, what, weaker or not is_as_strict(after, before))

    def _fields(self, condition: ir.Expr) -> dict[str, Field]:
        names = set(ir.find_fields(condition))
        for policy in (self.old, self.new):
            names.update(policy.reads(self.capability))
        fields: dict[str, Field] = {}
        for name in sorted(names):
            found = [f for c in (self.new.catalog, self.old.catalog) if (f := c.field(self.capability, name)) is not None]
            if len({(f.kind, f.values, f.low, f.high) for f in found}) != 1:
                words = "has different types in the two catalogs; verdicts cannot be compared"
                raise PolicyError(f"`{name}` of {self.capability} {words}")
            fields[name] = found[0]
        return fields


def _merge(changes: list[Change]) -> list[Change]:
    """Obligations that change on one and the same request are one change."""
    together: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        key = (tuple(sorted(change.request.attributes.items())), change.before, change.after)
        together.setdefault(key, []).append(change)
    merged: list[Change] = []
    for same in together.values():
        what = f"{same[0].after.verdict}, " + "; ".join(change.what for change in same)
        loosens = any(change.loosens for change in same)
        merged.append(Change(same[0].request, same[0].before, same[0].after, what, loosens))
    return merged


def _reach(rules: Iterable[ir.Rule], rule_id: str) -> ir.Expr:
    """Where a rule matches; for the default, where none does."""
    for rule in rules:
        if rule.id == rule_id:
            return rule.guard
    return ir.All(tuple(ir.complement(rule.guard) for rule in rules))


def _elements(policy: ir.Policy, event: str, verdict: ir.Verdict) -> dict[str, ir.Expr]:
    """Each obligation a verdict can carry, in words, with the condition under which it is there."""
    found: dict[str, list[ir.Expr]] = {}
    rules = [rule for rule in policy.rules_for(event) if rule.verdict == verdict]
    asks = [rule for rule in rules if rule.approver is not None]
    for rule in rules:
        if rule.rate is not None:
            found.setdefault(f"rate {rule.rate.count} per {rule.rate.window_s} s per {rule.rate.per}", []).append(rule.guard)
    for rule in asks:
        words = f"approval by {rule.approver} within {KINDS['duration'].write(rule.within_ms or 0)}"
        found.setdefault(words, []).append(rule.guard)
    for hook in policy.hooks:
        if hook.is_on(event):
            words = f"hook {hook.name} {hook.phase}, {hook.executor} {hook.program}, {hook.timeout_ms} ms"
            words += f", sha256:{hook.sha256[:16]}…" if hook.sha256 else ""
            uses = f", uses {', '.join(hook.uses)}" if hook.uses else ""
            found.setdefault(f"{words}, on_error {hook.on_error}{uses}", []).append(hook.guard)
    elements = {words: ir.disj(guards) for words, guards in found.items()}
    if asks:
        autos = (ir.Any((ir.complement(rule.guard), rule.auto if rule.auto is not None else ir.FALSE)) for rule in asks)
        elements["automatic approval"] = ir.All(tuple(autos))
    return elements | _limit_elements(policy, event)


def _limit_elements(policy: ir.Policy, capability: str) -> dict[str, ir.Expr]:
    """A limit has a value where a setting with that value applies and none with a smaller one does."""
    settings: dict[str, dict[int, list[ir.Expr]]] = {}
    for limit in policy.limits:
        if capability in limit.capabilities:
            for name, value in limit.settings:
                settings.setdefault(name, {}).setdefault(value, []).append(limit.guard)
    elements: dict[str, ir.Expr] = {}
    for name, by_value in settings.items():
        smaller: list[ir.Expr] = []
        for value in sorted(by_value):
            elements[f"limit {name} {value:_}"] = ir.All((ir.disj(by_value[value]), *(ir.complement(guard) for guard in smaller)))
            smaller += by_value[value]
    return elements
