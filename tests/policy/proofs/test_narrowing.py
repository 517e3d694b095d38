"""`narrows`: nothing is permitted that the base refuses, nor with a weaker obligation."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.evaluation.evaluator import Evaluator
from policy.proofs.narrowing import check_narrows
from policy.proofs.strictness import is_as_strict
from policy.text.diagnostics import Findings
from policy.text.sources import Span
from tests.policy.policy_campaign import lowered
from tests.policy.policy_generators import policy_text, request
from tests.policy.policy_texts import SAMPLE, SAMPLES, errors


def test_sample_narrows_its_base_and_stops_doing_so_when_loosened() -> None:
    files = {"platform.base.hatch": (SAMPLES / "platform.base.hatch").read_text()}
    assert errors(SAMPLE, files) == []
    looser = SAMPLE.replace("port == 443\n  allow secret", "port in { 443, 80 }\n  allow secret").replace(
        "prove no net.connect     when port != 443\n", ""
    )
    assert errors(looser, files) == ["HP081"]
    higher = SAMPLE.replace("cpu 2s ", "cpu 9s ")
    assert errors(higher, files) == ["HP082"]


def test_base_with_lifecycle_hook_must_be_followed() -> None:
    base = 'policy base v 1\nallow fs.read\nhook greet on session_start run python "g.py" timeout 1s on_error warn\n'
    child = 'policy p v 1 narrows base\nallow fs.read\ntest "t" { as { tenant a } fs.read { path "/a" } => allow }\n'
    assert errors(child, {"base.hatch": base}) == ["HP081"]
    followed = child + 'hook greet on session_start run python "g.py" timeout 1s on_error warn\n'
    assert errors(followed, {"base.hatch": base}) == []


QUICK = settings(max_examples=30, suppress_health_check=list(HealthCheck))


seeds = st.integers(min_value=0, max_value=2**32)


def requests(rng: Random, count: int = 60) -> list[tuple[str, dict[str, object]]]:
    return [request(rng, broken=0) for _ in range(count)]


@QUICK
@given(seeds)
def test_policy_that_narrows_a_base_never_permits_more(seed: int) -> None:
    rng = Random(seed)
    text = policy_text(rng, rules=5)
    extra = (
        [f"deny tool.one when {c}" for c in ("flag", "count > 3", "session.mfa")]
        if rng.random() < 0.5
        else ["allow tool.two when flag"]
    )
    base, child = lowered(text), lowered(text + rng.choice(extra) + "\n")
    findings = Findings()
    evaluator = Evaluator(child.ir)
    check_narrows(child, base, evaluator.decide, Span(child.source, 0, 0), findings)
    ceiling = Evaluator(base.ir)
    for event, attributes in requests(rng):
        before, after = ceiling.decide(event, attributes), evaluator.decide(event, attributes)
        if findings.errors == 0 and "invalid" not in (before.rule, after.rule):
            assert is_as_strict(after, before), (before, after)
