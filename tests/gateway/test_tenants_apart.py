"""Every operation × two tenants: what belongs to another looks exactly like what is not there.

How: alpha makes one of everything, with a canary in whatever can hold text. Beta then asks every operation of the OpenAPI
document for alpha's object and for one that nobody has. Status, headers and body must be the same once ids are masked; no
canary may be in anything beta gets, in the log or in the metrics; and alpha must find everything as it was. An operation that
names something in its path and is not in `ASKED` fails the test: whoever adds a route says here how it is asked.
"""

from __future__ import annotations

import http.client
import json
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

from tests.gateway.serving import serving

CANARY = f"canary{secrets.token_hex(8)}"
POLICY = f"""
policy apart.own v 1   # {CANARY}

allow session.create
allow session.fork
allow snapshot.take
allow snapshot.restore
allow fs.read
allow fs.write
allow run
limit run {{ cpu 10s wall 30s memory 512MiB output 1MiB calls 1_000 stack 1_000 }}
ask now
  by anyone within 15m

test "asking" {{
  as {{ tenant alpha }}
  run {{ language python, bytes 1KiB }} => allow
  now {{}} => ask
}}
"""
ABSENT = {
    "session_id": "alpha-nosuch",
    "waiting_id": "alpha-neither",
    "other_id": "alpha-nor-this",
    "run_id": "01a1e2f7-0000-7000-8000-00000000dead",
    "snapshot_id": "01a1e2f7-0000-7000-8000-00000000dead",
    "approval_id": "01a1e2f7-0000-7000-8000-00000000dead",
    "token_id": "01a1e2f7-0000-7000-8000-00000000dead",
    "tenant_id": "nosuch",
    "digest": "f" * 64,
    "hook_id": "user:alpha_none",
    "path": "absent.txt",
    "key": "absent-key",
    "name": "absent-name",
    "runtime_id": "embedded-worker-runtime",
    "worker_id": "worker-00000fff",
    "host_id": "alpha-nohost",
    "destination_id": "alpha-nobox",
    "thread_id": "alpha-nothread",
    "command_id": "absent-command",
    "artifact_id": "e" * 64,
}
SHARED = {"get_capability", "docs_file"}
"""What these name belongs to no tenant."""
ENDLESS = {"watch_worker", "live_worker", "api_live_worker", "live_run"}
"""These last as long as whoever watches."""
HEALTH = {"list_runtimes", "list_hosts", "get_runtime", "api_list_runtimes", "api_list_hosts"}
"""These say how things are, which changes by itself."""
REMOTE = "alpha-remote"
"""A runtime that alpha has added."""
LOGS = {"list_audit", "export_audit", "verify_audit", "list_decisions"}
"""These grow by being read."""


@dataclass(frozen=True)
class Asked:
    """How an operation is asked beside its path."""

    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


