"""Constants: a bare word is a text only where nothing else has its name."""

from __future__ import annotations

import pytest

from tests.policy.policy_texts import judge, small


def reports(text: str) -> list[tuple[str, str]]:
    return [(d.location().removeprefix("p.hatch:"), d.message) for d in judge(text).diagnostics if d.severity == "error"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("deny fs.read when user == plan", "2:27"),
        ("deny fs.read when user in { tenant }", "2:29"),
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


def test_a_rule_for_a_role_by_its_former_name_holds_for_the_role() -> None:
    text = """policy p v 1
allow fs.read
deny fs.read when session.role in { runner, guest }
test "t" {
  as { tenant a, session.role member }
  fs.read { path "/a" } => deny
}
test "u" {
  as { tenant a, session.role operator }
  fs.read { path "/a" } => allow
}
"""
    found = judge(text).diagnostics
    assert [d.code for d in found if d.severity == "error"] == []  # its tests pass
    assert "HP107" in [d.code for d in found]
