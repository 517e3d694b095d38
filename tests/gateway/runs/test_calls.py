"""Calls that programs make: within the policy's limits, decided in everything they use, and written down however the run ends."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.configuration import Configuration
from gateway.errors import StoreFailed, Unavailable
from gateway.records import AuditRecord, Quotas, Run, Tenant
from gateway.runs import calls, results
from gateway.runs.approvals import Decide
from gateway.runs.runs import RunBody
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import AppendAudit, PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.stored import StoreLimits
from sandbox.capabilities.registry import Capability
from sandbox.encoding.sealing import Keys
from sandbox.wire import DEFAULT_LIMITS, RunStatus
from sandbox.workers.interface import WorkerLost
from sandbox.workers.local.worker import LocalWorkers
from tests.gateway.house import ANN, BOB, POLICY, TEST, House, housed

TEXT = {"type": "string"}
POLICED_ONCE = "allow echo\n", "echo { text x } => allow"
POLICED = "allow echo\nlimit echo {{ {limit} }}\n", "echo { text x } => allow"


async def run(house: House, code: str, session_id: str | None = None) -> Run:
    if session_id is None:
        session_id = (await house.sessions.create(ANN, CreateSession())).id
    return await house.runs.run(ANN, session_id, RunBody(code=code))


class Echo:
    """A capability that can be held up, and knows how many calls of it there were at once."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.go_on = asyncio.Event()
        self.now = self.most = self.count = 0

    async def __call__(self, text: str) -> str:
        self.count += 1
        self.now += 1
        self.most = max(self.most, self.now)
        self.called.set()
        try:
            if text == "wait":
                await self.go_on.wait()
            return text
        finally:
            self.now -= 1

    @property
    def functions(self) -> dict[str, Any]:
        async def echo(text: str) -> str:
            return await self(text)

        return {"echo": ({"text": TEXT}, echo)}


@pytest.mark.parametrize(
    ("limit", "code", "wanted"),
    [
        ("timeout 50ms", "tools.echo(text='wait')", "TIMEOUT_TOOL"),
        ("request 100B", "tools.echo(text='x' * 100)", "INVALID_ARGUMENT"),
        ("response 100B", "tools.echo(text='x' * 100)", "TOOL_ERROR"),
    ],
)
def test_a_policys_limits_on_a_call_are_kept_to(limit: str, code: str, wanted: str) -> None:
    async def main() -> None:
        async with housed(POLICED[0].format(limit=limit), POLICED[1], functions=Echo().functions) as house:
            done = await run(house, code)
            assert done.result is not None and done.result.error is not None
            assert done.result.external_calls[0].error is not None
            assert done.result.external_calls[0].error.code == wanted
            fine = await run(house, "tools.echo(text='x')")
            assert fine.result is not None and fine.result.result == "x"

    asyncio.run(main())


def test_a_policys_concurrency_is_that_of_all_its_tenants_calls() -> None:
    async def main() -> None:
        echo = Echo()
        async with housed(POLICED[0].format(limit="concurrency 1"), POLICED[1], functions=echo.functions) as house:
            runs = [asyncio.create_task(run(house, "tools.echo(text='wait')")) for _ in range(3)]
            await echo.called.wait()
            echo.go_on.set()
            done = await asyncio.gather(*runs)
            assert [one.result.result for one in done if one.result] == ["wait"] * 3
            assert (echo.count, echo.most) == (3, 1)

    asyncio.run(main())


async def audited(house: House, kind: str) -> list[AuditRecord]:
    await house.audit.flush()
    return [one for one in await house.store.audit("acme", limit=200) if one.kind == kind]


