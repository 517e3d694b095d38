"""Commands of runners under policy and hooks: decided, bounded, judged, redacted and written down like any run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gateway.egress import Egress
from gateway.errors import StoreFailed
from gateway.runners.provider_table import RunnerSettings
from gateway.runners.providers.unix_local import find_obstacle
from gateway.runners.stored_runners import open_runners
from gateway.stores.changes import AppendAudit
from sandbox.guests.images import images
from tests.gateway.http.asking import Reply
from tests.gateway.http.routes.test_runners import ONE, PLACES, House, live_in
from tests.gateway.web import answer, serve

POLICY = """
policy p v {version}
allow run when language in {{ shell, python }}
  {clause}
limit run {{ cpu 1s wall {wall} memory 64MiB output {output} calls 10 stack 100 }}
allow fs.read
allow fs.write
{more}

test "commands" {{
  as {{ tenant acme }}
  run {{ language shell, bytes 1KiB }} => allow
  run {{ language javascript, bytes 1KiB }} => deny
}}
"""


@pytest.fixture(autouse=True)
def _ready() -> None:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")


async def under(
    house: House, wall: str = "60s", output: str = "1MiB", clause: str = "", more: str = "", version: int = 1, **files: str
) -> None:
    """A policy in force."""
    sources = {"p.hatch": POLICY.format(version=version, wall=wall, output=output, clause=clause, more=more), **files}
    made = await house.ask("POST", "/v1/policies", {"sources": sources, "main": "p.hatch"}, role="operator")
    assert made.status == 201, made.body


async def hook(house: House, name: str, event: str, command: str, **more: Any) -> None:
    spec = {"id": name, "event": event, "executor": {"type": "shell", "command": command}, **more}
    assert (await house.ask("POST", "/v1/hooks", spec, role="operator")).status in (200, 201)


async def audited(house: House, kind: str) -> list[dict[str, Any]]:
    await house.service.audit.flush()
    return [{"actor": one.actor, "subject": one.subject, **one.data} for one in await _records(house) if one.kind == kind]


async def _records(house: House) -> Any:
    return await house.service.store.audit("acme", limit=1000)


async def exists(house: House, path: str) -> bool:
    return (await house.ask("GET", f"{ONE}/files?path={path}")).status == 200


@pytest.mark.parametrize("provider", PLACES)
def test_the_policys_wall_time_and_output_are_a_ceiling_whatever_the_command_asks_for(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await under(house, wall="1s", output="10KiB")
        done = await house.sh("while :; do :; done", timeout_ms=600_000)
        assert (done.status, done.json["status"]) == (200, "timeout")
        await under(house, version=2, output="10KiB")
        done = await house.sh("head -c 50000 /dev/zero | tr '\\0' x", "c2", max_output_bytes=1 << 20)
        assert (len(done.json["stdout"]), done.json["exit_code"]) == (10 << 10, 0)
        assert done.json["dropped_bytes"] == 50_000 - (10 << 10)
        assert len((await house.sh("echo 12345678", "c3", max_output_bytes=4)).json["stdout"]) == 4, "a lower cap is kept"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_the_policys_memory_and_cpu_bound_what_a_command_uses(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await under(house)
        asked = {"command_id": "m", "program": "python3", "args": ["-c", "x = bytearray(200 << 20); print(len(x))"]}
        hungry = await house.ask("POST", ONE + "/commands", asked)
        assert hungry.status == 200 and hungry.json["exit_code"] != 0 and not hungry.json["stdout"], hungry.body
        busy = await house.sh("while :; do :; done", "b", timeout_ms=25_000)
        assert busy.json["exit_code"] != 0 and busy.json["status"] in ("exited", "timeout"), busy.body

    live_in(tmp_path, test)


def test_a_command_the_policy_refuses_is_not_run_and_the_refusal_is_written_down(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await under(house)
        body = {"command_id": "n", "program": "node", "args": ["-e", "1"]}
        for accept in ({}, {"accept": "text/event-stream"}):
            said = await house.ask("POST", ONE + "/commands", body, **accept)
            assert b"PERMISSION_DENIED" in said.body
        refused = [one for one in await audited(house, "decision") if one["event"] == "run"]
        assert [(one["verdict"], one["subject"]) for one in refused] == [("deny", "t1")] * 2
        assert (await house.ask("GET", ONE)).json["status"] == "unprovisioned", "a place was made for nothing"

    live_in(tmp_path, test)


def test_the_policys_rates_count_commands_of_a_thread(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await under(house, clause="rate 2/h per session")
        said = [await house.sh("echo hi", f"c{number}") for number in range(3)]
        assert [one.status for one in said] == [200, 200, 429]

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_a_hook_before_a_run_blocks_a_command(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await hook(house, "lint", "before_run", "grep -q forbidden && { echo 'not that' >&2; exit 1; }; exit 0")
        said = await house.sh("echo forbidden > made")
        assert (said.status, said.code) == (403, "HOOK_BLOCKED") and b"not that" in said.body
        assert not await exists(house, "made")
        assert (await house.sh("echo fine", "c2")).json["stdout"] == "fine\n"
        assert {one["outcome"]["effect"] for one in await audited(house, "hook")} == {"blocked", "continued"}

    live_in(tmp_path, test)


def test_a_policys_own_hook_judges_commands_too_and_fails_closed(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        lint = 'hook lint on before run run shell "lint.sh" timeout 30s on_error block'
        await under(house, more=lint, **{"lint.sh": "grep -q good || { echo 'bad' >&2; exit 1; }"})
        assert (await house.sh("echo good", "c1")).json["stdout"] == "good\n"
        assert (await house.sh("echo evil", "c2")).code == "HOOK_BLOCKED"

        async def gone(tenant: str) -> Any:
            raise house.service.workers_lost

        house.service.workers_lost = _lost()
        house.service.workers.of = gone
        said = await house.sh("echo good", "c3")
        assert said.status == 503 and b"good\\n" not in said.body

    live_in(tmp_path, test)


def _lost() -> Exception:
    from sandbox.workers.interface import WorkerLost

    return WorkerLost("it is gone")


def test_tm_hook_007_a_rewritten_command_is_decided_again(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await under(house)
        fine = json.dumps({"decision": "mutate", "patch": {"code": "printf rewritten"}})
        node = json.dumps({"decision": "mutate", "patch": {"code": "node -e 1"}})
        more = json.dumps({"decision": "mutate", "patch": {"inputs": {"cwd": "/"}}})
        script = f"case $(cat) in *to-node*) echo '{node}';; *to-inputs*) echo '{more}';; *) echo '{fine}';; esac"
        await hook(house, "rewrite", "before_run", script)
        assert (await house.sh("echo asked")).json["stdout"] == "rewritten"
        said = await house.sh("echo to-node", "c2")
        assert said.status == 403 and b"refuses run" in said.body
        assert (await house.sh("echo to-inputs", "c3")).code == "HOOK_BLOCKED"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_tm_hook_stream_output_that_a_hook_redacts_is_shown_to_nobody_before(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        redact = json.dumps({"decision": "mutate", "patch": {"stdout": "card ****\n"}})
        await hook(house, "redact", "after_run", f"echo '{redact}'", on_error="block")
        shown = [
            await house.sh("echo card 4711", "c1"),
            await house.ask("GET", ONE + "/commands/c1"),
            await _streamed(house, "c2", "echo card 4711"),
            await house.ask("GET", ONE + "/commands/c2", accept="text/event-stream"),
        ]
        for one in shown:
            assert one.status == 200 and b"4711" not in one.body and b"****" in one.body, one.body

    live_in(tmp_path, test)


def test_a_redacting_hook_that_fails_withholds_the_result_for_good(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await hook(house, "redact", "after_run", "echo not json", on_error="block")
        said = [
            await house.sh("echo card 4711", "c1"),
            await house.ask("GET", ONE + "/commands/c1"),
            await _streamed(house, "c2", "echo card 4711"),
        ]
        assert [one.status for one in said] == [403, 403, 200]
        assert all(b"4711" not in one.body for one in said) and b"HOOK_BLOCKED" in said[2].body

    live_in(tmp_path, test)


async def _streamed(house: House, command_id: str, code: str) -> Reply:
    body = {"command_id": command_id, "program": "sh", "args": ["-c", code]}
    return await house.ask("POST", ONE + "/commands", body, accept="text/event-stream")


def test_tm_run_unseen_a_command_is_written_down_before_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("unix-local")
        await house.sh("exit 3")
        begun, ended = await audited(house, "command")
        assert (begun["status"], begun["subject"], begun["command"], begun["program"]) == ("begun", "t1", "c1", "sh")
        assert begun["actor"] and begun["decision"]["verdict"] == "allow" and len(begun["digest"]) == 64
        assert (ended["status"], ended["exit_code"]) == ("exited", 3)
        endless = asyncio.create_task(house.sh("while :; do :; done", "c2"))
        while "c2" not in (await house.ask("GET", ONE)).json["commands"]:
            await asyncio.sleep(0.01)
        endless.cancel()
        await asyncio.wait([endless])
        assert [one["status"] for one in await audited(house, "command")][2:] == ["begun", "cancelled"]

    live_in(tmp_path, test)


def test_tm_run_unseen_a_command_that_cannot_be_written_down_is_not_run(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await house.sh("echo before > before", "c1")
        write = house.service.store.write

        async def full(tenant: str, changes: Any) -> None:
            if any(isinstance(one, AppendAudit) and one.kind == "command" for one in changes):
                raise StoreFailed("STORE_FULL", "no space")
            await write(tenant, changes)

        house.service.store.write = full
        assert (await house.sh("echo after > after", "c2")).status == 507
        house.service.store.write = write
        assert await exists(house, "before") and not await exists(house, "after")

    live_in(tmp_path, test)


def test_tm_run_unseen_a_command_that_its_place_refuses_is_written_down_as_failed(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        assert (await house.sh("true", cwd="../..")).code == "PATH_OUTSIDE_WORKSPACE"
        begun, ended = await audited(house, "command")
        assert (begun["status"], ended["status"], ended["code"]) == ("begun", "failed", "PATH_OUTSIDE_WORKSPACE")
        with house.service.runners.claim_command(
            "acme", "t1", "c1"
        ):  # as while another's hooks are asked, or its session is made
            assert (await house.sh("true")).code == "RUNNER_BUSY"
        assert len(await audited(house, "command")) == 2, "nothing was begun"
        assert (await house.sh("true")).status == 200

    live_in(tmp_path, test)


def test_a_snapshot_needs_the_policys_word(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await house.sh("true")
        assert (await house.ask("POST", ONE + "/snapshot")).status == 200
        await under(house)
        assert (await house.ask("POST", ONE + "/snapshot")).code == "PERMISSION_DENIED"

    live_in(tmp_path, test)


def test_tm_net_proxy_a_command_reaches_what_its_policy_permits_and_the_audit_says_so(tmp_path: Path) -> None:
    code = """
