"""What runners leave behind: what outlives the gateway, what goes with its tenant, and how much there may be of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import NotFound, TooLarge
from gateway.records import Principal, Tenant
from gateway.runners import pool
from gateway.runners.stored_runners import StoredBlobs
from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.store import Store
from sandbox.guests.images import images
from tests.gateway.http.routes.test_runners import ONE, PLACES, House, live_in

ADMIN = Principal(tenant="default", role="admin", user="root")


@pytest.fixture(autouse=True)
def _ready() -> None:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")


def test_artifacts_and_snapshots_outlive_the_gateway(tmp_path: Path) -> None:
    told: dict[str, Any] = {}

    async def first(house: House) -> None:
        await house.bind("wasm")
        await house.sh("echo kept > f")
        told["url"] = (await house.ask("POST", ONE + "/artifacts", {"path": "f"})).json["url"]
        told["snapshot"] = (await house.ask("POST", ONE + "/snapshot")).json
        await house.sh("echo later > g", "c2")

    async def second(house: House) -> None:
        assert (await house.ask("GET", told["url"])).body == b"kept\n"
        assert (await house.ask("GET", told["url"], tenant="globex")).status == 404
        assert (await house.ask("GET", ONE)).json["state"]["snapshot"] == told["snapshot"]
        assert (await house.sh("cat f; cat g")).json["stdout"] == "kept\nlater\n"

    live_in(tmp_path, first)
    live_in(tmp_path, second)


@pytest.mark.parametrize("provider", PLACES)
def test_a_deleted_tenants_sessions_end_and_a_new_one_of_that_name_finds_nothing(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await house.sh("echo mine > f")
        endless = asyncio.create_task(house.sh("echo $$ > pid; while :; do :; done", "long"))
        while "long" not in (await house.ask("GET", ONE)).json["commands"]:
            await asyncio.sleep(0.01)
        session = house.service.runners.pool.find_live("acme", "t1")
        process = await _process(house) if provider == "unix-local" else None
        await house.service.tenancy.delete(ADMIN, "acme")
        assert session.is_closed
        assert b"exited" not in (await endless).body
        if process is not None:
            assert not _is_alive(process)
            assert not (house.local / "acme").exists() or not os.listdir(house.local / "acme")
        await house.furnish()  # anew
        listed = (await house.ask("GET", "/v1/runners")).json
        assert (listed["destinations"], listed["threads"]) == ([], [])
        await house.bind(provider)
        assert (await house.ask("GET", ONE + "/files?path=f")).status == 404

    live_in(tmp_path, test)


async def _process(house: House) -> int:
    """The jail's supervisor."""
    session: Any = house.service.runners.pool.find_live("acme", "t1")
    found: int = session._jail._child.pid
    assert _is_alive(found)
    return found


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    return False


@pytest.mark.parametrize("provider", PLACES)
def test_tm_run_tenant_volumes_of_one_name_are_each_tenants_own(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        manifest = {"mounts": [{"name": "data", "path": "data"}]}
        for tenant, code in (("acme", "echo acme > data/f"), ("globex", "ls data"), ("acme", "cat data/f")):
            place = {"id": "box", "provider_id": provider, "default_manifest": manifest}
            made = await house.ask("POST", "/v1/runners/destinations", place, tenant=tenant, role="operator")
            assert made.status == 201, made.body
            await house.ask("PUT", ONE, {"destination_id": "box"}, tenant=tenant)
            body = {"command_id": "c", "program": "sh", "args": ["-c", code]}
            done = await house.ask("POST", ONE + "/commands", body, tenant=tenant)
            assert done.json["stdout"] == ("acme\n" if code.startswith("cat") else ""), done.body
            assert (await house.ask("DELETE", ONE, tenant=tenant)).status == 204

    live_in(tmp_path, test)


def test_entries_of_a_manifest_come_from_the_operators_folder_of_the_tenant(tmp_path: Path) -> None:
    for tenant in ("acme", "globex"):
        (tmp_path / "local" / ".sources" / tenant).mkdir(parents=True)
        (tmp_path / "local" / ".sources" / tenant / "seed").write_text(tenant)
    (tmp_path / "local" / ".sources" / "acme" / "out").symlink_to("../globex/seed")

    async def test(house: House) -> None:
        for source, said in (("seed", "acme"), ("../globex/seed", "PATH_OUTSIDE_WORKSPACE"), ("out", "PATH_OUTSIDE_WORKSPACE")):
            manifest = {"entries": [{"source": source, "target": "seed", "writable": True}]}
            place = {"id": "box", "provider_id": "wasm", "default_manifest": manifest}
            assert (await house.ask("POST", "/v1/runners/destinations", place, role="operator")).status == 201
            await house.ask("PUT", ONE, {"destination_id": "box"})
            assert said in (await house.sh("cat seed")).body.decode()
            await house.ask("DELETE", ONE)

    live_in(tmp_path, test)


def test_a_tenants_threads_and_busy_sessions_are_limited_and_idle_ones_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MAX_THREADS", 3)
    monkeypatch.setattr(pool, "MAX_SESSIONS", 1)

    async def test(house: House) -> None:
        await house.bind("wasm")
        await house.sh("echo hi")
        for number in (2, 3, 4):
            bound = await house.ask("PUT", f"/v1/runners/threads/t{number}", {"destination_id": "box"})
            assert bound.status == (200 if number < 4 else 409)
        body = {"command_id": "c", "program": "true"}
        endless = asyncio.create_task(house.sh("while :; do :; done", "long"))
        while (await house.ask("GET", ONE)).json["status"] != "busy":
            await asyncio.sleep(0.01)
        assert (await house.ask("POST", "/v1/runners/threads/t2/commands", body)).code == "RUNNER_BUSY"
        await house.ask("POST", ONE + "/commands/long/cancel")
        await endless
        assert (await house.ask("POST", "/v1/runners/threads/t2/commands", body)).status == 200
        assert (await house.ask("GET", ONE)).json["status"] == "stopped", "the idle one made room"
        assert (await house.sh("echo on")).json["stdout"] == "on\n"

    live_in(tmp_path, test)


async def a_store() -> Store:
    store = MemoryStore()
    for name in ("acme", "globex"):
        await store.write(name, [PutTenant(tenant=Tenant(id=name, created_at=1, updated_at=1))])
    return store


def test_blobs_are_bounded_nothing_kept_goes_for_another_and_each_is_its_tenants() -> None:
    async def main() -> None:
        store = await a_store()
        blobs = StoredBlobs(store, "acme", lambda: 1, limit_bytes=5 << 20)
        other = StoredBlobs(store, "globex", lambda: 1)
        first, second = await blobs.put(b"a" * (2 << 20)), await blobs.put(b"b" * ((1 << 20) + 1))
        assert await blobs.put(b"a" * (2 << 20)) == first
        assert await blobs.put(b"", salt=b"1") != await blobs.put(b"", salt=b"2")
        with pytest.raises(TooLarge):
            await blobs.put(b"c" * (3 << 20))
        assert (await blobs.get(first), await blobs.get(second)) == (b"a" * (2 << 20), b"b" * ((1 << 20) + 1))
        for gone in (other.get(second), blobs.get("0" * 64)):
            with pytest.raises(NotFound):
                await gone
        for _ in range(2):
            await blobs.delete(first)
        third = await blobs.put(b"c" * (3 << 20))
        assert len(await blobs.get(third)) == 3 << 20 and len(await blobs.get(second)) == (1 << 20) + 1
        await blobs.delete(third)
        assert len((await store.entries("acme", "runner.piece")).items) == 2, "pieces were left behind"

    asyncio.run(main())