def test_tm_audit_loss_calls_of_a_run_whose_caller_goes_away_are_written_down() -> None:
    async def main() -> None:
        echo = Echo()
        async with housed("allow echo", POLICED[1], functions=echo.functions) as house:
            code = "tools.echo(text='paid')\ntools.echo(text='wait')"
            running = asyncio.create_task(run(house, code))
            while echo.count < 2:
                echo.called.clear()
                await echo.called.wait()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            assert [one.subject for one in await audited(house, "call")] == ["echo"]
            (ended,) = await audited(house, "run")
            assert ended.data["status"] == "cancelled" and ended.data["decision"]["verdict"] == "allow"

    asyncio.run(main())


def test_tm_audit_loss_a_run_without_calls_whose_caller_goes_away_is_written_down() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await house.sessions.create(ANN, CreateSession())
            running = asyncio.create_task(run(house, "while True: pass", session.id))
            worker = await house.sessions._workers.of("acme")
            while session.id not in (await worker.status()).running:
                await asyncio.sleep(0.01)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            assert [one.data["status"] for one in await audited(house, "run")] == ["cancelled"]

    asyncio.run(main())


def test_tm_audit_loss_calls_of_a_run_whose_worker_dies_are_written_down() -> None:
    async def main() -> None:
        echo = Echo()
        async with housed("allow echo", POLICED[1], functions=echo.functions) as house:
            worker = await house.sessions._workers.of("acme")
            session = await house.sessions.create(ANN, CreateSession())

            async def dies(*given: Any, on_call: Any, **more: Any) -> Any:
                await on_call("echo", [], {"text": "paid"})
                raise WorkerLost("killed")

            worker.run = dies  # type: ignore[method-assign]  # a real worker cannot be made to die just here
            with pytest.raises(Unavailable):
                await run(house, "1", session.id)
            assert [one.subject for one in await audited(house, "call")] == ["echo"]
            (ended,) = await audited(house, "run")
            assert ended.data["status"] == "interrupted"

    asyncio.run(main())


def test_a_run_that_waits_for_its_turn_can_be_cancelled() -> None:
    async def main() -> None:
        echo = Echo()
        async with housed("allow echo", POLICED[1], functions=echo.functions) as house:
            session = await house.sessions.create(ANN, CreateSession())
            first = await house.runs.start(ANN, session.id, RunBody(code="tools.echo(text='wait')"))
            await echo.called.wait()
            second = await house.runs.start(ANN, session.id, RunBody(code="2"))
            feed = house.runs.watch("acme", second.id)
            assert feed is not None and await house.runs.cancel(ANN, second.id)
            assert [event.kind async for event in feed.events()][-1] == "result"
            cancelled = await house.runs.get(ANN, second.id)
            assert cancelled.result is not None and cancelled.result.status is RunStatus.CANCELLED
            echo.go_on.set()
            feed = house.runs.watch("acme", first.id)
            assert feed is not None and [event.kind async for event in feed.events()][-1] == "result"
            assert not await house.runs.cancel(ANN, second.id)

    asyncio.run(main())


def test_a_run_that_was_decided_about_just_before_a_stop_goes_on_after_the_start(tmp_path: Path) -> None:
    async def main() -> None:
        store, keys, paid = MemoryStore(), Keys.of(secrets.token_bytes(32)), []

        async def refund(amount: int) -> int:
            paid.append(amount)
            return amount

        schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
        functions = [(Capability(name="refund", input_schema=schema), refund)]
        policy = tmp_path / "house.hatch"
        policy.write_text(POLICY + "ask refund\n  by finance within 1h\n" + TEST.format(more="refund { amount 1 } => ask"))
        await store.write("acme", [PutTenant(tenant=Tenant(id="acme", quotas=Quotas(), created_at=1, updated_at=1))])

        before = Service(store, LocalWorkers(), keys, Configuration(policy=str(policy)))
        await before.start(functions=functions)
        session = await before.sessions.create(ANN, CreateSession())
        waiting = await before.runs.run(ANN, session.id, RunBody(code="tools.refund(amount=50)"))
        (asked,) = (await store.approvals("acme", pending=True)).items
        await before.approvals.decide(BOB, asked.id, Decide(decision="approve"))
        await before.runs.active.drain()
        with pytest.raises(Unavailable):
            await before.resumption.resume(ANN, waiting.id)
        for close in (before.audit.close, before.policies.compiler.close, before.catalogue.close, before.workers.aclose):
            await close()

        after = Service(store, LocalWorkers(), keys, Configuration(policy=str(policy)))
        await after.start(functions=functions)
        await after.resumption.settle()
        ended = await after.runs.get(ANN, waiting.id)
        assert ended.result is not None and ended.result.result == 50 and paid == [50]
        await after.stop()

    asyncio.run(main())


