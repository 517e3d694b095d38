"""Reading a text: structure, places, comments, and equality with Lark."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lark.exceptions import UnexpectedInput

from policy.syntax.parser import engine, parse
from policy.text.diagnostics import Findings
from policy.text.sources import Source
from tests.policy.policy_campaign import damaged
from tests.policy.policy_texts import SAMPLE, SAMPLES, judge, small

RELAXED = settings(max_examples=200, suppress_health_check=list(HealthCheck))


TEXTS = (SAMPLE, (SAMPLES / "platform.base.hatch").read_text(encoding="utf-8"))


PARTS = (
    "scope tenant == acme {\n",
    "scope session.mfa {\nallow fs.read\n}\n",
    "}\n",
    "{",
    "policy other v 9\n",
    "set more = { a }\n",
    "let more = session.mfa\n",
    "prove no run\n",
    'import "x.hatch"\n',
    'test "more" { as { tenant a } run { language python } => deny }\n',
    "deny fs.read\n",
    "limit fs.read { response 1MiB }\n",
    "# a comment",
    "\u00a0",
    "\u3000",
    "\\",
    ";",
    "alow fs.read\n",
)


def rearranged(rng: Random) -> str:
    """A sample whose lines and statements have been moved, doubled, dropped or put where they do not belong."""
    lines = rng.choice(TEXTS).splitlines(keepends=True)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines) + 1)
        change = rng.randrange(4)
        if change == 0:
            lines.insert(at, rng.choice(PARTS))
        elif change == 1:
            lines.insert(at, rng.choice(lines))
        elif change == 2:
            lines.insert(at, lines.pop(rng.randrange(len(lines))))
        else:
            del lines[at : at + 1]
    return "".join(lines)


def refused_by_lark(text: str) -> bool:
    try:
        engine().parse(text, start="file")
    except UnexpectedInput:
        return True
    return False


@RELAXED
@given(st.integers(0, 2**32))
def test_text_the_grammar_refuses_has_an_error_and_no_other_has(seed: int) -> None:
    rng = Random(seed)
    for text in (rearranged(rng), damaged(rng)):
        findings = Findings()
        parse(Source("p", text), findings)
        codes = {found.code for found in findings.items}
        if refused_by_lark(text):
            assert findings.errors, text
        else:
            assert "HP001" not in codes, text


def reports(text: str) -> list[tuple[str, str]]:
    return [(d.location().removeprefix("p.hatch:"), d.message) for d in judge(text).diagnostics if d.severity == "error"]


def test_scope_in_a_scope_is_refused() -> None:
    text = small("scope tenant == acme {\n  scope session.mfa { allow fs.read }\n}")
    assert reports(text) == [("3:3", "a scope cannot stand in a scope")]


@pytest.mark.parametrize(
    "statement",
    [
        "set more = { a }",
        "let more = session.mfa",
        "prove no run",
        'test "t" { as { tenant a } run { language python } => deny }',
    ],
)
def test_only_rules_limits_and_hooks_stand_in_a_scope(statement: str) -> None:
    word = statement.split()[0]
    assert reports(small(f"scope tenant == acme {{\n{statement}\nallow fs.read\n}}")) == [
        ("3:1", f"`{word}` cannot stand in a scope")
    ]


def test_import_does_not_stand_in_a_scope() -> None:
    text = small('scope tenant == acme {\nimport "shared.hatch"\n}')
    found = [d.message for d in judge(text, {"shared.hatch": "policy shared v 1\n"}).diagnostics if d.severity == "error"]
    assert found == ["`import` cannot stand in a scope"]


def test_second_header_is_refused_and_changes_nothing() -> None:
    text = small("allow fs.read\npolicy p v 2")
    checked = judge(text)
    assert reports(text) == [("3:1", "this is a second header")]
    assert checked.loaded.main.tree.header is not None
    assert checked.loaded.main.tree.header.version == "1"


def test_header_comes_first() -> None:
    assert reports("scope tenant == a { allow fs.read }\npolicy p v 1\n") == [("2:1", "the header does not come first")]


@pytest.mark.parametrize(
    "hidden", ["\r", "\x85", "\u180e", "\u034f", "\ufe0f", "\U000e0041", "\u3164", "\u2066", "\ufeff", "\u00ad", "\u009b"]
)
def test_character_that_hides_text_from_a_reader_is_refused(hidden: str) -> None:
    text = small(f"allow fs.read # why{hidden}deny fs.read when session.tainted")
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP004"]


def test_windows_line_ends_are_line_ends() -> None:
    assert reports(small("allow fs.read # why\ndeny fs.read when session.tainted").replace("\n", "\r\n")) == []


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
