"""`docker` beyond the conformance suite: how containers are confined, found again and cleared away.

Against Docker's own engine where the tests can start one, and against a fake elsewhere; what only a real engine can show is
skipped there, saying so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.egress import Egress, EgressRefused
from gateway.egress.proxy import Proxy
from gateway.errors import Forbidden, GatewayError, NotFound, Unavailable, Unsupported
from gateway.runners.command_life import Oversight
from gateway.runners.providers.docker import Docker, DockerSession
from gateway.runners.providers.docker_api import Engine
from gateway.runners.session_state import MemoryStates
from gateway.runners.wire import Command, Destination, Manifest, ManifestEntry, Mount, SessionState, SnapshotRef
from tests.gateway.runners import dockerd
from tests.gateway.runners.engine import FakeEngine
from tests.gateway.runners.places import DOCKER, Servers, go, read, run, write
from tests.gateway.web import answer, serve

PLACE = Destination(id="d", provider_id="docker")
OWN = "/tmp/own" if DOCKER == "docker" else "own"
"""A file of the container's own. The fake has none but those of the workspace."""
Make = Callable[..., Docker]
real = pytest.mark.skipif(DOCKER != "docker", reason="needs Docker's own engine: root, and dockerd (Debian's docker.io)")


@pytest.fixture(params=[DOCKER])
def trial(
    request: pytest.FixtureRequest, tmp_path: Path, servers: Servers
) -> Callable[[Callable[[Make], Awaitable[None]]], None]:
    """Runs a check that makes providers of one engine; `base` and `volumes` are the tenant's."""

    def run_check(check: Callable[[Make], Awaitable[None]]) -> None:
        async def main() -> None:
            async with _engine(request.param, tmp_path, servers) as path:
                made: list[Docker] = []
                states = MemoryStates()

                def make(tenant: str = "acme", **options: Any) -> Docker:
                    base = tmp_path / tenant
                    base.mkdir(exist_ok=True)
                    volumes = tmp_path / "volumes" / tenant
                    made.append(Docker(base, tenant=tenant, socket_path=path, volumes=volumes, states=states, **options))
                    return made[-1]

                try:
                    await check(make)
                finally:
                    for provider in made:
                        await provider.close()

        go(main())

    return run_check


@contextlib.asynccontextmanager
async def _engine(name: str, folder: Path, servers: Servers) -> AsyncIterator[str]:
    if name == "docker":
        yield servers.docker().socket_path
    else:
        async with FakeEngine(folder / "docker.sock") as fake:
            yield str(fake.path)


async def made(provider: Docker, session: DockerSession) -> dict[str, Any]:
    found: dict[str, Any] = await provider.engine.call("GET", f"/containers/{session.id}/json")
    return found


