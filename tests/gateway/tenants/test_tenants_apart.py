"""Every operation × two tenants: what belongs to another looks exactly like what is not there.

How: alpha makes one of everything, with a canary in whatever can hold text. Beta then asks every operation of the OpenAPI
document for alpha's object and for one that nobody has. Status, headers and body must be the same once ids are masked; no
canary may be in anything beta gets, in the log or in the metrics; and alpha must find everything as it was. An operation that
names something in its path and is not in `ASKED` fails the test: whoever adds a route says here how it is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.apart import Reply, World, furnished
from tests.gateway.asked import ABSENT, ASKED, CANARY, ENDLESS, HEALTH, LOGS, OF_RUNTIMES, REMOTE, SHARED, Asked


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with furnished(tmp_path_factory.mktemp("apart") / "data") as found:
        yield found


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
_CHANGING = re.compile(
    rb'"(last_used_at|uses_left|request_id|last_seen_at|url|usage":{"bytes)":[^,}]*|{"code":"remote_runtime_[^}]*}'
)


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
