"""The service's operations over the real service, on a newcomer's way."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.stores.expiry import Retention
from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript

pytestmark = needs_javascript


def test_a_session_is_made_used_saved_forked_and_deleted_over_http(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        made = await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT}, role="member")
        assert (made.status, made.headers["location"]) == (201, "/v1/sessions/s1")
        assert (await house.ask("POST", "/v1/sessions", {"id": "s1"})).code == "SESSION_EXISTS"
        ran = await house.ask("POST", "/v1/sessions/s1/runs", {"code": "var x = 20; console.log('hi'); x * 2"}, role="member")
        assert ran.status == 200
        result = ran.json["result"]
        assert (result["status"], result["result"], result["stdout"]) == ("ok", 40, "hi\n")
        assert (await house.ask("GET", f"/v1/runs/{ran.json['id']}")).json == ran.json
        put = await house.ask("PUT", "/v1/sessions/s1/files/d/a.txt", b"one\ntwo", content_type="text/plain", if_none_match="*")
        assert put.status == 200
        again = await house.ask("PUT", "/v1/sessions/s1/files/d/a.txt", b"x", content_type="text/plain", if_none_match="*")
        assert again.status == 412
        got = await house.ask("GET", "/v1/sessions/s1/files/d/a.txt")
        assert (got.body, got.headers["etag"]) == (b"one\ntwo", put.headers["etag"])
        assert (await house.ask("GET", "/v1/sessions/s1/grep?pattern=two")).json == [
            {"path": "/d/a.txt", "line_number": 2, "line": "two"}
        ]
        archive = await house.ask("GET", "/v1/sessions/s1/archive")
        saved = await house.ask("POST", "/v1/sessions/s1/snapshots", {"label": "start"})
        assert saved.status == 201
        restored = await house.ask("POST", f"/v1/snapshots/{saved.json['id']}/restore", {"session_id": "s2"})
        assert restored.status == 201
        assert (await house.ask("POST", "/v1/sessions/s2/runs", {"code": "x + 1"})).json["result"]["result"] == 21
        unpacked = await house.ask("POST", "/v1/sessions/s2/archive?path=/copy", archive.body, content_type="application/x-tar")
        assert unpacked.status == 200
        assert (await house.ask("GET", "/v1/sessions/s2/files/copy/d/a.txt")).body == b"one\ntwo"
        forks = await house.ask("POST", "/v1/sessions/s1/fork", {"count": 2})
        assert (forks.status, len(forks.json)) == (201, 2)
        assert (await house.ask("DELETE", "/v1/sessions/s1")).status == 204
        assert (await house.ask("GET", "/v1/sessions/s1")).code == "SESSION_NOT_FOUND"

    live_in(tmp_path, test)


def test_a_directory_is_listed_in_pages_over_http(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        deep = "/".join(["d" * 255] * 15)
        for number in range(5):
            path = f"/v1/sessions/s1/files/{deep}/{number}{'ü' * 120}"
            assert (await house.ask("PUT", path.replace("ü", "%C3%BC"), b"x", content_type="text/plain")).status == 200
        where = f"/v1/sessions/s1/files?path=/{deep}&limit=2"
        found, cursor = [], ""
        while cursor is not None:
            page = (await house.ask("GET", where + (f"&cursor={cursor}" if cursor else ""))).json
            assert len(page["items"]) <= 2
            found += [one["name"][0] for one in page["items"]]
            cursor = page["next"]
        assert found == ["0", "1", "2", "3", "4"]
        assert (await house.ask("GET", f"/v1/sessions/s1/files/{deep}")).code == "IS_A_DIRECTORY"
        assert (await house.ask("GET", "/v1/sessions/s1/files?path=/nowhere")).json == {"items": [], "next": None}
        assert (await house.ask("GET", "/v1/sessions/s1/files?cursor=made-up")).code == "INVALID_CURSOR"
        assert (await house.ask("GET", "/v1/sessions/s1/files?limit=201")).status == 400

    live_in(tmp_path, test)


def test_a_run_is_waited_for_polled_streamed_or_made_once(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        once = await house.ask("POST", "/v1/runs", {"code": "6 * 7", **JAVASCRIPT}, idempotency_key="k1")
        assert once.json["result"]["result"] == 42
        replay = await house.ask("POST", "/v1/runs", {"code": "6 * 7", **JAVASCRIPT}, idempotency_key="k1")
        assert (replay.json["id"], replay.headers["idempotency-replayed"]) == (once.json["id"], "true")
        assert (await house.ask("GET", f"/v1/sessions/{once.json['session_id']}")).status == 404
        begun = await house.ask("POST", "/v1/sessions/s1/runs?mode=async", {"code": "1 + 1"})
        assert begun.status == 202
        async with asyncio.timeout(60):
            while (polled := await house.ask("GET", begun.headers["location"])).json["state"] != "finished":
                await asyncio.sleep(0.005)
        assert polled.json["result"]["result"] == 2
        streamed = await house.ask("POST", "/v1/sessions/s1/runs?mode=stream", {"code": "console.log('live'); 3"})
        assert streamed.headers["content-type"].startswith("text/event-stream")
        kinds = re.findall(rb"^event: (\w+)$", streamed.body, re.MULTILINE)
        assert kinds[:2] == [b"started", b"stdout"] and kinds[-1] == b"result"
        later = await house.ask("GET", begun.headers["location"] + "/events")
        assert b"event: result" in later.body

    live_in(tmp_path, test)


def test_a_policy_that_is_refused_comes_back_with_every_reason_and_its_place(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        text = "policy p v 1\nallow rum\nask now by anyone within 3s\n"
        refused = await house.ask("POST", "/v1/policies", {"main": "p.hatch", "sources": {"p.hatch": text}}, role="author")
        assert (refused.status, refused.code) == (422, "POLICY_REFUSED")
        found = {one["code"]: (one["severity"], one["span"]["line"]) for one in refused.json["diagnostics"]}
        assert found["HP020"] == ("error", 2) and found["HP032"] == ("error", 3)

    live_in(tmp_path, test)


def test_the_operators_default_is_read_like_a_policy_while_it_is_in_force(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        async def listed(query: str = "") -> list[tuple[str, str, str]]:
            found, cursor = [], ""
            while True:
                page = (await house.ask("GET", f"/v1/policies?limit=1{query}{cursor}", role="author")).json
                found += [(one["name"], one["state"], one["owner"]) for one in page["items"]]
                if page["next"] is None:
                    return found
                cursor = f"&cursor={page['next']}"

        (default,) = (await house.ask("GET", "/v1/policies", role="author")).json["items"]
        digest = (await house.ask("POST", "/v1/sessions", {"id": "s1"})).json["policy"]
        shown = await house.ask("GET", f"/v1/policies/{digest}", role="author")
        assert (default["digest"], shown.json) == (digest, default)
        checked = {"sources": default["sources"], "main": default["main"]}
        assert (await house.ask("POST", "/v1/policies/check", checked, role="author")).json["digest"] == digest
        text = "policy mine v 1\nallow session.create\n"
        text += 'test "t" { as { tenant acme } session.create { language python } => allow }\n'
        own = {"main": "p.hatch", "sources": {"p.hatch": text}}
        assert (await house.ask("POST", "/v1/policies", {**own, "shadow": True}, role="author")).status == 201
        operators = (default["name"], "active", "operator")
        assert await listed() == [operators, ("mine", "shadow", "tenant")]
        assert await listed("&name=mine") == [("mine", "shadow", "tenant")]
        assert (await house.ask("POST", "/v1/policies", own, role="author")).status == 201
        assert await listed() == [("mine", "active", "tenant")]
        history = (await house.ask("GET", f"/v1/policies/{digest}", role="author")).json
        assert (history["state"], history["owner"]) == ("retired", "operator")
        assert (await house.ask("GET", "/v1/policies/zz", role="author")).code == "POLICY_NOT_FOUND"

    live_in(tmp_path, test)


def test_a_token_is_minted_used_and_revoked_at_once(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        minted = await house.ask("POST", "/v1/tokens", {"name": "ci", "role": "member"})
        assert minted.status == 201
        house.tokens["acme", "new"] = minted.json["secret"]
        assert (await house.ask("GET", "/v1/me", role="new")).json["role"] == "member"
        former = await house.ask("POST", "/v1/tokens", {"name": "old", "role": "runner"})
        assert former.json["token"]["role"] == "member"
        assert (await house.ask("POST", "/v1/tokens", {"name": "x", "role": "admin"})).status == 403
        assert minted.json["secret"] not in (await house.ask("GET", "/v1/tokens")).body.decode()
        assert (await house.ask("DELETE", f"/v1/tokens/{minted.json['token']['id']}")).status == 200
        assert (await house.ask("GET", "/v1/me", role="new")).status == 401

    live_in(tmp_path, test)


def test_secrets_set_and_forgotten_over_http_are_audited_without_their_values(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        for prefix in ("/v1", "/v1/sessions/s1"):
            assert (await house.ask("PUT", f"{prefix}/secrets/stripe", {"value": "canary-value"})).status == 204
            assert (await house.ask("DELETE", f"{prefix}/secrets/stripe")).status == 204
            assert (await house.ask("DELETE", f"{prefix}/secrets/stripe")).status == 404
        for name in ("hooks/signing", "stripe%2Flive"):  # as policies and webhooks call them
            assert (await house.ask("PUT", f"/v1/secrets/{name}", {"value": "canary-value"})).status == 204
        listed = (await house.ask("GET", "/v1/secrets")).json["items"]
        assert [one["name"] for one in listed] == ["hooks/signing", "stripe/live"]
        assert (await house.ask("DELETE", "/v1/secrets/hooks%2Fsigning")).status == 204
        log = await house.ask("GET", "/v1/audit")
        found = [one for one in log.json["items"] if one["kind"].startswith("secret.")]
        assert [(one["kind"], one["subject"], one["actor"], one["data"]["session"]) for one in found[:4]] == [
            ("secret.set", "stripe", "operator@acme", ""),
            ("secret.delete", "stripe", "operator@acme", ""),
            ("secret.set", "stripe", "operator@acme", "s1"),
            ("secret.delete", "stripe", "operator@acme", "s1"),
        ]
        assert b"canary-value" not in log.body

    live_in(tmp_path, test)


def test_what_retention_would_forget_is_shown_forgotten_and_counted(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        await house.ask("POST", "/v1/sessions", {"id": "s2", "durable": True})
        shown = await house.ask("GET", "/v1/retention")
        assert shown.json["counts"]["sessions"] == 0 and shown.json["rules"]["audit_ms"] == 365 * 86_400_000
        house.service.upkeep.rules = Retention(idle_sessions_ms=0)
        assert (await house.ask("GET", "/v1/retention")).json["sessions"] == ["s1"]
        assert (await house.ask("GET", "/v1/retention", role="member")).status == 403
        assert (await house.ask("GET", "/v1/retention", tenant="globex")).json["sessions"] == []
        assert (await house.ask("POST", "/v1/retention")).json["sessions"] == 1
        assert (await house.ask("GET", "/v1/sessions/s1")).status == 404
        assert (await house.ask("GET", "/v1/sessions/s2")).status == 200
        measured = (await house.ask("GET", "/metrics")).body
        assert b'hatchway_retention_forgotten_total{kind="sessions"} 1.0' in measured

    live_in(tmp_path, test)


def test_what_is_old_goes_by_itself_and_a_failure_does_not_end_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.lifecycle.maintenance._FIRST_COLLECT_SECONDS", 0.0)
    monkeypatch.setattr("gateway.lifecycle.maintenance._COLLECT_SECONDS", 0.001)

    async def test(house: House) -> None:
        upkeep, failed = house.service.upkeep, asyncio.Event()
        real = upkeep.collect

        async def failing(tenant: str, actor: str = "") -> Any:
            failed.set()
            raise RuntimeError("a mistake of ours")

        monkeypatch.setattr(upkeep, "collect", failing)
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        async with asyncio.timeout(60):
            await failed.wait()
            monkeypatch.setattr(upkeep, "collect", real)
            upkeep.rules = Retention(idle_sessions_ms=0)
            while (await house.ask("GET", "/v1/sessions/s1")).status != 404:
                await asyncio.sleep(0.005)

    live_in(tmp_path, test)


def test_a_run_made_once_that_waits_for_an_approval_can_be_approved_and_read(tmp_path: Path) -> None:
    text = (
        "policy p v 1\nallow session.create\nallow run\nlimit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 10 }\n"
        'ask now by anyone within 15m\ntest "t" { as { tenant acme } run { language javascript, bytes 1KiB } => allow\n'
        "session.create { language javascript } => allow now {} => ask }\n"
    )

    async def test(house: House) -> None:
        deployed = await house.ask("POST", "/v1/policies", {"main": "p.hatch", "sources": {"p.hatch": text}}, role="author")
        assert deployed.status == 201, deployed.json
        asked = await house.ask("POST", "/v1/runs", {"code": "(await tools.now()).unix_ms > 0", **JAVASCRIPT})
        assert asked.json["state"] == "waiting", asked.json
        (pending,) = (await house.ask("GET", "/v1/approvals")).json["items"]
        assert (await house.ask("POST", f"/v1/approvals/{pending['id']}/decide", {"decision": "approve"})).status == 200
        async with asyncio.timeout(60):
            while (polled := await house.ask("GET", f"/v1/runs/{asked.json['id']}")).json["state"] != "finished":
                await asyncio.sleep(0.005)
        assert polled.json["result"]["result"] is True, polled.json
        house.service.upkeep.rules = Retention(one_shots_ms=0)
        assert (await house.ask("GET", "/v1/retention")).json["sessions"] == [asked.json["session_id"]]

    live_in(tmp_path, test)
