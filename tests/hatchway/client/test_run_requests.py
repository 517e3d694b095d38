"""What a run and a new session are asked for with, as it is sent."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from hatchway.client.requests import Ask
from hatchway.client.run_requests import run_request, session_request, spell_stdin
from sandbox.errors import RequestError
from sandbox.wire import DEFAULT_LIMITS, Language, SessionLimits


def sent(ask: Ask) -> dict[str, Any]:
    """The body, without what has its default."""
    return {name: value for name, value in ask.json.items() if value not in ("", {}, False, "undo")}


def test_a_run_is_asked_for_in_its_session_or_in_one_of_its_own() -> None:
    ask = run_request("s", b"1", {"inputs": {"a": 1}, "timeout_ms": 5})
    assert ask.path == "/v1/sessions/s/runs" and ask.once and sent(ask) == {"code": "1", "inputs": {"a": 1}, "timeout_ms": 5}
    alone = run_request(None, "1", {"language": "js"}, is_streamed=True)
    assert alone.path == "/v1/runs" and alone.query == {"mode": "stream"}
    assert sent(alone) == {"code": "1", "language": Language.JAVASCRIPT.value}


def test_limits_that_are_not_named_are_the_sessions_own() -> None:
    own = SessionLimits(memory_mb=100, wall_ms=9000)
    limits = sent(run_request("s", "1", {"limits": {"cpu_ms": 7}}, own=own))["limits"]
    assert limits == {**{name: getattr(own, name) for name in own.__struct_fields__}, "cpu_ms": 7}


@pytest.mark.parametrize(("stdin", "told"), [(b"text", ("text", "")), (b"\xff", ("", base64.b64encode(b"\xff").decode()))])
def test_an_input_is_sent_as_text_or_in_base64(stdin: bytes, told: tuple[str, str]) -> None:
    assert tuple(spell_stdin(stdin).values()) == told
    body = run_request("s", "1", {"stdin": stdin}).json
    assert (body["stdin"], body["stdin_base64"]) == told


@pytest.mark.parametrize("options", [{"inputs": {"a": float("nan")}}, {"env": {"A B": "x"}}, {"timeout_ms": 0}, {"filename": ""}])
def test_what_no_session_would_run_is_not_sent(options: Any) -> None:
    with pytest.raises(RequestError) as refused:
        run_request("s", "1", options)
    assert refused.value.error.code == "INVALID_ARGUMENT"


def test_a_session_is_asked_for_with_whole_limits_and_its_language_as_the_wire_has_it() -> None:
    ask = session_request(id="s", language="bash", limits={"memory_mb": 99}, durable=True)
    assert ask.json["language"] == "shell" and ask.json["durable"] is True
    assert ask.json["limits"] == {name: getattr(DEFAULT_LIMITS, name) for name in DEFAULT_LIMITS.__struct_fields__} | {
        "memory_mb": 99
    }


@pytest.mark.parametrize("options", [{"id": "a b"}, {"durable": 1}, {"title": 5}, {"facts": [1]}, {"limits": {"memory_mb": 0}}])
def test_a_session_with_wrong_arguments_is_not_asked_for(options: Any) -> None:
    with pytest.raises(RequestError):
        session_request(**options)
