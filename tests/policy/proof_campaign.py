"""The prover against enumeration: random pairs of small policies over a finite domain, obligations included.

    python -m tests.policy.proof_campaign --pairs 100000 --seed 1

Every request of the domain is put to the reference interpreter, and from the answers alone it is worked out whether the second
policy is as strict as the first, which claims hold, and which requests are answered differently. `narrows`, `prove` and `diff`
must say the same. The oracle below is written from docs/policy.md and shares no code with `policy/proofs`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from policy import Catalog, Decision, Policy, Rate, make_catalog
from policy.evaluation import interpreter
from policy.evaluation.evaluator import Evaluator
from policy.lowering.loading import Memory, load
from policy.lowering.lowering import lower
from policy.lowering.program import Program
from policy.model import ir
from policy.proofs.claims import check_claims
from policy.proofs.narrowing import check_narrows
from policy.text.diagnostics import Findings
from policy.text.sources import Span
from policy.tools.diff import diff

TOOL = "tool.act"
_PROPERTIES = {
    "flag": {"type": "boolean"},
    "color": {"enum": ["red", "green", "blue"]},
    "count": {"type": "integer", "minimum": 0, "maximum": 3},
    "label": {"type": "string"},
    "file": {"type": "string", "format": "path"},
    "server": {"type": "string", "format": "hostname"},
}
Point = dict[str, object]


@dataclass(frozen=True, slots=True)
class World:
    """A capability with few fields, every request about it that the campaign asks, and what conditions are made of."""

    catalog: Catalog
    domain: list[Point]
    make_atom: Callable[[Random], str]


def _make_world(values: dict[str, Sequence[object]], make_atom: Callable[[Random], str]) -> World:
    own = [name for name in values if name in _PROPERTIES]
    schema = {"type": "object", "properties": {name: _PROPERTIES[name] for name in own}, "required": own}
    catalog = make_catalog("finite", [{"name": TOOL, "side_effect": "read", "input_schema": schema}])
    every = [dict(zip(values, point, strict=True)) for point in product(*values.values())]
    # Where there are many, a part of them is enough with the second factor.
    domain = [point | {"session.mfa": False} for point in every]
    return World(catalog, domain + [point | {"session.mfa": True} for point in every[:: 1 + len(every) // 1000]], make_atom)


def _make_flag_atom(rng: Random) -> str:
    return rng.choice(["flag", "not flag", "session.mfa", "not session.mfa"])


def _make_plain_atom(rng: Random) -> str:
    return rng.choice(
        [
            _make_flag_atom(rng),
            _make_flag_atom(rng),
            f"color == {rng.choice(['red', 'green', 'blue'])}",
            f"color in {{ {', '.join(rng.sample(['red', 'green', 'blue'], 2))} }}",
            f"count {rng.choice(['<=', '>=', '==', '!='])} {rng.randint(0, 3)}",
        ]
    )


def _make_label_atom(rng: Random) -> str:
    """Constants so short that every way in which conditions can come out together shows in the texts of the domain."""
    if rng.random() < 0.25:
        return rng.choice(["session.mfa", "not session.mfa"])
    head, tail = rng.choice(["a", "b", "ab"]), rng.choice(["a", "b", "ba"])
    return rng.choice(
        [
            f'label like "{head}*{tail}"',
            f'label starts "{head}"',
            f'not label ends "{tail}"',
            f'label ends {{ "{tail}", "{rng.choice("ab")}" }}',
            f'label {rng.choice(["==", "!="])} "{rng.choice(["", "a", "ab", "aba", "bab"])}"',
        ]
    )


def _make_path_atom(rng: Random) -> str:
    if rng.random() < 0.2:
        return rng.choice(["session.mfa", "not session.mfa"])
    segment = rng.choice(["a", "b", "ab"])
    atom = rng.choice(
        [
            f'file under "/{segment}"',
            f'file under {{ "/a/b", "/{segment}" }}',
            f'file ends "{rng.choice(["a", "b", "/a", "/b"])}"',
            f'file like "{rng.choice(["/a*", "/*/a", "/a/*", "/*b", "/a*b"])}"',
            f'file any segment == "{segment}"',
            f'file any segment {rng.choice(["starts", "ends"])} "{rng.choice("ab")}"',
            f'file == "{rng.choice(["/", "/a", "/a/b", "/ab"])}"',
        ]
    )
    return atom if rng.random() < 0.7 else f"not {atom}"


def _make_host_atom(rng: Random) -> str:
    if rng.random() < 0.2:
        return rng.choice(["session.mfa", "not session.mfa"])
    atom = rng.choice(
        [
            f'server like "{rng.choice(["a*.x.y", "*a.x.y", "a*b.x.y", "b*.a.x.y"])}"',
            f'server in {{ "*.x.y", "{rng.choice(["a.x.y", "ab.x.y", "x.y", "a"])}" }}',
            f'server == "{rng.choice(["a.x.y", "ab.x.y", "a.x.y", "x.y", "*.a.x.y"])}"',
        ]
    )
    return atom if rng.random() < 0.7 else f"not {atom}"


def _make_relation_atom(rng: Random) -> str:
    """Names are compared with each other and stand for segments of paths; there are more of them than constants tell apart."""
    name, other = rng.sample(["label", "user"], 2)
    constant = rng.choice(["a", "b"])
    return rng.choice(
        [
            f"label {rng.choice(['==', '!='])} user",
            f"{name} {rng.choice(['==', '!='])} {constant}",
            f"{name} in {{ a, b }}",
            f'{name} {rng.choice(["starts", "ends"])} "a"',
            f'file under "{rng.choice(["/{%s}", "/h/{%s}", "/h/{%s}/a"]) % name}"',
            f'not file under {{ "/h/{{{other}}}", "/{constant}" }}',
            f'file {rng.choice(["==", "under"])} "{rng.choice(["/h/a", "/h/b", "/a", "/h"])}"',
            f'file any segment == "{constant}"',
            f'file any segment {rng.choice(["starts", "ends"])} "a"',
            f'file ends "{rng.choice(["a", "/a", "h/b"])}"',
        ]
    )


_NAMES = ["", "h", "a", "b", "c", "d", "ac", "ca", "a/b"]
_FOLDERS = [
    "/",
    "/h",
    "/x",
    "/h/h",
    "/h/h/a",
    "/ac/h/b",
    "/ca/h/b",
    *(f"/{name}" for name in _NAMES[2:]),
    "/a/a",
    "/c/a",
    "/ac/x",
]
_FOLDERS += [f"/h/{name}{more}" for name in _NAMES[2:8] for more in ("", "/a", "/x")]
_LABELS = ["".join(chars) for length in range(5) for chars in product("abc", repeat=length)] + ["abcba", "abbba", "ababa"]
_PARTS = ["".join(chars) for length in (1, 2) for chars in product("abc", repeat=length)] + ["acb", "bca", "aca", "bcb"]
_PATHS = ["/", *("/" + "/".join(parts) for length in (1, 2) for parts in product(_PARTS, repeat=length))]
_PATHS += ["/" + "/".join(parts) for parts in product(("a", "b", "c", "ab", "bca"), repeat=3)]
_SERVERS = ["a", "b", "x.y", "c.d", *(f"{part}.{rest}" for part in _PARTS for rest in ("x.y", "a.x.y", "c.x.y", "d.a.x.y", "c"))]
WORLDS = {
    "plain": _make_world({"flag": (False, True), "color": ("red", "green", "blue"), "count": range(4)}, _make_plain_atom),
    "label": _make_world({"label": _LABELS}, _make_label_atom),
    "path": _make_world({"file": _PATHS}, _make_path_atom),
    "relations": _make_world({"label": _NAMES, "user": _NAMES, "file": _FOLDERS}, _make_relation_atom),
    "host": _make_world({"server": _SERVERS}, _make_host_atom),
}
EVENTS = (TOOL, "session_start")
_MANY = 600
ONE, TWO = "1" * 64, "2" * 64
Points = dict[str, list[tuple[Decision, Decision]]]


def make_pair(rng: Random, world: World) -> tuple[Program, Program]:
    """Two policies; the second is the first with a few statements changed, so that many pairs nearly narrow."""
    first = [_make_statement(rng, world, number) for number in range(rng.randint(1, 6))]
    second = list(first) if rng.random() < 0.85 else [_make_statement(rng, world, number) for number in range(rng.randint(1, 5))]
    for _ in range(rng.randint(0, 3)):
        place = rng.randrange(len(second)) if second else 0
        change = rng.random()
        if change < 0.3 and second:
            second[place] = _make_statement(rng, world, 9)
        elif change < 0.5 and second:
            del second[place]
        elif change < 0.75 and second:
            second[place] = _tweak(rng, second[place])
        else:
            second.insert(place, _make_statement(rng, world, 8))
    if rng.random() < 0.3:
        phase = rng.choice(["before", "after"])
        hooks = [
            f'hook hook{name} on {phase} {TOOL}{when} run wasm "h.wasm" timeout 1s on_error block'
            for name, when in zip("klm", ("", "", f" when {_make_condition(rng, world)}"), strict=True)
        ]
        first += rng.sample(hooks, rng.randint(1, 2))
        second += rng.sample(hooks, rng.randint(1, 3))
    claims = [f"prove no {TOOL} when {_make_condition(rng, world)}" for _ in range(rng.randint(0, 2))]
    return _lower(first, world), _lower(_distinct(second) + claims, world)


def _distinct(lines: list[str]) -> list[str]:
    """Hooks have different names: of two that would share one, the later is dropped."""
    kept: dict[str, str] = {}
    for number, line in enumerate(lines):
        kept.setdefault(" ".join(line.split()[:2]) if line.startswith("hook") else str(number), line)
    return list(kept.values())


def _make_condition(rng: Random, world: World, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.5:
        return world.make_atom(rng)
    word = rng.choice([" and ", " or "])
    return "(" + word.join(_make_condition(rng, world, depth - 1) for _ in range(2)) + ")"


def _make_statement(rng: Random, world: World, number: int) -> str:
    shape, when = rng.random(), "" if rng.random() < 0.2 else f" when {_make_condition(rng, world)}"
    if shape < 0.12:
        return f"limit {TOOL}{when} {{ {rng.choice(['cpu 1s', 'cpu 2s', 'cpu 2s memory 1MiB', 'memory 2MiB'])} }}"
    if shape < 0.28:
        moment = rng.choice([f"before {TOOL}", f"after {TOOL}", "session_start"])
        when = f" when {rng.choice(['session.mfa', 'not session.mfa'])}" if moment == "session_start" and when else when
        failing = f"timeout {rng.choice(['10ms', '1s'])} on_error {rng.choice(['block', 'block', 'warn'])}"
        program = f'"h.wasm"{rng.choice(["", "", f" sha256:{ONE}", f" sha256:{TWO}"])}'
        return f"hook hook{'abcdefghij'[number % 3]} on {moment}{when} run wasm {program} {failing}"
    rate = f" rate {rng.randint(1, 4)}/{rng.choice(['min', 'h'])} per {rng.choice(['session', 'session', 'tenant'])}"
    rate = rate if rng.random() < 0.5 else ""
    if shape < 0.62:
        return f"allow {TOOL}{when}{rate}"
    if shape < 0.84:
        auto = f" auto when {_make_condition(rng, world, 1)}" if rng.random() < 0.5 else ""
        return f"ask {TOOL}{when}{rate} by {rng.choice(['boss', 'peer'])} within {rng.choice(['5m', '1h'])}{auto}"
    return f"deny {TOOL}{when}"


def _tweak(rng: Random, line: str) -> str:
    """A small change of a statement: a number, a word, or one more condition."""
    swaps = [("1/", "2/"), ("3/", "2/"), ("/min", "/h"), ("/h", "/min"), ("5m", "1h"), ("1h", "5m"), ("boss", "peer")]
    swaps += [("10ms", "1s"), ("1s", "10ms"), ("warn", "block"), ("block", "warn"), ("cpu 1s", "cpu 2s"), ("cpu 2s", "cpu 1s")]
    swaps += [(f"sha256:{ONE}", f"sha256:{TWO}"), (f" sha256:{ONE}", ""), ('"h.wasm" t', f'"i.wasm" sha256:{ONE} t')]
    swaps += [
        ('"h.wasm" sha', '"i.wasm" sha'),
        ("allow", "deny"),
        (f"allow {TOOL}", f"ask {TOOL} by boss within 5m"),
        (" when ", " when session.mfa and "),
    ]
    fitting = [(a, b) for a, b in swaps if a in line and not ("rate" in line and b == "deny")]
    old, new = rng.choice(fitting) if fitting else ("", "")
    if new.startswith("ask"):
        tail = line.partition(" when ")[2]
        condition = f" when {tail.split(' rate ')[0]}" if tail else ""
        return f"ask {TOOL}{condition} by boss within 5m auto when (session.mfa or not session.mfa)"
    return line.replace(old, new, 1) if old else line


def _lower(lines: list[str], world: World) -> Program:
    findings = Findings()
    text = "policy finite v 1\n" + "\n".join(_distinct(lines)) + "\n"
    program = lower(load("p.hatch", Memory({"p.hatch": text}), findings, world.catalog), findings)
    assert not findings.errors, (text, findings.sort())
    return program


def enumerate_decisions(old: Program, new: Program, domain: Sequence[Mapping[str, object]]) -> Points:
    """What both policies answer to every request there is. Where there are many, the compiled functions are asked; that they
    answer as the interpreter does is another campaign."""
    asked = [partial(interpreter.decide, program.ir) for program in (old, new)]
    if len(domain) >= _MANY:
        asked = [Evaluator(program.ir).decide for program in (old, new)]
    return {event: [(asked[0](event, point), asked[1](event, point)) for point in domain] for event in EVENTS}


def _reduce(decision: Decision) -> tuple[object, ...]:
    """A decision without the names of the rules behind it."""
    approvals = tuple(sorted({(a.approver, a.within_ms) for a in decision.approvals}))
    return decision.verdict, decision.limits, decision.rates, approvals, decision.auto is not None, decision.hooks


def _is_tight(rate: Rate, old: Rate) -> bool:
    return rate.per == old.per and rate.count <= old.count and rate.window_s >= old.window_s


def _is_weaker(before: Decision, after: Decision) -> bool:
    """Whether one request gets more, or gets it for less."""
    if after.verdict == "deny":
        return False
    if before.verdict == "deny" or (before.verdict == "ask" and after.verdict == "allow"):
        return True
    if before.verdict == "ask" and before.auto is None and after.auto is not None:
        return True
    approvals = {(a.approver, a.within_ms) for a in after.approvals}
    if any(not any(who == a.approver and ms <= a.within_ms for who, ms in approvals) for a in before.approvals):
        return True
    if any(dict(after.limits).get(name, value + 1) > value for name, value in before.limits):
        return True
    for hook in before.hooks:
        other = next((h for h in after.hooks if (h.name, h.phase) == (hook.name, hook.phase)), None)
        if other is not None and (other.sha256 != hook.sha256 if hook.sha256 else other.program != hook.program):
            return True
        if other is None or (hook.on_error == "block" and other.on_error == "warn"):
            return True
        if hook.on_error == other.on_error == "block" and other.timeout_ms > hook.timeout_ms:
            return True
        if hook.on_error == other.on_error == "warn" and other.timeout_ms < hook.timeout_ms:
            return True
    if _is_meddled_with(before, after):
        return True
    return any(not any(_is_tight(rate, old) for rate in after.rates) for old in before.rates)


def _is_meddled_with(before: Decision, after: Decision) -> bool:
    """Whether a hook that was not there, or elsewhere, may rewrite what one of before has judged, or come before it to a result.
    Called where each hook of before is there."""
    for phase in ("before", "after"):
        was, now = ([hook.name for hook in decision.hooks if hook.phase == phase] for decision in (before, after))
        if phase == "after":
            was.reverse()
            now.reverse()
        if any(other not in was[place:] for place, name in enumerate(was) for other in now[now.index(name) :]):
            return True
    return False


def _is_split(points: list[tuple[Decision, Decision]]) -> bool:
    """Whether what one counter counted is now counted apart, so that together more may pass."""
    for rate in {rate for before, _ in points for rate in before.rates}:
        counted = [set(after.rates) for before, after in points if rate in before.rates and after.verdict != "deny"]
        tight = {r for _, after in points for r in after.rates if _is_tight(r, rate)}
        # Counters that the new policy has but never decides by count nothing; they are not seen here.
        if counted and not any(all(r in rates for rates in counted) for r in tight) and sum(r.count for r in tight) > rate.count:
            return True
    return False


def _counts(program: Program) -> bool:
    return sum(rule.rate is not None for rule in program.ir.rules) > 1


def check_pair(old: Program, new: Program, world: World) -> str:
    """Raises AssertionError where the prover and enumeration differ; says what the pair was good for. Texts have no end, so that
    the requests which the prover shows are enumerated as well: what it finds must be there, and what is there must be found."""
    evaluator = Evaluator(new.ir)
    changes = diff(Policy(old.ir, world.catalog), Policy(new.ir, world.catalog, evaluator))
    proofs = check_claims(new, evaluator.decide, Findings())
    shown = [change.request for change in changes] + [proof.witness for proof in proofs if proof.witness is not None]
    # One policy's witness may leave out what only the other one reads.
    some = world.domain if len(world.domain) <= _MANY else Random(len(changes)).sample(world.domain, _MANY)
    domain = [*some, *(world.domain[0] | request.attributes for request in shown if request.capability == TOOL)]
    points = enumerate_decisions(old, new, domain)
    pairs = {pair for event in EVENTS for pair in points[event]}
    weaker = any(_is_weaker(a, b) for a, b in pairs) or _is_split([*dict.fromkeys(points[TOOL])])
    if not weaker and some is not world.domain and _counts(new):
        # Counters that are split show in several requests together.
        every = [point | {"session.mfa": mfa} for point in (*world.domain, *domain) for mfa in (False, True)]
        weaker = _is_split([*dict.fromkeys(enumerate_decisions(old, new, every)[TOOL])])
    differs = any(_reduce(a) != _reduce(b) for a, b in pairs)
    findings = Findings()
    check_narrows(new, old, evaluator.decide, Span(new.source, 0, 0), findings)
    codes = {finding.code for finding in findings.sort()}
    assert codes <= {"HP081", "HP082"}, codes
    assert bool(codes) == weaker, ("narrows", codes, weaker)
    assert any(change.loosens for change in changes) == weaker, ("diff", [str(change) for change in changes], weaker)
    assert bool(changes) >= differs, ("diff", changes)
    for claim, proof in zip(new.ir.claims, proofs, strict=True):
        asked = zip(domain, points[TOOL], strict=True)
        refuted = any(b.permitted and _holds(claim.guard, point) for point, (_, b) in asked)
        assert proof.holds != refuted, ("prove", proof)
    return "weaker" if weaker else "as strict" if differs else "equal"


def _holds(guard: ir.Expr, point: Mapping[str, object]) -> bool:
    """Whether a claim is about a request, which may leave out what has a default."""
    filled = {"session.mfa": False} | dict(point)
    return ir.find_fields(guard) <= filled.keys() and interpreter.holds(guard, filled)


def show_pair(old: Program, new: Program) -> str:
    return f"{old.source.text}\n--- becomes\n{new.source.text}"


def run_campaign(pairs: int, seed: int, worlds: Sequence[str] = tuple(WORLDS)) -> dict[str, int]:
    """How many pairs of each sort were checked; raises AssertionError with the pair that fails."""
    seen: dict[str, int] = {}
    for number in range(pairs):
        rng = Random(f"{seed}/{number}")
        world = WORLDS[rng.choice(worlds)]
        old, new = make_pair(rng, world)
        try:
            sort = check_pair(old, new, world)
        except Exception as error:
            raise AssertionError(f"pair {number} of seed {seed}: {error}\n{show_pair(old, new)}") from error
        seen[sort] = seen.get(sort, 0) + 1
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold narrows, diff and prove to enumeration on random pairs of policies.")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worlds", nargs="*", choices=WORLDS, default=list(WORLDS), help="what conditions are about")
    arguments = parser.parse_args()
    begun = time.monotonic()
    seen = run_campaign(arguments.pairs, arguments.seed, arguments.worlds)
    sorts = ", ".join(f"{count:,} {sort}" for sort, count in sorted(seen.items()))
    about = f"{arguments.pairs:,} pairs about {', '.join(arguments.worlds)}, seed {arguments.seed}"
    print(f"{about}: {sorts}; none unsound, in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
