"""Many sessions: what the gateway and its workers hold in memory, and how soon an evicted session continues.

Ten thousand sessions are in the store: nine in ten as a gateway before left them there (written through the store itself), the
rest made over HTTP. Enough of them run a program that the live ones are as many as there may be; others have been frozen into the
store and evicted. Memory is the proportional share (PSS) of the gateway and all its processes. A thaw is timed over HTTP, from
the request to the result, in a session whose heap is in the store and nowhere else: the gateway was stopped and started before.
A quick run makes a tenth of everything, in rows of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benches.harness import Bench, Promise, Scenario
from benches.processes import held_mb
from benches.scenarios._gateway import Asker, Served, folder, served

_CLIENTS = 4
_LIVE = 500
_PROMISED = "10,000 sessions stored, 500 live"
_THAWS = 60
_BATCH = 500


def measure(bench: Bench) -> None:
    from benches.sessions import ready

    stored = bench.count(10_000, 1_000)
    live = bench.count(_LIVE, _LIVE // 10)
    label = f"{stored:,} sessions stored, {live} live"
    if bench.quick:
        bench.missing(_PROMISED, f"a quick run has a tenth of them: {label}")
    why = ready("python")
    if why:
        bench.missing(label, why)
        return
    with folder() as place:
        with served(place) as gateway:
            bench.record("gateway without sessions", [held_mb(gateway.pid)], "MB")
            started, made = time.perf_counter(), _fill(bench, gateway, stored // 10)
            bench.record("a session made over HTTP, four clients at once", [(time.perf_counter() - started) * 1000 / len(made)])
            used = made[: live + live // 20]
            _in_parallel(bench, "running", gateway, used[:_THAWS], _remember)
            token = gateway.token
        asyncio.run(_store(place / "data", stored - len(made)))
        with served(place, token=token) as gateway:
            thaws = used[:_THAWS]
            bench.record("thaw of an evicted Python session, over HTTP", _thaw(gateway, thaws))
            bench.record("warm run of the same sessions, over HTTP", _thaw(gateway, thaws[1:]))
            _in_parallel(bench, "running", gateway, used[_THAWS:], _remember)
            _check_count(gateway, stored)
            bench.record(label, [held_mb(gateway.pid)], "MB")
            os.kill(gateway.pid, signal.SIGKILL)  # these sessions need not be frozen


def _fill(bench: Bench, gateway: Served, count: int) -> list[str]:
    made: list[str] = []

    def make(asker: Asker, _: object) -> None:
        made.append(asker.session())

    _in_parallel(bench, "storing", gateway, range(count), make)
    return made


async def _store(data: Path, count: int) -> None:
    """Further sessions like one that is there."""
    import msgspec

    from gateway.stores.changes import AppendAudit, PutSession
    from gateway.stores.factory import open_store

    store = await open_store(str(data), create=False)
    try:
        tenant = (await store.tenants(limit=1)).items[0].id
        pattern = (await store.sessions(tenant, limit=1)).items[0]
        for first in range(0, count, _BATCH):
            names = [f"stored-{number:06}" for number in range(first, min(first + _BATCH, count))]
            sessions = [
                msgspec.structs.replace(pattern, id=name, head=None, last_used_at=pattern.created_at, is_used=False)
                for name in names
            ]
            audits = [AppendAudit(at=pattern.created_at, kind="session.create", subject=name) for name in names]
            await store.write(tenant, [*map(PutSession, sessions), *audits])
    finally:
        await store.close()


def _check_count(gateway: Served, expected: int) -> None:
    """All of them are there, as a client sees it."""
    asker, cursor, found = Asker(gateway.host, gateway.token), "", 0
    while True:
        page = asker.made("GET", "/v1/sessions?limit=200" + (f"&cursor={cursor}" if cursor else ""))
        found, cursor = found + len(page["items"]), page["next"]
        if not cursor:
            break
    asker.close()
    if found != expected:
        raise RuntimeError(f"{found} sessions are listed, not {expected}")


def _remember(asker: Asker, session: str) -> None:
    asker.run(session, "x = list(range(1000)); len(x)", 1000)


def _in_parallel(bench: Bench, what: str, gateway: Served, items: Sequence[object], act: Callable[..., None]) -> None:
    """All of it, by a few clients. The first failure ends it."""
    left, failures, done = iter(items), list[BaseException](), itertools.count()
    lock = threading.Lock()

    def work() -> None:
        asker = Asker(gateway.host, gateway.token)
        try:
            while not failures:
                with lock:
                    item = next(left, None)
                if item is None:
                    return
                act(asker, item)
                bench.show(what, next(done) / len(items))
        except Exception as error:
            failures.append(error)
        finally:
            asker.close()

    threads = [threading.Thread(target=work) for _ in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"{what}: {failures[0]}")


def _thaw(gateway: Served, sessions: Sequence[str]) -> list[float]:
    """Milliseconds of the first run in each, but for the first of all, which also waits for its worker."""
    asker, times = Asker(gateway.host, gateway.token), []
    for session in sessions:
        started = time.perf_counter()
        asker.run(session, "x[999]", 999)
        times.append((time.perf_counter() - started) * 1000)
    asker.close()
    return times[1:]


SCENARIOS = [
    Scenario(
        "gateway_memory",
        "many sessions in a gateway: memory, and thawing those that were evicted",
        measure,
        (
            Promise("10,000 sessions stored, 500 live, the whole gateway", 2000, "MB", of=_PROMISED, issue=8),
            Promise("thaw of an evicted Python session, over HTTP", 15, "ms", issue=8),
        ),
        rounds=1,
    )
]
