"""Environment variables that come with a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.sessions.session import Session
from sandbox.wire import MAX_ENV_BYTES, Language, RunRequest, RunResult

READ = {
    Language.PYTHON: "import os; os.environ.get('A', '') + os.environ.get('B', '')",
    Language.JAVASCRIPT: "(process.env.A ?? '') + (process.env.B ?? '')",
    Language.SHELL: "sh -c 'echo \"$A$B\"'",
}


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session("s")
    yield made
    made.close()


def run(session: Session, language: Language, code: str, env: Any) -> RunResult:
    request = RunRequest(
        session_id="s", language=language, code=code, inputs={}, return_snapshot=False, validate_only=False, env=env
    )
    return session.run(request)


@pytest.mark.parametrize("language", sorted(READ))
def test_variables_are_in_the_environment_of_the_run(session: Session, language: Language) -> None:
    def read(env: dict[str, str]) -> str:
        result = run(session, language, READ[language], env)
        return result.result if isinstance(result.result, str) else result.stdout.strip()

    assert read({}) == ""
    assert read({"A": "ü \"'\n|", "B": "1"}) == "ü \"'\n|1"
    assert read({"A": "2", "B": ""}) == "2"


@pytest.mark.parametrize("language", sorted(READ))
def test_variables_stay_until_a_later_run_brings_others(session: Session, language: Language) -> None:
    run(session, language, READ[language], {"A": "1", "B": "2"})
    result = run(session, language, READ[language], {"B": "3"})
    assert (result.result if isinstance(result.result, str) else result.stdout.strip()) == "13"


@pytest.mark.parametrize(
    "env",
    [
        {"": "1"},
        {"a b": "1"},
        {"A=B": "1"},
        {"ä": "1"},
        {"A": "\0"},
        {"A": "\ud800"},
        {"A": 1},
        {1: "A"},
        {"A": "x" * MAX_ENV_BYTES},
        {f"A{n}": "x" * 1024 for n in range(1024)},
    ],
    ids=["empty", "space", "equals", "letter", "nul", "unicode", "value", "name", "large", "many"],
)
def test_what_is_no_environment_is_refused(session: Session, env: Any) -> None:
    result = run(session, Language.SHELL, "echo", env)
    assert result.error is not None and result.error.code == "INVALID_ARGUMENT"
    assert run(session, Language.SHELL, "echo still", {}).stdout == "still\n"
