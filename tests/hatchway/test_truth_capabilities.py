"""Byte limits, approvals and rewrites of calls, in the library, over HTTP and through both clients.

One gateway of its own, whose operator offers the tools of an MCP server: what the library is given as functions, under the same
declarations. Who approves is another person than who runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import msgspec
import pytest

from hatchway import RequestError, Sandbox
from sandbox.capabilities.registry import ApprovalPolicy, Capability, CapabilityLimits, Registry
from sandbox.wire import RunResult
from tests.gateway.capabilities import mcp_server
from tests.gateway.serving import Gateway, serving
from tests.hatchway.surfaces import NAMES, REMOTE, Async, Box, HttpBox, Library, Refusal, Remote, Surface, Sync, ask
from tests.hatchway.waiting import finish

LIMITS = CapabilityLimits(timeout_ms=30_000, max_request_bytes=102, max_response_bytes=102)
"""100 characters in quotes."""

ENVIRONMENT = {"FITS": "y" * 100, "LARGE": "y" * 101}
SERVERS: dict[str, ApprovalPolicy] = {
    "small": "none",
    "manual": "manual",
    "ruled": {"auto": {"rule": "allow:ruled_say_hello#1"}},
    "misruled": {"auto": {"rule": "allow:other#1"}},
}
POLICY = """
policy truth v 1
allow session.create
allow run
limit run { cpu 30s wall 60s memory 512MiB output 1MiB calls 100 }
allow small_say_hello allow small_variable allow manual_say_hello allow ruled_say_hello allow misruled_say_hello
test "runs" { as { tenant default } run { language python, bytes 1KiB } => allow manual_say_hello {} => allow }
"""


def declare(name: str, policy: ApprovalPolicy) -> str:
    """A server, as the operator's equipment spells it."""
    limits = ", ".join(f"{key} = {value}" for key, value in msgspec.to_builtins(LIMITS).items() if value is not None)
    environment = ", ".join(f'{key} = "{value}"' for key, value in ENVIRONMENT.items())
    spelt = json.dumps(policy) if isinstance(policy, str) else f'{{ auto = {{ rule = "{policy["auto"]["rule"]}" }} }}'
    return f"""[[servers]]
name = "{name}"
command = {json.dumps([sys.executable, mcp_server.__file__])}
env = {{ {environment} }}
approval_policy = {spelt}
limits = {{ {limits} }}
"""


@pytest.fixture(scope="module")
def equipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("equipped")
    (folder / "equipment.toml").write_text("".join(declare(name, policy) for name, policy in SERVERS.items()))
    (folder / "truth.hatch").write_text(POLICY)
    settings = {"HATCHWAY_EQUIPMENT": str(folder / "equipment.toml"), "HATCHWAY_POLICY": str(folder / "truth.hatch")}
    with serving(folder / "data", settings=settings) as gateway:
        yield gateway


@pytest.fixture(params=NAMES)
def place(request: pytest.FixtureRequest, equipped: Gateway) -> Iterator[Surface]:
    name: str = request.param
    surface = Library() if name == Library.name else REMOTE[name](equipped.url, equipped.token)
    yield surface
    surface.close_boxes()
    surface.close()


FUNCTIONS: dict[str, Any] = {
    "say_hello": lambda name: f"hello {name}",
    "variable": lambda name: ENVIRONMENT[name],
}


def open_box(place: Surface, server: str) -> Box:
    """Where this server's tools are; a gateway has all servers'."""
    if not isinstance(place, Library):
        return place.open()
    registry = Registry()
    for name, function in FUNCTIONS.items():
        declared = Capability(name=f"{server}_{name}", limits=LIMITS, approval_policy=SERVERS[server])
        registry.register(declared, function)
    return place.open(tools=registry, record=True)


def failure_of(result: RunResult) -> tuple[str, str, str]:
    (record,) = result.external_calls
    assert record.error is not None and not result.ok, result
    return str(record.status), record.error.code, record.error.message


def test_byte_limits_of_a_capability_count_arguments_and_answer(place: Surface) -> None:
    box = open_box(place, "small")
    longest = LIMITS.max_request_bytes - len('"name":""')
    fits = box.run(f"small_say_hello(name='x' * {longest})")
    assert fits.ok and fits.result == "hello " + "x" * longest, fits
    told = failure_of(box.run(f"small_say_hello(name='x' * {longest + 1})"))
    assert told == ("error", "INVALID_ARGUMENT", "the request is larger than 102 bytes")
    assert box.run("small_variable(name='FITS')").result == "y" * 100
    told = failure_of(box.run("small_variable(name='LARGE')"))
    assert told == ("error", "TOOL_ERROR", "the answer is larger than 102 bytes")