RUN = Asked({"code": "1 + 1"})
SPAWN = {"intent": {"kind": "workspace_companion"}, "acceptance": {"kind": "run_accepted", "expected_segments": 0}}
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "hatchway.json",
}
ASKED: dict[str, Asked] = {
    "get_session": Asked(),
    "update_session": Asked({"title": "mine now", "repin": True}),
    "delete_session": Asked(),
    "cancel_session": Asked(),
    "fork_session": Asked({"count": 2}),
    "run_in_session": RUN,
    "get_run": Asked(),
    "cancel_run": Asked(),
    "watch_run": Asked(),
    "live_run": Asked(headers=UPGRADE),
    "list_files": Asked(),
    "get_file": Asked(),
    "put_file": Asked(b"theirs"),
    "delete_file": Asked(query={"recursive": "true"}),
    "stat_file": Asked(query={"path": "/workspace/kept.txt"}),
    "read_file": Asked(query={"path": "/workspace/kept.txt"}),
    "seed_file": Asked({"path": "/workspace/kept.txt", "content": "theirs"}),
    "make_directory": Asked({"path": "/workspace/theirs"}),
    "grep_files": Asked(query={"pattern": CANARY}),
    "search_files": Asked(query={"pattern": "canary[0-9a-f]+"}),
    "export_files": Asked(),
    "import_files": Asked(b"\0" * 1024, headers={"Content-Type": "application/x-tar"}),
    "list_values": Asked(),
    "get_value": Asked(),
    "put_value": Asked(b"theirs"),
    "delete_value": Asked(),
    "put_secret": Asked({"value": "theirs"}),
    "delete_secret": Asked(),
    "list_session_secrets": Asked(),
    "put_session_secret": Asked({"value": "theirs"}),
    "delete_session_secret": Asked(),
    "take_snapshot": Asked({"label": "theirs"}),
    "get_snapshot": Asked(),
    "export_snapshot": Asked(),
    "diff_snapshots": Asked(query={"new": ABSENT["snapshot_id"]}),
    "restore_snapshot": Asked({}),
    "delete_snapshot": Asked(),
    "get_approval": Asked(),
    "decide_approval": Asked({"decision": "approve"}),
    "decide_tool_approval": Asked({"approval_id": ABSENT["approval_id"], "decision": "approve"}),
    "delete_hook": Asked(),
    "put_program": Asked(b"echo theirs"),
    "get_program": Asked(),
    "delete_program": Asked(),
    "get_policy": Asked(),
    "get_tenant": Asked(),
    "update_tenant": Asked({"name": "theirs"}),
    "delete_tenant": Asked(),
    "get_usage": Asked(),
    "revoke_token": Asked(),
    "list_host_workers": Asked(),
    "api_list_host_workers": Asked(),
    **{
        before + name: asked
        for before in ("", "api_")
        for name, asked in {
            "get_worker": Asked(),
            "send_worker_input": Asked({"content": "1"}),
            "get_worker_transcript": Asked(),
            "stop_worker": Asked({"mode": "force"}),
            "cancel_worker": Asked({}),
            "live_worker": Asked(headers=UPGRADE),
        }.items()
    },
    "restore_worker": Asked({}),
    "delete_worker": Asked(),
    "watch_worker": Asked(),
    "remove_destination": Asked(),
    "select_runner": Asked({"destination_id": "alpha-box"}),
    "get_runner_session": Asked(),
    "delete_runner_session": Asked(),
    "snapshot_runner_session": Asked(),
    "list_runner_ports": Asked(),
    "expose_runner_port": Asked({"port": 8000}),
    "pause_runner_session": Asked(),
    "resume_runner_session": Asked(),
    "detach_runner_session": Asked(),
    "rejoin_runner_session": Asked(),
    "run_command": Asked({"command_id": "theirs", "program": "sh", "args": ["-c", "cat kept.txt"]}),
    "wait_for_command": Asked(),
    "cancel_command": Asked(),
    "read_runner_file": Asked(query={"path": "kept.txt"}),
    "write_runner_file": Asked(b"theirs", query={"path": "kept.txt"}),
    "export_artifact": Asked({"path": "kept.txt"}),
    "get_artifact": Asked(),
}
OF_RUNTIMES: dict[str, Asked] = {
    "get_runtime": Asked(),
    "remove_runtime": Asked(),
    "list_runtime_workers": Asked(),
    "api_list_runtime_workers": Asked(),
    "spawn_worker": Asked(SPAWN),
    "api_spawn_worker": Asked(SPAWN),
}
"""Operations on a runtime as a whole. Everybody has the embedded one, so they are asked for one that alpha has added."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Caller:
    """One token's holder. `must_not_see` is looked for in everything it is ever answered."""

    def __init__(self, url: str, token: str, must_not_see: str = "") -> None:
        self._host = urlsplit(url).netloc
        self._headers = {"Authorization": f"Bearer {token}"}
        self._must_not_see = must_not_see

    def ask(self, method: str, target: str, asked: Asked | None = None, **headers: str) -> Reply:
        asked = asked or Asked()
        sent = {**self._headers, **asked.headers, **headers}
        data = asked.body
        if data is not None and not isinstance(data, bytes):
            data = json.dumps(data).encode()
            sent.setdefault("Content-Type", "application/json")
        elif data is not None:
            sent.setdefault("Content-Type", "application/octet-stream")
        if asked.query:
            target += "?" + urlencode(asked.query)
        connection = http.client.HTTPConnection(self._host, timeout=60)
        try:
            connection.request(method, target, data, sent)
            answer = connection.getresponse()
            reply = Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()
        shown = json.dumps(reply.headers).encode() + reply.body
        assert not self._must_not_see or self._must_not_see.encode() not in shown, f"{method} {target} shows what is another's"
        return reply

    def make(self, method: str, target: str, body: Any = None) -> Any:
        reply = self.ask(method, target, Asked(body))
        assert reply.status < 300, (method, target, reply)
        return reply.json if reply.body else None


