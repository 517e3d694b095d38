"""The end of the service: what does not finish in time is interrupted, written down, and told to whoever waits for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.configuration import Configuration
from gateway.errors import Unavailable
from gateway.http.assembly import Face
from gateway.records import AuditRecord, Principal, Quotas, Run, Tenant
from gateway.runs.runs import RunBody
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutTenant, PutToken
from gateway.telemetry import Telemetry
from gateway.tenants.tokens import mint
from sandbox.wire import DEFAULT_LIMITS
from sandbox.workers.interface import WorkerLost
from tests.gateway.house import ANN, housed, new
from tests.gateway.runs.test_cancellation import Halted
from tests.gateway.till import RULES, TESTS, Till, decide

OPERATOR = Principal(tenant="acme", role="operator", user="op")
CALLS_AND_STAYS = "tools.write_text('/workspace/w', '1'); print('said')\nwhile True: pass"
LONG = msgspec.structs.replace(DEFAULT_LIMITS, cpu_ms=600_000, wall_ms=600_000)


async def opened(tmp_path: Path, **settings: Any) -> tuple[Service, Configuration]:
    configuration = Configuration(data=str(tmp_path / "data"), workers="in-process", access_log=False, **settings)
    service = await Service.open(configuration)
    if await service.store.tenant("acme") is None:
        tenant = Tenant(id="acme", quotas=Quotas(), created_at=1, updated_at=1)
        await service.store.write("acme", [PutTenant(tenant=tenant)])
    return service, configuration


async def session_of(service: Service) -> str:
    made = await service.sessions.create(OPERATOR, CreateSession(durable=True, limits=LONG))
    return made.id


async def said(service: Service, run_id: str) -> None:
    """Until the program of the run has called and printed."""
    feed = service.runs.watch("acme", run_id)
    assert feed is not None
    async for event in feed.events():
        if event.kind == "stdout":
            return


async def records(service: Service, run_id: str) -> list[AuditRecord]:
    await service.audit.flush()
    found = await service.store.audit("acme", limit=200)
    return [one for one in found if run_id in (one.subject, one.data.get("run"))]


def is_interrupted(run: Run) -> bool:
    result = run.result
    assert run.state == "finished" and result is not None and result.error is not None
    return (result.status.value, result.error.code) == ("interrupted", "INTERRUPTED")


def test_a_run_that_does_not_end_in_time_is_interrupted_and_what_it_did_is_in_the_record_and_the_audit(tmp_path: Path) -> None:
    async def main() -> None:
        service, _ = await opened(tmp_path)
        session = await session_of(service)
        begun = await service.runs.start(OPERATOR, session, RunBody(code=CALLS_AND_STAYS))
        await said(service, begun.id)
        await service.stop(0)
        again, _ = await opened(tmp_path)
        try:
            run = await again.runs.get(OPERATOR, begun.id)
            assert is_interrupted(run) and run.result is not None
            assert run.result.stdout == "said\n" and [one.name for one in run.result.external_calls] == ["write_text"]
            noted = await records(again, begun.id)
            assert [(one.kind, one.data.get("status")) for one in noted if one.kind != "run.queued"] == [
                ("call", "begun"),
                ("call", "ok"),
                ("run", "interrupted"),
            ]
        finally:
            await again.stop(0)

    asyncio.run(main())


def test_a_run_that_its_worker_does_not_end_is_interrupted_when_the_worker_is_gone() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            worker, begun, gone = await house.sessions._workers.of("acme"), asyncio.Event(), asyncio.Event()

            async def run(*given: Any, **options: Any) -> Any:
                begun.set()
                await gone.wait()
                raise WorkerLost("it was killed")

            worker.run = run  # type: ignore[method-assign]
            started = await house.runs.start(ANN, session, RunBody(code="1"))
            await begun.wait()
            interrupting = asyncio.create_task(house.runs.active.interrupt(60))
            while not (stop := house.runs.active.get("acme", started.id)) or not stop.is_asked:
                await asyncio.sleep(0)
            gone.set()
            await interrupting
            assert is_interrupted(await house.runs.get(ANN, started.id))

    asyncio.run(main())


async def answer(port: int, head: bytes, token: str, body: bytes, begun: asyncio.Event) -> bytes:
    """All of it; `begun` is set when there is a first part."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    fields = f"Host: h\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(head + b" HTTP/1.1\r\n" + fields.encode() + b"\r\n" + body)
    first = await reader.readuntil(b"\r\n")
    begun.set()
    found = first + await reader.read()
    writer.close()
    return found


def test_whoever_waits_for_an_interrupted_run_is_answered_and_whoever_watches_one_sees_its_end(tmp_path: Path) -> None:
    async def main() -> None:
        service, configuration = await opened(tmp_path, drain_deadline_ms=1, port=0)
        secret, stored = mint(tenant="acme", name="op", role="operator", now_ms=service.clock.now_ms(), user="op")
        await service.store.write("acme", [PutToken(token=stored)])
        server = Face(service, configuration, Telemetry()).server
        await server.start()
        waited, watched = await session_of(service), await session_of(service)
        body = b'{"code":"while True: pass"}'
        shown, answered = asyncio.Event(), asyncio.Event()
        head = b"POST /v1/sessions/%s/runs" % waited.encode()
        waiting = asyncio.create_task(answer(server.port, head, secret, body, answered))
        begun = await service.runs.start(OPERATOR, watched, RunBody(code=CALLS_AND_STAYS))
        await said(service, begun.id)
        head = b"GET /v1/runs/%s/events" % begun.id.encode()
        watching = asyncio.create_task(answer(server.port, head, secret, b"", shown))
        await shown.wait()
        while len(service.runs.active._under_way) < 2:
            await asyncio.sleep(0.001)
        await server.stop()
        told, seen = await waiting, await watching
        assert told.startswith(b"HTTP/1.1 503") and b'"INTERRUPTED"' in told, told
        assert seen.startswith(b"HTTP/1.1 200") and b"event: result" in seen and b'"INTERRUPTED"' in seen, seen

    asyncio.run(main())


def test_a_run_that_somebody_waits_for_raises_and_is_there_as_interrupted() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            halted = Halted(house.hooks, "fire")
            waited = asyncio.create_task(house.runs.run(ANN, session, RunBody(code="1")))
            await halted.reached.wait()
            await house.runs.active.interrupt(60)
            with pytest.raises(Unavailable, match="the service stopped while this ran") as raised:
                await waited
            assert raised.value.code == "INTERRUPTED"
            (run,) = (await house.store.runs("acme", session, limit=10)).items
            assert is_interrupted(run) and run.id in (raised.value.error.hint or "")
            with pytest.raises(Unavailable, match="shutting down"):
                await house.runs.run(ANN, session, RunBody(code="1"))

    asyncio.run(main())


def test_a_run_that_was_approved_and_had_not_begun_to_go_on_waits_for_the_next_start() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            session = await new(house)
            waits = await house.runs.run(ANN, session, RunBody(code="tools.refund(amount=50)"))
            await decide(house, "approve")
            halted = Halted(house.sessions, "find_gate")
            going_on = asyncio.create_task(house.resumption.resume(ANN, waits.id))
            await halted.reached.wait()
            await house.runs.active.interrupt(60)
            with pytest.raises(Unavailable, match="shutting down"):
                await going_on
            assert (await house.runs.get(ANN, waits.id)).state == "waiting"

    asyncio.run(main())
