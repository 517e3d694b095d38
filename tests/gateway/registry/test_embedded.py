"""Embedded workers: real sessions, whose turns, transcripts and events last."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from gateway.clock import now_ms
from gateway.errors import BadRequest, Forbidden
from gateway.events import Event
from gateway.records import Principal
from gateway.registry.embedded import EmbeddedRuntime
from gateway.registry.inputs import Turns
from gateway.registry.registry import Registry
from gateway.registry.wire import (
    InputRequest,
    RunAccepted,
    SocketReady,
    SpawnRequest,
    TicketIntent,
    WorkspaceCompanion,
)
from gateway.registry.worker_records import Bounds
from sandbox.guests.images import images
from sandbox.wire import Language
from tests.gateway.house import ANN, BOB, EVE, Functions, House, housed
from tests.gateway.till import RULES, TESTS, Till, decide, pending

pytestmark = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
SPAWN = SpawnRequest(
    intent=TicketIntent(ticket_id="t1", role="coder"),
    acceptance=RunAccepted(expected_segments=0),
    language=Language.JAVASCRIPT,
)


def runtime_in(house: House, **options: Any) -> EmbeddedRuntime:
    return EmbeddedRuntime(house.store, Turns(house.sessions, house.runs), now_ms, **options)


@contextlib.asynccontextmanager
async def running(
    rules: str = "", tests: str = "", functions: Functions | None = None, **options: Any
) -> AsyncIterator[tuple[House, EmbeddedRuntime]]:
    async with housed(rules, tests, functions=functions) as house:
        runtime = runtime_in(house, **options)
        try:
            async with asyncio.timeout(60):
                yield house, runtime
        finally:
            await runtime.close()


async def spawn(runtime: EmbeddedRuntime, request: SpawnRequest = SPAWN, who: Principal = ANN) -> str:
    made = await runtime.spawn(who, request)
    assert made.state == "accepted" and made.worker is not msgspec.UNSET, made
    return made.worker.worker_id


async def say(runtime: EmbeddedRuntime, worker_id: str, content: str, who: Principal = ANN) -> int:
    done = await runtime.send_input(who, worker_id, InputRequest(content=content))
    assert done.state == "accepted" and done.transcript_sequence is not msgspec.UNSET, done
    return done.transcript_sequence


async def until(runtime: EmbeddedRuntime, worker_id: str, kind: str, after: int = 0, who: Principal = ANN, **data: Any) -> Event:
    """The first such event."""
    events = await runtime.events(who, worker_id, after)
    async with contextlib.aclosing(events) as stream:  # type: ignore[type-var]
        async for event in stream:
            if event.kind == kind and all(event.data.get(name) == value for name, value in data.items()):
                return event
    raise AssertionError("the stream ended")


async def turn(runtime: EmbeddedRuntime, worker_id: str, content: str, who: Principal = ANN) -> tuple[str, str]:
    """Say it; the turn's status and what the worker answered."""
    sequence = await say(runtime, worker_id, content, who)
    ended = await until(runtime, worker_id, "turn", who=who, sequence=sequence)
    found = await runtime.transcript(who, worker_id, 0, 256)
    return ended.data["status"], next(one.content for one in found.items if one.event_id == ended.number - 1)


def test_input_runs_as_turns_of_one_session_and_the_transcript_tells_it() -> None:
    async def main() -> None:
        async with running() as (house, runtime):
            worker = await spawn(runtime)
            assert await turn(runtime, worker, "var x = 20; console.log('hi'); x * 2") == ("ok", "hi\n40")
            assert await turn(runtime, worker, "x + 1") == ("ok", "21")
            status, content = await turn(runtime, worker, "nowhere.at.all")
            assert status == "validation_error" or status == "runtime_error"
            assert "nowhere" in content
            found = await runtime.transcript(ANN, worker, 0, 2)
            assert [(one.sequence, one.role) for one in found.items] == [(1, "user"), (2, "worker")]
            assert (found.state, found.total_items, found.next_start) == ("accepted", 6, 2)
            runs = (await house.store.runs("acme")).items
            assert len(runs) == 3 and {one.user for one in runs} == {"ann"}

    asyncio.run(main())


