"""A gateway with two tenants: alpha, who has one of everything with a canary in it, and beta, who must not see any of it."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tests.gateway.asked import CANARY, REMOTE, SPAWN, Asked
from tests.gateway.serving import serving

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


@contextmanager
def furnished(data: Path) -> Iterator[World]:
    """The gateway keeps what it has in `data`."""
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
    token = alpha.make("POST", "/v1/tokens", {"name": CANARY, "role": "member"})["token"]
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
        "port": "8000",
    }
