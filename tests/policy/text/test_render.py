"""Findings as text, JSON and SARIF."""

from __future__ import annotations

import json

from policy.text.render import to_json, to_sarif, to_text
from tests.policy.policy_texts import judge, small


def test_text_shows_line_caret_and_hint() -> None:
    shown = to_text(d for d in judge(small("allow payments.refund when amout <= 500")).diagnostics if d.code == "HP021")
    assert shown == (
        "error[HP021]: payments.refund has no field `amout`\n"
        " --> p.hatch:2:28\n"
        "  |\n"
        "2 | allow payments.refund when amout <= 500\n"
        "  |                            ^^^^^\n"
        "  = hint: did you mean `amount`?\n"
    )


def test_carets_stand_below_the_place_after_wide_characters_and_before_windows_line_ends() -> None:
    text = 'policy p v 1\r\nallow fs.read because "漢字" whn\r\n'
    shown = to_text(d for d in judge(text).diagnostics if d.code == "HP001").splitlines()
    assert shown[3] == '2 | allow fs.read because "漢字" whn'
    assert shown[4] == "  |                              ^^^"


def test_colour_only_when_asked_for() -> None:
    findings = judge(small("allow fs.reed")).diagnostics
    assert "\x1b[" not in to_text(findings)
    assert "\x1b[31;1merror[HP020]" in to_text(findings, colour=True)


def test_source_text_cannot_write_to_the_terminal() -> None:
    shown = to_text(judge('policy p v 1\nallow fs.read because "\x1b[2J"\n').diagnostics)
    assert "\x1b" not in shown


def test_json_has_the_contracts_error_object() -> None:
    (found,) = [d for d in json.loads(to_json(judge(small("allow fs.reed")).diagnostics)) if d["severity"] == "error"]
    assert found["code"] == "HP020"
    assert found["hint"] == "did you mean `fs.read`?"
    assert found["span"] == {"line": 2, "column": 7, "end_line": 2, "end_column": 14}


def test_sarif_names_rule_level_and_region() -> None:
    log = json.loads(to_sarif(judge(small("allow fs.reed")).diagnostics))
    (run,) = log["runs"]
    result = next(r for r in run["results"] if r["level"] == "error")
    assert log["version"] == "2.1.0"
    assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 7