@dataclass(frozen=True)
class World:
    """A gateway with two tenants; `owned` is what alpha has, by the name of the path parameter that names it."""

    admin: Caller
    alpha: Caller
    beta: Caller
    owned: dict[str, str]
    operations: dict[str, tuple[str, str]]
    log: Path

    def target(self, operation: str, ids: dict[str, str]) -> str:
        path = self.operations[operation][1]
        return re.sub(r"\{([a-z_]+)\}", lambda found: quote(ids[found[1]], safe="/"), path)

    def names(self, operation: str) -> list[str]:
        return re.findall(r"\{([a-z_]+)\}", self.operations[operation][1])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    data = tmp_path_factory.mktemp("apart") / "data"
    with serving(data) as gateway:
        admin = Caller(gateway.url, gateway.token)
        document = admin.make("GET", "/openapi.json")
        operations = {
            one["operationId"]: (method.upper(), path)
            for path, methods in document["paths"].items()
            for method, one in methods.items()
        }
        alpha, beta = _tenant(admin, gateway.url, "alpha"), _tenant(admin, gateway.url, "beta", must_not_see=CANARY)
        beta.make("POST", "/v1/sessions", {"id": "beta-own"})
        beta.make("POST", "/v1/runners/destinations", {"id": "beta-box", "provider_id": "wasm"})
        beta.make("PUT", "/v1/runners/threads/beta-thread", {"destination_id": "beta-box"})
        beta.make("POST", "/v1/runners/threads/beta-thread/commands", {"command_id": "own", "program": "true"})
        yield World(admin, alpha, beta, _furnish(admin, alpha), operations, data.parent / "data.log")


def _tenant(admin: Caller, url: str, name: str, must_not_see: str = "") -> Caller:
    admin.make("POST", "/v1/tenants", {"id": name})
    asked = Asked({"name": "all", "role": "operator", "user": f"{name}-operator"})
    secret = admin.ask("POST", "/v1/tokens", asked, **{"Hatchway-Tenant": name}).json["secret"]
    return Caller(url, secret, must_not_see)


