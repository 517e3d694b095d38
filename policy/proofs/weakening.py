"""Where a change weakens an obligation: the requests on which the old policy has it and the new one has none as strict.

Rules: looks at requests that get one and the same verdict before and after, so only rules of that verdict count. What is kept
word for word is not looked at.
This file does not solve conditions, and does not know other verdicts (`difference.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policy.model import ir
from policy.model.kinds import KINDS
from policy.proofs.narrowing import as_strict, tighter

Weaker = tuple[str, ir.Expr]


def weakened(old: ir.Policy, new: ir.Policy, capability: str, verdict: ir.Verdict) -> Iterator[Weaker]:
    """Each obligation in words, with the condition under which it became weaker."""
    before = [rule for rule in old.rules_for(capability) if rule.verdict == verdict]
    after = [rule for rule in new.rules_for(capability) if rule.verdict == verdict]
    for rate in sorted({rule.rate for rule in before if rule.rate is not None}):
        was = [rule.guard for rule in before if rule.rate == rate]
        kept = [rule.guard for rule in after if rule.rate is not None and tighter(rule.rate, rate)]
        yield from _lost(f"rate {rate.count} per {rate.window_s} s per {rate.per}", was, kept)
    for approver, within_ms in sorted({(rule.approver, rule.within_ms or 0) for rule in before if rule.approver is not None}):
        was = [rule.guard for rule in before if (rule.approver, rule.within_ms or 0) == (approver, within_ms)]
        kept = [rule.guard for rule in after if rule.approver == approver and (rule.within_ms or 0) <= within_ms]
        yield from _lost(f"approval by {approver} within {KINDS['duration'].write(within_ms)}", was, kept)
    yield from weakened_hooks(old, new, capability)
    for name, value in sorted({setting for limit in _limits(old, capability) for setting in limit.settings}):
        was = [limit.guard for limit in _limits(old, capability) if (name, value) in limit.settings]
        kept = [limit.guard for limit in _limits(new, capability) if dict(limit.settings).get(name, value + 1) <= value]
        yield from _lost(f"limit {name} {value:_}", was, kept)


def weakened_hooks(old: ir.Policy, new: ir.Policy, event: str) -> Iterator[Weaker]:
    """The hooks around a capability or at a session event."""
    after = [hook for hook in new.hooks if is_on(hook, event)]
    for hook in old.hooks:
        if is_on(hook, event):
            yield from _lost(f"hook {hook.name} {hook.phase}", [hook.guard], [h.guard for h in after if as_strict(h, hook)])


def is_on(hook: ir.Hook, event: str) -> bool:
    return event in hook.capabilities or hook.phase == event


def _limits(policy: ir.Policy, capability: str) -> list[ir.Limit]:
    return [limit for limit in policy.limits if capability in limit.capabilities]


def _lost(words: str, was: Iterable[ir.Expr], kept: list[ir.Expr]) -> Iterator[Weaker]:
    gone = set(was) - set(kept)
    if gone and ir.TRUE not in kept:
        yield f"weaker: {words}", ir.All((ir.disj(gone), *map(ir.complement, kept)))
