"""One suite for every runtime: embedded, local, and remote against a real second gateway."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.clock import now_ms
from gateway.egress import Egress
from gateway.egress.peer_gateway import EgressClient
from gateway.registry.embedded import EmbeddedRuntime
from gateway.registry.errors import CapabilityUnsupported, InvalidIdentifier, UnknownRuntime, UnknownWorker
from gateway.registry.identifiers import check_id
from gateway.registry.inputs import Turns
from gateway.registry.local import LocalRuntime
from gateway.registry.registry import Registry
from gateway.registry.remote import RemoteRuntime
from gateway.registry.runtime import Runtime
from gateway.registry.wire import InputRequest, RunAccepted, SpawnRequest, StopRequest, WorkspaceCompanion
from sandbox.guests.images import images
from sandbox.wire import Language
from tests.gateway.house import ANN, housed
from tests.gateway.registry.gate import Gate, gate
from tests.gateway.registry.shelf import Shelf
from tests.gateway.registry.test_local import ROOT, pod

pytestmark = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
SPAWN = SpawnRequest(intent=WorkspaceCompanion(), acceptance=RunAccepted(expected_segments=0), language=Language.JAVASCRIPT)
KINDS = ("embedded", "local", "remote")


@dataclass
class Room:
    """A runtime with one worker. `forbidden` are words that nothing told of it may hold."""

    registry: Registry
    runtime: Runtime
    worker_id: str
    forbidden: tuple[str, ...]
    acts: bool
    """Whether its workers can be talked to."""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    with gate(tmp_path_factory.mktemp("other") / "b") as opened:
        yield opened


def remote_of(gateway: Gate, runtime_id: str = "other-gateway") -> RemoteRuntime:
    authority = gateway.url.removeprefix("http://")
    egress = Egress(ports=(int(authority.rsplit(":", 1)[1]),), allow_private=[authority])

    async def token() -> str:
        return gateway.token

    return RemoteRuntime(runtime_id, EgressClient(egress, gateway.url, token), now_ms)


@contextlib.asynccontextmanager
async def room(kind: str, folder: Path, other: Gate) -> AsyncIterator[Room]:
    async with contextlib.AsyncExitStack() as stack:
        runtime: Runtime
        if kind == "local":
            pod(folder, "coder")
            runtime, worker_id = LocalRuntime("acme", ROOT, folder, now_ms), "local-worker-coder-c84a9e3ad144b43d"
            forbidden: tuple[str, ...] = (str(folder), ROOT, "metadata.json")
        else:
            if kind == "embedded":
                house = await stack.enter_async_context(housed())
                runtime = EmbeddedRuntime(house.store, Turns(house.sessions, house.runs), now_ms)
                stack.push_async_callback(runtime.close)
                forbidden = ("/workspace", "metadata.json", "session", "socket", "token", "credential", "provider")
            else:
                runtime = remote_of(other)
                forbidden = (other.url, other.url.removeprefix("http://"), other.token, "session", "credential", str(other.data))
            made = await runtime.spawn(ANN, SPAWN)
            assert made.worker is not msgspec.UNSET, made
            worker_id = made.worker.worker_id
        yield Room(Registry([Shelf("before", "shared"), runtime]), runtime, worker_id, forbidden, kind != "local")


def check(kind: str, tmp_path: Path, other: Gate, test: Callable[[Room], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), room(kind, tmp_path, other) as opened:
            await test(opened)

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_its_host_and_its_workers_name_each_other(kind: str, tmp_path: Path, other: Gate) -> None:
    async def test(room: Room) -> None:
        runtimes = (await room.registry.list_runtimes(ANN, 200)).items
        assert [one.runtime_id for one in runtimes] == ["before", room.runtime.runtime_id]
        host = (await room.runtime.hosts(ANN, 200)).items[0]
        assert runtimes[1].host_ids == [host.host_id]
        worker = await room.registry.worker(ANN, room.runtime.runtime_id, room.worker_id)
        assert (worker.runtime_id, worker.host_id) == (room.runtime.runtime_id, host.host_id)
        assert host.status == "available" and host.runtime_id == room.runtime.runtime_id
        assert worker in [msgspec.structs.replace(one, last_seen_at=worker.last_seen_at) for one in await everything(room)]
        of_host = await room.registry.list_workers_for_host(ANN, host.host_id, 200)
        assert room.worker_id in [one.worker_id for one in of_host.items]
        for name in (worker.worker_id, worker.host_id, worker.runtime_id):
            check_id("name", name)

    check(kind, tmp_path, other, test)


async def everything(room: Room) -> list[Any]:
    found, after = [], None
    while True:
        page = await room.registry.runtime_workers(ANN, room.runtime.runtime_id, 200, after)
        found += page.items
        after = page.next
        if after is None:
            return found


@pytest.mark.parametrize("kind", KINDS)
def test_limits_are_kept_and_nothing_is_listed_for_zero(kind: str, tmp_path: Path, other: Gate) -> None:
    async def test(room: Room) -> None:
        assert (await room.runtime.workers(ANN, 0)).items == []
        assert (await room.runtime.hosts(ANN, 0)).items == []
        assert (await room.runtime.summary(ANN, 0)).host_ids == []
        assert len((await room.runtime.workers(ANN, 1)).items) == 1
        assert (await room.runtime.summary(ANN, 7)).capabilities.max_workers in (7, 10_000, 20_000), (
            "not the limit: what there may be"
        )

    check(kind, tmp_path, other, test)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", ["..", "../../etc/passwd", "a/b", "x" * 5000, "", "w\0"])
def test_what_is_no_id_is_refused_by_every_operation(kind: str, bad: str, tmp_path: Path, other: Gate) -> None:
    async def test(room: Room) -> None:
        for ask in operations(room.registry, room.runtime.runtime_id, bad):
            with pytest.raises(InvalidIdentifier):
                await ask()

    check(kind, tmp_path, other, test)


def operations(registry: Registry, runtime_id: str, worker_id: str) -> list[Callable[[], Awaitable[Any]]]:
    return [
        lambda: registry.worker(ANN, runtime_id, worker_id),
        lambda: registry.send_input(ANN, runtime_id, worker_id, InputRequest(content="1")),
        lambda: registry.transcript(ANN, runtime_id, worker_id, 0, 1),
        lambda: registry.stop(ANN, runtime_id, worker_id, StopRequest()),
        lambda: registry.cancel(ANN, runtime_id, worker_id),
        lambda: registry.restore(ANN, runtime_id, worker_id),
        lambda: registry.delete(ANN, runtime_id, worker_id),
        lambda: registry.events(ANN, runtime_id, worker_id, 0),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_of_another_runtime_is_unknown_here(kind: str, tmp_path: Path, other: Gate) -> None:
    async def test(room: Room) -> None:
        for foreign in ("shared", "worker-ffffffff", "local-worker-zeta-0000000000000000"):
            for ask in operations(room.registry, room.runtime.runtime_id, foreign):
                with pytest.raises(UnknownWorker):
                    await ask()
        for ask in operations(room.registry, "before", room.worker_id):
            with pytest.raises(UnknownWorker):
                await ask()
        with pytest.raises(UnknownRuntime):
            await room.registry.worker(ANN, "nowhere", room.worker_id)

    check(kind, tmp_path, other, test)


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_is_talked_to_stopped_restored_and_deleted_or_says_that_it_cannot_be(
    kind: str, tmp_path: Path, other: Gate
) -> None:
    async def test(room: Room) -> None:
        registry, runtime_id, worker_id = room.registry, room.runtime.runtime_id, room.worker_id
        if not room.acts:
            answers: list[Any] = [await room.runtime.spawn(ANN, SPAWN)]
            answers += [await ask() for ask in operations(registry, runtime_id, worker_id)[1:-1]]
            assert {one.state for one in answers} == {"unsupported"}
            with pytest.raises(CapabilityUnsupported):
                await registry.events(ANN, runtime_id, worker_id, 0)
            return
        done = await registry.send_input(ANN, runtime_id, worker_id, InputRequest(content="console.log('hi'); 6 * 7"))
        assert (done.state, done.transcript_sequence, done.event_id) == ("accepted", 1, 2)
        seen = []
        async with contextlib.aclosing(await registry.events(ANN, runtime_id, worker_id, 1)) as events:  # type: ignore[type-var]
            async for event in events:
                seen.append((event.number, event.kind))
                if event.kind == "turn":
                    break
        assert [one for one in seen if one[0]] == [(2, "item"), (3, "item"), (4, "turn")]
        found = await registry.transcript(ANN, runtime_id, worker_id, 0, 10)
        assert [(one.sequence, one.role, one.content) for one in found.items] == [
            (1, "user", "console.log('hi'); 6 * 7"), (2, "worker", "hi\n42"),
        ]  # fmt: skip
        assert (found.runtime_id, found.worker_id, found.total_items) == (runtime_id, worker_id, 2)
        for mode in ("graceful", "force"):
            stopped = await registry.stop(ANN, runtime_id, worker_id, StopRequest(mode=mode))  # type: ignore[arg-type]
            assert (stopped.state, stopped.event_id) == ("accepted", 5)
        assert (await registry.worker(ANN, runtime_id, worker_id)).state == "stopped"
        assert (await registry.send_input(ANN, runtime_id, worker_id, InputRequest(content="1"))).state == "rejected"
        assert (await registry.restore(ANN, runtime_id, worker_id)).state == "accepted"
        assert (await registry.cancel(ANN, runtime_id, worker_id)).state == "accepted"
        assert (await registry.worker(ANN, runtime_id, worker_id)).state == "cancelled"
        assert (await registry.delete(ANN, runtime_id, worker_id)).state == "accepted"
        with pytest.raises(UnknownWorker):
            await registry.worker(ANN, runtime_id, worker_id)

    check(kind, tmp_path, other, test)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_told_leaks(kind: str, tmp_path: Path, other: Gate) -> None:
    async def test(room: Room) -> None:
        if room.acts:
            await room.registry.send_input(ANN, room.runtime.runtime_id, room.worker_id, InputRequest(content="1"))
        told = [
            await room.runtime.summary(ANN, 200),
            await room.runtime.hosts(ANN, 200),
            await room.runtime.workers(ANN, 200),
            await room.runtime.worker(ANN, room.worker_id),
            await room.runtime.transcript(ANN, room.worker_id, 0, 200),
        ]
        text = json.dumps(msgspec.to_builtins(told))
        for word in room.forbidden:
            assert word.lower() not in text.lower(), word

    check(kind, tmp_path, other, test)