def test_spawning_says_what_the_contract_says() -> None:
    async def main() -> None:
        async with running() as (_, runtime):
            made = await runtime.spawn(
                ANN, msgspec.structs.replace(SPAWN, requested_worker_name="bob", acceptance=RunAccepted(expected_segments=2))
            )
            assert [one.code for one in made.diagnostics] == ["embedded_worker_name_ignored", "embedded_runtime_tools_less"]
            assert [one.kind for one in made.acceptance_evidence] == [
                "embedded_runtime_worker_created", "embedded_runtime_backend_internal_projection",
            ]  # fmt: skip
            assert made.worker is not msgspec.UNSET
            shown = made.worker
            assert (shown.worker_id, shown.role, shown.profile, shown.state) == (
                "worker-00000001",
                "coder",
                "builtin:coder",
                "running",
            )
            assert (shown.workspace.visibility, shown.workspace.identity) == ("backend_internal", "runtime_registry_worker")
            assert [one.code for one in shown.diagnostics] == ["embedded_runtime_projection"]
            host = (await runtime.hosts(ANN, 1)).items[0]
            assert [one.code for one in host.diagnostics] == ["embedded_runtime_host_boundary"]
            refused = await runtime.spawn(ANN, msgspec.structs.replace(SPAWN, acceptance=SocketReady()))
            assert (refused.state, refused.diagnostics[0].code) == ("rejected", "embedded_runtime_no_socket")
            other = await runtime.spawn(ANN, msgspec.structs.replace(SPAWN, intent=WorkspaceCompanion()))
            assert other.worker is not msgspec.UNSET
            assert (other.worker.worker_id, other.worker.profile) == ("worker-00000002", "runtime_default")

    asyncio.run(main())


def test_one_fingerprint_makes_one_worker_also_when_asked_together() -> None:
    async def main() -> None:
        async with running() as (house, runtime):
            asked = msgspec.structs.replace(SPAWN, fingerprint="build-7")
            made = await asyncio.gather(*(runtime.spawn(ANN, asked) for _ in range(5)))
            assert {one.worker.worker_id for one in made if one.worker is not msgspec.UNSET} == {"worker-00000001"}
            assert len((await house.store.sessions("acme")).items) == 1
            other = await runtime.spawn(ANN, msgspec.structs.replace(asked, intent=WorkspaceCompanion()))
            assert (other.state, other.diagnostics[0].code) == ("rejected", "embedded_runtime_invalid_request")
            mine = await runtime.spawn(EVE, asked)
            assert mine.worker is not msgspec.UNSET and mine.worker.host_id != made[0].worker.host_id  # type: ignore[union-attr]
            await runtime.delete(ANN, "worker-00000001")
            assert await spawn(runtime, asked) == "worker-00000002"

    asyncio.run(main())


def test_a_tenant_sees_its_own_workers_only() -> None:
    async def main() -> None:
        async with running() as (_, runtime):
            mine = await spawn(runtime)
            assert await turn(runtime, mine, "1") == ("ok", "1")
            registry = Registry([runtime])
            assert (await registry.list_workers(EVE, 200)).items == []
            theirs = await spawn(runtime, who=EVE)
            assert mine == theirs  # the same id, and another worker
            assert (await runtime.transcript(EVE, theirs, 0, 10)).total_items == 0

    asyncio.run(main())


def test_the_policy_decides_about_workers_and_their_turns() -> None:
    rules = """
deny run when bytes > 1KiB
  because "short only"
deny session.create when language == shell
  because "no shells"
"""
    tests = "run { language python, bytes 2KiB } => deny\n  session.create { language shell } => deny"

    async def main() -> None:
        async with running(rules, tests) as (_, runtime):
            with pytest.raises(Forbidden):
                await runtime.spawn(ANN, msgspec.structs.replace(SPAWN, language=Language.SHELL))
            worker = await spawn(runtime)
            assert worker == "worker-00000001"
            status, content = await turn(runtime, worker, f"'{'long' * 300}'")
            assert (status, "short only" in content) == ("permission_denied", True)
            assert await turn(runtime, worker, "1 + 1") == ("ok", "2")

    asyncio.run(main())


def test_a_turn_that_waits_for_an_approval_goes_on_when_it_is_given_and_ends_when_cancelled() -> None:
    async def main() -> None:
        till = Till()
        async with running(RULES, TESTS, till.functions) as (house, runtime):
            worker = await spawn(runtime, msgspec.structs.replace(SPAWN, language=Language.PYTHON))
            first = await say(runtime, worker, "tools.refund(amount=50)")
            run_id = await waiting(house)
            await decide(house, "approve", BOB)
            await house.resumption.resume(ANN, run_id)
            assert (await until(runtime, worker, "turn", sequence=first)).data["status"] == "ok"
            assert till.paid == [50]
            second = await say(runtime, worker, "tools.refund(amount=60)")
            await waiting(house)
            await runtime.cancel(ANN, worker)
            assert (await until(runtime, worker, "turn", sequence=second)).data["status"] == "cancelled"
            assert till.paid == [50]

    asyncio.run(main())


