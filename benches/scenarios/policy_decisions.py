"""One policy decision, by number of rules, beside the least a Python function can do; explanations; peers with ten rules.

A sample is the mean of a hundred decisions. Rules come from `benches.policy.workload`: the same shape for every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benches.harness import Bench, Contender, Promise, Scenario

_SHAPES = ((10, 10), (100, 10), (1_000, 10), (1_000, 1_000))
_CALLS = 100
_PEER_CALLS = 100


def _label(total: int, per_capability: int) -> str:
    return f"{total} rules, {per_capability} per capability"


def _least(attributes: dict[str, Any]) -> bool:
    """Three comparisons on three attributes, written by hand."""
    return attributes["kind"] == "k9" and attributes["amount"] <= 109 and attributes["session.mfa"] is True


def _repeat(call: Callable[[], object]) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(_CALLS):
            call()

    return repeated


def measure(bench: Bench) -> None:
    from benches.policy import workload
    from policy import compile_policy

    contenders = []
    for total, per_capability in _SHAPES:
        text = workload.hatch_text(total, per_capability)
        policy = compile_policy(text, catalog=workload.catalog(max(1, total // per_capability)))
        event, attributes = workload.request(total, per_capability)
        if policy.decide(event, attributes).verdict != "allow":
            raise RuntimeError("the workload's request was not allowed")

        def decide(policy: Any = policy, event: str = event, attributes: dict[str, Any] = attributes) -> object:
            return policy.decide(event, attributes)

        contenders.append(Contender(_label(total, per_capability), _repeat(decide), unit="µs", calls=_CALLS))
        if total == 10:
            contenders.append(
                Contender("by hand", _repeat(lambda at=attributes: _least(at)), role="limit", unit="µs", calls=_CALLS)  # type: ignore[misc]
            )
            small = decide

            def explain(policy: Any = policy, event: str = event, attributes: dict[str, Any] = attributes) -> object:
                return policy.explain(event, attributes)

            contenders.append(Contender("explain, 10 rules", explain, unit="ms"))
    bench.interleave(*contenders, repetitions=bench.count(200, 40))
    if bench.peers is not None:
        beside = Contender("10 rules (beside peers)", _repeat(small), unit="µs", calls=_CALLS)
        bench.peers.interleave(bench, "decision", beside, unit="µs", calls=_PEER_CALLS)


SCENARIOS = [
    Scenario(
        "policy_decisions",
        "one policy decision, by number of rules",
        measure,
        (
            *(Promise(f"a decision, {_label(*s)}", 1.0, "µs", of=_label(*s), issue=4) for s in _SHAPES[:3]),
            Promise(f"a decision, {_label(*_SHAPES[3])}", 2.0, "µs", of=_label(*_SHAPES[3]), issue=4),
            Promise(
                "cedarpy needs as many times longer, 10 rules", 50, "×", "higher",
                of="cedarpy 4.12.2", over="10 rules (beside peers)", issue=4,
            ),
            Promise("explain a decision", 1.0, "ms", of="explain, 10 rules", issue=4),
        ),
    )
]  # fmt: skip
