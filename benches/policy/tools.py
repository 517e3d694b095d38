"""The author's tools: comparing two policies of 50 rules, and explaining one decision."""

from __future__ import annotations

from benches.harness import Bench, Contender, Promise, Scenario
from benches.policy import workload


def _fifty(changed: bool) -> str:
    """Fifty rules on five capabilities; the changed one raises some amounts, drops a rule and adds a deny."""
    lines = ["policy bench v 1"]
    for i in range(50):
        limit = 100 + i + (50 if changed and i % 7 == 0 else 0)
        if not (changed and i == 13):
            lines.append(f"allow tool.c{i // 10} when kind == k{i % 10} and amount <= {limit} and session.risk <= {30 + i}")
    if changed:
        lines.append("deny tool.c2 when session.tainted and amount > 50")
    lines.append('test "t" { as { tenant a, session.risk 1 } tool.c0 { kind k0, amount 1 } => allow }')
    return "\n".join(lines) + "\n"


def measure(bench: Bench) -> None:
    from policy import compile_policy
    from policy.tools.diff import diff

    catalog = workload.catalog(5)
    old, new = compile_policy(_fifty(False), catalog=catalog), compile_policy(_fifty(True), catalog=catalog)
    if not any(change.loosens for change in diff(old, new)):
        raise RuntimeError("the change was not noticed")
    asked = {"tenant": "a", "session.risk": 90, "kind": "k3", "amount": 7}
    bench.interleave(
        Contender("diff of two policies of 50 rules", lambda: diff(old, new)),
        Contender("explain", lambda: new.explain("tool.c0", asked)),
        repetitions=bench.count(20, 5),
        warmup=1,
    )


SCENARIOS = [
    Scenario(
        "policy_tools",
        "diff and explain",
        measure,
        (
            Promise("diff of two policies of 50 rules", 1_000.0, "ms", issue=5),
            Promise("explain", 1.0, "ms", issue=5),
        ),
        parts=1,
    )
]
