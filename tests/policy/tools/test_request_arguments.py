"""Requests from the command line."""

from __future__ import annotations

import json

import pytest

from policy.tools.commands import main
from tests.policy.policy_texts import SAMPLES

ACME = str(SAMPLES / "acme.prod.hatch")


def out(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_explain_reads_values_in_the_units_of_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    fields = ["tenant=acme", "path=/workspace/a", "bytes=5MiB", "session.tainted=false"]
    assert main(["explain", ACME, "fs.write", *fields]) == 0
    shown = out(capsys)
    assert shown.startswith("deny fs.write, by default")
    assert "lacks: bytes <= 4MiB" in shown
    assert main(["explain", ACME, "fs.write", *fields, "--json"]) == 0
    assert json.loads(out(capsys))["decision"]["verdict"] == "deny"
    assert main(["explain", ACME, "fs.write", "bytes=many"]) == 1
    assert main(["explain", ACME, "fs.write", "bytes"]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fs.raed"], "no capability is called `fs.raed`; did you mean `fs.read`?"),
        (["fs.read", "session.rsik=3"], "fs.read has no field `session.rsik`; did you mean `session.risk`?"),
        (["fs.write", "bytes=5MiB junk"], "`5MiB junk` is not a value of `bytes`"),
        (["fs.write", "bytes=5m"], "`5m` is not a value of `bytes`"),
        (["fs.write", "session.mfa=yes"], "`yes` is not a value of `session.mfa`"),
    ],
)
def test_explain_refuses_a_question_it_would_have_to_guess_at(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", ACME, *words]) == 1
    assert said in capsys.readouterr().err
