"""Transcripts of agents: a program, the answer it gets, the next program. Kept as data (`transcripts/*.toml`), and run in this
process and through a gateway's client.

What is held: no answer calls success a failure, none hides a loss, none names a wrong cause. A step says `ok`; whether the run
was `undone` (the step after it looks at what is left); `code`, what must be said (`says`) and what must not (`never`)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from hatchway import Client, Sandbox
from sandbox.sessions.limit_errors import UNDONE
from sandbox.wire import DEFAULT_LIMITS, RunResult

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.toml"))
PATIENT = msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=60_000, cpu_ms=60_000, memory_mb=256)
_LIMIT_CODES = ("TIMEOUT_WALL", "TIMEOUT_CPU", "MEMORY_EXCEEDED", "STACK_OVERFLOW")


class Box(Protocol):
    @property
    def files(self) -> Any: ...
    def run(self, code: str, **options: Any) -> RunResult: ...


@pytest.fixture(params=["library", "client"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def boxes(place: str, asked: dict[str, int], request: pytest.FixtureRequest) -> Iterator[tuple[Box, Any]]:
    limits = msgspec.structs.replace(PATIENT, **asked)
    if place == "library":
        with Sandbox(limits=limits) as box:
            yield box, box.files.write_file
    else:
        client: Client = request.getfixturevalue("client")
        with client.sandbox(limits=limits) as remote:
            yield remote, remote.files.write


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_every_answer_of_a_transcript_is_true(path: Path, place: str, request: pytest.FixtureRequest) -> None:
    script = tomllib.loads(path.read_text("utf-8"))
    for box, write in boxes(place, script.get("limits", {}), request):
        for name, text in script.get("files", {}).items():
            write(name, text.encode())
        for number, step in enumerate(script["step"], 1):
            options = {name: step[name] for name in ("language", "timeout_ms", "on_limit") if name in step}
            check(step, box.run(step["program"].strip("\n"), **options), f"step {number}")


def check(step: dict[str, Any], result: RunResult, where: str) -> None:
    told = " ".join([result.stdout, result.stderr, *(f"{one.message} {one.hint or ''}" for one in result.diagnostics)])
    assert result.ok is step["ok"], (where, result)
    if not result.ok:
        assert result.error is not None or result.exit_code, (where, result)
    codes = [one.code for one in result.diagnostics if one.severity != "error"]
    expected = set(step.get("warns", ()))
    found_codes = {one for one in codes if one != "LIMIT_LOWERED" or one in expected}  # a policy's limits are lower than these
    assert found_codes == expected or not step["ok"], (where, codes)
    if result.error is not None:
        assert result.error.code == step["code"], (where, result.error)
        assert (UNDONE in result.error.message) is step.get("undone", False), (where, result.error)
        assert result.error.code not in _LIMIT_CODES or "undone" in step, f"{where}: say what became of the run"
        assert len(result.error.message) <= 4000, where
    for text in step.get("says", ()):
        assert text in told, (where, text, told[-2000:])
    for text in step.get("never", ()):
        assert text not in told, (where, text)
    if "line" in step:
        assert result.error is not None and result.error.span is not None and result.error.span.line == step["line"], where
    if "result" in step:
        found = {k: v for k, v in result.result.items() if v is not None} if isinstance(result.result, dict) else result.result
        assert found == step["result"], (where, result.result)
    assert result.stdout == step.get("stdout", result.stdout), (where, result.stdout)
    assert result.exit_code == step.get("exit_code", result.exit_code), (where, result)
    assert result.status == step.get("status", result.status), (where, result)
    assert {one.mime for one in result.displays} >= set(step.get("shows", ())), where
    if len(result.stdout) + len(result.stderr) >= PATIENT.max_stdout_bytes:
        assert "STDOUT_EXCEEDED" in codes, f"{where}: output was cut, and nothing says so"


def test_there_are_twenty_of_them() -> None:
    assert len(TRANSCRIPTS) >= 20
