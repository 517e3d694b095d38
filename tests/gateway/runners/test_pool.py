"""Threads, destinations and sessions: bound early, made late, found again, and nobody else's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.errors import BadRequest, Forbidden, NotFound, Unavailable, Unsupported
from gateway.runners.interface import Provider
from gateway.runners.pool import Lease, MemoryLeases, Pool
from gateway.runners.providers.gateway import Hatchway
from gateway.runners.providers.unix_local import JailOptions, UnixLocal
from gateway.runners.providers.wasm import Wasm
from gateway.runners.runners import Runners
from gateway.runners.session_state import MemoryStates
from gateway.runners.wire import (
    ArtifactRequest,
    Binding,
    Command,
    Destination,
    Manifest,
    Mount,
    Octets,
    Port,
    ReadFile,
    SessionState,
    ThreadOptions,
    WriteFile,
    decode,
    encode,
)
from tests.gateway.runners.other_gateway import OtherGateway
from tests.gateway.runners.places import go, until

HERE = Destination(id="here", provider_id="wasm")


class Counting(Wasm):
    """A provider that is slow to start, and fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.made, self.failures = 0, failures

    async def create(self, destination: Destination, binding: Binding | None = None, **named: Any):  # type: ignore[no-untyped-def]
        self.made += 1
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise Unavailable("RUNNER_UNAVAILABLE", "not yet")
        return await super().create(destination, binding, **named)


def command(code: str, command_id: str = "c") -> Command:
    return Command(command_id=command_id, program="sh", args=["-c", code])


async def bound(provider: Provider | None = None, place: Destination = HERE, leases: MemoryLeases | None = None) -> Runners:
    runners = Runners(Pool([provider or Wasm()], leases))
    await runners.add("acme", place)
    await runners.select("acme", "t1", place.id, "/workspace")
    return runners


def test_nothing_starts_before_it_is_needed_and_then_once() -> None:
    async def main() -> None:
        provider = Counting()
        runners = await bound(provider)
        assert (await runners.session("acme", "t1")).status == "unprovisioned"
        assert provider.made == 0
        done = await asyncio.gather(*(runners.run("acme", "t1", command("echo hi", f"c{n}")) for n in range(5)))
        assert [one.stdout for one in done] == ["hi\n"] * 5
        assert provider.made == 1
        assert (await runners.session("acme", "t1")).status == "idle"
        await runners.pool.close()

    go(main())


def test_a_failed_start_is_tried_again_and_never_replaced_by_another_place() -> None:
    async def main() -> None:
        runners = await bound(Counting(failures=2))
        for _ in range(2):
            with pytest.raises(Unavailable):
                await runners.run("acme", "t1", command("echo hi"))
            assert (await runners.session("acme", "t1")).status == "unprovisioned"
        assert (await runners.run("acme", "t1", command("echo hi"))).stdout == "hi\n"
        await runners.pool.close()

    go(main())


def test_an_unknown_provider_and_a_relative_workspace_fail_when_a_thread_is_bound() -> None:
    async def main() -> None:
        runners = await bound()
        for name, hint in (("nowhere", "use: wasm"), ("unix-local", "it is offered where the operator sets runners_folder")):
            with pytest.raises(BadRequest, match=rf"^runner provider {name} is not known$") as refused:
                await runners.add("acme", Destination(id="d", provider_id=name))
            assert refused.value.error.hint == hint
        lost = Binding(destination=Destination(id="d", provider_id="nowhere"), workspace="/workspace")
        with pytest.raises(BadRequest, match="is not known"):
            await runners.pool.bind("acme", "t2", lost)
        with pytest.raises(BadRequest, match="must be an absolute path"):
            await runners.select("acme", "t2", "here", "relative")
        with pytest.raises(BadRequest, match="must be an absolute path"):
            await runners.select("acme", "t2", "here", "/workspace", ["also/relative"])
        with pytest.raises(NotFound):
            await runners.session("acme", "t2")
        await runners.pool.close()

    go(main())