def _furnish(admin: Caller, alpha: Caller) -> dict[str, str]:
    """One of everything, with the canary in it."""
    policy = alpha.make("POST", "/v1/policies", {"sources": {"policy.hatch": POLICY}})["policy"]
    session = alpha.make("POST", "/v1/sessions", {"id": "alpha-one", "title": CANARY})["id"]
    one = f"/v1/sessions/{session}"
    alpha.make("PUT", one + "/files/workspace/kept.txt", f"{CANARY} in a file".encode())
    alpha.make("PUT", one + "/values/kept", CANARY.encode())
    alpha.make("PUT", "/v1/secrets/kept", {"value": CANARY})
    alpha.make("PUT", one + "/secrets/kept", {"value": CANARY})
    run = alpha.make("POST", one + "/runs", {"code": f"x = '{CANARY}'; print(x); x"})
    assert CANARY in run["result"]["stdout"]
    snapshot = alpha.make("POST", one + "/snapshots", {"label": CANARY, "template": True})
    hook = {"id": "alpha_hook", "event": "turn_end", "description": CANARY}
    alpha.make("POST", "/v1/hooks", {**hook, "executor": {"type": "shell", "command": f"true # {CANARY}"}})
    alpha.make("PUT", "/v1/hooks/programs/kept", f"echo {CANARY}".encode())
    alpha.make("POST", "/v1/sessions", {"id": "alpha-other"})
    alpha.make("POST", "/v1/sessions", {"id": "alpha-waits"})
    waiting = alpha.make("POST", "/v1/sessions/alpha-waits/runs", {"code": f"c = '{CANARY}'; tools.now()"})
    assert waiting["state"] == "waiting"
    (approval,) = alpha.make("GET", "/v1/approvals?pending=true")["items"]
    token = alpha.make("POST", "/v1/tokens", {"name": CANARY, "role": "runner"})["token"]
    return _furnish_runners(alpha) | {
        "session_id": session,
        "waiting_id": "alpha-waits",
        "other_id": "alpha-other",
        "run_id": run["id"],
        "snapshot_id": snapshot["id"],
        "approval_id": approval["id"],
        "token_id": token["id"],
        "tenant_id": "alpha",
        "digest": policy["digest"],
        "hook_id": "user:alpha_hook",
        "path": "kept.txt",
        "key": "kept",
        "name": "kept",
    }


def _furnish_runners(alpha: Caller) -> dict[str, str]:
    """A worker, a runtime elsewhere, and a thread in whose place a command has run."""
    workers = "/v1/registry/runtimes/embedded-worker-runtime/workers"
    worker = alpha.make("POST", workers, {**SPAWN, "requested_worker_name": CANARY})["worker"]["worker_id"]
    alpha.make("POST", f"{workers}/{worker}/input", {"content": f"print('{CANARY}')"})
    while alpha.make("GET", f"{workers}/{worker}/transcript")["total_items"] < 2:
        time.sleep(0.02)
    remote = {"runtime_id": REMOTE, "label": CANARY, "url": f"https://{CANARY}.invalid", "token": {"id": "kept"}}
    alpha.make("POST", "/v1/registry/runtimes", remote)
    (host,) = [one for one in alpha.make("GET", "/v1/registry/hosts")["items"] if one["runtime_id"] == REMOTE]
    alpha.make("POST", "/v1/runners/destinations", {"id": "alpha-box", "provider_id": "wasm"})
    thread = "/v1/runners/threads/alpha-thread"
    alpha.make("PUT", thread, {"destination_id": "alpha-box"})
    command = {"command_id": "alpha-command", "program": "sh", "args": ["-c", f"echo {CANARY} | tee kept.txt"]}
    assert CANARY in alpha.make("POST", thread + "/commands", command)["stdout"]
    artifact = alpha.make("POST", thread + "/artifacts", {"path": "kept.txt"})["artifact_id"]
    return {
        "runtime_id": "embedded-worker-runtime",
        "worker_id": worker,
        "host_id": host["host_id"],
        "destination_id": "alpha-box",
        "thread_id": "alpha-thread",
        "command_id": "alpha-command",
        "artifact_id": artifact,
    }


_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{32}|\b1[0-9]{12}\b")


def masked(reply: Reply, ids: dict[str, str]) -> tuple[int, dict[str, str], str]:
    """What a caller can tell two answers apart by, when it does not count what it asked for itself."""
    text = reply.body.decode("utf-8", "replace")
    headers = {name: value for name, value in reply.headers.items() if name not in ("date", "x-request-id", "content-length")}
    for value in sorted(ids.values(), key=len, reverse=True):
        text = text.replace(value, "<id>")
        headers = {name: shown.replace(value, "<id>") for name, shown in headers.items()}
    text = re.sub(r'"request_id":"[^"]*"', '"request_id":""', text)
    return reply.status, headers, _RANDOM.sub("<random>", text)


