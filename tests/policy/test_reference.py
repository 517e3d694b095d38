"""The documentation is true: the reference is current, examples compile, and what the guide shows is what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policy.reference import page
from policy.syntax.parser import grammar_text
from policy.text.diagnostics import CHECKS
from policy.tools.commands import main
from tests.policy.policy_texts import judge

ROOT = Path(__file__).parent.parent.parent


GUIDE = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")


REFERENCE = (ROOT / "docs" / "policy-reference.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"```hatch\n(.*?)```", GUIDE, re.S)


def test_reference_is_what_the_compiler_says() -> None:
    assert page() == REFERENCE, "run: python -m policy.reference > docs/policy-reference.md"


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split()[1])
def test_examples_of_the_guide_pass_every_check(text: str) -> None:
    checked = judge(text, catalog=None)
    assert checked.ok, [d.message for d in checked.diagnostics]


def test_every_keyword_is_documented() -> None:
    keywords = set(re.findall(r'"([a-z_]+)"', re.sub(r"//.*", "", grammar_text())))
    documented = set(re.findall(r"^\| `([a-z_]+)` \|", REFERENCE, re.M)) | set(re.findall(r"[a-z_]+", GUIDE))
    assert keywords - documented == set()


def test_every_check_is_documented() -> None:
    assert all(f"| {code} |" in REFERENCE for code in CHECKS)


@pytest.mark.parametrize("command", ["check", "test", "fmt", "explain", "prove", "diff", "replay", "bundle", "catalog", "lsp"])
def test_every_command_is_documented(command: str) -> None:
    assert f"`hatchway policy {command}" in GUIDE


def test_the_ten_minutes_print_what_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = EXAMPLES
    shown = re.findall(r"```console\n(.*?)```", GUIDE, re.S)
    claims = 'prove no fs.write when path under "/workspace/.git"\nprove no run when language == shell\n'
    Path("first.hatch").write_text(first)
    Path("second.hatch").write_text(second + claims)
    Path("third.hatch").write_text((second + claims).replace("<= 4MiB", "<= 8MiB"))

    def printed(*arguments: str) -> str:
        main(list(arguments))
        return capsys.readouterr().out

    assert printed("check", "first.hatch") == shown[0].partition("\n")[2]
    Path("first.hatch").write_text(first.replace("path under", "pth under"))
    assert shown[1] in printed("check", "first.hatch")
    assert printed("prove", "second.hatch") == shown[2].partition("\n")[2]
    Path("second.hatch").write_text(re.sub(r"deny fs.*\n.*\n", "", second) + claims)
    assert shown[3] in printed("check", "second.hatch")
    Path("second.hatch").write_text(second + claims)
    assert printed("diff", "second.hatch", "third.hatch") == shown[4].partition("\n")[2]
    question = shown[5].partition("\n")[0].split()[3:]
    assert printed(*question) == shown[5].partition("\n")[2]
