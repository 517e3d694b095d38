"""The registry: whose worker is meant, how budgets are shared, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.errors import BadRequest
from gateway.records import Principal
from gateway.registry.errors import InvalidIdentifier, OperationFailed, RuntimeTaken, UnknownHost, UnknownRuntime, UnknownWorker
from gateway.registry.registry import Registry
from gateway.registry.remote import Heartbeat
from gateway.registry.wire import InputRequest, RunAccepted, SpawnRequest, StopRequest, WorkspaceCompanion, diagnostic
from tests.gateway.registry.shelf import Shelf

ANN = Principal(tenant="acme", role="member", user="ann")


def ids(found: Any) -> list[str]:
    return [one.worker_id for one in found.items]


def test_a_worker_is_looked_up_in_the_runtime_that_is_named() -> None:
    async def main() -> None:
        registry = Registry([Shelf("a", "shared", "only-a"), Shelf("b", "shared")])
        assert (await registry.worker(ANN, "b", "shared")).label == "shared of b"
        assert (await registry.worker(ANN, "a", "shared")).label == "shared of a"
        with pytest.raises(UnknownWorker) as unknown:
            await registry.worker(ANN, "b", "only-a")
        assert (unknown.value.runtime_id, unknown.value.worker_id) == ("b", "only-a")
        with pytest.raises(UnknownRuntime):
            await registry.worker(ANN, "c", "shared")

    asyncio.run(main())


@pytest.mark.parametrize("bad", ["", "../etc", "a/b", "x" * 121])
def test_ids_are_checked_before_anything_is_looked_up(bad: str) -> None:
    async def main() -> None:
        registry = Registry([Shelf("a", "w")])
        for runtime_id, worker_id in ((bad, "w"), ("a", bad)):
            with pytest.raises(InvalidIdentifier):
                await registry.worker(ANN, runtime_id, worker_id)
            with pytest.raises(InvalidIdentifier):
                await registry.send_input(ANN, runtime_id, worker_id, InputRequest(content="1"))
        with pytest.raises(InvalidIdentifier):
            await registry.list_workers_for_host(ANN, bad, 1)

    asyncio.run(main())


def test_a_second_runtime_with_an_id_is_refused() -> None:
    registry = Registry([Shelf("a")])
    with pytest.raises(RuntimeTaken):
        registry.register(Shelf("a"))
    with pytest.raises(InvalidIdentifier):
        registry.register(Shelf("../a"))


def test_the_limit_is_a_budget_that_runtimes_share_in_order() -> None:
    async def main() -> None:
        registry = Registry([Shelf("a", "a1", "a2"), Shelf("b", "b1", "b2"), Shelf("c", "c1")])
        assert ids(await registry.list_workers(ANN, 3)) == ["a1", "a2", "b1"]
        assert [one.host_id for one in (await registry.list_hosts(ANN, 2)).items] == ["host-of-a", "host-of-b"]
        assert [one.runtime_id for one in (await registry.list_runtimes(ANN, 2)).items] == ["a", "b"]
        for ask in (registry.list_workers, registry.list_hosts, registry.list_runtimes):
            found: Any = await ask(ANN, 0)
            assert (found.items, found.next) == ([], None)

    asyncio.run(main())


def test_at_most_sixteen_diagnostics_are_told() -> None:
    async def main() -> None:
        registry = Registry([Shelf("a", "w", said=10), Shelf("b", said=10)])
        for ask in (registry.list_workers, registry.list_hosts, registry.list_runtimes):
            found: Any = await ask(ANN, 9)
            assert len(found.diagnostics) == 16

    asyncio.run(main())


def test_workers_of_a_host_are_chosen_after_the_limit_as_in_the_original() -> None:
    async def main() -> None:
        registry = Registry([Shelf("a", "a1", "a2", host_id="h"), Shelf("b", "b1", host_id="h"), Shelf("c", "c1")])
        assert ids(await registry.list_workers_for_host(ANN, "h", 10)) == ["a1", "a2", "b1"]
        assert ids(await registry.list_workers_for_host(ANN, "h", 1)) == ["a1"]
        with pytest.raises(UnknownHost):
            await registry.list_workers_for_host(ANN, "elsewhere", 10)

    asyncio.run(main())


def test_pages_go_through_all_runtimes_once() -> None:
    async def main() -> None:
        registry = Registry([Shelf("a", "a1", "a2", "a3"), Shelf("b"), Shelf("c", "c1", "c2")])
        seen: list[str] = []
        after = None
        while True:
            page = await registry.page_workers(ANN, 2, after)
            assert len(page.items) <= 2
            seen += ids(page)
            after = page.next
            if after is None:
                break
        assert seen == ["a1", "a2", "a3", "c1", "c2"]
        with pytest.raises(BadRequest):
            await registry.page_workers(ANN, 2, "gone/1")

    asyncio.run(main())


def test_what_a_runtime_does_not_do_has_the_contracts_codes() -> None:
    async def main() -> None:
        registry = Registry([Shelf("a", "w")])
        asked = SpawnRequest(intent=WorkspaceCompanion(), acceptance=RunAccepted(expected_segments=0))
        answers: list[Any] = [
            await registry.spawn(ANN, "a", asked),
            await registry.stop(ANN, "a", "w", StopRequest()),
            await registry.send_input(ANN, "a", "w", InputRequest(content="1")),
            await registry.transcript(ANN, "a", "w", 0, 1),
        ]
        assert {one.state for one in answers} == {"unsupported"}
        assert [one.diagnostics[0].code for one in answers] == [
            "worker_spawn_resolver_pending", "worker_stop_pending", "worker_input_pending", "worker_transcript_pending",
        ]  # fmt: skip

    asyncio.run(main())


def test_a_runtimes_own_trouble_is_not_called_an_unknown_worker() -> None:
    async def main() -> None:
        broken = Shelf("a")
        broken.said = [diagnostic("note", "info", ""), diagnostic("remote_runtime_timeout", "error", "no answer")]
        with pytest.raises(OperationFailed) as failed:
            await Registry([broken]).worker(ANN, "a", "w")
        assert (failed.value.code, failed.value.status) == ("remote_runtime_timeout", 504)

    asyncio.run(main())


def test_heartbeats_go_from_available_to_degraded_to_unavailable_and_back() -> None:
    now = [0]
    heart = Heartbeat(lambda: now[0], degraded_ms=10, unavailable_ms=50)
    assert heart.health == "available"
    now[0] = 10
    assert heart.health == "degraded"
    heart.beat()
    assert (heart.health, heart.last_seen_ms) == ("available", 10)
    heart.miss()
    assert heart.health == "degraded"
    heart.miss()
    heart.miss()
    assert heart.health == "unavailable"
    heart.beat()
    assert heart.health == "available"
    now[0] = 60
    assert heart.health == "unavailable"
