"""One decision, by number of rules, beside a hand-written function, cedarpy and regopy, all in one run.

    python benches/policy/decisions.py

Read the numbers as ratios: they come from one machine at one moment. Peers that are not installed are left out.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent.parent)]

import workload

from policy import compile_policy

SHAPES = ((10, 10), (100, 10), (1_000, 10), (1_000, 1_000))


def best_us(call: Callable[[], object]) -> float:
    """Microseconds of one call: the best of several rounds, each long enough to measure."""
    timer = timeit.Timer(call)
    number = max(1, int(0.02 / max(timer.timeit(1), 1e-7)))
    return min(timer.repeat(7, number)) / number * 1e6


def baseline(attributes: dict[str, object]) -> bool:
    """The least a Python function can do: three comparisons on three attributes."""
    return attributes["kind"] == "k9" and attributes["amount"] <= 109 and attributes["session.mfa"] is True  # type: ignore[operator]


def hatchway(total: int, per_capability: int) -> dict[str, float]:
    policy = compile_policy(workload.hatch_text(total, per_capability), catalog=workload.catalog(max(1, total // per_capability)))
    event, attributes = workload.request(total, per_capability)
    assert policy.decide(event, attributes).verdict == "allow"
    session = policy.open_session({"tenant": "a", "session.mfa": True})
    rest = {"kind": attributes["kind"], "amount": attributes["amount"]}
    assert session.decide(event, rest).verdict == "allow"
    return {
        "baseline": best_us(lambda: baseline(attributes)),
        "hatchway": best_us(lambda: policy.decide(event, attributes)),
        "hatchway, session": best_us(lambda: session.decide(event, rest)),
    }


def cedar(total: int, per_capability: int) -> dict[str, float]:
    try:
        import cedarpy
    except ImportError:
        return {}
    policies = cedarpy.PolicySet.from_str(workload.cedar_text(total, per_capability))
    entities = cedarpy.Entities.from_json_str("[]")
    event, attributes = workload.request(total, per_capability)
    asked = {
        "principal": 'User::"u"',
        "action": f'Action::"{event}"',
        "resource": 'Thing::"t"',
        "context": {"kind": attributes["kind"], "amount": attributes["amount"], "mfa": True},
    }
    assert cedarpy.is_authorized(asked, policies, entities).decision == cedarpy.Decision.Allow
    return {"cedarpy": best_us(lambda: cedarpy.is_authorized(asked, policies, entities))}


def rego(total: int, per_capability: int) -> dict[str, float]:
    try:
        import regopy
    except ImportError:
        return {}
    engine = regopy.Interpreter()
    engine.add_module("bench", workload.rego_text(total, per_capability))
    bundle = engine.build("x = data.bench.allow")
    event, attributes = workload.request(total, per_capability)
    asked = {"action": event, "kind": attributes["kind"], "amount": attributes["amount"], "mfa": True}

    def decide() -> object:
        engine.set_input(asked)
        return engine.query_bundle(bundle)

    assert '"x":true' in str(decide()).replace(" ", "")
    return {"regopy": best_us(decide)}


def run() -> dict[str, dict[str, float]]:
    """Microseconds per decision, by shape and engine."""
    found: dict[str, dict[str, float]] = {}
    for total, per_capability in SHAPES:
        name = f"{total} rules, {per_capability} per capability"
        found[name] = {**hatchway(total, per_capability), **cedar(total, per_capability), **rego(total, per_capability)}
    return found


def main() -> None:
    for shape, engines in run().items():
        print(shape)
        for engine, us in engines.items():
            print(f"  {engine:20} {us:10.2f} µs   {us / engines['hatchway']:9.2f} × hatchway")


if __name__ == "__main__":
    main()