@real
def test_a_container_has_no_network_no_capability_and_nothing_of_the_machine(trial: Any, tmp_path: Path) -> None:
    async def check(make: Make) -> None:
        provider = make()
        session = await provider.create(PLACE)
        done = await run(session, "sh", "-c", "cat /proc/self/status /proc/net/dev /proc/self/mounts; id -u; ls /")
        found = dict(line.split(":\t", 1) for line in done.stdout.splitlines() if ":\t" in line)
        assert {found[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")} == {"0" * 16}
        assert found["NoNewPrivs"] == "1"
        assert [line.split(":")[0].strip() for line in done.stdout.splitlines() if ": " in line and "|" not in line] == ["lo"]
        for tried in ("mknod disk b 8 0", "mount -t tmpfs none /tmp", "mknod /tmp/m c 1 1", "echo 1 > /proc/sys/kernel/panic"):
            assert (await run(session, "sh", "-c", tried)).exit_code != 0, tried
        host = (await made(provider, session))["HostConfig"]
        assert (host["PidsLimit"], host["Memory"], host["NetworkMode"]) == (512, 2 << 30, "none")
        assert [(one["Source"], one["Target"]) for one in host["Mounts"]] == [(str(tmp_path / "acme" / session.id), "/workspace")]

    trial(check)


@real
def test_a_command_that_starts_others_and_ignores_the_signal_ends_with_all_of_them(trial: Any) -> None:
    async def check(make: Make) -> None:
        session = await make().create(PLACE)
        session.grace_ms = 100
        code = "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & while :; do sleep 1; done"
        assert (await run(session, "sh", "-c", code, timeout_ms=500)).status == "timeout"
        names = (await run(session, "sh", "-c", "cat /proc/[0-9]*/comm")).stdout.split()
        assert names.count("sh") <= 1, names  # the shell that looks

    trial(check)


def test_the_container_of_a_gateway_that_died_is_found_again(trial: Any) -> None:
    async def check(make: Make) -> None:
        first = make()
        session = await first.create(PLACE)
        await run(session, "sh", "-c", f"echo kept > kept; echo mine > {OWN}")
        state = session.state
        first.sessions.clear()  # as if its process were killed: nothing is closed, nothing is known any more
        second = make()
        again = await second.resume(PLACE, state)
        assert again.id == session.id and again is not session
        if DOCKER == "docker":
            assert (await run(again, "cat", OWN)).stdout == "mine\n"
        assert await read(again, "kept") == b"kept\n"

    trial(check)


def test_a_container_of_another_tenant_or_destination_is_not_found_again(trial: Any) -> None:
    async def check(make: Make) -> None:
        session = await make().create(PLACE)
        other = msgspec.structs.replace(PLACE, id="other")
        moved = msgspec.structs.replace(session.state, destination_id="other")
        for provider, place, state in ((make("globex"), PLACE, session.state), (make(), other, moved), (make(), PLACE, moved)):
            with pytest.raises(NotFound) as raised:
                await provider.resume(place, state)
            assert raised.value.code == "RUNNER_STALE"
        await make("globex").discard(PLACE, session.state)
        assert (await run(session, "cat", "/dev/null")).exit_code == 0, "another tenant ended it"
        evil = SessionState(provider_id="docker", session_id="../../info", destination_id="d")
        with pytest.raises(NotFound):
            await make().resume(PLACE, evil)

    trial(check)


def test_a_stopped_container_stays_and_a_discarded_one_is_gone_with_its_files_and_image(trial: Any, tmp_path: Path) -> None:
    async def check(make: Make) -> None:
        provider = make()
        session = await provider.create(PLACE)
        assert await session.snapshot() is not None
        await provider.close()
        later = make()
        assert (await later.engine.look(session.id))["Running"] is False
        for _ in range(2):
            await later.discard(PLACE, session.state)
        assert await later.engine.look(session.id) == {}
        assert os.listdir(tmp_path / "acme") == []
        with pytest.raises(GatewayError):
            await later.engine.call("DELETE", f"/images/hatchway-snapshot:{session.id}")

    trial(check)


def test_a_container_that_is_gone_is_made_again_from_its_image_over_the_same_workspace(trial: Any) -> None:
    async def check(make: Make) -> None:
        provider = make()
        session = await provider.create(PLACE)
        await run(session, "sh", "-c", f"echo inside > {OWN}; echo outside > shared")
        await session.snapshot()
        await session.close()
        await provider.engine.call("DELETE", f"/containers/{session.id}")
        again = await provider.resume(PLACE, session.state)
        assert again.id == session.id and await read(again, "shared") == b"outside\n"
        if DOCKER == "docker":
            assert (await run(again, "cat", OWN)).stdout == "inside\n"

    trial(check)


def test_tm_run_image_a_state_from_outside_cannot_start_any_image(trial: Any) -> None:
    async def check(make: Make) -> None:
        provider = make()
        evil = SnapshotRef(provider_id="docker", snapshot_id="rust:latest")
        state = SessionState(provider_id="docker", session_id="gone", destination_id="d", snapshot=evil)
        with pytest.raises(NotFound):
            await provider.resume(PLACE, state)
        with pytest.raises(Unsupported):
            await make(images=("none:latest",)).create(msgspec.structs.replace(PLACE, config={"image": "rust:latest"}))
        with pytest.raises(NotFound, match="runner image not found"):
            await make(images=("none:latest",)).create(PLACE)

    trial(check)


def test_tm_run_swap_a_link_put_where_the_engine_looks_is_noticed(trial: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    class Swapping(Engine):
        async def create(self, name: str, body: dict[str, Any]) -> str:
            (tmp_path / "acme" / name).rename(tmp_path / "acme" / "moved")
            (tmp_path / "acme" / name).symlink_to(outside)
            return await super().create(name, body)

    async def check(make: Make) -> None:
        provider = make()
        provider.engine = engine = Swapping(provider.engine._path)
        with pytest.raises(Unavailable, match="does not show the workspace"):
            await provider.create(PLACE)
        assert os.listdir(outside) == os.listdir(tmp_path / "acme" / "moved") == []
        if DOCKER == "docker":
            left = await engine.call("GET", "/containers/json?all=true")
            assert str(outside) not in json.dumps([one for one in left if one["State"] == "running"])

    trial(check)


@real
def test_volumes_outlive_sessions_are_seen_by_both_and_belong_to_a_tenant(trial: Any) -> None:
    mounts = [Mount(name="data", path="data"), Mount(name="fixed", path="deep/fixed", read_only=True)]
    place = msgspec.structs.replace(PLACE, default_manifest=Manifest(mounts=mounts))

    async def check(make: Make) -> None:
        provider = make()
        session = await provider.create(place)
        assert (await run(session, "sh", "-c", "echo one > data/f; echo no > deep/fixed/f")).exit_code != 0
        assert await read(session, "data/f") == b"one\n"
        await write(session, "data/g", b"two")
        assert (await run(session, "cat", "data/g")).stdout == "two"
        with pytest.raises(Forbidden, match="is read-only"):
            await write(session, "deep/fixed/f", b"")
        await session.close()
        assert (await run(await provider.create(place), "sh", "-c", "cat data/f data/g")).stdout == "one\ntwo"
        with pytest.raises(NotFound):
            await read(await make("globex").create(place), "data/f")

    trial(check)


def test_entries_are_there_before_the_first_command(trial: Any, tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "seed").write_text("seed")
    entry = ManifestEntry(source="seed", target="in/seed", writable=True)

    async def check(make: Make) -> None:
        provider = make(sources=tmp_path / "sources")
        session = await provider.create(msgspec.structs.replace(PLACE, default_manifest=Manifest(entries=[entry])))
        assert (await run(session, "cat", "in/seed")).stdout == "seed"
        fixed = msgspec.structs.replace(entry, writable=False)
        with pytest.raises(Unsupported, match="read-only manifest entries"):
            await provider.create(msgspec.structs.replace(PLACE, default_manifest=Manifest(entries=[fixed])))

    trial(check)


@real
def test_many_commands_leave_nothing_behind_in_the_container(trial: Any) -> None:
    async def check(make: Make) -> None:
        session = await make().create(PLACE)
        for number in range(6):
            await run(session, "sh", "-c", ":", command_id=f"c{number}")
        done = await asyncio.gather(*(run(session, "sh", "-c", "sleep 0.2", command_id=f"p{n}") for n in range(4)))
        assert [one.exit_code for one in done] == [0] * 4
        assert len((await run(session, "sh", "-c", "ls -A /run/hatchway /tmp")).stdout.split()) <= 7

    trial(check)


def test_without_an_engine_it_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        provider = Docker(tmp_path, socket_path=str(tmp_path / "none.sock"))
        assert provider.setup_hint is not None
        with pytest.raises(Unavailable, match="Docker engine cannot be reached"):
            await provider.create(PLACE)

    go(main())


def test_an_engine_that_does_not_start_skips_its_tests_saying_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "dockerd"
    broken.write_text("#!/bin/sh\necho 'no cgroups here' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(pytest.skip.Exception, match="no cgroups here"), dockerd.serve():
        pass


FETCH = """
fetch() {
  exec 3<>/dev/tcp/127.0.0.1/3128 || return
  proxy=${HTTP_PROXY#http://}
  printf 'GET http://%s:PORT/x HTTP/1.1\\r\\nHost: %s\\r\\nProxy-Authorization: Basic %s\\r\\n\\r\\n' \\
    "$1" "$1" "$(printf %s "${proxy%@*}" | base64 -w 0)" >&3
  read -r _ status _ <&3; echo "$1 $status"; cat <&3 | tr -d '\\r' | { while read -r line && [ -n "$line" ]; do :; done; cat; }
}
fetch web.example; fetch other.example; fetch web.test
for host in 127.0.0.1 10.0.0.1 1.1.1.1; do (exec 4<>/dev/tcp/$host/PORT) 2>/dev/null && echo "reached $host"; done
cat /proc/net/dev | wc -l
"""


@real
def test_a_container_with_a_network_reaches_what_operator_and_policy_allow_through_the_proxy_and_nothing_else(trial: Any) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    asked: list[str] = []

    def decide(host: str, port: int, scheme: str) -> None:
        asked.append(host)
        if host == "other.example":
            raise EgressRefused("PERMISSION_DENIED", "no")

    async def check(make: Make) -> None:
        async with serve(lambda request: answer(b"from outside\n")) as web:
            egress = Egress(resolve=resolve, allow_private=["127.0.0.1/32"], ports=[web.port])
            provider = make(proxy=Proxy(egress, ["*.example"]))
            wanted = Destination(id="d", provider_id="docker", config={"network": True})
            session = await provider.create(wanted)
            command = Command(command_id="c", program="bash", args=["-c", FETCH.replace("PORT", str(web.port))])
            for _ in range(2):
                done = await session.start(command, Oversight(connect=decide)).stay()
                assert done.stdout.split("\n")[:4] == [
                    "web.example 200", "from outside", "other.example 403", "no"
                ], done  # fmt: skip
                assert "web.test 403" in done.stdout and "reached" not in done.stdout, done
                assert done.stdout.split()[-1] == "3", "a loopback device and no other"
                assert asked == ["web.example", "other.example"]
                asked.clear()
                refused = (await session.run(command)).stdout
                assert refused.count(" 407\n") == 3, "without the policy's word there is none"
                state = session.state
                await session.close()  # its container is started again, with a new network
                session = await provider.resume(wanted, state)
            await session.close()

    trial(check)


def test_a_container_has_no_network_where_the_operator_lists_no_domains_or_the_engine_is_elsewhere(trial: Any) -> None:
    async def check(make: Make) -> None:
        wanted = Destination(id="d", provider_id="docker", config={"network": True})
        with pytest.raises(Unsupported, match="gives docker commands no network"):
            await make().create(wanted)
        provider = make(proxy=Proxy(Egress(), ["*"]))
        look = provider.engine.look

        async def tell_other(container: str) -> dict[str, Any]:
            found = await look(container)
            return found and {**found, "Pid": os.getpid()}

        provider.engine.look = tell_other  # type: ignore[method-assign]
        with pytest.raises(Unavailable, match="the network of a container cannot be entered") as failed:
            await provider.create(wanted)
        assert "the machine's own network" in str(failed.value.error.hint)

    trial(check)


RAISE_LOOPBACK = """
import fcntl, socket, struct, time
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, struct.pack("16sh14x", b"lo", 0x41))
print("up", flush=True); time.sleep(60)
"""


@real
def test_tm_run_swap_a_port_that_the_container_does_not_show_is_not_served(trial: Any) -> None:
    async def check(make: Make) -> None:
        with subprocess.Popen(["unshare", "--net", sys.executable, "-c", RAISE_LOOPBACK], stdout=subprocess.PIPE) as other:
            try:
                provider = make(proxy=Proxy(Egress(), ["*"]))
                look = provider.engine.look

                async def tell_other(container: str) -> dict[str, Any]:
                    found = await look(container)
                    return found and {**found, "Pid": other.pid}

                provider.engine.look = tell_other  # type: ignore[method-assign]
                assert other.stdout is not None and other.stdout.readline() == b"up\n"
                with pytest.raises(Unavailable, match="does not show the port of its proxy"):
                    await provider.create(Destination(id="d", provider_id="docker", config={"network": True}))
            finally:
                other.kill()

    trial(check)
