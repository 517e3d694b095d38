"""A fleet: what an owner and a fence cost, beside one gateway that has PostgreSQL for itself.

Three gateways on one PostgreSQL server (fsync=on): one alone on a database, two that share another as a fleet. The same run is
asked of the one alone, of its tenant's owner, and of the gateway that passes it on to the owner over mutual TLS. A fenced write
is the same write of a 4 KB file, through a store that locks the owner's row under its epoch instead of an advisory lock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benches.harness import Bench, Contender, Promise, Scenario
from benches.scenarios._gateway import Asker, folder, served
from benches.scenarios.stores import _server, _Stored

_CALLS = 10
_ALONE, _OWNER, _PASSED = "warm run, one gateway alone", "warm run at its tenant's owner", "warm run by way of another gateway"
_PLAIN, _FENCED = "write + read of 4 KB, advisory lock", "write + read of 4 KB, fenced"


def measure(bench: Bench) -> None:
    from benches.sessions import ready

    why = ready("python")
    server = None if why else _server(bench)
    if server is None:
        bench.missing(_ALONE, why or "no PostgreSQL")
        return
    try:
        for name in ("alone", "shared", "plain", "fenced"):
            asyncio.run(_create(server.url, name))
        with folder() as place, contextlib.ExitStack() as stack:
            _runs(bench, server, place, stack)
        _writes(bench, server)
    finally:
        server.stop()


def _runs(bench: Bench, server: Any, place: Path, stack: contextlib.ExitStack) -> None:
    shared = ("--database-url", server.url_of("shared"), "--fleet", "--key", str(place / "key"), "--keys", str(place / "keys"))
    for name in ("alone", "owner", "other"):
        (place / name).mkdir()
    alone = stack.enter_context(served(place / "alone", arguments=("--database-url", server.url_of("alone"))))
    owner = stack.enter_context(served(place / "owner", arguments=shared))
    other = stack.enter_context(served(place / "other", token=owner.token, arguments=shared))

    def runs(asker: Asker, session: str) -> Callable[[], None]:
        def ask() -> None:
            for _ in range(_CALLS):
                asker.run(session)

        return ask

    askers = [Asker(one.host, one.token) for one in (alone, owner, other)]
    session = askers[1].session()
    bench.interleave(
        Contender(_ALONE, runs(askers[0], askers[0].session()), calls=_CALLS),
        Contender(_OWNER, runs(askers[1], session), calls=_CALLS),
        Contender(_PASSED, runs(askers[2], session), calls=_CALLS),
        repetitions=bench.count(60, 15),
        warmup=5,
    )
    for asker in askers:
        asker.close()


class _Fence:
    """Of a gateway that owns the tenant."""

    gateway = "bench"

    def find_epoch(self, tenant: str) -> int:
        return 1

    def note_lost(self, tenant: str, epoch: int) -> None:
        raise RuntimeError("the bench owns its tenant")


def _writes(bench: Bench, server: Any) -> None:
    from gateway.stores.engines.postgres import PostgresStore

    loop = asyncio.new_event_loop()

    async def open_fenced() -> PostgresStore:
        store = await PostgresStore.open(server.url_of("fenced"), own=True, share=True)
        await store.pool.execute("INSERT INTO owners VALUES ('t1', 'bench', 1)")
        store.fence = _Fence()
        return store

    plain = _Stored(loop, PostgresStore.open(server.url_of("plain"), own=True))
    fenced = _Stored(loop, open_fenced())
    bench.interleave(Contender(_PLAIN, plain.run), Contender(_FENCED, fenced.run), repetitions=bench.count(200, 60), warmup=10)
    for stored in (plain, fenced):
        stored.close()
    loop.close()


async def _create(url: str, name: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()


SCENARIOS = [
    Scenario(
        "fleet",
        "a run and a write in a fleet of gateways, beside one gateway alone",
        measure,
        (
            Promise("warm run at its owner, of one gateway alone", 1.10, "×", of=_OWNER, over=_ALONE, issue=5),
            Promise("warm run by way of another gateway, of one alone", 1.40, "×", of=_PASSED, over=_ALONE, issue=5),
            Promise("fenced write, of one with an advisory lock", 1.10, "×", of=_FENCED, over=_PLAIN, issue=5),
        ),
    )
]
