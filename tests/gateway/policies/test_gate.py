"""What the audit says of decisions: who asked, for what, and how it was decided."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.errors import Forbidden
from gateway.records import AuditRecord
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from tests.gateway.house import ANN, BOB, House, housed

RULES = """
allow fs.read when path under "/workspace"
allow fs.write when path under "/workspace"
allow look
"""
TESTS = 'fs.read { path "/workspace/a" } => allow fs.write { path "/workspace/a", bytes 1B } => allow look {} => allow'


async def decisions(house: House, event: str) -> list[AuditRecord]:
    await house.audit.flush()
    found = await house.store.audit("acme", limit=200)
    return [one for one in found if one.kind == "decision" and one.data["event"] == event]


async def nothing(**given: Any) -> None:
    return None


def test_the_audit_names_whoever_asked_and_the_path_and_what_was_done() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions={"look": ({}, nothing)}) as house:
            session = await house.sessions.create(ANN, CreateSession())
            gate = (await house.sessions.find_gate(await house.sessions.find(ANN, session.id), ANN)).change_actor(BOB.name)
            gate.require("fs.write", {"path": "/workspace/payroll.csv", "bytes": 7}, "delete")
            (found,) = await decisions(house, "fs.write")
            assert (found.actor, found.subject) == ("bob", session.id)
            told = {name: found.data[name] for name in ("path", "bytes", "operation", "verdict")}
            assert told == {"path": "/workspace/payroll.csv", "bytes": 7, "operation": "delete", "verdict": "allow"}

    asyncio.run(main())


def test_a_long_path_is_cut_in_the_audit_as_in_the_log_of_decisions() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions={"look": ({}, nothing)}) as house:
            session = await house.sessions.create(ANN, CreateSession())
            gate = await house.sessions.find_gate(await house.sessions.find(ANN, session.id), ANN)
            gate.require("fs.read", {"path": "/workspace/" + "x" * 3000})
            (found,) = await decisions(house, "fs.read")
            (logged, *_) = await house.policies.recent("acme")
            assert found.data["path"] == logged.attributes["path"] and found.data["path"].endswith("…")

    asyncio.run(main())


def test_what_a_run_uses_and_saves_is_asked_for_by_whoever_runs_it() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions={"look": ({}, nothing)}) as house:
            session = await house.sessions.create(ANN, CreateSession())
            await house.runs.run(BOB, session.id, RunBody(code="1", return_snapshot=True))
            await house.snapshots.take(BOB, session.id)
            await house.snapshots.fork(BOB, session.id)
            assert [one.actor for one in await decisions(house, "snapshot.take")] == ["bob", "bob"]
            assert [one.actor for one in await decisions(house, "session.fork")] == ["bob"]
            assert [one.actor for one in await decisions(house, "session.create")] == ["ann"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("event", "arguments", "rule"),
    [
        ("fs.read", {"path": "/workspace/caf\u00e9/x"}, "deny:fs.read#1"),
        ("fs.read", {"path": "/workspace/cafe\u0301/x"}, "deny:fs.read#1"),
        ("fs.read", {"path": "/workspace/other/e\u0301"}, "allow:fs.read#1"),
        ("fs.read", {"path": "/workspace/other/../cafe\u0301"}, "invalid"),
        ("net.connect", {"host": "API.Acme.Example.", "port": 443}, "deny:net.connect#1"),
        ("net.connect", {"host": "WWW.acme.example", "port": 443}, "allow:net.connect#1"),
        ("net.connect", {"host": "www.acme.example..", "port": 443}, "invalid"),
        ("secret.use", {"name": "cle\u0301", "caller": "run"}, "deny:secret.use#1"),
    ],
)
def test_tm_pol_010_what_the_service_asks_about_is_judged_under_its_one_spelling(
    event: str, arguments: dict[str, Any], rule: str
) -> None:
    rules = """allow fs.read
deny fs.read when path under "/workspace/caf\u00e9"
allow net.connect when port == 443
deny net.connect when host == "api.acme.example"
allow secret.use
deny secret.use when name == "cl\u00e9"
"""

    async def main() -> None:
        async with housed(rules) as house:
            session = await house.sessions.create(ANN, CreateSession())
            gate = await house.policies.gate(await house.sessions.tenant("acme"), session)
            assert gate.decide(event, arguments).rule == rule
            assert gate.permits(event, arguments) == rule.startswith("allow")
            newest = (await house.policies.recent("acme", 1))[0]
            assert house.policies.default.decide(event, newest.attributes).rule == rule, "what is logged is what was judged"

    asyncio.run(main())


def test_tm_pol_010_a_file_with_a_decomposed_name_is_judged_as_the_composed_one() -> None:
    async def main() -> None:
        rules = 'allow fs.read\nallow fs.write\ndeny fs.read when path under "/workspace/caf\u00e9"\n'
        async with housed(rules) as house:
            session = await house.sessions.create(ANN, CreateSession())
            files = house.service.workspace
            for folder in ("cafe\u0301", "tre\u0301s"):
                await files.write(ANN, session.id, f"/workspace/{folder}/x", b"data")
            assert (await files.read_bytes(ANN, session.id, "/workspace/tre\u0301s/x"))[1] == b"data"
            with pytest.raises(Forbidden, match=r"refuses fs\.read"):
                await files.read(ANN, session.id, "/workspace/cafe\u0301/x")

    asyncio.run(main())