async def waiting(house: House) -> str:
    """The run that waits for an approval, once one does."""
    while True:
        for one in await pending(house):
            found = await house.store.run("acme", one.run_id)
            if found is not None and found.state == "waiting":
                return found.id
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("content", ["", " \n", "x" * 300_000, "\ud800"])
def test_blank_and_oversized_input_is_rejected(content: str) -> None:
    async def main() -> None:
        async with running() as (_, runtime):
            worker = await spawn(runtime)
            done = await runtime.send_input(ANN, worker, InputRequest(content=content))
            assert (done.state, done.diagnostics[0].code) == ("rejected", "embedded_runtime_invalid_request")
            assert (await runtime.transcript(ANN, worker, 0, 1)).total_items == 0

    asyncio.run(main())


def test_a_transcript_is_bounded_in_items_and_bytes_and_keeps_its_numbers() -> None:
    async def main() -> None:
        bounds = Bounds(items_max=5, item_bytes=200, transcript_bytes=600, events_max=8)
        async with running(bounds=bounds) as (house, runtime):
            worker = await spawn(runtime)
            for n in range(6):
                await runtime.send_input(ANN, worker, InputRequest(kind="system", content=f"note {n}"))
            found = await runtime.transcript(ANN, worker, 0, 200)
            assert [one.sequence for one in found.items] == [2, 3, 4, 5, 6]
            await runtime.send_input(ANN, worker, InputRequest(kind="system", content="é" * 5000))
            await runtime.send_input(ANN, worker, InputRequest(kind="system", content="ö" * 5000))
            await runtime.send_input(ANN, worker, InputRequest(kind="system", content="ü" * 5000))
            found = await runtime.transcript(ANN, worker, 0, 200)
            sizes = [len(one.content.encode()) for one in found.items]
            assert max(sizes) <= 200 and sum(sizes) <= 600
            assert found.items[-1].content.endswith("bytes more") and found.items[-1].sequence == 9
            too_much = await runtime.transcript(ANN, worker, 0, 257)
            assert (too_much.state, too_much.diagnostics[0].code) == ("rejected", "embedded_runtime_limit_too_large")
            first = await until(runtime, worker, "gap")
            assert first.data["missed"] >= 1
            await runtime.delete(ANN, worker)
            for kind in ("registry.item", "registry.event", "registry.worker"):
                assert (await house.store.entries("acme", kind)).items == []

    asyncio.run(main())


def test_events_are_followed_live_and_resumed_from_a_cursor() -> None:
    async def main() -> None:
        async with running() as (_, runtime):
            worker = await spawn(runtime)
            seen: list[Event] = []

            async def watch() -> None:
                async for event in await runtime.events(ANN, worker, 0):
                    seen.append(event)
                    if event.kind == "turn":
                        return

            watching = asyncio.create_task(watch())
            await until(runtime, worker, "worker")
            await say(runtime, worker, "console.log('out'); 1")
            await watching
            numbered = [one for one in seen if one.number]
            assert [one.number for one in numbered] == [1, 2, 3, 4]
            assert [one.kind for one in numbered] == ["worker", "item", "item", "turn"]
            assert "".join(one.data["text"] for one in seen if one.kind == "output") == "out\n"
            assert seen.index(next(one for one in seen if one.kind == "output")) == 2  # after its input, before its result
            assert (await until(runtime, worker, "item", after=2)).number == 3
            for cursor in (5, 10**12, -1):
                with pytest.raises(BadRequest) as refused:
                    await runtime.events(ANN, worker, cursor)
                assert refused.value.code == "embedded_runtime_wrong_identity"

    asyncio.run(main())


def test_tm_reg_leak_nothing_inside_is_told_of_a_worker() -> None:
    async def main() -> None:
        async with running() as (house, runtime):
            worker = await spawn(runtime)
            assert (await turn(runtime, worker, "1 + 1"))[0] == "ok"
            session = (await house.store.sessions("acme")).items[0]
            await house.sessions.delete(ANN, session.id)
            assert (await runtime.send_input(ANN, worker, InputRequest(content="1 + 1"))).state == "rejected"
            registry = Registry([runtime])
            told = json.dumps(
                msgspec.to_builtins(
                    [
                        await registry.list_runtimes(ANN, 200),
                        await registry.list_hosts(ANN, 200),
                        await registry.list_workers(ANN, 200),
                        await registry.worker(ANN, runtime.runtime_id, worker),
                        await registry.transcript(ANN, runtime.runtime_id, worker, 0, 200),
                    ]
                )
            ).lower()
            for word in ("/workspace", "metadata.json", "session", "socket", "token", "credential", "provider", session.id):
                assert word not in told, word

    asyncio.run(main())
