"""The long campaign: compiled function, specialised function and reference interpreter on many random triples.

    python tests/policy/policy_campaign.py --seed 1 --count 1000000

A triple is (policy, request, decision). Prints the seed of the first disagreement and fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent.parent)]

from policy_generators import CATALOG, policy_text, request, wide_policy_text

from policy import interpreter
from policy.diagnostics import Findings
from policy.evaluation import Evaluator
from policy.loading import Memory, load
from policy.lowering import Program, lower


def lowered(text: str) -> Program:
    findings = Findings()
    program = lower(load("fuzz.hatch", Memory({"fuzz.hatch": text}), findings, CATALOG), findings)
    assert program.clean, [(d.code, d.location(), d.message) for d in findings.ordered()] + [text]
    return program


def agree_on(text: str, requests: list[tuple[str, dict[str, object]]]) -> None:
    policy = lowered(text).ir
    evaluator = Evaluator(policy)
    for event, attributes in requests:
        compiled = evaluator.decide(event, attributes)
        meant = interpreter.decide(policy, event, attributes)
        assert compiled == meant, (text, event, attributes, compiled, meant)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000, help="triples")
    parser.add_argument("--per-policy", type=int, default=200)
    arguments = parser.parse_args()
    done, number, start = 0, 0, time.monotonic()
    while done < arguments.count:
        seed = arguments.seed * 1_000_003 + number
        rng = Random(seed)
        text = wide_policy_text(rng) if number % 5 == 0 else policy_text(rng, rules=8)
        try:
            agree_on(text, [request(rng) for _ in range(arguments.per_policy)])
        except AssertionError as error:
            print(f"disagreement at seed {seed}: {error}")
            return 1
        done += arguments.per_policy
        number += 1
    print(f"{done:,} triples from {number:,} policies agree ({time.monotonic() - start:.0f} s, seed {arguments.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
