"""Misspelt statements, each reported once with the nearest right word."""

from __future__ import annotations

from tests.policy.policy_texts import judge, small


def reports(text: str) -> list[tuple[str, str]]:
    return [(d.location().removeprefix("p.hatch:"), d.message) for d in judge(text).diagnostics if d.severity == "error"]


def hints(text: str) -> list[str | None]:
    return [d.hint for d in judge(text).diagnostics if d.severity == "error"]


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
