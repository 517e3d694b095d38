"""Every operation there is: closed to whom it is not for, silent about what is another's, and never our mistake."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.http.api.operation import Operation
from tests.gateway.http.asking import Reply
from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript

pytestmark = needs_javascript
BODIES: dict[str, Any] = {
    "update_session": {"title": "taken over"},
    "run_in_session": {"code": "1"},
    "run_once": {"code": "1", **JAVASCRIPT},
    "seed_file": {"path": "/x", "content": "x"},
    "make_directory": {"path": "/x"},
    "chmod_file": {"path": "/canary-file", "mode": 0o644},
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
        "port": "8000",
    }


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
        absent |= {"runtime_id": theirs["runtime_id"], "worker_id": "worker-0000ffff", "port": theirs["port"]}
        kept_before = await house.service.store.usage("acme")
        table = [one for one in house.face.operations if one.audience not in ("public", "admin")]
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


@pytest.mark.parametrize("role", ["member", "approver", "author", "operator"])
def test_every_operation_is_closed_to_the_roles_it_is_not_for(tmp_path: Path, role: str) -> None:
    from gateway.tenants.tokens import MAY

    async def test(house: House) -> None:
        names = dict.fromkeys(
            ("session_id", "run_id", "path", "key", "name", "snapshot_id", "token_id", "hook_id", "approval_id", "digest"), "x"
        )
        names |= dict.fromkeys(("runtime_id", "worker_id", "host_id", "destination_id"), "x")
        names |= dict.fromkeys(("thread_id", "command_id", "artifact_id", "port"), "x") | {"tenant_id": "acme"}
        for operation in house.face.operations:
            if operation.audience == "public" or operation.websocket or role in MAY[operation.audience]:
                continue
            reply = await call_as_globex(house, operation, names, role)
            assert (reply.status, reply.code) == (403, "FORBIDDEN"), operation.name
            offered = reply.json["hint"].removeprefix("it is for: ").split(", ")
            assert set(offered) == MAY[operation.audience], "every role that may is named"

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
        for operation in house.face.operations:
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
