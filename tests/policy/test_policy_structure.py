"""What the grammar refuses is refused: no piece of a broken text is taken for more, or less, than its author wrote."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lark.exceptions import UnexpectedInput
from policy_campaign import damaged
from policy_texts import SAMPLE, SAMPLES, judge, small

from policy import make_catalog
from policy.syntax.parser import engine, parse
from policy.text.diagnostics import Findings
from policy.text.sources import Source

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


def hints(text: str) -> list[str | None]:
    return [d.hint for d in judge(text).diagnostics if d.severity == "error"]


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


def test_three_misspelt_statements_give_three_reports_with_the_nearest_name() -> None:
    text = small('allow fs.read\nalow fs.read\ndenny fs.write\nhok x on before run run python "a.py" timeout 1s on_error block')
    assert [place for place, _ in reports(text)] == ["3:1", "4:1", "5:1"]
    assert hints(text) == ["did you mean `allow`?", "did you mean `deny`?", "did you mean `hook`?"]


def test_misspelt_keyword_alone_on_its_line_gets_the_nearest_name() -> None:
    assert hints("policy p v 1\nallow fs.read\nalow\ndenny") == ["did you mean `allow`?", "did you mean `deny`?"]


def test_misspelt_scope_still_ends_at_its_brace() -> None:
    text = small("allow fs.read\nscop tenant == a {\n  deny fs.read\n}\nlimt run { cpu 2s }\npermit fs.write")
    assert [place for place, _ in reports(text)] == ["3:1", "6:1", "7:1"]


def test_misspelt_clause_on_its_own_line_belongs_to_its_rule() -> None:
    text = small("allow fs.read\n  wen session.mfa\nallow fs.write\n  becuase session.mfa")
    assert hints(text) == ["did you mean `when`?", "did you mean `because`?"]


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("session.mfa && session.tainted", "write `and`"),
        ("session.mfa || session.tainted", "write `or`"),
        ("!session.mfa", "write `not`"),
        ("tenant = acme", "write `==` to compare"),
        ("tenant == 'acme'", 'write text in double quotes, as in "text"'),
        ("bytes <= 4KB", "units are B, KiB, MiB, GiB for sizes and ms, s, m, h, d for durations"),
    ],
)
def test_habits_of_other_languages_get_the_right_spelling(condition: str, hint: str) -> None:
    assert hints(small(f"allow fs.write when {condition}")) == [hint]


@pytest.mark.parametrize(
    "hidden", ["\r", "\x85", "\u180e", "\u034f", "\ufe0f", "\U000e0041", "\u3164", "\u2066", "\ufeff", "\u00ad", "\u009b"]
)
def test_character_that_hides_text_from_a_reader_is_refused(hidden: str) -> None:
    text = small(f"allow fs.read # why{hidden}deny fs.read when session.tainted")
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP004"]


def test_windows_line_ends_are_line_ends() -> None:
    assert reports(small("allow fs.read # why\ndeny fs.read when session.tainted").replace("\n", "\r\n")) == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("deny fs.read when user == tenant", "2:27"),
        ("deny fs.write when path == bytes", "2:28"),
        ("deny fs.read when tenant in { acme, user }", "2:37"),
        ("set names = { user }\ndeny fs.read when tenant in names", "2:15"),
        ("let good = session.mfa\ndeny fs.read when good and tenant == good", "3:38"),
    ],
)
def test_field_or_let_is_not_a_text(body: str, place: str) -> None:
    (found,) = [d for d in judge(small(body)).diagnostics if d.severity == "error"]
    assert (found.code, found.location()) == ("HP030", f"p.hatch:{place}")
    assert found.hint is not None
    assert "if the text is meant" in found.hint


def test_quoted_word_is_a_text_whatever_else_has_its_name() -> None:
    assert reports(small('deny fs.read when user == "tenant"')) == []


@pytest.mark.parametrize(
    "definition", ["let path = session.mfa", "set path = { a }", "let tenant = session.mfa", "set run = { a }"]
)
def test_definition_takes_no_name_of_a_field_or_capability(definition: str) -> None:
    codes = [d.code for d in judge(small(definition)).diagnostics if d.severity == "error"]
    assert codes == ["HP025"]


def test_mistake_in_a_scopes_condition_is_reported_once() -> None:
    text = small("scope tenent == acme {\n  deny fs.read\n}\nallow fs.read")
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP021"]


def test_unreadable_scope_condition_is_reported_once() -> None:
    text = small("scope tenant = acme {\n  deny fs.read\n}\nallow fs.read")
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP001"]


def test_set_after_under_gets_a_hint_that_works() -> None:
    assert hints(small('set roots = { "/a" }\nallow fs.read when path under roots')) == [
        'write the paths themselves, as in `path under { "/data", "/workspace" }`'
    ]


def test_key_given_twice_in_a_test_is_refused() -> None:
    text = 'policy p v 1\nallow fs.read\ntest "t" { as { tenant a, tenant b } fs.read { path "/a", path "/b" } => allow }\n'
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP048", "HP048"]


def test_test_that_asks_nothing_is_refused() -> None:
    text = small('allow fs.read\ntest "nothing" { as { tenant a } }')
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP090"]


@pytest.mark.parametrize(
    ("condition", "quoted"),
    [
        ("not (tenant != a or session.mfa) and tenant == b", "not (tenant != a or session.mfa) and tenant == b"),
        ("(tenant == a or tenant == b) and tenant == c", "(tenant == a or tenant == b) and tenant == c"),
        ("tenant in { a, b } and tenant == c", "tenant in { a, b } and tenant == c"),
        ("not session.mfa and session.mfa == true", "not session.mfa and session.mfa == true"),
    ],
)
def test_condition_nothing_satisfies_is_quoted_as_it_was_written(condition: str, quoted: str) -> None:
    found = [d.message for d in judge(small(f"allow fs.read when {condition}")).diagnostics if d.code == "HP040"]
    assert found == [f"no request satisfies `{quoted}`"]


def test_choice_beside_a_scopes_condition_is_quoted_in_parentheses() -> None:
    text = small("scope tenant == c {\n  allow fs.read when tenant == a or tenant == b\n}")
    found = [d.message for d in judge(text).diagnostics if d.code == "HP040"]
    assert found == ["no request satisfies `tenant == c and (tenant == a or tenant == b)`"]


def test_claim_is_quoted_with_its_not() -> None:
    checked = judge(small('allow fs.read when path under "/a"\nprove no fs.read when not (path under "/a")'))
    assert [proof.text for proof in checked.proofs] == ['no fs.read when not (path under "/a")']


def test_huge_limit_is_told_that_it_is_too_large() -> None:
    (found,) = [
        d for d in judge(small("limit fs.read { response 99999999999999999999GiB }")).diagnostics if d.severity == "error"
    ]
    assert (found.code, "at most" in found.message) == ("HP032", True)


def test_number_some_member_of_a_family_can_hold_is_in_range() -> None:
    def tool(name: str, most: int) -> dict[str, object]:
        part = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 0, "maximum": most}}}
        return {"name": name, "side_effect": "none", "input_schema": part}

    catalog = make_catalog("t", [tool("t.a", 10), tool("t.b", 100)])
    assert [d.code for d in judge(small("deny t.* when n > 50"), catalog=catalog).diagnostics if d.severity == "error"] == []
    assert [d.code for d in judge(small("deny t.* when n > 500"), catalog=catalog).diagnostics if d.severity == "error"] == [
        "HP032"
    ]