import urllib.request, urllib.error
for host in ("web.example", "other.example"):
    try: print(urllib.request.urlopen(f"http://{host}:PORT/", timeout=20).read().decode())
    except urllib.error.HTTPError as error: print(error.code, error.read().decode().partition(":")[0])
"""

    async def test(house: House) -> None:
        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        async with serve(lambda request: answer(b"from outside")) as web:
            service = house.service
            egress = Egress(resolve=resolve, allow_private=["127.0.0.1/32"], ports=[web.port])
            settings = RunnerSettings(folder=house.local, domains=("*.example",))
            service.runners = open_runners(service.store, service.vault, egress, service.keys, service.clock.now_ms, settings)
            place = {"id": "box", "provider_id": "unix-local", "config": {"network": True}}
            assert (await house.ask("POST", "/v1/runners/destinations", place, role="operator")).status == 201
            assert (await house.ask("PUT", ONE, {"destination_id": "box"})).status == 200
            await under(house, more='allow net.connect when host == "web.example"')
            asked = {"command_id": "c", "program": "python3", "args": ["-c", code.replace("PORT", str(web.port))]}
            done = await house.ask("POST", ONE + "/commands", asked)
            assert done.json["stdout"] == "from outside\n403 the policy refuses net.connect\n", done.body
            told = [one for one in await audited(house, "decision") if one["event"] == "net.connect"]
            assert [(one["subject"], one["verdict"], one["host"]) for one in told] == [
                ("t1", "allow", "web.example"), ("t1", "deny", "other.example"),
            ]  # fmt: skip

    if obstacle := find_obstacle():
        pytest.skip(obstacle)
    live_in(tmp_path, test)
