"""The long campaign: compiled function, reference interpreter and z3 encoding on many random triples.

    python tests/policy/policy_campaign.py --seed 1 --count 1000000
    python tests/policy/policy_campaign.py --seed 1 --texts 10000     damaged texts: only diagnostics, never a traceback

A triple is (policy, request, decision). Of each policy's requests the first `--z3` are also put to the z3 encoding of each
verdict. Prints the seed of the first disagreement and fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from policy import PolicyError
from policy.evaluation import interpreter
from policy.evaluation.evaluator import Evaluator
from policy.lowering.loading import Memory, load
from policy.lowering.lowering import lower
from policy.lowering.program import Program
from policy.model import ir
from policy.proofs.claims import verdict_is
from policy.solver.universe import Universe
from policy.syntax.formatter import format_text
from policy.text.diagnostics import Findings
from tests.policy.policy_generators import CATALOG, policy_text, request, wide_policy_text
from tests.policy.policy_texts import SAMPLE, judge

VERDICTS: tuple[ir.Verdict, ...] = ("allow", "ask", "deny")
Asked = tuple[str, dict[str, object]]


def lowered(text: str) -> Program:
    findings = Findings()
    program = lower(load("fuzz.hatch", Memory({"fuzz.hatch": text}), findings, CATALOG), findings)
    assert program.clean, [(d.code, d.location(), d.message) for d in findings.sort()] + [text]
    return program


def agree_on(text: str, requests: list[Asked]) -> ir.Policy:
    """Compiled function and interpreter give the same decision, obligations included."""
    policy = lowered(text).ir
    evaluator = Evaluator(policy)
    for event, attributes in requests:
        compiled = evaluator.decide(event, attributes)
        meant = interpreter.decide(policy, event, attributes)
        assert compiled == meant, (text, event, attributes, compiled, meant)
    return policy


def z3_agrees_on(policy: ir.Policy, requests: list[Asked]) -> int:
    """The z3 formula of a verdict is true at exactly the requests that get it. Returns how many were well formed and asked."""
    import z3

    from policy.solver import smt

    formulas: dict[str, tuple[Universe, dict[str, z3.ArithRef], dict[str, z3.BoolRef]]] = {}
    asked = 0
    for event, attributes in requests:
        decision = interpreter.decide(policy, event, attributes)
        if event in ir.LIFECYCLE or decision.rule in ("invalid", "unknown"):
            continue
        if event not in formulas:
            exprs = {verdict: verdict_is(policy, event, verdict) for verdict in VERDICTS}
            universe = Universe({f.name: f for f in policy.reads[event]}, exprs.values())
            names = {name: z3.Int(name) for name in universe.cells}
            formulas[event] = (universe, names, {verdict: smt.encode(expr, universe, names) for verdict, expr in exprs.items()})
        universe, names, encoded = formulas[event]
        point = []
        filled = {field.name: attributes.get(field.name, field.default) for field in policy.reads[event]}
        for name, variable in names.items():
            if name in universe.relations:
                point.append((variable, z3.IntVal(int(interpreter.lit_holds(universe.relations[name], filled)))))
                continue
            value = attributes.get(name, universe.fields[name].default)
            assert isinstance(value, (bool, int, str))
            cells = universe.cells[name]
            point.append((variable, z3.IntVal(value if cells.field.type.is_number else cells.find_cell(value))))
        for verdict, formula in encoded.items():
            said = z3.is_true(z3.simplify(z3.substitute(formula, *point)))
            assert said == (decision.verdict == verdict), (event, attributes, verdict, decision)
        asked += 1
    return asked


def damaged(rng: Random) -> str:
    """A policy text with some of its characters and words replaced, moved or doubled."""
    text = rng.choice([SAMPLE, policy_text(rng, rules=8), wide_policy_text(rng, 12)])
    words = [*text.split(), "{", "}", "(", ")", '"', "#", "..", "\n", "\x00", "9" * 30, "é", ""]
    for _ in range(rng.randint(1, 8)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 0, 1, 1, 5, 50]))
        text = text[:start] + rng.choice([rng.choice(words), text[end : end + 30], " "]) + text[end:]
    return text


def only_diagnostics(text: str) -> None:
    """Checking and formatting a text ends in findings or in a policy, whatever it holds."""
    checked = judge(text)
    assert not [d for d in checked.diagnostics if d.code == "HP099"], (text, checked.diagnostics)
    try:
        format_text(text)
    except PolicyError:
        pass


def try_texts(seed: int, count: int) -> int:
    start = time.monotonic()
    for number in range(count):
        rng = Random(seed * 1_000_003 + number)
        only_diagnostics(damaged(rng))
    print(f"{count:,} damaged texts gave diagnostics only ({time.monotonic() - start:.0f} s, seed {seed})")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000, help="triples")
    parser.add_argument("--per-policy", type=int, default=200)
    parser.add_argument("--z3", type=int, default=10, help="requests of each policy put to z3 as well")
    parser.add_argument("--texts", type=int, default=0, help="try this many damaged texts instead")
    arguments = parser.parse_args()
    if arguments.texts:
        return try_texts(arguments.seed, arguments.texts)
    done, asked, number, start = 0, 0, 0, time.monotonic()
    while done < arguments.count:
        seed = arguments.seed * 1_000_003 + number
        rng = Random(seed)
        text = wide_policy_text(rng) if number % 5 == 0 else policy_text(rng, rules=8)
        requests = [request(rng) for _ in range(arguments.per_policy)]
        try:
            policy = agree_on(text, requests)
            asked += z3_agrees_on(policy, requests[: arguments.z3]) if arguments.z3 else 0
        except AssertionError as error:
            print(f"disagreement at seed {seed}: {error}")
            return 1
        done += arguments.per_policy
        number += 1
        if number % 1000 == 0:
            print(f"{done:,} triples agree so far, {asked:,} with z3", file=sys.stderr, flush=True)
    taken = f"{time.monotonic() - start:.0f} s, seed {arguments.seed}"
    print(f"{done:,} triples from {number:,} policies agree, {asked:,} of them with z3 as well ({taken})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
