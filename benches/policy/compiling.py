"""Reading, checking, compiling, proving and testing a policy, by its size, beside Python's own compiler on as many lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benches.harness import Bench, Contender, Promise, Scenario
from benches.policy import workload

SIZES = (100, 1_000, 3_000)


def _check(text: str) -> Callable[[], object]:
    from policy.checker import check
    from policy.lowering.loading import Memory

    def run() -> object:
        checked = check("p.hatch", Memory({"p.hatch": text}))
        if not checked.ok:
            raise RuntimeError("the policy is refused")
        return checked

    return run


def _parse(text: str) -> Callable[[], object]:
    from policy.syntax.parser import parse
    from policy.text.diagnostics import Findings
    from policy.text.sources import Source

    return lambda: parse(Source("p.hatch", text), Findings())


def measure(bench: Bench) -> None:
    contenders = []
    for lines in SIZES:
        text = workload.author_text(lines)
        module = "\n".join(f"x{i} = a == {i} and b <= {i} and c" for i in range(lines))
        contenders.append(Contender(f"{lines:,} lines", _check(text)))
        contenders.append(Contender(f"{lines:,} lines, parsed only", _parse(text)))
        contenders.append(Contender(f"Python's compiler, {lines:,} lines", partial(compile, module, "m", "exec"), "native"))
    bench.interleave(*contenders, repetitions=bench.count(15, 4), warmup=1)


SCENARIOS = [
    Scenario(
        "policy_compiling",
        "a policy parsed, checked, compiled, proved and tested",
        measure,
        (Promise("1,000 lines compiled", 150.0, "ms", of="1,000 lines", issue=5),),
        parts=1,
    )
]