def test_what_is_another_tenants_is_not_found() -> None:
    async def main() -> None:
        runners = await bound()
        await runners.run("acme", "t1", command("echo hi"))
        for action in (
            runners.session("evil", "t1"),
            runners.run("evil", "t1", command("id")),
            runners.delete("evil", "t1"),
            runners.cancel("evil", "t1", "c"),
            runners.snapshot("evil", "t1"),
            runners.use("evil", "t1"),
            runners.select("evil", "t1", "here", "/workspace"),
            runners.remove("evil", "here"),
        ):
            with pytest.raises(NotFound) as raised:
                await action
            assert raised.value.code == "RUNNER_NOT_FOUND"
        listing = await runners.list("evil")
        assert (listing.destinations, listing.threads) == ([], [])
        assert [one.id for one in listing.providers] == ["wasm"]
        await runners.pool.close()

    go(main())


def test_tm_run_tenant_directories_volumes_and_snapshots_of_tenants_are_apart(tmp_path: Path) -> None:
    async def main() -> None:
        def make(tenant: str) -> list[Provider]:
            base = tmp_path / tenant
            base.mkdir()
            return [UnixLocal(base, volumes=base.with_suffix(".volumes")), Wasm(tenant=tenant)]

        runners = Runners(Pool(make))
        place = Destination(id="local", provider_id="unix-local", default_manifest=Manifest(mounts=[Mount(name="v", path="v")]))
        for tenant in ("acme", "evil"):
            await runners.add(tenant, place)
            await runners.select(tenant, "t1", "local", "/workspace")
        await (await runners.use("acme", "t1")).write_file(WriteFile(path="v/secret", contents=Octets(b"secret")))
        looked = await runners.run("evil", "t1", command(f"cat {tmp_path}/acme/v/secret ../acme/v/secret v/secret"))
        assert looked.stdout == "" and looked.exit_code != 0
        with pytest.raises(NotFound):
            await (await runners.use("evil", "t1")).read_file(ReadFile(path="v/secret"))
        with pytest.raises(Forbidden):
            await runners.select("evil", "t2", "local", str(tmp_path / "acme"))
        await runners.pool.close()

    go(main())


def test_a_session_is_found_again_by_its_thread_after_a_restart_and_by_no_other() -> None:
    async def main() -> None:
        leases, states = MemoryLeases(), MemoryStates()
        first = Runners(Pool([Wasm(states=states)], leases))
        await first.add("acme", HERE)
        for thread in ("t1", "t2"):
            await first.select("acme", thread, "here", "/workspace")
        await (await first.use("acme", "t1")).write_file(WriteFile(path="x", contents=Octets(b"kept")))
        lease = await leases.get("acme", "t1")
        assert lease is not None and decode(encode(lease), Lease) == lease
        again = Runners(Pool([Wasm(states=states)], leases))
        assert (await again.session("acme", "t1")).status == "stopped"
        assert (await (await again.use("acme", "t1")).read_file(ReadFile(path="x"))).contents == b"kept"
        await leases.put("acme", "t2", lease)  # as if rows had been mixed up
        with pytest.raises(NotFound, match=r"^path x does not exist$"):
            await (await again.use("acme", "t2")).read_file(ReadFile(path="x"))
        await again.pool.close()

    go(main())


def test_what_a_crash_left_half_made_or_without_a_thread_is_removed_at_start(tmp_path: Path) -> None:
    async def main() -> None:
        leases, states = MemoryLeases(), MemoryStates()
        place = Destination(id="here", provider_id="unix-local")
        runners = await bound(UnixLocal(tmp_path, states=states), place, leases)
        await runners.run("acme", "t1", command("echo kept > f"))
        lease = await leases.get("acme", "t1")
        assert lease is not None and lease.state is not None
        half = msgspec.structs.replace(lease.state, session_id=f"unix-local-{'0' * 32}")
        await leases.put("acme", "t2", Lease(binding=lease.binding, state=half, is_made=False))
        for name in (half.session_id, f"unix-local-{'1' * 32}", "the-operators-own"):
            (tmp_path / name).mkdir()
        await runners.pool.close()
        again = Runners(Pool([UnixLocal(tmp_path, states=states)], leases))
        await again.pool.recover("acme")
        assert sorted(one.name for one in tmp_path.iterdir()) == ["the-operators-own", lease.state.session_id]
        assert (await again.session("acme", "t2")).status == "unprovisioned"
        assert (await again.run("acme", "t1", command("cat f"))).stdout == "kept\n"
        await again.delete("acme", "t1")
        assert [one.name for one in tmp_path.iterdir()] == ["the-operators-own"]
        await again.pool.close()

    go(main())


