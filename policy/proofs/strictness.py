"""The one relation "as strict as", over verdicts, approvals, rates, hooks and limits.

An answer is as strict as another when whatever it lets happen, the other lets happen too, with no lighter duty: the verdict
is no weaker, each approval is by the same approver and lapses no later, a person is asked wherever one was, each rate is as
tight, each limit as low, and each hook runs the same program, fails no more openly, and judges as late, or sees a result as
early, as it did.
`is_as_strict` says so of two decisions. `find_weaknesses` says so of two policies: each condition it gives holds exactly where
one part of the relation fails, and where none can hold, the new policy is as strict for every request.
A rate is one counter for each capability: what one counter of the old policy counts must be counted together in the new one, by
one counter that is as tight, or by several whose counts together are no higher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from policy.model import ir
from policy.model.decisions import RANK, Decision
from policy.model.kinds import KINDS

H = TypeVar("H", bound=ir.HookCall)
CanHold = Callable[[ir.Expr], bool]
Part = Literal["verdict", "approval", "rate", "hook", "limit"]


class Weakness(NamedTuple):
    """What the old policy does, in words, and the requests for which the new one does less."""

    part: Part
    words: str
    condition: ir.Expr


def is_as_strict(new: Decision, old: Decision) -> bool:
    """Whether `new` lets nothing happen that `old` does not, for one request."""
    if new.verdict == "deny" or old.verdict == "deny":
        return new.verdict == "deny"
    if RANK[new.verdict] < RANK[old.verdict]:
        return False
    limits = dict(new.limits)
    return (
        all(any(is_as_prompt(a.approver, a.within_ms, o.approver, o.within_ms) for a in new.approvals) for o in old.approvals)
        and (old.verdict != "ask" or new.auto is None or old.auto is not None)
        and all(any(is_as_tight(rate, o) for rate in new.rates) for o in old.rates)
        and all(any(is_strict_hook(hook, o) for hook in new.hooks) for o in old.hooks)
        and all(kept or allowed for o in old.hooks for _, kept, allowed in find_meddlers(new.hooks, old.hooks, o))
        and all(name in limits and limits[name] <= value for name, value in old.limits)
    )


def is_as_prompt(approver: str | None, within_ms: int | None, old_approver: str | None, old_within_ms: int | None) -> bool:
    """The same approver, whose approval lapses no later."""
    return approver == old_approver and (within_ms or 0) <= (old_within_ms or 0)


def is_as_tight(rate: ir.Rate, old: ir.Rate) -> bool:
    """Never lets through more than `old` does, in any window."""
    return rate.per == old.per and rate.count <= old.count and rate.window_s >= old.window_s


def is_strict_hook(hook: ir.HookCall, old: ir.HookCall) -> bool:
    """The same program at the same moment, failing no more openly.

    A hook that blocks when it fails may have less time, never more: what took longer was blocked. One that lets the call pass
    may have more time, never less. One that blocks where the old one let pass is stricter whatever its time.
    """
    if (hook.name, hook.phase, hook.executor) != (old.name, old.phase, old.executor) or not is_same_program(hook, old):
        return False
    if not set(hook.uses) <= set(old.uses):
        return False
    if hook.on_error != old.on_error:
        return hook.on_error == "block"
    return hook.timeout_ms <= old.timeout_ms if hook.on_error == "block" else hook.timeout_ms >= old.timeout_ms


def find_meddlers(new: Sequence[H], old: Sequence[H], hook: H) -> Iterator[tuple[H, list[H], list[H]]]:
    """THREAT[TM-POL-013]: hooks of the new policy that could undo what `hook` of the old one does: rewrite what it has judged,
    for it is not asked again, or see and disguise a result before it does. With each come those that make up for it: hooks of the
    new policy that do what `hook` does on the other side of it, and hooks of the old one that it stands for, on its side there.
    """
    if hook.phase not in ("before", "after", "user_prompt_submit"):
        return  # nothing is rewritten there
    step = -1 if hook.phase == "after" else 1
    beyond = [other for other in old[::step][old[::step].index(hook) + 1 :] if other.phase == hook.phase]
    ordered = [other for other in new[::step] if other.phase == hook.phase]
    for number, other in enumerate(ordered):
        if not is_strict_hook(other, hook):
            kept = [later for later in ordered[number + 1 :] if is_strict_hook(later, hook)]
            yield other, kept, [allowed for allowed in beyond if is_strict_hook(other, allowed)]


def is_same_program(hook: ir.HookCall, old: ir.HookCall) -> bool:
    """THREAT[TM-POL-012]: the same bytes, whatever they are called. A name says so only where the old hook's program is not
    known: neither the policy gives its digest nor does the program lie next to it (`ir.Policy.bind`)."""
    return hook.sha256 == old.sha256 if old.sha256 else hook.program == old.program


class _Side:
    """One policy's rules about one capability."""

    def __init__(self, policy: ir.Policy, capability: str) -> None:
        self.rules = policy.rules_for(capability)
        self.deny, self.ask, self.allow = (self.guards(verdict) for verdict in ("deny", "ask", "allow"))
        self.granted = [*self.ask, *self.allow]
        self.asks = [rule for rule in self.rules if rule.verdict == "ask"]
        self.rates = sorted({rule.rate for rule in self.rules if rule.rate is not None})
        self.hooks = [hook for hook in policy.hooks if hook.is_on(capability)]
        self.limits = [limit for limit in policy.limits if capability in limit.capabilities]

    def guards(self, verdict: str) -> list[ir.Expr]:
        return [rule.guard for rule in self.rules if rule.verdict == verdict]


