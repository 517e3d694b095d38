"""More sessions than there is room for: who stays in memory, who is put away, and what nobody loses by it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.errors import Conflict, StoreFailed, TooMany
from gateway.records import Quotas
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutSession, PutTenant
from sandbox.wire import DEFAULT_LIMITS, Language, RunRequest
from sandbox.workers.interface import Opening
from sandbox.workers.jail.jail import DATA_BYTES_MAX
from sandbox.workers.process_pool import PoolOptions, ProcessWorkers
from tests.gateway.house import ANN, EVE, housed, new, run, value


def test_a_full_house_evicts_the_session_that_was_not_used_for_longest() -> None:
    async def main() -> None:
        async with housed() as house:
            house.sessions.lives.live_max = 2
            sessions = [await new(house) for _ in range(4)]
            for number, session in enumerate(sessions):
                await run(house, session, f"x = {number}")
                assert house.sessions.eviction.count <= 2
            assert [await value(house, session, "x") for session in sessions] == [0, 1, 2, 3]

    asyncio.run(main())


def test_a_tenant_over_its_memory_has_its_resting_sessions_put_into_the_store() -> None:
    async def main() -> None:
        async with housed() as house:
            sessions = [await new(house) for _ in range(3)]
            for session in sessions:
                await run(house, session, "x = bytearray(8 << 20)")
            tenant = await house.sessions.tenant("acme")
            assert await house.sessions.eviction.relieve(tenant) == 0
            small = msgspec.structs.replace(tenant, quotas=msgspec.structs.replace(tenant.quotas, memory_mb=20))
            assert await house.sessions.eviction.relieve(small) == 1
            assert house.sessions.eviction.count == 2
            assert [await value(house, session, "len(x)") for session in sessions] == [8 << 20] * 3

    asyncio.run(main())


def test_tm_lim_files_tenant_over_its_memory_by_files_has_its_resting_sessions_put_into_the_store() -> None:
    write = "f = open('/workspace/large', 'wb')\nfor _ in range(128): f.write(bytes(1 << 16))\nf.close()"

    async def main() -> None:
        async with housed() as house:
            sessions = [await new(house) for _ in range(3)]
            for session in sessions:
                await run(house, session, write)
            tenant = await house.sessions.tenant("acme")
            assert await house.sessions.eviction.relieve(tenant) == 0
            small = msgspec.structs.replace(tenant, quotas=msgspec.structs.replace(tenant.quotas, memory_mb=20))
            assert await house.sessions.eviction.relieve(small) >= 1
            for session in sessions:
                assert await value(house, session, "import os; os.path.getsize('/workspace/large')") == 8 << 20

    asyncio.run(main())


def test_a_tenant_over_its_quota_does_not_keep_others_out_of_memory() -> None:
    async def main() -> None:
        async with housed() as house:
            house.sessions.lives.live_max = 1
            session = await new(house)
            await run(house, session, "x = 1")
            acme = await house.sessions.tenant("acme")
            poor = msgspec.structs.replace(acme, quotas=msgspec.structs.replace(acme.quotas, storage_bytes=1))
            await house.store.write("acme", [PutTenant(tenant=poor)])
            other = await house.sessions.create(EVE, CreateSession())
            done = await house.runs.run(EVE, other.id, RunBody(code="2"))
            assert done.result is not None and done.result.result == 2
            await house.store.write("acme", [PutTenant(tenant=acme)])
            again = await run(house, session, "1")
            assert again.result is not None and "SESSION_RESTARTED" in [one.code for one in again.result.diagnostics]

    asyncio.run(main())


def test_one_session_that_cannot_be_put_away_keeps_no_other_in_memory() -> None:
    async def main() -> None:
        async with housed() as house:
            stuck, other = await new(house), await new(house)
            for session in (stuck, other):
                await run(house, session, "x = 7")
            honest = house.store.write

            async def failing(tenant: str, changes: Any) -> None:
                if any(isinstance(one, PutSession) and one.session.id == stuck for one in changes):
                    raise StoreFailed("STORE_FULL", "no space left")
                await honest(tenant, changes)

            house.store.write = failing  # type: ignore[method-assign]
            assert await house.sessions.eviction.evict_all() == 1
            house.store.write = honest  # type: ignore[method-assign]
            assert [await value(house, session, "x") for session in (stuck, other)] == [7, 7]

    asyncio.run(main())


def test_more_sessions_than_there_is_room_for_run_at_once_and_keep_their_variables() -> None:
    async def main() -> None:
        async with housed() as house:
            house.sessions.lives.live_max = 2
            sessions = [await new(house) for _ in range(5)]
            for number, session in enumerate(sessions):
                await run(house, session, f"x = {number}")
            for _ in range(4):
                values = await asyncio.gather(*(value(house, session, "x") for session in sessions), return_exceptions=True)
                assert all(found == number or isinstance(found, TooMany) for number, found in enumerate(values))
                assert not all(isinstance(found, TooMany) for found in values)
            worker = await house.sessions._workers.of("acme")
            open_there = [name for name in sessions if await worker.is_open(name)]
            assert len(open_there) == house.sessions.eviction.count

    asyncio.run(main())


def test_forks_are_made_all_or_none_and_do_not_crowd_the_memory() -> None:
    async def main() -> None:
        async with housed() as house:
            house.sessions.lives.live_max = 3
            session = await new(house)
            await run(house, session, "x = 5")
            await new(house, id="taken")
            with pytest.raises(Conflict):
                await house.snapshots.fork(ANN, session, ["a", "b", "taken"])
            assert await house.store.session("acme", "a") is None and await house.store.session("acme", "b") is None
            forks = await house.snapshots.fork(ANN, session, count=6)
            assert house.sessions.eviction.count <= 3
            assert [await value(house, fork.id, "x") for fork in forks] == [5] * 6

    asyncio.run(main())


def test_only_so_many_resting_sessions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        monkeypatch.setattr("gateway.sessions.live.KNOWN_MAX", 10)
        async with housed() as house:
            house.sessions.lives.live_max = 2
            names = [await new(house) for _ in range(40)]
            for name in names:
                assert (await house.sessions.get(ANN, name)).id == name
            assert len(house.sessions.lives) <= 12

    asyncio.run(main())


def test_a_worker_can_map_as_many_sessions_as_a_tenant_may_have_in_memory() -> None:
    async def main() -> None:
        workers = ProcessWorkers(PoolOptions(jail="best_effort", spares=0))
        await workers.start()
        try:
            worker = await workers.of("acme")
            pid, mapped = workers.pid_of("acme"), []
            for number in range(3):
                name = f"s{number}"
                await worker.open(Opening(session_id=name, language=Language.PYTHON, limits=DEFAULT_LIMITS))
                await worker.run(
                    RunRequest(
                        session_id=name,
                        language=Language.PYTHON,
                        code="1",
                        inputs={},
                        return_snapshot=False,
                        validate_only=False,
                    )
                )
                lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
                mapped.append(next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData")))
        finally:
            await workers.aclose()
        assert (mapped[2] - mapped[1]) * Quotas().live_sessions_max * 2 < DATA_BYTES_MAX

    asyncio.run(main())
