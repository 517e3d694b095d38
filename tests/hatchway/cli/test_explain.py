"""`hatchway explain` tells what a code means, suggests the nearest for one that does not exist, and is completed."""

from __future__ import annotations

import json

import pytest

from gateway.codes import table
from hatchway.cli import main
from hatchway.remote.hints import reword
from sandbox.errors import RequestError


def test_a_code_is_explained_with_status_cause_and_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "session_waiting"]) == 0
    row = table()["SESSION_WAITING"]
    assert capsys.readouterr().out == f"SESSION_WAITING  (HTTP 409)\n  cause   {row.cause}\n  remedy  {row.remedy}\n"


def test_an_unknown_code_gets_suggestions_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "SESION_WAITING"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "did you mean SESSION_WAITING" in said.err
    assert main(["explain", "XYZZY"]) == 2
    assert "hatchway explain lists all codes" in capsys.readouterr().err


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {code} " in listed for code in table())


def test_json_is_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "BUSY", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)
    assert entry["code"] == "BUSY" and entry["statuses"] == [429, 503] and entry["cause"] and entry["remedy"]
    assert main(["explain", "--json"]) == 0
    assert [entry["code"] for entry in json.loads(capsys.readouterr().out)] == list(table())


def test_a_code_of_the_policy_compiler_is_explained_by_its_own_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "HP021"]) == 0
    assert "The capability has no such field." in capsys.readouterr().out
    assert main(["explain", "hp021", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["severity"] == "error"


def test_codes_are_completed_and_the_command_stands_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    offered = next(line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("explain) offered="))
    assert {"SESSION_WAITING", "HP021", "--json"} <= set(offered.replace('"', " ").replace("=", " ").split())
    main([])
    assert "explain" in capsys.readouterr().out


def test_an_error_without_a_hint_gets_the_remedy_of_its_code() -> None:
    error = reword(RequestError("TOKEN_REVOKED", "token was revoked"), "run")
    assert error.error.hint == table()["TOKEN_REVOKED"].remedy
    assert reword(RequestError("BUSY", "busy", "close one"), "run").error.hint == "close one"
    listed = reword(RequestError("RUN_NOT_FOUND", "run not found: r"), "result").error.hint
    assert listed == "hatchway remote runs lists what there is"
