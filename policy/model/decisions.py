"""What a policy answers: a verdict, the rule behind it, and what the caller must do about it.

Obligations add up: every matching rule of the winning verdict contributes its rate and approver, limits combine by minimum,
every matching hook is listed in file order. Counting, asking and running happen elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from policy.model import ir

RANK = {"allow": 0, "ask": 1, "deny": 2}
"""Verdicts from the weakest to the strongest."""


class Approval(msgspec.Struct, frozen=True):
    """A person must approve in time. `rule` names the ask that wants it."""

    approver: str
    within_ms: int
    rule: str


class Decision(msgspec.Struct, frozen=True):
    """The answer to one request. `rule` is the rule that decided, `default` when none did, `invalid` for a malformed request.

    Equal outcomes of one compiled policy are the same object, so they may be compared with `is`.
    """

    verdict: ir.Verdict
    rule: str
    because: str | None = None
    limits: tuple[tuple[str, int], ...] = ()
    rates: tuple[ir.Rate, ...] = ()
    approvals: tuple[Approval, ...] = ()
    auto: str | None = None
    hooks: tuple[ir.HookCall, ...] = ()

    @property
    def permitted(self) -> bool:
        """Not denied: it may happen, perhaps after approval."""
        return self.verdict != "deny"

    @property
    def approval_policy(self) -> str | dict[str, dict[str, str]]:
        """The wire form: `"none"`, `"manual"` or `{"auto": {"rule": …}}`."""
        if self.verdict != "ask":
            return "none"
        return {"auto": {"rule": self.auto}} if self.auto else "manual"

    def limit(self, name: str) -> int | None:
        return dict(self.limits).get(name)

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)


DEFAULT = Decision("deny", "default", "no rule permits this")
UNKNOWN = Decision("deny", "unknown", "no such capability or event")
INTERNAL = Decision("deny", "invalid", "the request could not be judged")


@lru_cache(maxsize=8192)
def refusal(field: str, present: bool) -> Decision:
    what = "is not a value this field can hold" if present else "is missing"
    return Decision("deny", "invalid", f"{field} {what}")


def assemble(
    verdict: ir.Verdict, rules: list[ir.Rule], autos: Iterable[bool], limits: Iterable[ir.Limit], hooks: Iterable[ir.Hook]
) -> Decision:
    """Combine everything that matched. `rules` are the matching rules of the winning verdict, in policy order."""
    if not rules:
        return DEFAULT
    first = rules[0]
    if verdict == "deny":
        return Decision("deny", first.id, first.because)
    lowest: dict[str, int] = {}
    for limit in limits:
        for name, value in limit.settings:
            lowest[name] = min(value, lowest.get(name, value))
    auto = first.id if verdict == "ask" and all(autos) else None
    return Decision(
        verdict,
        first.id,
        first.because,
        tuple(sorted(lowest.items())),
        tuple(sorted({rule.rate for rule in rules if rule.rate is not None})),
        tuple(Approval(r.approver, r.within_ms or 0, r.id) for r in rules if r.approver is not None),
        auto,
        tuple(hook.call() for hook in hooks),
    )


def lifecycle(hooks: Iterable[ir.Hook]) -> Decision:
    """The answer to a session event: nothing to permit, hooks to run."""
    return Decision("allow", "event", hooks=tuple(hook.call() for hook in hooks))
