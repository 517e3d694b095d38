"""What hooks' programs call: files they write with a tool are theirs to keep or lose, and nobody is asked on their behalf."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.clock import now_ms
from gateway.configuration import Configuration
from gateway.files.files import Files
from gateway.records import Quotas, Run, Tenant
from gateway.runs.approvals import Decide
from gateway.runs.runs import RunBody
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from sandbox.capabilities.registry import Capability
from sandbox.encoding.sealing import Keys
from sandbox.workers.local.worker import LocalWorkers
from tests.gateway.house import ANN, BOB, POLICY, TEST

RULES = """
allow fs.read
allow fs.write
allow read_text
allow write_text
ask refund by finance within 1h
hook look on {moment}
  run python "look.py" uses {{ read_text, write_text, refund }} timeout 30s on_error warn
"""
WRITES = "tools.write_text('/workspace/noted.txt', 'by a tool')\nseen = tools.read_text('/workspace/noted.txt')\n"
ASKS = "try:\n    tools.refund(amount=50)\nexcept Exception as refused:\n    open('/workspace/told', 'w').write(str(refused))\n"


class Shop:
    def __init__(self, service: Service) -> None:
        self.service, self.refunded = service, list[int]()

    async def refund(self, amount: int) -> int:
        self.refunded.append(amount)
        return amount

    async def new(self) -> str:
        return (await self.service.sessions.create(ANN, CreateSession())).id

    async def run(self, session: str, code: str) -> Run:
        return await self.service.runs.run(ANN, session, RunBody(code=code))

    async def text(self, session: str, path: str) -> str | None:
        found = await Files(self.service.store, now_ms, "acme", session).read(path)
        return None if found is None else found.content


@contextlib.asynccontextmanager
async def shop(folder: Path, hook: str, moment: str = "before run") -> AsyncIterator[Shop]:
    """A service whose default policy has the hook, which may call everything there is."""
    more = "refund { amount 1 } => ask"
    (folder / "shop.hatch").write_text(POLICY + RULES.format(moment=moment) + TEST.format(more=more))
    (folder / "look.py").write_text(hook)
    store = MemoryStore()
    await store.write("acme", [PutTenant(tenant=Tenant(id="acme", quotas=Quotas(), created_at=1, updated_at=1))])
    service = Service(store, LocalWorkers(), Keys.of(secrets.token_bytes(32)), Configuration(policy=str(folder / "shop.hatch")))
    made = Shop(service)
    amount = {"type": "integer", "minimum": 0, "maximum": 100}
    schema = {"type": "object", "properties": {"amount": amount}, "required": ["amount"]}
    await service.start(functions=[(Capability(name="refund", input_schema=schema), made.refund)])
    try:
        yield made
    finally:
        await service.stop()


@pytest.mark.parametrize("moment", ["before run", "after run", "session_start", "turn_end"])
def test_what_a_hook_wrote_with_a_tool_is_there_for_itself_and_kept(tmp_path: Path, moment: str) -> None:
    async def main() -> None:
        async with shop(tmp_path, WRITES + "open('/workspace/seen', 'w').write(seen)", moment) as made:
            session = await made.new()
            await made.run(session, "1")
            assert await made.text(session, "noted.txt") == "by a tool"
            assert await made.text(session, "seen") == "by a tool"
            done = await made.run(session, "open('/workspace/noted.txt').read()")
            assert done.result is not None and done.result.result == "by a tool"

    asyncio.run(main())


@pytest.mark.parametrize("end", ["1 / 0", """print('{"decision": "block"}')"""])
def test_what_a_hook_wrote_with_a_tool_goes_if_it_does_not_succeed(tmp_path: Path, end: str) -> None:
    async def main() -> None:
        async with shop(tmp_path, WRITES + end, "session_start") as made:
            session = await made.new()
            assert await made.text(session, "noted.txt") is None

    asyncio.run(main())


def test_nobody_is_asked_about_a_call_of_a_hook(tmp_path: Path) -> None:
    async def main() -> None:
        async with shop(tmp_path, ASKS) as made:
            session = await made.new()
            await made.run(session, "1")
            assert await made.text(session, "told") == "finance must approve refund, and a hook cannot wait"
            assert (await made.service.store.approvals("acme")).items == [] and made.refunded == []

    asyncio.run(main())


def test_tm_appr_replay_a_hook_does_not_use_what_was_approved_for_a_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with shop(tmp_path, ASKS, "after run") as made:
            session = await made.new()
            waiting = await made.run(session, "tools.refund(amount=50)")
            (asked,) = (await made.service.store.approvals("acme", pending=True)).items
            await made.service.approvals.decide(BOB, asked.id, Decide(decision="approve"))
            live = await made.service.sessions.find(ANN, session)
            _, answer, _ = made.service.hook_calls.open(live.record, ANN, ["refund"])
            reply = await answer("refund", [], {"amount": 50})
            assert reply.error is not None and reply.error.code == "PERMISSION_DENIED"
            done = await made.service.resumption.resume(ANN, waiting.id)
            assert done.result is not None and done.result.result == 50 and made.refunded == [50]

    asyncio.run(main())


def test_a_hook_uses_what_is_approved_always(tmp_path: Path) -> None:
    async def main() -> None:
        async with shop(tmp_path, ASKS) as made:
            session = await made.new()
            waiting = await made.run(session, "tools.refund(amount=50)")
            (asked,) = (await made.service.store.approvals("acme", pending=True)).items
            await made.service.approvals.decide(BOB, asked.id, Decide(decision="approve_always"))
            await made.service.resumption.resume(ANN, waiting.id)
            await made.run(session, "1")
            assert made.refunded == [50, 50]

    asyncio.run(main())