def test_a_stale_state_gives_a_fresh_session() -> None:
    async def main() -> None:
        leases = MemoryLeases()
        gone = SessionState(provider_id="wasm", session_id="wasm-gone", destination_id="here")
        await leases.put("acme", "t1", Lease(binding=Binding(destination=HERE, workspace="/workspace"), state=gone))
        runners = Runners(Pool([Wasm()], leases))
        assert (await runners.run("acme", "t1", command("echo fresh"))).stdout == "fresh\n"
        found = (await runners.session("acme", "t1")).state
        assert found is not None and found.session_id != "wasm-gone"
        await runners.pool.close()

    go(main())


def test_selecting_another_destination_ends_the_session_of_the_one_before(tmp_path: Path) -> None:
    async def main() -> None:
        runners = Runners(Pool([Wasm(), UnixLocal(tmp_path)]))
        await runners.add("acme", HERE)
        await runners.add("acme", Destination(id="local", provider_id="unix-local"))
        await runners.select("acme", "t1", "here", "/workspace")
        first = await runners.pool.session("acme", "t1")
        await runners.select("acme", "t1", "here", "/workspace")
        assert await runners.pool.session("acme", "t1") is first
        await runners.select("acme", "t1", "local", "/workspace")
        assert first.is_closed
        assert (await runners.run("acme", "t1", command("pwd"))).stdout == "/workspace\n"
        with pytest.raises(Forbidden):
            await (await runners.use("acme", "t1")).read_file(ReadFile(path="../x"))
        await runners.pool.close()

    go(main())


def test_the_verbs_say_what_a_thread_has_and_does(tmp_path: Path) -> None:
    async def main() -> None:
        runners = Runners(Pool([UnixLocal(tmp_path)]))
        await runners.add("acme", Destination(id="local", provider_id="unix-local"))
        await runners.select("acme", "t1", "local", "/workspace")
        assert await runners.cancel("acme", "t1", "c") is False
        with pytest.raises(NotFound):
            await runners.pause("acme", "t1")
        running = asyncio.create_task(runners.run("acme", "t1", command("echo begun; : > begun; while :; do sleep 0.01; done")))
        await until(lambda: any(tmp_path.glob("*/workspace/begun")))
        info = await runners.session("acme", "t1")
        assert (info.status, info.commands, info.provider_id) == ("busy", ["c"], "unix-local")
        assert (await runners.pause("acme", "t1")).status == "paused"
        assert (await runners.resume("acme", "t1")).status == "busy"
        assert (await runners.detach("acme", "t1")).detached
        assert not (await runners.rejoin("acme", "t1")).detached
        made, exposure_id = await runners.expose("acme", "t1", Port(port=8080))
        assert made.url == "http://127.0.0.1:8080" and list(await runners.ports("acme", "t1")) == [made]
        assert (await runners.expose("acme", "t1", Port(port=8080, label="web")))[1] == exposure_id
        await runners.withdraw("acme", "t1", 8080)
        assert (await runners.expose("acme", "t1", Port(port=8080)))[1] != exposure_id
        assert await runners.cancel("acme", "t1", "c") is True
        assert (await running).status == "cancelled"
        assert (await runners.wait("acme", "t1", "c")).stdout == "begun\n"
        assert await runners.snapshot("acme", "t1") is not None
        await (await runners.use("acme", "t1")).write_file(WriteFile(path="a", contents=Octets(b"a")))
        assert (await (await runners.use("acme", "t1")).export_artifact(ArtifactRequest(path="a"))).metadata["size_bytes"] == 1
        await runners.delete("acme", "t1")
        with pytest.raises(NotFound):
            await runners.session("acme", "t1")
        await runners.pool.close()

    go(main())


def test_a_provider_that_is_not_set_up_says_what_is_missing_without_values() -> None:
    async def main() -> None:
        provider = UnixLocal(jail=JailOptions(least_abi=1000))
        listing = await Runners(Pool([provider, Wasm()])).list("acme")
        assert [one.setup_hint is None for one in listing.providers] == [False, True]

    go(main())


