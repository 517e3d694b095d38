"""Approvals over HTTP: a session's tool-approvals, in the contract's words and in ours."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.records import Principal
from sandbox.guests.images import images
from tests.gateway.http.asking import Reply
from tests.gateway.http.house import JAVASCRIPT, House, live_in

pytestmark = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
TEXT = (
    "policy p v 1\nallow session.create\nallow run\nlimit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 10 }\n"
    'ask now by anyone within 15m\ntest "t" { as { tenant acme } run { language javascript, bytes 1KiB } => allow\n'
    "session.create { language javascript } => allow now {} => ask }\n"
)
CODE = "(await tools.now()).unix_ms > 0"


async def deploy(house: House) -> None:
    deployed = await house.ask("POST", "/v1/policies", {"main": "p.hatch", "sources": {"p.hatch": TEXT}}, role="author")
    assert deployed.status == 201, deployed.json


async def waiting(house: House, session_id: str, code: str = CODE) -> str:
    """The id of a run that waits."""
    await house.ask("POST", "/v1/sessions", {"id": session_id, **JAVASCRIPT})
    asked = await house.ask("POST", f"/v1/sessions/{session_id}/runs", {"code": code})
    assert asked.json["state"] == "waiting", asked.json
    return str(asked.json["id"])


async def decide(house: House, session_id: str, decision: str, **more: Any) -> Reply:
    return await house.ask("POST", f"/v1/sessions/{session_id}/tool-approvals", {"decision": decision, **more})


async def finished(house: House, run_id: str) -> Any:
    async with asyncio.timeout(60):
        while (polled := await house.ask("GET", f"/v1/runs/{run_id}")).json["state"] != "finished":
            await asyncio.sleep(0.005)
    return polled.json["result"]


@pytest.mark.parametrize(
    ("word", "verdict", "always"),
    [
        ("Allow", "approved", False),
        ("AllowAlways", "approved", True),
        ("Reject", "rejected", False),
        ("RejectAlways", "rejected", True),
        ("Cancelled", "cancelled", False),
        ("Unavailable", "rejected", False),
        ("approve", "approved", False),
        ("cancel", "cancelled", False),
    ],
)
def test_a_sessions_only_approval_is_decided_in_the_contracts_words(
    tmp_path: Path, word: str, verdict: str, always: bool
) -> None:
    async def test(house: House) -> None:
        await deploy(house)
        run_id = await waiting(house, "s1")
        decided = await decide(house, "s1", word)
        assert (decided.status, decided.json["verdict"], decided.json["always"]) == (200, verdict, always)
        result = await finished(house, run_id)
        assert (result["status"] == "ok") == (verdict == "approved")

    live_in(tmp_path, test)


@pytest.mark.parametrize("is_remembered", [True, False], ids=["still here", "started anew"])
def test_whoever_comes_to_watch_right_after_a_decision_sees_the_rest(tmp_path: Path, is_remembered: bool) -> None:
    async def test(house: House) -> None:
        await deploy(house)
        run_id = await waiting(house, "s1", f"console.log('before'); {CODE}")
        feeds = house.service.runs.active.feeds
        last = feeds._feeds["acme", run_id].next - 1
        if not is_remembered:
            feeds.forget("acme")
        async with house.service.sessions.hold(Principal(tenant="acme"), "s1"):  # so that it cannot go on yet
            assert (await decide(house, "s1", "approve")).status == 200
            watching = asyncio.create_task(house.ask("GET", f"/v1/runs/{run_id}/events", last_event_id=str(last)))
            for _ in range(20):
                await asyncio.sleep(0)
        async with asyncio.timeout(60):
            seen = re.findall(r"^event: (.*)$", (await watching).body.decode(), re.M)
        assert seen == ["call", "result"]

    live_in(tmp_path, test)


def test_deferred_decides_nothing_and_the_call_waits_on(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await deploy(house)
        run_id = await waiting(house, "s1")
        deferred = await decide(house, "s1", "Deferred")
        assert (deferred.status, deferred.json["verdict"]) == (200, None)
        assert (await house.ask("GET", f"/v1/runs/{run_id}")).json["state"] == "waiting"
        assert (await decide(house, "s1", "Allow")).status == 200
        assert (await finished(house, run_id))["status"] == "ok"

    live_in(tmp_path, test)


def test_a_session_in_which_nothing_waits_has_no_approval_to_decide(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await deploy(house)
        await waiting(house, "s1")
        await house.ask("POST", "/v1/sessions", {"id": "s2", **JAVASCRIPT})
        for session_id in ("s2", "nobody"):
            none = await decide(house, session_id, "Allow")
            assert (none.status, none.code) == (404, "APPROVAL_NOT_FOUND")
        assert (await decide(house, "s1", "allowed")).status == 400

    live_in(tmp_path, test)


def test_a_call_whose_approval_was_cancelled_says_so(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await deploy(house)
        run_id = await waiting(house, "s1")
        await decide(house, "s1", "cancel")
        result = await finished(house, run_id)
        assert "the approval of now was cancelled" in result["error"]["message"]
        assert "in time" not in result["error"]["message"]

    live_in(tmp_path, test)


def test_a_session_is_cancelled_and_deleted_over_http_while_a_run_is_queued_or_runs(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        begun = await house.ask("POST", "/v1/sessions/s1/runs?mode=async", {"code": "while (true) {}"})
        assert begun.status == 202
        assert (await house.ask("POST", f"/v1/runs/{begun.json['id']}/cancel")).json == {"cancelled": True}
        assert (await finished(house, begun.json["id"]))["status"] == "cancelled"
        again = await house.ask("POST", "/v1/sessions/s1/runs?mode=async", {"code": "while (true) {}"})
        assert (await house.ask("POST", "/v1/sessions/s1/cancel")).json == {"cancelled": True}
        assert (await finished(house, again.json["id"]))["error"]["code"] == "CANCELLED"
        await house.ask("POST", "/v1/sessions/s1/runs?mode=async", {"code": "while (true) {}"})
        assert (await house.ask("DELETE", "/v1/sessions/s1")).status == 204
        assert (await house.ask("GET", "/v1/sessions/s1")).status == 404

    live_in(tmp_path, test)


def test_events_go_on_over_http_after_an_approval_from_where_the_stream_ended(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await deploy(house)
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        begun = (await house.ask("POST", "/v1/sessions/s1/runs?mode=async", {"code": CODE})).json["id"]
        first = (await house.ask("GET", f"/v1/runs/{begun}/events")).body.decode()
        assert "event: waiting" in first and "event: result" not in first
        last = re.findall(r"^id: (\d+)$", first, re.MULTILINE)[-1]
        (asked,) = (await house.ask("GET", "/v1/approvals?pending=true")).json["items"]
        assert f'"approval_id":"{asked["id"]}"' in first
        assert (await decide(house, "s1", "Allow")).status == 200
        await finished(house, begun)
        rest = (await house.ask("GET", f"/v1/runs/{begun}/events", last_event_id=last)).body.decode()
        assert re.findall(r"^event: (\w+)$", rest, re.MULTILINE) == ["call", "result"]
        unknown = (await house.ask("GET", f"/v1/runs/{begun}/events", last_event_id="900")).body.decode()
        assert re.findall(r"^event: (\w+)$", unknown, re.MULTILINE)[0] == "gap" and "event: result" in unknown

    live_in(tmp_path, test)
