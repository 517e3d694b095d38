"""Reading, checking and compiling a policy of 1,000 lines, and comparing two policies of 50 rules.

Beside it stands Python's own parser and compiler on a module of as many lines: the scale to read the rest by.
"""

from __future__ import annotations

from benches.harness import Bench, Contender, Promise, Scenario


def measure(bench: Bench) -> None:
    from benches.policy import workload
    from policy import compile_policy
    from policy.checker import check
    from policy.difference import diff
    from policy.loading import Memory

    text = workload.author_text(1_000)
    if not check("p.hatch", Memory({"p.hatch": text})).ok:
        raise RuntimeError("the workload's policy has errors")
    module = "\n".join(f"x{i} = a == {i} and b <= {i} and c" for i in range(text.count("\n")))
    catalog = workload.catalog(5)
    rules = workload.hatch_text(50, 10)
    old, new = (compile_policy(one, catalog=catalog) for one in (rules, rules.replace("amount <= 105", "amount <= 500")))
    if not diff(old, new):
        raise RuntimeError("the two policies do not differ")
    bench.interleave(
        Contender("1,000 lines", lambda: check("p.hatch", Memory({"p.hatch": text}))),
        Contender("Python compiles 1,000 lines", lambda: compile(module, "m", "exec"), role="native"),
        Contender("diff of 50 rules", lambda: diff(old, new)),
        repetitions=bench.count(15, 4),
        warmup=1,
    )


SCENARIOS = [
    Scenario(
        "policy_compile",
        "parse, check, prove and compile a policy; compare two",
        measure,
        (
            Promise("parse, check and compile 1,000 lines of policy", 150, "ms", of="1,000 lines", issue=4),
            Promise("diff of two policies of 50 rules", 1_000, "ms", of="diff of 50 rules", issue=4),
        ),
    )
]