def test_every_operation_that_names_something_is_asked(world: World) -> None:
    named = {name for name, (_, path) in world.operations.items() if "{" in path}
    asked = {*ASKED, *OF_RUNTIMES}
    assert named - SHARED == asked, "say in ASKED how a new operation is asked, or in SHARED that it belongs to nobody"


def test_another_tenants_object_looks_like_an_absent_one_whatever_is_asked(world: World) -> None:
    before = _inventory(world)
    for operation, asked in ASKED.items():
        for ids in _choices(world, operation):
            absent = {name: ABSENT[name] if ids[name] == world.owned[name] else ids[name] for name in ids}
            method = world.operations[operation][0]
            theirs = world.beta.ask(method, world.target(operation, ids), asked)
            nobodys = world.beta.ask(method, world.target(operation, absent), asked)
            assert masked(theirs, ids) == masked(nobodys, absent), (operation, ids)
            if ids.get("name") is None and not _OWN & set(ids.values()):
                assert theirs.status in (403, 404), (operation, theirs)
    assert _inventory(world) == before, "beta changed something of alpha's"
    for operation in LOGS:
        assert b"beta" not in world.alpha.ask("GET", world.operations[operation][1]).body, "alpha is told of beta"


def _choices(world: World, operation: str) -> Iterator[dict[str, str]]:
    """Alpha's id in every place at once; and, beneath a session or a thread of beta's own, alpha's name for the thing in it."""
    names = world.names(operation)
    yield {name: world.owned[name] for name in names}
    for first, own in (("session_id", "beta-own"), ("thread_id", "beta-thread")):
        if names[0] == first and len(names) > 1:
            yield {first: own, **{name: world.owned[name] for name in names[1:]}}


_OWN = {"beta-own", "beta-thread"}
_CHANGING = re.compile(rb'"(last_used_at|uses_left|request_id|last_seen_at|url)":[^,}]*|{"code":"remote_runtime_[^}]*}')


def _inventory(world: World) -> dict[str, Any]:
    """Everything alpha can read of what it has, but for the log of what happened."""
    found: dict[str, Any] = {}
    for operation, (method, path) in world.operations.items():
        is_kept = method == "GET" and path.startswith(("/v1/", "/api/"))
        if is_kept and operation not in {*ENDLESS, *HEALTH, *LOGS, *SHARED}:
            asked = ASKED.get(operation, Asked())
            asked = Asked(query={"new": world.owned["snapshot_id"]}) if operation == "diff_snapshots" else asked
            reply = world.alpha.ask(method, world.target(operation, world.owned), asked)
            found[operation] = (reply.status, _CHANGING.sub(b"", reply.body))
    return found


REFERENCES: dict[str, tuple[str, str, str, Any]] = {
    "a run's session in a query": ("GET", "/v1/runs?session_id={session_id}", "session_id", None),
    "a snapshot's session in a query": ("GET", "/v1/snapshots?session_id={session_id}", "session_id", None),
    "a template by its snapshot": ("POST", "/v1/sessions", "snapshot_id", {"template": "{snapshot_id}"}),
    "a template of a lone run": ("POST", "/v1/runs", "snapshot_id", {"code": "1", "template": "{snapshot_id}"}),
    "an approval in a body": (
        "POST",
        "/v1/sessions/beta-own/tool-approvals",
        "approval_id",
        {"approval_id": "{approval_id}", "decision": "approve"},
    ),
    "a hook's program": (
        "POST",
        "/v1/hooks",
        "name",
        {"id": "beta_hook", "event": "turn_end", "executor": {"type": "shell", "program": "{name}"}},
    ),
    "a new session's id": ("POST", "/v1/sessions", "other_id", {"id": "{other_id}"}),
    "a fork's id": ("POST", "/v1/sessions/beta-own/fork", "waiting_id", {"ids": ["{waiting_id}"]}),
    "a tenant's id in a header": ("GET", "/v1/sessions", "tenant_id", None),
    "a destination in a body": (
        "PUT",
        "/v1/runners/threads/beta-new",
        "destination_id",
        {"destination_id": "{destination_id}"},
    ),
    "a thread in a preview": ("GET", "/preview/{thread_id}/8000/", "thread_id", None),
}  # fmt: skip