def decide(gateway: Gateway, decision: str) -> str:
    """What one who may approve, and did not ask, says of the only call that waits; gives the run."""
    with httpx.Client(base_url=gateway.url, headers={"authorization": f"Bearer {gateway.token}"}, trust_env=False) as admin:
        minted = ask(admin, "POST", "/v1/tokens", json={"name": "zoe", "role": "approver", "user": "zoe"})
        zoe = {"authorization": f"Bearer {minted['secret']}"}
        (waiting,) = ask(admin, "GET", "/v1/approvals", params={"pending": "true"}, headers=zoe)["items"]
        ask(admin, "POST", f"/v1/approvals/{waiting['id']}/decide", json={"decision": decision}, headers=zoe)
    return str(waiting["run_id"])


def resume(place: Surface, box: Box, gateway: Gateway, decision: str) -> RunResult:
    """The run's result, after an approver decided about its call."""
    if isinstance(place, Library):
        refused = {} if decision == "approve" else {"answer": PermissionError("no")}
        made, result = Sandbox.resume(box.inner.recording, tools=box.inner.registry, **refused)
        made.close()
        return result
    run_id = decide(gateway, decision)
    if not isinstance(box, HttpBox):
        result = box._call(box.inner, "wait")
        assert isinstance(result, RunResult)
        return result
    finish(gateway, gateway.token, run_id)
    return msgspec.convert(ask(box.http, "GET", f"/v1/runs/{run_id}")["result"], RunResult)


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_manual_capability_is_called_once_an_approver_says_so_and_never_else(
    place: Surface, equipped: Gateway, decision: str
) -> None:
    box = open_box(place, "manual")
    waiting = box.run("name = 'zoe'\n[name, manual_say_hello(name=name)]")
    assert str(waiting.status) == "waiting_for_approval" and not waiting.ok and waiting.result is None, waiting
    assert waiting.error is not None and waiting.error.code == "WAITING_FOR_APPROVAL"
    assert [str(one.status) for one in waiting.external_calls] == ["approval_pending"]
    result = resume(place, box, equipped, decision)
    if decision == "approve":
        assert result.ok and result.result == ["zoe", "hello zoe"], result
    else:
        assert not result.ok and result.result is None and str(result.status) != "waiting_for_approval", result


def test_a_capability_that_asks_a_rule_needs_that_very_rule(place: Surface, equipped: Gateway) -> None:
    if isinstance(place, Library):
        for server in ("ruled", "misruled"):
            with pytest.raises((Refusal, RequestError), match="asks a rule of a policy, and there is none here"):
                open_box(place, server)
        return
    box = open_box(place, "ruled")
    assert box.run("ruled_say_hello(name='you')").result == "hello you"
    waiting = box.run("misruled_say_hello(name='you')")
    assert str(waiting.status) == "waiting_for_approval", waiting
    assert resume(place, box, equipped, "approve").result == "hello you"


REASON = "rows are for those who asked for rows"
HOOK = {
    "id": "rewriter",
    "event": "before_run",
    "executor": {"type": "bash", "command": f"""echo '{{"decision":"mutate","patch":{{"code":"8"}},"reason":"{REASON}"}}'"""},
}


def list_audit(place: Remote) -> list[Any]:
    if isinstance(place, Sync | Async):
        listed: Any = place.client.do("list_audit")
        return list(listed if isinstance(place, Sync) else place.finish(listed))
    return [json.loads(line) for line in ask(place.http, "GET", "/v1/audit/export", raw=True).splitlines()]


def test_the_reason_of_a_hooks_rewrite_is_in_its_outcome_in_the_audit(place: Surface, equipped: Gateway) -> None:
    if isinstance(place, Library):
        pytest.skip("the library has no hooks")
    assert isinstance(place, Remote)
    ask(place.http, "POST", "/v1/hooks", json=HOOK)
    try:
        box = place.open()
        assert box.run("7").result == 8
        audited = [one["data"] for one in list_audit(place) if one["kind"] == "hook"]
        (told,) = [data["outcome"] for data in audited if data["session"] == box.meta().id]
    finally:
        ask(place.http, "DELETE", "/v1/hooks/rewriter")
    assert (told["decision"], told["effect"], told["reason"]) == ("mutate", "rewrote", REASON), told
