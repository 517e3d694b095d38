"""Languages that are still being compiled: who asks for one is told so, how far it is, and when to come back."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import Unavailable
from gateway.lifecycle import readiness
from gateway.lifecycle.readiness import Images, LanguageState
from sandbox.guests.images import images
from sandbox.wire import Language
from tests.gateway.http.house import House, live_in

READY = LanguageState(ready=True, progress=1.0)


def halfway() -> Images:
    """Python is being compiled; everything else is ready."""
    made = Images(clock_s=lambda: 20.0)
    made._states = {"shell": READY, "javascript": READY, "python": LanguageState(ready=False, progress=0.4)}
    made._began_s["python"] = 0.0
    return made


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/v1/sessions/s1/runs", {"code": "1"}),
        ("/v1/sessions/s1/runs?mode=async", {"code": "1"}),
        ("/v1/sessions/s1/runs?mode=stream", {"code": "1"}),
        ("/v1/sessions/js/runs", {"code": "1", "language": "python"}),
        ("/v1/runs", {"code": "1"}),
    ],
)
def test_a_run_in_a_language_that_is_being_compiled_is_told_how_far_it_is(tmp_path: Path, target: str, body: Any) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1"})
        await house.ask("POST", "/v1/sessions", {"id": "js", "language": "javascript"})
        told = await house.ask("POST", target, body)
        assert (told.status, told.code) == (503, "NOT_READY")
        assert told.json["message"] == "python is being compiled: 40%"
        assert told.json["hint"] == "see /readyz; ready now: shell, javascript, type_script"
        assert told.headers["retry-after"] == "31", "20 s for 40 % leave 30 s for the rest"
        assert (await house.ask("GET", "/v1/runs")).json["items"] == [], "nothing was begun"
        assert len((await house.ask("GET", "/v1/sessions")).json["items"]) == 2, "no session was left behind"

    live_in(tmp_path, test, halfway())


@pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
def test_other_languages_run_meanwhile(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        ran = await house.ask("POST", "/v1/runs", {"code": "1 + 1", "language": "javascript"})
        assert (ran.status, ran.json["result"]["result"]) == (200, 2)

    live_in(tmp_path, test, halfway())


def test_a_language_whose_turn_has_not_come_and_one_that_failed_say_so() -> None:
    waiting = Images()
    with pytest.raises(Unavailable, match=r"^python will be compiled soon$") as soon:
        waiting.require(Language.PYTHON)
    assert soon.value.error.hint == "see /readyz"
    waiting._states["python"] = LanguageState(ready=False, problem="it could not be compiled; the log says why")
    with pytest.raises(Unavailable, match=r"^python cannot be used here: it could not be compiled"):
        waiting.require(Language.PYTHON)


def test_what_is_compiled_already_is_ready_before_anything_else_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_is_ready", lambda guest: guest != "shell")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    made = Images()

    def look(guest: str, done: float) -> None:
        raise AssertionError("nothing was compiled")

    asyncio.run(made.prepare(look))
    states = made.languages()
    assert states["python"].ready and states["javascript"].ready
    assert not states["shell"].ready and states["shell"].problem is not None
