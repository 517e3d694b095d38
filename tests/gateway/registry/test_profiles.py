"""Role profiles: what workers run, where, within which limits; chosen when they are spawned, and true over restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.configuration import ConfigurationError
from gateway.policies.facts import facts_of
from gateway.records import Session, Tenant
from gateway.registry.profiles import Profiles, load
from gateway.registry.wire import RunAccepted, SpawnRequest, TicketIntent, WorkspaceCompanion
from sandbox.guests.images import images
from sandbox.wire import Language
from tests.gateway.http.routes.test_runners import PLACES, House, live_in
from tests.gateway.runners.places import until

WORKERS = "/v1/registry/runtimes/embedded-worker-runtime/workers"
ACCEPTED = {"kind": "run_accepted", "expected_segments": 0}


@pytest.fixture(autouse=True)
def _ready() -> None:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")


async def spawn(house: House, role: str = "coder", **fields: Any) -> str:
    intent = {"kind": "ticket_role", "ticket_id": "t", "role": role}
    made = await house.ask("POST", WORKERS, {"intent": intent, "acceptance": ACCEPTED, **fields})
    assert made.status == 200 and made.json["state"] == "accepted", made.body
    return str(made.json["worker"]["worker_id"])


async def said(house: House, worker_id: str, content: str) -> str:
    """What a worker answers to an input."""
    given = await house.ask("POST", f"{WORKERS}/{worker_id}/input", {"content": content})
    assert given.json["state"] == "accepted", given.body
    sequence = given.json["transcript_sequence"]
    answers: list[str] = []

    async def has_answered() -> bool:
        items = (await house.ask("GET", f"{WORKERS}/{worker_id}/transcript")).json["items"]
        answers.extend(str(one["content"]) for one in items if one["sequence"] > sequence and one["role"] == "worker")
        return bool(answers)

    await until(has_answered)
    return answers[0]


async def state(house: House, worker_id: str) -> str:
    return str((await house.ask("GET", f"{WORKERS}/{worker_id}")).json["state"])


def test_the_shipped_roles_do_what_their_names_say(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        coder = await spawn(house)
        assert await said(house, coder, "echo 'print(6 * 7)' > a.py; wc -l < a.py") == "1"
        session = next(one for one in (await house.service.store.sessions("acme")).items if one.title == coder)
        assert (session.limits.wall_ms, session.limits.memory_mb, session.durable) == (600_000, 512, True)
        intake = await spawn(house, "intake")
        assert await said(house, intake, "the door's broken; $(reboot)") == "/workspace/inbox/0001.md"
        assert await said(house, intake, "again") == "/workspace/inbox/0002.md"
        planner = await spawn(house, "orchestrator")
        await said(house, planner, "one")
        assert await said(house, planner, "two") == "- [ ] one\n- [ ] two"
        reviewer = await spawn(house, "reviewer")
        assert await said(house, reviewer, "TODO") == "nothing matches"

    live_in(tmp_path, test)


def test_a_spawn_request_chooses_entry_limits_labels_and_language(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        limits = {
            "memory_mb": 32,
            "cpu_ms": 1000,
            "wall_ms": 1000,
            "max_stdout_bytes": 100,
            "max_external_calls": 1,
            "max_stack_depth": 50,
        }
        worker = await spawn(house, entry='cat; echo " $message"', limits=limits, labels={"team": "web"})
        assert await said(house, worker, "hello") == "hello hello"
        shown = (await house.ask("GET", f"{WORKERS}/{worker}")).json
        assert (shown["labels"], shown["profile"], shown["role"]) == ({"team": "web"}, "builtin:coder", "coder")
        endless = await spawn(house, limits=limits)
        assert "TIMEOUT_WALL" in await said(house, endless, "while :; do :; done")
        for wrong in ({"profile": "boss"}, {"destination_id": "nowhere"}, {"destination_id": "wasm", "language": "python"}):
            body = {"intent": {"kind": "workspace_companion"}, "acceptance": ACCEPTED, **wrong}
            refused = (await house.ask("POST", WORKERS, body)).json
            assert (refused["state"], refused["diagnostics"][0]["code"]) == ("rejected", "embedded_runtime_invalid_request")
        assert len((await house.ask("GET", WORKERS)).json["items"]) == 2

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_a_worker_at_a_runner_works_there_over_two_restarts_and_takes_its_thread_along(provider: str, tmp_path: Path) -> None:
    kept: dict[str, Any] = {}

    async def first(house: House) -> None:
        await house.bind(provider)
        kept["one"], kept["two"] = [await spawn(house, destination_id="box") for _ in range(2)]
        for name in ("one", "two"):
            assert await said(house, kept[name], f"echo {name} >> log; pwd") == "/workspace"

    async def again(house: House) -> None:
        for name in ("one", "two"):
            told = await said(house, kept[name], "cat log; echo more >> log")
            assert told.splitlines()[0] == name and told.count(name) == 1
            items = (await house.ask("GET", f"{WORKERS}/{kept[name]}/transcript")).json["items"]
            assert [one["sequence"] for one in items] == list(range(1, len(items) + 1))

    async def last(house: House) -> None:
        threads = (await house.ask("GET", "/v1/runners/threads?label=worker")).json
        assert sorted(one["options"]["labels"]["worker"] for one in threads) == sorted(kept.values())
        await house.ask("POST", f"{WORKERS}/{kept['one']}/stop", {"mode": "force"})
        assert (await house.ask("DELETE", f"{WORKERS}/{kept['one']}")).json["state"] == "accepted"
        threads = (await house.ask("GET", "/v1/runners/threads?label=worker")).json
        assert [one["options"]["labels"]["worker"] for one in threads] == [kept["two"]]

    for scene in (first, again, again, last):
        live_in(tmp_path, scene)


def test_a_worker_whose_session_is_gone_is_stopped_and_is_not_restored(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        worker = await spawn(house)
        session = next(one for one in (await house.service.store.sessions("acme")).items if one.title == worker)
        assert (await house.ask("DELETE", f"/v1/sessions/{session.id}")).status == 204
        assert await state(house, worker) == "stopped"
        assert [one["state"] for one in (await house.ask("GET", WORKERS)).json["items"]] == ["stopped"]
        refused = (await house.ask("POST", f"{WORKERS}/{worker}/input", {"content": "1"})).json
        assert (refused["state"], "stopped" in refused["diagnostics"][0]["message"]) == ("rejected", True)
        restored = (await house.ask("POST", f"{WORKERS}/{worker}/restore")).json
        assert (restored["state"], "is gone" in restored["diagnostics"][0]["message"]) == ("rejected", True)
        assert (await house.ask("DELETE", f"{WORKERS}/{worker}")).json["state"] == "accepted"

    live_in(tmp_path, test)


def test_launch_options_name_what_can_be_chosen_and_a_remote_is_tested_by_asking_it(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/runners/destinations", {"id": "box", "provider_id": "wasm"}, role="operator")
        told = (await house.ask("GET", "/v1/registry/launch-options")).json
        assert told["runtime_ids"] == ["embedded-worker-runtime"] and told["destination_ids"] == ["box", "wasm"]
        takes = {one["name"]: one["takes"] for one in told["profiles"]}
        assert takes["builtin:coder"] == "program" and takes["builtin:intake"] == "message"
        await house.service.vault.set("acme", "b-token", "hw_x")
        spec = {"runtime_id": "b", "url": "https://127.0.0.1:1", "token": {"id": "b-token"}}
        assert (await house.ask("POST", "/v1/registry/runtimes", spec, role="operator")).status == 201
        tested = await house.ask("POST", "/v1/registry/remotes/b/test", role="operator")
        assert (tested.status, tested.json["ok"]) == (200, False)
        assert tested.json["diagnostics"][0]["code"].startswith("remote_runtime_")
        assert (await house.ask("POST", "/v1/registry/remotes/b/test")).status == 403, "the operator's to ask"
        own = await house.ask("POST", "/v1/registry/remotes/embedded-worker-runtime/test", role="operator")
        assert own.status == 400

    live_in(tmp_path, test)


def test_flags_tell_the_truth(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        runtimes = {
            one["runtime_id"]: one["capabilities"] for one in (await house.ask("GET", "/v1/registry/runtimes")).json["items"]
        }
        able = runtimes["embedded-worker-runtime"]
        assert (able["has_shell"], able["has_workspace_fs"], able["can_accept_input"], able["max_workers"]) == (
            True,
            True,
            True,
            10_000,
        )
        blind = runtimes["local-worker-runtime"]
        assert (blind["has_shell"], blind["has_workspace_fs"], blind["can_accept_input"]) == (False, False, False)

    live_in(tmp_path, test)


def test_an_operators_profiles_come_over_the_shipped_ones_and_a_wrong_one_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text(
        '["builtin:coder"]\nabout = "ours"\nlanguage = "python"\nentry = "message.upper()"\nlimits = { wall_ms = 9000 }\n'
    )
    profiles = Profiles(load(path))
    asked = SpawnRequest(intent=TicketIntent(ticket_id="t", role="coder"), acceptance=RunAccepted(expected_segments=0))
    chosen = profiles.choose(asked)
    assert (chosen.language, chosen.entry, chosen.limits.wall_ms) == (Language.PYTHON, "message.upper()", 9000)
    other = SpawnRequest(intent=asked.intent, acceptance=asked.acceptance, language=Language.SHELL)
    assert profiles.choose(other).entry == "", "an entry is of its own language"
    companion = SpawnRequest(intent=WorkspaceCompanion(), acceptance=asked.acceptance)
    assert profiles.choose(companion).name == "runtime_default"
    for text in (
        "[a]\n",
        '[a]\nabout = "x"\nlimits = { wall_ms = -1 }\n',
        '["/etc"]\nabout = "x"\n',
        "a = [",
        '[a]\nabout="x"\nroot=1\n',
    ):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match=str(path)):
            load(path)


def test_policies_know_a_workers_profile_and_role_where_their_catalog_declares_them() -> None:
    tenant = Tenant(id="acme", created_at=0, updated_at=0)
    about = {"worker": "builtin:reviewer", "worker_role": "reviewer"}
    session = Session(id="s", tenant="acme", facts=about, created_at=0, updated_at=0, last_used_at=0)
    assert facts_of(tenant, session) == {"tenant": "acme", "plan": "team"}, "others would be refused for what they do not know"
    known = facts_of(tenant, session, known={"session.worker_role", "session.worker"})
    assert (known["session.worker"], known["session.worker_role"]) == ("builtin:reviewer", "reviewer")
