"""One decision, by number of rules, beside the least a Python function can do, cedarpy and regopy (policies parsed beforehand).

A sample is the mean of many decisions in a row on one request that the last rule allows.
"""

from __future__ import annotations

from collections.abc import Callable

from benches.harness import Bench, Contender, Promise, Scenario
from benches.policy import workload

SHAPES = ((10, 10), (100, 10), (1_000, 10), (1_000, 1_000))
_CALLS = 2_000
_PEER_CALLS = 5


def _title(total: int, per_capability: int) -> str:
    return f"{total:,} rules" if per_capability != total or total == 10 else f"{total:,} rules on one capability"


def _many(call: Callable[[], object], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def baseline(attributes: dict[str, object]) -> bool:
    """Three comparisons on three attributes, nothing checked."""
    return attributes["kind"] == "k9" and attributes["amount"] <= 109 and attributes["session.mfa"] is True  # type: ignore[operator]


def _ours(total: int, per_capability: int) -> tuple[Callable[[], object], Callable[[], object]]:
    from policy import compile_policy

    policy = compile_policy(workload.hatch_text(total, per_capability), catalog=workload.catalog(max(1, total // per_capability)))
    event, attributes = workload.request(total, per_capability)
    session = policy.open_session({"tenant": "a", "session.mfa": True})
    rest = {"kind": attributes["kind"], "amount": attributes["amount"]}
    if policy.decide(event, attributes).verdict != "allow" or session.decide(event, rest).verdict != "allow":
        raise RuntimeError("the request is not allowed")
    return (lambda: policy.decide(event, attributes)), (lambda: session.decide(event, rest))


def _cedar(total: int, per_capability: int) -> Callable[[], object]:
    import cedarpy

    policies = cedarpy.PolicySet.from_str(workload.cedar_text(total, per_capability))
    entities = cedarpy.Entities.from_json_str("[]")
    event, attributes = workload.request(total, per_capability)
    context = {"kind": attributes["kind"], "amount": attributes["amount"], "mfa": True}
    asked = {"principal": 'User::"u"', "action": f'Action::"{event}"', "resource": 'Thing::"t"', "context": context}
    if cedarpy.is_authorized(asked, policies, entities).decision != cedarpy.Decision.Allow:
        raise RuntimeError("cedarpy does not allow the request")
    return lambda: cedarpy.is_authorized(asked, policies, entities)


def _rego(total: int, per_capability: int) -> Callable[[], object]:
    import regopy

    engine = regopy.Interpreter()
    engine.add_module("bench", workload.rego_text(total, per_capability))
    bundle = engine.build("x = data.bench.allow")
    event, attributes = workload.request(total, per_capability)
    asked = {"action": event, "kind": attributes["kind"], "amount": attributes["amount"], "mfa": True}

    def decide() -> object:
        engine.set_input(asked)
        return engine.query_bundle(bundle)

    if '"x":true' not in str(decide()).replace(" ", ""):
        raise RuntimeError("regopy does not allow the request")
    return decide


def _why_missing(name: str) -> str:
    from benches.peers import PEERS

    return next(peer.why_missing for peer in PEERS if peer.name == name)


def measure(bench: Bench) -> None:
    _, attributes = workload.request(10, 10)
    least = _many(lambda: baseline(attributes), _CALLS)
    contenders = [Contender("three comparisons", least, "limit", "µs", calls=_CALLS)]
    for total, per_capability in SHAPES:
        title = _title(total, per_capability)
        whole, session = _ours(total, per_capability)
        contenders.append(Contender(title, _many(whole, _CALLS), unit="µs", calls=_CALLS))
        contenders.append(Contender(f"{title}, session", _many(session, _CALLS), unit="µs", calls=_CALLS))
        for peer, make in (("cedarpy", _cedar), ("regopy", _rego)):
            try:
                call = make(total, per_capability)
            except ImportError:
                bench.missing(f"{peer}, {title}", _why_missing(peer) if bench.peers is not None else "not asked: --peers does")
                continue
            asked = _many(call, _PEER_CALLS)
            contenders.append(Contender(f"{peer}, {title}", asked, "peer", "µs", calls=_PEER_CALLS, beside=title))
    bench.interleave(*contenders, repetitions=bench.count(60, 10), warmup=2)


SCENARIOS = [
    Scenario(
        "policy_decisions",
        "one policy decision, by number of rules",
        measure,
        (
            Promise("a decision among 10 rules", 1.0, "µs", of="10 rules", issue=5),
            Promise("a decision among 100 rules", 1.0, "µs", of="100 rules", issue=5),
            Promise("a decision among 1,000 rules", 1.0, "µs", of="1,000 rules", issue=5),
            Promise("a decision among 1,000 rules on one capability", 2.0, "µs", of="1,000 rules on one capability", issue=5),
            Promise("faster than cedarpy at 10 rules", 50.0, "×", "higher", "cedarpy, 10 rules", "10 rules", issue=5),
        ),
        parts=1,
    )
]