@pytest.mark.parametrize("case", REFERENCES)
def test_another_tenants_object_looks_like_an_absent_one_when_it_is_mentioned(world: World, case: str) -> None:
    method, target, name, body = REFERENCES[case]
    shown = []
    for value in (world.owned[name], ABSENT[name]):
        filled = json.loads(json.dumps(body).replace("{" + name + "}", value)) if body is not None else None
        headers = {"Hatchway-Tenant": value} if name == "tenant_id" else {}
        reply = world.beta.ask(method, target.replace("{" + name + "}", value), Asked(filled), **headers)
        shown.append(masked(reply, {name: value}))
    assert shown[0] == shown[1]


def test_a_runtime_that_another_tenant_added_looks_like_none(world: World) -> None:
    of_workers = {name: asked for name, asked in ASKED.items() if world.names(name)[0] == "runtime_id"}
    for operation, asked in {**OF_RUNTIMES, **of_workers}.items():
        shown = []
        for runtime_id in (REMOTE, "alpha-noremote"):
            ids = {"runtime_id": runtime_id, "worker_id": world.owned["worker_id"]}
            reply = world.beta.ask(world.operations[operation][0], world.target(operation, ids), asked)
            assert reply.status == 404, (operation, reply)
            shown.append(masked(reply, ids))
        assert shown[0] == shown[1], operation
    assert REMOTE in [one["runtime_id"] for one in world.alpha.make("GET", "/v1/registry/runtimes")["items"]]


def test_a_snapshot_carried_over_from_another_tenant_is_like_a_damaged_one(world: World) -> None:
    content = world.alpha.ask("GET", f"/v1/snapshots/{world.owned['snapshot_id']}/content").body
    assert CANARY.encode() not in content, "a sealed snapshot shows what is in it"
    damaged = content[:-1] + bytes([content[-1] ^ 1])
    replies = [
        world.beta.ask("POST", "/v1/snapshots", Asked(data, headers={"Content-Type": "application/cbor"}))
        for data in (content, damaged)
    ]
    assert replies[0].status == 422
    assert masked(replies[0], {}) == masked(replies[1], {})


def test_an_idempotency_key_of_another_tenant_is_a_key_nobody_used(world: World) -> None:
    asked = Asked({"code": f"'{CANARY}'"})
    key = {"Idempotency-Key": "same-key"}
    first = world.alpha.ask("POST", "/v1/runs", asked, **key)
    again = world.alpha.ask("POST", "/v1/runs", asked, **key)
    assert first.json["id"] == again.json["id"], "the key does nothing at all"
    theirs = world.beta.ask("POST", "/v1/runs", Asked({"code": "1 + 1"}), **key)
    assert (theirs.status, theirs.json["result"]["result"]) == (200, 2)


def test_no_list_of_another_tenant_holds_a_canary_and_neither_do_log_and_metrics(world: World) -> None:
    for method, path in world.operations.values():
        if method == "GET" and "{" not in path:
            world.beta.ask(method, path)
    for operation, asked in ASKED.items():
        if operation not in ENDLESS:
            world.alpha.ask("GET", world.target(operation, world.owned), asked)
    log = world.log.read_text("utf-8", "replace")
    assert "list_sessions" in log and "get_file" in log, "there is no log to look into"
    assert not [line for line in log.splitlines() if CANARY in line]