def test_a_run_with_very_many_calls_is_kept_and_every_call_is_in_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "NOTED_MAX", 10)
    monkeypatch.setattr(results, "CALLS_TOLD_MAX", 20)

    async def main() -> None:
        echo = Echo()
        store = MemoryStore(limits=StoreLimits(changes_max=30))
        async with housed(*POLICED_ONCE, functions=echo.functions, store=store) as house:
            limits = msgspec.structs.replace(DEFAULT_LIMITS, max_external_calls=100)
            session = await house.sessions.create(ANN, CreateSession(limits=limits))
            done = await run(house, "for n in range(75): tools.echo(text='x')\nn", session.id)
            result = done.result
            assert result is not None and result.result == 74 and echo.count == 75
            assert result.metrics.external_calls_count == 75 and len(result.external_calls) == 20
            (warning,) = result.diagnostics
            assert warning.code == "EXTERNAL_CALLS_CUT" and "55" in warning.message
            await house.audit.flush()
            noted = [one async for one in store.walk_audit("acme") if one.kind == "call"]
            assert [one.data["run"] for one in noted] == [done.id] * 75

    asyncio.run(main())


def test_no_further_call_is_made_when_the_audit_takes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "NOTED_MAX", 3)

    async def main() -> None:
        echo = Echo()
        async with housed(*POLICED_ONCE, functions=echo.functions) as house:
            write = house.store.write

            async def failing(tenant: str, changes: Any) -> None:
                if all(isinstance(one, AppendAudit) for one in changes):
                    raise StoreFailed("STORE_FULL", "the disk is full")
                await write(tenant, changes)

            monkeypatch.setattr(house.store, "write", failing)
            done = await run(house, "for n in range(9): tools.echo(text='x')")
            assert done.result is not None and done.result.error is not None
            assert done.result.error.code == "STORE_FULL" and echo.count == 3
            monkeypatch.setattr(house.store, "write", write)

    asyncio.run(main())


def test_tm_audit_loss_a_call_with_effects_is_recorded_before_it_is_made_or_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_WITHOUT_EFFECTS", ())

    async def main() -> None:
        seen: list[list[str]] = []

        async def echo(text: str) -> str:
            seen.append([one.data["status"] for one in await house.store.audit("acme") if one.kind == "call"])
            return text

        async with housed(*POLICED_ONCE, functions={"echo": ({"text": TEXT}, echo)}) as house:
            await run(house, "tools.echo(text='x')")
            ended = await audited(house, "call")
            assert seen == [["begun"]] and [one.data["status"] for one in ended] == ["begun", "ok"]
            assert ended[0].data["call"] == ended[1].data["call"]
            write = house.store.write

            async def failing(tenant: str, changes: Any) -> None:
                if all(isinstance(one, AppendAudit) for one in changes):
                    raise StoreFailed("STORE_FULL", "the disk is full")
                await write(tenant, changes)

            monkeypatch.setattr(house.store, "write", failing)
            done = await run(house, "tools.echo(text='x')")
            assert done.result is not None and done.result.error is not None and done.result.error.code == "STORE_FULL"
            assert len(seen) == 1, "it was not made"
            monkeypatch.setattr(house.store, "write", write)

    asyncio.run(main())
