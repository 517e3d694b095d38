"""Gates: a policy as one session meets it, and what its decisions mean to the service.

Rules: every decision of the service goes through `Gate.decide`, which is pure but for the log. What is not permitted without
an approver being asked is refused by `require`; only programs (`gateway.runs.permission`) and their calls can wait. The audit
names the caller (`change_actor`), not the session's owner, and what was asked for, masked as in the log of decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gateway.errors import Forbidden
from gateway.policies.rates import NOT_COUNTED, Rates, Taken
from gateway.stores.changes import AppendAudit
from policy import Decision, Policy
from policy import Session as Folded
from sandbox.languages import NAME_OF
from sandbox.limits import lower_to_settings
from sandbox.wire import Language, SessionLimits


def language_name(language: Language) -> str:
    return NAME_OF[language]


@dataclass(eq=False, slots=True)
class Gate:
    """A policy as one session meets it. `actor` is who asks; `audit` takes a record that belongs to no other write."""

    policy: Policy
    _folded: Folded
    session_id: str
    actor: str
    _note: Callable[..., dict[str, Any]]
    audit: Callable[[AppendAudit], None]
    _rates: Rates
    _clock_ms: Callable[[], int]

    def change_actor(self, name: str) -> Gate:
        """The same gate for another caller."""
        return self if name == self.actor else replace(self, actor=name)

    def decide(self, event: str, arguments: Mapping[str, Any]) -> Decision:
        """Pure but for the log. Facts were folded in when the session was opened."""
        return self._decide(event, arguments)[0]

    def _decide(self, event: str, arguments: Mapping[str, Any]) -> tuple[Decision, dict[str, Any]]:
        """The decision, and what of the arguments may be shown."""
        policy, folded = self.policy, self._folded
        decision = folded.decide(event, policy.attributes(event, {}, arguments))
        return decision, self._note(policy, self.session_id, event, folded.facts, arguments, decision)

    def permits(self, event: str, arguments: Mapping[str, Any]) -> bool:
        """Whether `require` would pass, for what is asked thousands of times at once: not logged, not counted."""
        return is_permitted(self._folded.decide(event, self.policy.attributes(event, {}, arguments)))

    def permits_alike(self, event: str, arguments: Mapping[str, Any], like: Decision) -> bool:
        """Whether it is permitted with the limits, rates and hooks of another decision: without an approver, or by the approvals
        that this one was given, which the same rule wants. Not logged."""
        found = self._folded.decide(event, self.policy.attributes(event, {}, arguments))
        if (found.limits, found.rates, found.hooks) != (like.limits, like.rates, like.hooks):
            return False
        if is_permitted(found):
            return True
        wanted, given = ((one.verdict, one.auto, one.rule, one.approvals) for one in (found, like))
        return found.verdict == "ask" and wanted == given

    def require(self, event: str, arguments: Mapping[str, Any], operation: str = "") -> Decision:
        """The decision, if it permits without asking; what would need an approval here is refused. Goes to the audit, too.
        `operation` says what is done where the event alone does not: a deletion is an `fs.write` as well."""
        decision, shown = self._decide(event, arguments)
        told = {"event": event, "verdict": decision.verdict, "rule": decision.rule, "policy": self.policy.digest}
        told = {**shown, **({"operation": operation} if operation else {}), **told}
        self.audit(AppendAudit(at=self._clock_ms(), kind="decision", actor=self.actor, subject=self.session_id, data=told))
        if is_permitted(decision):
            self.count(event, decision)
            return decision
        raise refusal(event, decision)

    def count(self, event: str, decision: Decision) -> Taken:
        """Count one call under every rate the decision names. Raises `TooMany` if there were too many."""
        if not decision.rates:
            return NOT_COUNTED
        facts = self._folded.facts
        scopes = {"session": self.session_id, "user": facts.get("user", ""), "tenant": "", "capability": ""}
        return self._rates.take(
            (
                ("" if rate.per == "capability" else facts["tenant"], event, rate.per, rate.count, scopes.get(rate.per, "")),
                rate.count,
                rate.window_s,
            )
            for rate in decision.rates
        )


def is_permitted(decision: Decision) -> bool:
    """Without an approver being asked: allowed, or approved by a rule."""
    return decision.verdict == "allow" or (decision.verdict == "ask" and decision.auto is not None)


def refusal(event: str, decision: Decision) -> Forbidden:
    because = f": {decision.because}" if decision.because else ""
    hint = f"decided by {decision.rule}; `hatchway policy explain` says why"
    return Forbidden("PERMISSION_DENIED", f"the policy refuses {event}{because}", hint)


def lower_to_decision(limits: SessionLimits, decision: Decision) -> SessionLimits:
    """`limits`, at most as the decision allows."""
    if not decision.limits:
        return limits
    return lower_to_settings(limits, dict(decision.limits))
