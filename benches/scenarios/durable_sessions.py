"""Thawing: how long a call waits while its evicted session is brought back from the store, without HTTP.

Through the service on an embedded store (SQLite, synchronous=FULL) with workers in this process. The session was frozen and
evicted; the call opens it from the store and runs `x + 1`. `gateway_memory` measures the same over HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario
from benches.sessions import TITLES, ready

if TYPE_CHECKING:
    from gateway.records import Principal
    from gateway.service import Service

_POLICY = """
policy bench v 1

allow session.create
allow run
limit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 1_000 stack 1_000 }

test "runs" {
  as { tenant bench }
  run { language python, bytes 1KiB } => allow
}
"""
_PROGRAMS = {
    "python": ("import json\nx = 41", "x + 1", 42),
    "javascript": ("var x = 41", "x + 1", 42),
    "shell": ("x=41", "echo $((x+1))", None),
}


@contextlib.asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Service, Principal]]:
    """A service on a store in `folder`, and a caller who may run programs there."""
    from gateway.configuration import Configuration
    from gateway.records import Principal, Quotas, Tenant
    from gateway.service import Service
    from gateway.stores.changes import PutTenant

    policy = folder / "bench.hatch"
    policy.write_text(_POLICY, "utf-8")
    service = await Service.open(Configuration(data=str(folder / "data"), policy=str(policy), workers="in-process"))
    try:
        now = service.clock.now_ms()
        quotas = Quotas(sessions_max=1_000_000, live_sessions_max=1_000_000, memory_mb=1 << 30, storage_bytes=1 << 50)
        await service.store.write("bench", [PutTenant(tenant=Tenant(id="bench", quotas=quotas, created_at=now, updated_at=now))])
        yield service, Principal(tenant="bench", role="member", user="bench")
    finally:
        await service.stop(0)


async def create(service: Service, who: Principal, language: str = "python") -> str:
    from gateway.sessions.sessions import CreateSession
    from sandbox.wire import Language

    return (await service.sessions.create(who, CreateSession(language=Language(language)))).id


async def run(service: Service, who: Principal, session: str, code: str, expected: Any = None) -> None:
    from gateway.runs.turn import RunBody

    record = await service.runs.run(who, session, RunBody(code=code))
    if record.result is None or not record.result.ok or (expected is not None and record.result.result != expected):
        raise RuntimeError(f"answered {record.result!r}"[:300])


def measure(bench: Bench) -> None:
    folder = Path(tempfile.mkdtemp(prefix="hatchway-bench-"))
    stack = contextlib.AsyncExitStack()
    with asyncio.Runner() as runner:
        try:
            service, who = runner.run(stack.enter_async_context(opened(folder)))
            contenders = []
            for language, (setup, code, expected) in _PROGRAMS.items():
                if why := ready(language):
                    bench.missing(f"{TITLES[language]}, thaw", why)
                    continue
                session = runner.run(create(service, who, language))
                runner.run(run(service, who, session, setup))

                def evict(session: str = session) -> None:
                    async def put_away() -> None:
                        async with service.sessions.hold(who, session) as live:
                            await service.persistence.evict(live)

                    runner.run(put_away())

                def call(session: str = session, code: str = code, expected: Any = expected) -> None:
                    runner.run(run(service, who, session, code, expected))

                contenders.append(Contender(f"{TITLES[language]}, thaw and call", call, before=evict))
                contenders.append(Contender(f"{TITLES[language]}, the same call without", call))
            bench.interleave(*contenders, repetitions=bench.count(60, 12))
        finally:
            runner.run(stack.aclose())
            shutil.rmtree(folder, ignore_errors=True)


SCENARIOS = [
    Scenario(
        "thaw",
        "a call into a session that was evicted, which thaws for it, without HTTP",
        measure,
        (Promise("thaw of an evicted Python session", 15, "ms", of="Python, thaw and call", issue=6),),
    )
]
