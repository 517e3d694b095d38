"""The fast way of reading a text gives what Lark itself gives, and comments are never read as code."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lark.exceptions import UnexpectedInput
from policy_campaign import damaged
from policy_generators import policy_text
from policy_texts import SAMPLE, SAMPLES, judge

from policy.syntax.parser import _parse_whole, engine, parse
from policy.text.diagnostics import Findings
from policy.text.sources import Source

RELAXED = settings(max_examples=50, suppress_health_check=list(HealthCheck))


def both(text: str) -> tuple[object, object]:
    """What the fast way and Lark's own way make of a text; None for a refusal."""
    answers: list[object] = []
    for read in (_parse_whole, lambda t: engine().parse(t, start="file")):
        try:
            answers.append(read(text))
        except UnexpectedInput:
            answers.append(None)
    return answers[0], answers[1]


@pytest.mark.parametrize(
    "text", [SAMPLE, (SAMPLES / "platform.base.hatch").read_text(), "", "policy p v 1", "policy p v 1 # end"]
)
def test_fast_reading_equals_lark(text: str) -> None:
    fast, slow = both(text)
    assert fast == slow


@RELAXED
@given(st.integers(0, 2**32))
def test_fast_reading_equals_lark_on_generated_and_damaged_texts(seed: int) -> None:
    rng = Random(seed)
    for text in (policy_text(rng, comments=True), damaged(rng)):
        fast, slow = both(text)
        assert fast == slow


@pytest.mark.parametrize(
    "text",
    [
        "policy p v 1\n# allow run",
        "policy p v 1\n# allow run\n",
        "policy p v 1 # x allow run",
        'policy p v 1\nallow fs.read when path under "/a" # or path under "/"',
        "policy p v 1\nlet a = session.mfa # or session.tainted\n",
        "policy p v 1\nallow run # )\n# when session.mfa\n",
    ],
)
def test_comments_are_never_read_as_code(text: str) -> None:
    bare = "\n".join(line.partition("#")[0] for line in text.splitlines())
    findings = Findings()
    assert parse(Source("p", text), findings) == parse(Source("p", bare), findings)
    assert findings.errors == 0


def test_tokens_know_their_places() -> None:
    tree = judge(SAMPLE, {"platform.base.hatch": (SAMPLES / "platform.base.hatch").read_text()}).loaded.main.tree
    assert tree.header is not None
    assert tree.header.name.start_pos == 7
    assert SAMPLE[tree.header.catalog.start_pos :].startswith('"tools@') if tree.header.catalog is not None else False


@pytest.mark.parametrize("word", ["run", "rate", "when_", "limit", "test", "v", "by", "on"])
def test_keywords_may_name_fields_where_no_keyword_fits(word: str) -> None:
    findings = Findings()
    parse(Source("p", f"policy p v 1\nallow tool when {word} == 5 and {word} in {{ 1 }}\n"), findings)
    assert findings.errors == 0
