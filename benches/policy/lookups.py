"""One decision among many rules that name folders, hosts or ranges, on a request that the last rule allows.

A sample is the mean of many decisions in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benches.harness import Bench, Contender, Promise, Scenario

SIZE = 1_000
_CALLS = 2_000
_PROPERTIES = {
    "file": {"type": "string", "format": "path"},
    "server": {"type": "string", "format": "hostname"},
    "amount": {"type": "integer", "minimum": 0, "maximum": 10_000_000},
}
_WAYS: dict[str, Callable[[int], str]] = {
    "folders": lambda i: f'file under "/data/t{i}/files"',
    "hosts": lambda i: f'server in {{ "*.t{i}.acme.example", "t{i}.other.example" }}',
    "ranges": lambda i: f"amount in {10 * i}..{10 * i + 5}",
}


def _decide(way: str, count: int) -> Callable[[], object]:
    """The canonical form is compiled as it is: whether each rule can apply is not asked here."""
    from policy import make_catalog
    from policy.evaluation.evaluator import Evaluator
    from policy.lowering.loading import Memory, load
    from policy.lowering.lowering import lower
    from policy.text.diagnostics import Findings

    schema: dict[str, Any] = {"type": "object", "properties": _PROPERTIES, "required": list(_PROPERTIES)}
    catalog = make_catalog("bench", [{"name": "tool.c", "side_effect": "read", "input_schema": schema}])
    rules = (f"allow tool.c when {_WAYS[way](i)} and session.mfa" for i in range(count))
    text = "policy bench v 1\n" + "\n".join(rules) + "\n"
    findings = Findings()
    decide = Evaluator(lower(load("b.hatch", Memory({"b.hatch": text}), findings, catalog), findings).ir).decide
    last = count - 1
    place = {"file": f"/data/t{last}/files/a/b.txt", "server": f"api.t{last}.acme.example", "amount": 10 * last + 2}
    attributes: dict[str, object] = {**place, "session.mfa": True}
    if decide("tool.c", attributes).verdict != "allow":
        raise RuntimeError("the request is not allowed")
    return lambda: decide("tool.c", attributes)


def _repeat(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(_CALLS):
            call()

    return run


def measure(bench: Bench) -> None:
    contenders = [Contender(f"{SIZE:,} {way}", _repeat(_decide(way, SIZE)), unit="µs", calls=_CALLS) for way in _WAYS]
    bench.interleave(*contenders, repetitions=bench.count(30, 5), warmup=2)


SCENARIOS = [
    Scenario(
        "policy_lookups",
        "one policy decision among many folders, hosts or ranges",
        measure,
        tuple(Promise(f"a decision among {SIZE:,} {way}", 2.0, "µs", of=f"{SIZE:,} {way}", issue=5) for way in _WAYS),
        parts=1,
    )
]
