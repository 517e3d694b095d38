"""The service's operations over the real service: a newcomer's way, and two tenants who must not notice each other."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.configuration import Configuration
from gateway.http.assembly import Face
from gateway.http.operations import Operation
from gateway.records import Tenant
from gateway.service import Service
from gateway.stores.interface import PutTenant, PutToken
from gateway.stores.retention import Retention
from gateway.telemetry import Telemetry
from gateway.tokens import mint
from sandbox.images import images
from tests.gateway.http.asking import Reply, ask

pytestmark = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
JAVASCRIPT = {"language": "javascript"}


class House:
    """A running service with two tenants, `acme` and `globex`, and a token of each for every role."""

    def __init__(self, service: Service, configuration: Configuration) -> None:
        self.service = service
        self.face = Face(service, configuration, Telemetry())
        self.tokens: dict[tuple[str, str], str] = {}

    async def furnish(self) -> None:
        now = self.service.clock.now_ms()
        roles: tuple[Any, ...] = ("admin", "operator", "approver", "author", "runner")
        for name in ("acme", "globex"):
            changes: list[Any] = [PutTenant(tenant=Tenant(id=name, created_at=now, updated_at=now))]
            for role in roles:
                text, stored = mint(tenant=name, name=role, role=role, now_ms=now, user=f"{role}@{name}")
                self.tokens[name, role] = text
                changes.append(PutToken(token=stored))
            await self.service.store.write(name, changes)

    async def ask(
        self, method: str, target: str, body: Any = b"", *, tenant: str = "acme", role: str = "operator", **headers: str
    ) -> Reply:
        return await ask(self.face.asgi, method, target, body, token=self.tokens[tenant, role], **headers)


def live_in(tmp_path: Path, test: Callable[[House], Awaitable[None]]) -> None:
    async def main() -> None:
        configuration = Configuration(data=str(tmp_path / "data"), workers="in-process", access_log=False)
        service = await Service.open(configuration)
        try:
            house = House(service, configuration)
            await house.furnish()
            await test(house)
        finally:
            await service.stop(1000)

    asyncio.run(main())


def test_a_session_is_made_used_saved_forked_and_deleted_over_http(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        made = await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT}, role="runner")
        assert (made.status, made.headers["location"]) == (201, "/v1/sessions/s1")
        assert (await house.ask("POST", "/v1/sessions", {"id": "s1"})).code == "SESSION_EXISTS"
        ran = await house.ask("POST", "/v1/sessions/s1/runs", {"code": "var x = 20; console.log('hi'); x * 2"}, role="runner")
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
        async with asyncio.timeout(20):
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


def test_a_token_is_minted_used_and_revoked_at_once(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        minted = await house.ask("POST", "/v1/tokens", {"name": "ci", "role": "runner"})
        assert minted.status == 201
        house.tokens["acme", "new"] = minted.json["secret"]
        assert (await house.ask("GET", "/v1/me", role="new")).json["role"] == "runner"
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


async def belongings(house: House) -> dict[str, str]:
    """One thing of every kind, of acme, by the name of its path parameter."""
    await house.ask("POST", "/v1/sessions", {"id": "canary-session", **JAVASCRIPT})
    of_session = "/v1/sessions/canary-session"
    ran = await house.ask("POST", f"{of_session}/runs", {"code": "'canary-result'"})
    await house.ask("PUT", f"{of_session}/files/canary-file", b"canary-content", content_type="text/plain")
    await house.ask("PUT", f"{of_session}/values/canary-key", b"canary-value")
    await house.ask("PUT", "/v1/secrets/canary-secret", {"value": "canary-hidden"})
    saved = await house.ask("POST", f"{of_session}/snapshots", {"label": "canary-label"})
    minted = await house.ask("POST", "/v1/tokens", {"name": "canary-token"})
    spec = {"id": "canary-hook", "event": "pre_tool_use", "executor": {"type": "bash", "command": "true"}}
    hook = await house.ask("POST", "/v1/hooks", spec)
    intent = {"intent": {"kind": "workspace_companion"}, "acceptance": {"kind": "run_accepted", "expected_segments": 0}}
    spawned = await house.ask("POST", "/v1/registry/runtimes/embedded-worker-runtime/workers", intent)
    await house.ask("POST", "/v1/runners/destinations", {"id": "canary-box", "provider_id": "wasm"})
    await house.ask("PUT", "/v1/runners/threads/canary-thread", {"destination_id": "canary-box"})
    assert {reply.status for reply in (ran, saved, minted, hook)} <= {200, 201}, (saved.body, hook.body)
    return {
        "session_id": "canary-session",
        "run_id": ran.json["id"],
        "path": "canary-file",
        "key": "canary-key",
        "name": "canary-secret",
        "snapshot_id": saved.json["id"],
        "token_id": minted.json["token"]["id"],
        "hook_id": hook.json["id"],
        "approval_id": "00000000-0000-7000-8000-000000000000",
        "digest": "0" * 64,
        "tenant_id": "acme",
        "runtime_id": "embedded-worker-runtime",
        "worker_id": spawned.json["worker"]["worker_id"],
        "host_id": spawned.json["worker"]["host_id"],
        "destination_id": "canary-box",
        "thread_id": "canary-thread",
        "command_id": "canary-command",
        "artifact_id": "0" * 64,
    }


BODIES: dict[str, Any] = {
    "update_session": {"title": "taken over"},
    "run_in_session": {"code": "1"},
    "run_once": {"code": "1", **JAVASCRIPT},
    "seed_file": {"path": "/x", "content": "x"},
    "make_directory": {"path": "/x"},
    "put_secret": {"value": "x"},
    "put_session_secret": {"value": "x"},
    "check_policy": {"sources": {"policy.hatch": ""}},
    "explain_decision": {"event": "run", "attributes": {}},
    "diff_policies": {"new": {"sources": {"policy.hatch": ""}}},
    "deploy_policy": {"sources": {"policy.hatch": ""}},
    "put_hook": {"event": "pre_tool_use", "executor": {"type": "bash", "command": "true"}},
    "put_muted": {"patterns": []},
    "decide_approval": {"decision": "approve"},
    "decide_tool_approval": {"decision": "approve", "approval_id": "x"},
    "create_tenant": {"id": "third"},
    "update_tenant": {"name": "x"},
    "create_token": {"name": "x"},
    "send_worker_input": {"content": "1"},
    "api_send_worker_input": {"content": "1"},
    "select_runner": {"destination_id": "x"},
    "expose_runner_port": {"port": 80},
    "run_command": {"command_id": "c", "program": "true"},
    "export_artifact": {"path": "x"},
}
QUERIES = {"grep_files": "?pattern=canary", "search_files": "?pattern=canary", "diff_snapshots": "?new={snapshot_id}"}
RAW = ("write_runner_file", "put_file", "put_value", "put_program", "import_files", "import_snapshot")


async def call_as_globex(house: House, operation: Operation, names: dict[str, str], role: str) -> Reply:
    target = re.sub(r"\{(\w+)(\.\.\.)?\}", lambda match: names[match[1]], operation.path)
    target += QUERIES.get(operation.name, "").format(**names)
    if operation.name in RAW:
        kind = operation.body_types[0].replace("*/*", "text/plain")
        return await house.ask(operation.method, target, b"globex", tenant="globex", role=role, content_type=kind)
    body = BODIES.get(operation.name, {}) if operation.body is not None else b""
    return await house.ask(operation.method, target, body, tenant="globex", role=role)


def test_tm_http_oracle_every_operation_shows_another_tenants_things_exactly_like_absent_ones(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        theirs = await belongings(house)
        absent = {name: "f" * 8 + value[8:] if len(value) > 8 else "nobody" for name, value in theirs.items()}
        absent |= {"path": theirs["path"], "key": theirs["key"], "name": "nobody-secret"}
        absent |= {"runtime_id": theirs["runtime_id"], "worker_id": "worker-0000ffff"}
        kept_before = await house.service.store.usage("acme")
        table = [one for one in house.face.application.routes.operations if one.audience not in ("public", "admin")]
        table.sort(key=lambda one: bool(one.parameters))  # lists first, while globex has nothing of those names itself
        for operation in table:
            if operation.websocket:
                continue
            seen = await call_as_globex(house, operation, theirs, "operator")
            if not operation.parameters:
                assert b"canary" not in seen.body, operation.name
                continue
            control = await call_as_globex(house, operation, absent, "operator")
            assert seen.status == control.status, (operation.name, seen, control)
            assert plain(seen, theirs) == plain(control, absent), operation.name
            assert b"canary-content" not in seen.body and b"canary-value" not in seen.body
        assert await house.service.store.usage("acme") == kept_before
        still = await house.ask("GET", "/v1/sessions/canary-session")
        assert (still.status, still.json["title"]) == (200, "")
        assert (await house.ask("GET", "/v1/sessions/canary-session/files/canary-file")).body == b"canary-content"

    live_in(tmp_path, test)


def plain(reply: Reply, names: dict[str, str]) -> tuple[str, ...]:
    """What a caller learns, without the ids it named itself and what is new each time."""
    text = reply.body.decode("utf-8", "replace")
    for name in sorted(names.values(), key=len, reverse=True):
        text = text.replace(name, "NAME")
    text = re.sub(r'"request_id":"\w+"|"(updated_at|created_at|at)":\d+|"id":"[^"]+"', "", text)
    headers = {k: v for k, v in reply.headers.items() if k not in ("x-request-id", "content-length", "location", "etag")}
    return text, json.dumps(headers, sort_keys=True)


@pytest.mark.parametrize("role", ["runner", "approver", "author", "operator"])
def test_every_operation_is_closed_to_the_roles_it_is_not_for(tmp_path: Path, role: str) -> None:
    from gateway.tokens import MAY

    async def test(house: House) -> None:
        names = dict.fromkeys(
            ("session_id", "run_id", "path", "key", "name", "snapshot_id", "token_id", "hook_id", "approval_id", "digest"), "x"
        )
        names |= dict.fromkeys(("runtime_id", "worker_id", "host_id", "destination_id"), "x")
        names |= dict.fromkeys(("thread_id", "command_id", "artifact_id"), "x") | {"tenant_id": "acme"}
        for operation in house.face.application.routes.operations:
            if operation.audience == "public" or operation.websocket or role in MAY[operation.audience]:
                continue
            reply = await call_as_globex(house, operation, names, role)
            assert (reply.status, reply.code) == (403, "FORBIDDEN"), operation.name

    live_in(tmp_path, test)


def scrambled(value: Any, chance: random.Random) -> Any:
    """The value with something wrong, somewhere."""
    if isinstance(value, dict) and value and chance.random() < 0.7:
        name = chance.choice(list(value))
        return {**value, name: scrambled(value[name], chance)}
    odd: list[Any] = [None, True, -1, 2**63, 1e300, "", "\x00", "..", "\u202e/../é" * 50, [], [[]], {}, {"": {}}, "x" * 5000]
    made = chance.choice(odd)
    return {**value, chance.choice(["id", "limits", "sources", "name", "extra"]): made} if isinstance(value, dict) else made


@pytest.mark.parametrize("seed", range(3))
def test_no_body_query_or_name_makes_any_operation_fail_on_our_side(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ["canary-session", "x", "a%00b", "%2e%2e", "%F0%9F%98%80", "'%3B--", "a" * 300, "-", "0", "%e2%80%ae"]

    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "canary-session", **JAVASCRIPT})
        for operation in house.face.application.routes.operations:
            if operation.websocket:
                continue
            for _ in range(6):
                target = re.sub(r"\{(\w+)(\.\.\.)?\}", lambda _: chance.choice(names), operation.path)
                fields = operation.query.__struct_fields__ if operation.query else ("x",)
                if chance.random() < 0.5:
                    target += (
                        f"?{chance.choice(fields)}={chance.choice([*names, '1', '-1', '1e9', 'true', '99999999999999999999'])}"
                    )
                body: Any = b""
                if operation.body is not None:
                    body = scrambled(BODIES.get(operation.name, {}), chance)
                reply = await house.ask(operation.method, target, body, role="admin")
                assert reply.status < 500, (operation.name, target, body, reply)

    live_in(tmp_path, test)


def test_what_retention_would_forget_is_shown_forgotten_and_counted(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        await house.ask("POST", "/v1/sessions", {"id": "s2", "durable": True})
        shown = await house.ask("GET", "/v1/retention")
        assert shown.json["counts"]["sessions"] == 0 and shown.json["rules"]["audit_ms"] == 365 * 86_400_000
        house.service.upkeep.rules = Retention(idle_sessions_ms=0)
        assert (await house.ask("GET", "/v1/retention")).json["sessions"] == ["s1"]
        assert (await house.ask("GET", "/v1/retention", role="runner")).status == 403
        assert (await house.ask("GET", "/v1/retention", tenant="globex")).json["sessions"] == []
        assert (await house.ask("POST", "/v1/retention")).json["sessions"] == 1
        assert (await house.ask("GET", "/v1/sessions/s1")).status == 404
        assert (await house.ask("GET", "/v1/sessions/s2")).status == 200
        measured = (await house.ask("GET", "/metrics")).body
        assert b'hatchway_retention_forgotten_total{kind="sessions"} 1.0' in measured

    live_in(tmp_path, test)


def test_what_is_old_goes_by_itself_and_a_failure_does_not_end_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.service._FIRST_COLLECT_SECONDS", 0.0)
    monkeypatch.setattr("gateway.service._COLLECT_SECONDS", 0.001)

    async def test(house: House) -> None:
        upkeep, failed = house.service.upkeep, asyncio.Event()
        real = upkeep.collect

        async def failing(tenant: str, actor: str = "") -> Any:
            failed.set()
            raise RuntimeError("a mistake of ours")

        monkeypatch.setattr(upkeep, "collect", failing)
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        async with asyncio.timeout(20):
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
        async with asyncio.timeout(20):
            while (polled := await house.ask("GET", f"/v1/runs/{asked.json['id']}")).json["state"] != "finished":
                await asyncio.sleep(0.005)
        assert polled.json["result"]["result"] is True, polled.json
        house.service.upkeep.rules = Retention(one_shots_ms=0)
        assert (await house.ask("GET", "/v1/retention")).json["sessions"] == [asked.json["session_id"]]

    live_in(tmp_path, test)
