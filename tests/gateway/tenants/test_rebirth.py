"""A tenant that is made under the id of one that was deleted is another tenant: nothing of the first reaches it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateway.events import Event
from gateway.records import Principal, Quotas
from gateway.stores.changes import AppendAudit
from gateway.stores.stored import Usage
from gateway.tenants.tenants import FIRST_TENANT, restore_first
from tests.gateway.http.asking import Reply, ask
from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript

pytestmark = needs_javascript

PATIENCE_S = 60
RUNTIME = "embedded-worker-runtime"
WORKERS = f"/v1/registry/runtimes/{RUNTIME}/workers"
SPAWN = {"intent": {"kind": "workspace_companion"}, "acceptance": {"kind": "run_accepted", "expected_segments": 0}, **JAVASCRIPT}
ENDLESS = "console.log('go'); while (true) {}"
OLD = "of the first life"
NEW = "of the second life"


class Life:
    """One life of the tenant `reborn`, with a token of its operator."""

    def __init__(self, house: House, token: str, birth: str) -> None:
        self._house, self._token, self.birth = house, token, birth
        self.principal = Principal(tenant="reborn", role="operator")

    async def ask(self, method: str, target: str, body: Any = b"", **headers: str) -> Reply:
        return await ask(self._house.face.asgi, method, target, body, token=self._token, **headers)

    async def done(self, method: str, target: str, body: Any = b"", **headers: str) -> Any:
        said = await self.ask(method, target, body, **headers)
        assert said.status < 300, said.body
        return said.json if said.body else None

    async def spawn(self) -> str:
        worker_id: str = (await self.done("POST", WORKERS, SPAWN))["worker"]["worker_id"]
        return worker_id

    async def turn(self, worker_id: str, content: str) -> None:
        """To its end."""
        await self.done("POST", f"{WORKERS}/{worker_id}/input", {"content": content})
        async for event in await self.events(worker_id):
            if event.kind == "turn":
                return

    async def events(self, worker_id: str) -> AsyncIterator[Event]:
        registry = await self._house.service.registry.of("reborn")
        return await registry.events(self.principal, RUNTIME, worker_id, 0)


async def bear(house: House, **asked: Any) -> Life:
    made = await house.ask("POST", "/v1/tenants", {"id": "reborn", **asked}, role="admin")
    assert made.status == 201, made.body
    minted = await house.ask("POST", "/v1/tokens", {"name": "op", "role": "operator"}, role="admin", hatchway_tenant="reborn")
    return Life(house, minted.json["secret"], made.json["birth"])


async def end(house: House) -> None:
    assert (await house.ask("DELETE", "/v1/tenants/reborn", role="admin")).status == 204


async def watched(events: AsyncIterator[Event], seen: list[Event]) -> None:
    async for event in events:
        seen.append(event)


async def until(seen: list[Event], kind: str) -> None:
    while all(event.kind != kind for event in seen):
        await asyncio.sleep(0)


def live(tmp_path: Path, test: Any) -> None:
    async def patient(house: House) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await test(house)

    live_in(tmp_path, patient)


def test_tm_store_remains_a_stream_of_the_first_life_ends_and_its_inputs_are_never_run(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        first, seen = await bear(house), list[Event]()
        worker = await first.spawn()
        watching = asyncio.create_task(watched(await first.events(worker), seen))
        unread = await first.events(worker)  # a stream that has not begun when its tenant goes
        await first.done("POST", f"{WORKERS}/{worker}/input", {"content": ENDLESS})
        await until(seen, "output")
        await first.done("POST", f"{WORKERS}/{worker}/input", {"content": f"'{OLD}'"})
        await end(house)
        await watching
        second = await bear(house)
        assert await second.spawn() == worker, "workers are numbered from the beginning"
        await second.turn(worker, f"'{NEW}'")
        assert [event async for event in unread] == []
        assert all(NEW not in str(event.data) for event in seen)
        said = [one["content"] for one in (await second.done("GET", f"{WORKERS}/{worker}/transcript"))["items"]]
        assert said == [f"'{NEW}'", f'"{NEW}"']
        runs = (await second.done("GET", "/v1/runs"))["items"]
        assert len(runs) == 1, "of its own turn"

    live(tmp_path, test)


def test_tm_store_remains_runs_that_wait_for_their_turn_end_with_their_tenant(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        first = await bear(house, quotas={"concurrent_runs": 1})
        await first.done("POST", "/v1/sessions", {"id": "s", **JAVASCRIPT})
        async with house.service.scheduler.slot("reborn", Quotas(concurrent_runs=1)):
            await first.done("POST", "/v1/sessions/s/runs?mode=async", {"code": "globalThis.x = 1"})
            house.service.audit.note("reborn", AppendAudit(at=1, kind="late", actor="first", subject="s"))
            await end(house)
            second = await bear(house)
            await second.done("POST", "/v1/sessions", {"id": "s", **JAVASCRIPT})
        ran = await second.done("POST", "/v1/sessions/s/runs", {"code": "typeof x"})
        assert ran["result"]["result"] == "undefined"
        assert [one["id"] for one in (await second.done("GET", "/v1/runs"))["items"]] == [ran["id"]]
        await house.service.audit.flush()
        audit = (await second.done("GET", "/v1/audit"))["items"]
        assert audit[0]["kind"] == "tenant.create" and "late" not in [one["kind"] for one in audit]

    live(tmp_path, test)


def test_tm_snap_tenant_a_snapshot_that_was_carried_away_opens_in_the_life_it_was_taken_in(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        first = await bear(house)
        await first.done("POST", "/v1/sessions", {"id": "s", **JAVASCRIPT})
        await first.done("POST", "/v1/sessions/s/runs", {"code": f"var secret = '{OLD}'"})
        taken = await first.done("POST", "/v1/sessions/s/snapshots", {})
        blob = (await first.ask("GET", f"/v1/snapshots/{taken['id']}/content")).body
        await first.done("DELETE", f"/v1/snapshots/{taken['id']}")
        assert (await first.ask("POST", "/v1/snapshots", blob, content_type="application/cbor")).status == 201
        await end(house)
        second = await bear(house)
        assert second.birth != first.birth
        refused = await second.ask("POST", "/v1/snapshots", blob, content_type="application/cbor")
        assert (refused.status, refused.code) == (422, "SNAPSHOT_CORRUPT")
        await end(house)
        third = await bear(house, birth=first.birth)  # an admin says that it is that one, as at another gateway
        back = await third.done("POST", "/v1/snapshots", blob, content_type="application/cbor")
        await third.done("POST", f"/v1/snapshots/{back['id']}/restore", {"session_id": "x"})
        assert (await third.done("POST", "/v1/sessions/x/runs", {"code": "secret"}))["result"]["result"] == OLD

    live(tmp_path, test)


@pytest.mark.parametrize("birth", ["x", "F" * 32, "0" * 31, 1])
def test_a_birth_that_is_none_is_refused(birth: Any, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        assert (await house.ask("POST", "/v1/tenants", {"id": "reborn", "birth": birth}, role="admin")).status == 400

    live(tmp_path, test)


def test_the_first_tenant_has_a_birth_only_when_it_is_made_again(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await restore_first(house.service.store, FIRST_TENANT, 1)
        made = await house.service.store.tenant(FIRST_TENANT)
        assert made is not None and made.birth

    live(tmp_path, test)


@pytest.mark.parametrize("left", ["on the disk", "a request on its way"])
def test_a_tenant_is_made_anew_when_nothing_of_the_one_before_is_left(
    left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(house: House) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slow(*_: Any) -> Any:
            begun.set()
            await go_on.wait()
            return Usage()

        first = await bear(house)
        if left == "on the disk":
            monkeypatch.setattr(house.service.store, "compact", slow)
            asking = None
        else:
            monkeypatch.setattr(house.service.tenancy, "usage", slow)
            asking = asyncio.create_task(first.ask("GET", "/v1/me"))
            await begun.wait()
        deleting = asyncio.create_task(end(house))
        while await house.service.store.tenant("reborn") is not None:
            await asyncio.sleep(0)
        making = asyncio.create_task(bear(house))
        await asyncio.wait((making,), timeout=0.05)
        assert not making.done()
        go_on.set()
        await deleting
        await making
        if asking is not None:
            await asking

    live(tmp_path, test)