def find_weaknesses(old: ir.Policy, new: ir.Policy, event: str, can_hold: CanHold) -> Iterator[Weakness]:
    """Each way in which `new` may be less strict than `old` about a capability, or at a session event, which has hooks only.
    `can_hold` is asked about split counters."""
    comparison = _Comparison(_Side(old, event), _Side(new, event), can_hold)
    yield from comparison.compare_hooks(()) if event in ir.LIFECYCLE else comparison.compare()


class _Comparison:
    """`alive` are the requests the new policy does not deny; with `lifted`, those that neither denies."""

    def __init__(self, old: _Side, new: _Side, can_hold: CanHold) -> None:
        self.old, self.new, self.can_hold = old, new, can_hold
        self.lifted = _subtract(old.deny, new.deny)
        self.alive = _exclude(new.deny)
        self.both_alive = (*self.alive, *_exclude(self.lifted))

    def compare(self) -> Iterator[Weakness]:
        if not self.new.granted:
            return
        yield from self._compare_verdicts()
        yield from self._compare_approvals()
        for rate in self.old.rates:
            yield from self._compare_rate(rate)
        permitted = (ir.Any(tuple(self.new.granted)), ir.Any(tuple(self.old.granted)), *self.both_alive)
        yield from self.compare_hooks(permitted)
        for name, value in sorted({setting for limit in self.old.limits for setting in limit.settings}):
            was = [limit.guard for limit in self.old.limits if (name, value) in limit.settings]
            kept = [limit.guard for limit in self.new.limits if dict(limit.settings).get(name, value + 1) <= value]
            yield from _lose("limit", f"limits {name} to {value:_}", was, kept, permitted)

    def compare_hooks(self, where: tuple[ir.Expr, ...]) -> Iterator[Weakness]:
        for hook in self.old.hooks:
            kept = [other.guard for other in self.new.hooks if is_strict_hook(other, hook)]
            bound = f" with the program sha256:{hook.sha256[:16]}…" if hook.sha256 else ""
            yield from _lose("hook", f"runs the hook `{hook.name}`{bound}", [hook.guard], kept, where)
            place = "first" if hook.phase == "after" else "last"
            for other, again, allowed in find_meddlers(self.new.hooks, self.old.hooks, hook) if kept else ():
                if hook.guard not in {one.guard for one in again} and other.guard not in {one.guard for one in allowed}:
                    words = f"runs the hook `{hook.name}` {place}, where `{other.name}` now comes"
                    guards = [one.guard for one in (*again, *allowed)]
                    yield from _lose("hook", words, [ir.All((hook.guard, other.guard))], guards, where)

    def _compare_verdicts(self) -> Iterator[Weakness]:
        old, new = self.old, self.new
        if fresh := _subtract(new.granted, old.granted):
            yield Weakness("verdict", "refuses this", ir.All((ir.Any(fresh), *self.alive, *_exclude(old.granted))))
        if self.lifted:
            yield Weakness("verdict", "denies this", ir.All((ir.Any(self.lifted), ir.Any(tuple(new.granted)), *self.alive)))
        if new.allow and (unasked := _subtract(old.ask, new.ask)):
            allowed = (ir.Any(tuple(new.allow)), *_exclude(new.ask), *self.both_alive)
            yield Weakness("verdict", "asks first", ir.All((ir.Any(unasked), *allowed)))

    def _compare_approvals(self) -> Iterator[Weakness]:
        """Where both ask: the same person, no later, and automatic only where it was."""
        if not self.new.asks or not self.old.asks:
            return
        asked = (ir.Any(tuple(self.new.ask)), *self.both_alive)
        for approver, within_ms in sorted({(rule.approver or "", rule.within_ms or 0) for rule in self.old.asks}):
            was = [r.guard for r in self.old.asks if (r.approver or "", r.within_ms or 0) == (approver, within_ms)]
            kept = [r.guard for r in self.new.asks if is_as_prompt(r.approver, r.within_ms, approver, within_ms)]
            words = f"wants {approver} to approve within {KINDS['duration'].write(within_ms)}"
            yield from _lose("approval", words, was, kept, asked)
        alike = {(rule.guard, rule.auto) for rule in self.new.asks}
        manual = tuple(
            ir.All((r.guard, ir.complement(r.auto))) if r.auto is not None else r.guard
            for r in self.old.asks
            if (r.guard, r.auto) not in alike
        )
        if manual:
            # Automatic means: every matching ask has its condition fulfilled.
            automatic = (ir.Any((ir.complement(r.guard), *([r.auto] if r.auto is not None else []))) for r in self.new.asks)
            yield Weakness("approval", "wants a person to approve", ir.All((ir.Any(manual), *asked, *automatic)))

    def _compare_rate(self, rate: ir.Rate) -> Iterator[Weakness]:
        """THREAT[TM-POL-009]: a rate split into several counters, each as tight, lets through their sum."""
        tight = [other for other in self.new.rates if is_as_tight(other, rate)]
        words = f"counts {rate.count} per {rate.window_s} s per {rate.per}"
        uncounted = self._find_uncounted(rate, tight)
        if self.can_hold(uncounted):
            yield Weakness("rate", words, uncounted)
        elif sum(other.count for other in tight) > rate.count:
            # The same rate first: it is the likeliest to count everything, and where it does not, the answers differ.
            singles = sorted(tight, key=lambda other: (other != rate, -other.count))
            if all(self.can_hold(self._find_uncounted(rate, [other])) for other in singles):
                yield Weakness("rate", f"{words} in one counter", self._find_uncounted(rate, singles[:1]))

    def _find_uncounted(self, rate: ir.Rate, kept: list[ir.Rate]) -> ir.Expr:
        """What the old policy counts by `rate` and the new one permits without counting it by one of `kept`."""
        old, new = self.old, self.new
        counted: dict[str, list[ir.Expr]] = {"ask": [], "allow": []}
        for rule in old.rules:
            if rule.rate == rate:
                counted[rule.verdict].append(rule.guard)
        found: list[ir.Expr] = []
        for verdict, granted, stronger in (("ask", new.ask, ()), ("allow", new.allow, _exclude(new.ask))):
            keeping = [rule.guard for rule in new.rules if rule.verdict == verdict and rule.rate in kept]
            for was, weaker in ((counted["ask"], ()), (counted["allow"], _exclude(old.ask))):
                gone = _subtract(was, keeping)
                if granted and gone and ir.TRUE not in keeping:
                    parts = (ir.Any(gone), ir.Any(tuple(granted)), *stronger, *weaker, *self.both_alive, *_exclude(keeping))
                    found.append(ir.All(parts))
        return ir.Any(tuple(found))


def _lose(part: Part, words: str, was: Iterable[ir.Expr], kept: list[ir.Expr], where: tuple[ir.Expr, ...]) -> Iterator[Weakness]:
    """A duty that the old policy has under `was` and the new one under `kept`."""
    gone = _subtract(was, kept)
    if gone and ir.TRUE not in kept:
        yield Weakness(part, words, ir.All((ir.Any(gone), *where, *_exclude(kept))))


def _subtract(guards: Iterable[ir.Expr], others: Iterable[ir.Expr]) -> tuple[ir.Expr, ...]:
    """The guards that are not, word for word, among the others. Where one of both holds, so does the other's."""
    known = set(others)
    return tuple(guard for guard in dict.fromkeys(guards) if guard not in known)


def _exclude(guards: Iterable[ir.Expr]) -> tuple[ir.Expr, ...]:
    return tuple(ir.complement(guard) for guard in dict.fromkeys(guards))
