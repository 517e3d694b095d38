"""Any text whatever yields diagnostics, in bounded time, and never an exception."""

from __future__ import annotations

import sys
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy import Policy, PolicyError, compile_policy
from policy.syntax.formatter import format_text
from policy.syntax.parser import MAX_TEXT_CHARS, parse
from policy.text.diagnostics import Findings
from policy.text.render import to_json, to_sarif, to_text
from policy.text.sources import Source
from tests.policy import policy_generators
from tests.policy.policy_campaign import damaged, only_diagnostics
from tests.policy.policy_generators import CATALOG, expression, policy_text
from tests.policy.policy_texts import SAMPLE, judge, small


def test_failure_of_the_compiler_itself_refuses_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    from policy import checker

    def broken(*arguments: object, **options: object) -> object:
        raise RuntimeError("a bug")

    monkeypatch.setattr(checker, "analyse", broken)
    with pytest.raises(PolicyError, match="HP099"):
        compile_policy(small("allow fs.read"))
    monkeypatch.setattr(checker, "load", broken)
    with pytest.raises(PolicyError, match="HP099"):
        compile_policy(small("allow fs.read"))


WORDS = [
    *SAMPLE.split(),
    "{",
    "}",
    "(",
    ")",
    "..",
    '"',
    "#",
    "\n",
    "not",
    "or",
    "in",
    "_",
    "9" * 40,
    "é",
    "\x00",
    "import",
    '"a.hatch"',
]


RELAXED = settings(max_examples=50, suppress_health_check=list(HealthCheck))


def refused_or_fine(text: str) -> None:
    checked = judge(text)
    shown = to_text(checked.diagnostics)
    assert "HP099" not in shown
    assert "\x1b" not in shown
    to_json(checked.diagnostics)
    to_sarif(checked.diagnostics)
    if not checked.ok:
        with pytest.raises(PolicyError):
            Policy._from_checked(checked)
    try:
        format_text(text)
    except PolicyError:
        pass


@RELAXED
@given(st.text(max_size=400))
def test_arbitrary_characters_yield_diagnostics(text: str) -> None:
    refused_or_fine(text)


@pytest.mark.parametrize("cut", ["scope", "scope ", "scope role", "scope role ==", "scope x and", "scope not"])
def test_scope_that_the_text_ends_in_is_told_where_it_ends(cut: str) -> None:
    refused_or_fine("policy p v 1\n" + cut)
    assert "the end of the statement does not fit here" in to_text(judge("policy p v 1\n" + cut).diagnostics)


@RELAXED
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_arbitrary_words_of_the_language_yield_diagnostics(words: list[str]) -> None:
    refused_or_fine("policy p v 1\n" + " ".join(words))


@RELAXED
@given(st.integers(0, 2**32))
def test_damaged_sample_yields_diagnostics(seed: int) -> None:
    only_diagnostics(damaged(Random(seed)))


@RELAXED
@given(st.integers(0, 2**32))
def test_sample_with_random_characters_yields_diagnostics(seed: int) -> None:
    rng = Random(seed)
    text = list(SAMPLE)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text))
        text[at : at + rng.randint(0, 2)] = rng.choice(["", "{", "}", "(", ")", '"', "#", "=", ".", "\n", " ", "a", "9", "not "])
    refused_or_fine("".join(text))


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        ")",
        "{",
        "}",
        '"',
        "not ",
        "a.",
        "a and ",
        "9",
        "_",
        "..",
        "#\n",
        "scope a {\n",
        "allow run\n",
        "let a = a\n",
        'import "a.hatch"\n',
        "é",
    ],
)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    def calls(repeats: int) -> int:
        count = 0

        def counter(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += 1

        source = Source("p", "policy p v 1\nlet x = " + unit * repeats)
        sys.setprofile(counter)
        try:
            parse(source, Findings())
        finally:
            sys.setprofile(None)
        return count

    calls(10)
    small, large = calls(300), calls(1200)
    assert large <= 4.6 * small + 2000


def test_text_beyond_the_cap_is_refused_without_being_parsed() -> None:
    checked = judge("policy p v 1\n" + "#" * MAX_TEXT_CHARS)
    assert [d.code for d in checked.diagnostics if d.severity == "error"] == ["HP003"]


def test_bytes_that_are_not_text_are_refused() -> None:
    from policy.checker import check
    from policy.lowering.loading import Memory

    checked = check("p.hatch", Memory({"p.hatch": b"policy \xff v 1"}))
    assert [d.code for d in checked.diagnostics if d.severity == "error"] == ["HP005"]


def test_lets_that_would_expand_exponentially_are_refused_before_expansion() -> None:
    lines = ["policy p v 1", "let l0 = session.mfa or tenant == a"]
    names = [f"l{chr(97 + i)}z" for i in range(26)]
    for before, name in zip(["l0", *names], names, strict=False):
        lines.append(f"let {name} = {before} and ({before} or not {before})")
    codes = {d.code for d in judge("\n".join(lines)).diagnostics if d.severity == "error"}
    assert codes <= {"HP047", "HP002", "HP026", "HP021"}
    assert codes


def test_too_many_comparisons_are_refused() -> None:
    rules = "\n".join(
        f"allow payments.refund when amount > {i} and amount < {i + 2} and not (amount == {i} or amount == {i + 9})"
        for i in range(2600)
    )
    codes = {d.code for d in judge("policy p v 1\n" + rules).diagnostics if d.severity == "error"}
    assert "HP047" in codes


def test_policy_that_expands_to_very_many_comparisons_is_refused_early() -> None:
    lines = ["policy p v 1", "let big = " + " and ".join(f"tenant != t{i}" for i in range(1000))]
    lines += [f"allow db.query when big and table == x{i}" for i in range(200)]
    assert [d.code for d in judge("\n".join(lines)).diagnostics if d.severity == "error"] == ["HP047"]


QUICK = settings(max_examples=30, suppress_health_check=list(HealthCheck))


seeds = st.integers(min_value=0, max_value=2**32)


def whole_text(rng: Random) -> tuple[str, dict[str, str]]:
    """A generated policy with claims, a test and, now and then, a base."""
    text = policy_text(rng, rules=8)
    text += "".join(
        f"prove no {c} when {expression(rng, c, [], 2)}\n" for c in rng.sample(policy_generators.TOOLS, rng.randint(0, 2))
    )
    text += 'test "t" { as { tenant alpha } tool.three { label beta } => deny }\n'
    if rng.random() < 0.5:
        return text, {}
    base = policy_text(rng, rules=8) if rng.random() < 0.5 else text
    return text.replace("policy fuzz v 1", "policy fuzz v 1 narrows base", 1), {
        "base.hatch": base.replace("policy fuzz v 1", "policy base v 1")
    }


@QUICK
@given(seeds)
def test_checking_generated_policies_never_fails_for_reasons_of_its_own(seed: int) -> None:
    text, files = whole_text(Random(seed))
    checked = judge(text, files, CATALOG)
    assert not [d for d in checked.diagnostics if d.code in ("HP001", "HP099")], text
    for proof in checked.proofs:
        if proof.witness is not None:
            assert checked.evaluator is not None
            assert checked.evaluator.decide(proof.witness.capability, proof.witness.attributes).permitted