def test_what_a_provider_cannot_do_is_unsupported_and_names_it() -> None:
    async def main() -> None:
        runners = await bound()
        await runners.run("acme", "t1", command("true"))
        with pytest.raises(Unsupported, match=r"^runner pause is not supported by this provider$"):
            await runners.pause("acme", "t1")
        with pytest.raises(Unsupported, match=r"^runner port preview is not supported by this provider$"):
            await runners.expose("acme", "t1", Port(port=80))
        await runners.pool.close()

    go(main())


def test_a_session_elsewhere_outlives_a_gateway_that_stops_and_one_that_is_away_holds_nothing_up() -> None:
    place = Destination(id="far", provider_id="hatchway", config={"gateway": "other"})

    async def main() -> None:
        other, leases = OtherGateway(), MemoryLeases()
        states = MemoryStates()
        runners = await bound(Hatchway(clients={"other": other}, states=states), place=place, leases=leases)
        await runners.run("acme", "t1", command("echo kept > f"))
        await runners.pool.close()
        assert len(other.sessions) == 1
        again = Runners(Pool([Hatchway(clients={"other": other}, states=states)], leases))
        assert (await again.run("acme", "t1", command("cat f"))).stdout == "kept\n"
        other.is_away = True
        await again.pool.close()
        other.is_away = False
        third = Runners(Pool([Hatchway(clients={"other": other}, states=states)], leases))
        await third.delete("acme", "t1")
        assert other.sessions == {}

    go(main())


def test_a_forgotten_tenant_has_no_session_anywhere_and_others_keep_theirs() -> None:
    place = Destination(id="far", provider_id="hatchway", config={"gateway": "other"})

    async def main() -> None:
        other, leases = OtherGateway(), MemoryLeases()
        runners = Runners(Pool(lambda tenant: [Hatchway(clients={"other": other})], leases))
        for tenant in ("acme", "globex"):
            await runners.add(tenant, place)
            for thread in ("t1", "t2"):
                await runners.select(tenant, thread, "far", "/workspace")
                await runners.run(tenant, thread, command("echo hi"))
        await runners.detach("acme", "t2")
        await runners.pool.forget("acme")
        assert (len(other.sessions), await leases.list("acme"), runners.pool.destinations("acme")) == (2, {}, [])
        assert (await runners.run("globex", "t1", command("echo on"))).stdout == "on\n"
        other.is_away = True
        await runners.pool.forget("globex")
        assert await leases.list("globex") == {}

    go(main())


def test_a_thread_that_is_kept_alive_while_the_expired_are_deleted_stays() -> None:
    class Slow(MemoryLeases):
        async def put(self, tenant: str, thread_id: str, lease: Lease) -> None:
            await asyncio.sleep(0)
            await super().put(tenant, thread_id, lease)

    async def test() -> None:
        now = 0
        pool = Pool([Wasm()], Slow(), lambda: now)
        await pool.bind("acme", "kept", Binding(destination=HERE, workspace="/workspace"), ThreadOptions(ttl_ms=1000))
        await pool.bind("acme", "over", Binding(destination=HERE, workspace="/workspace"), ThreadOptions(ttl_ms=1000))
        now = 1000
        await asyncio.gather(pool.keep_alive("acme", "kept", 5000), pool.retire())
        assert (await pool.lease("acme", "kept")).expires_ms == 6000
        with pytest.raises(NotFound):
            await pool.lease("acme", "over")

    go(test())


def test_tm_run_deep_what_fails_at_one_place_keeps_neither_a_start_nor_a_deletion_from_its_end() -> None:
    class Broken(Wasm):
        async def sweep(self, *_: Any) -> None:
            raise RecursionError

        async def _discard(self, *_: Any) -> None:
            raise RecursionError

    async def main() -> None:
        leases, states = MemoryLeases(), MemoryStates()
        pool = Pool([Broken(states=states)], leases)
        pool.put("acme", HERE)
        await pool.bind("acme", "t", Binding(destination=HERE, workspace="/workspace"))
        await pool.session("acme", "t")
        await pool.recover("acme")
        await pool.delete("acme", "t")
        assert await leases.list("acme") == {}

    go(main())
