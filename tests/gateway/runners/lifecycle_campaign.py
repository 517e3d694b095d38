"""Kill -9 a gateway's runners at random instants, also while they write; after each restart, look whether they kept their word.

    python -m tests.gateway.runners.lifecycle_campaign --kills 200 --seed 1 [--provider NAME …]

Two threads share a destination with a writable entry, a volume and, where the provider has them, a mounted bucket. Each step of a
thread writes n: with a file operation, or with a command into a file of its own, the entry, the volume and the bucket; or exposes
a port, takes a snapshot, keeps an artifact, stops the session. Whatever was answered is acknowledged. After a kill each thread
must find in every place the last acknowledged number of its own, or one that was on its way, whole; its ports, snapshots and
artifacts; and nothing of the other thread but in the volume. In the end the threads are deleted, and then nothing of them is
left: no folder, container, session of the other gateway, stored state or process.

A gateway is a process with the service's own `StoredRunners` over a real SQLite store, forked from a server that has imported
everything; kills come between steps, during them, and while a gateway starts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import multiprocessing
import os
import random
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.egress import Egress
from gateway.errors import GatewayError
from gateway.records import Tenant
from gateway.runners import wire
from gateway.runners.mounts.object_stores import S3Store
from gateway.runners.provider_table import RunnerSettings
from gateway.runners.providers.docker import Docker
from gateway.runners.stored_runners import StoredRunners, open_runners
from gateway.stores.changes import PutTenant
from gateway.stores.factory import open_store
from gateway.stores.store import Store
from gateway.tenants.vault import Vault
from sandbox.encoding.sealing import Keys
from sandbox.workers.process_pool import PoolOptions, ProcessWorkers
from tests.gateway.runners import sshd
from tests.gateway.runners.engine import FakeEngine
from tests.gateway.runners.places import Vault as Secrets
from tests.gateway.serving import serving

PROVIDERS: Final = ("wasm", "unix-local", "ssh", "docker", "hatchway")
THREADS: Final = ("t1", "t2")
TENANT: Final = "acme"
PAIR: Final = {"access_key_id": "AKTEST", "secret_access_key": "hunter2-hunter2"}
PLACES: Final = {"file": "f", "command": "g", "entry": "seed", "volume": "vol/{thread}", "bucket": "data/{thread}"}
"""Where a thread writes its number."""
_PATIENCE_S: Final = 120.0


@dataclass(frozen=True)
class World:
    """What outlives the gateways of one campaign."""

    folder: Path
    provider: str
    config: dict[str, Any] | None = None
    secrets: dict[str, str] = field(default_factory=dict)
    bucket: str = ""
    ports: tuple[int, ...] = ()
    socket: str = ""

    @property
    def has_volume(self) -> bool:
        return self.provider in ("wasm", "unix-local", "docker")

    @property
    def destination(self) -> wire.Destination:
        mounts = [wire.Mount(name="vol", path="vol")] if self.has_volume else []
        if self.bucket:
            intent = wire.MountIntent(kind="s3", uri=self.bucket, credentials=wire.SecretRef("s3"))
            mounts.append(wire.Mount(name="data", path="data", intent=intent))
        entries = [wire.ManifestEntry(source="seed", target="seed", writable=True)] if self.provider != "hatchway" else []
        manifest = wire.Manifest(entries=entries, mounts=mounts)
        return wire.Destination(id="box", provider_id=self.provider, config=self.config, default_manifest=manifest)


# A gateway, in a process of its own


async def _open(world: World) -> tuple[Store, StoredRunners, ProcessWorkers | None]:
    store = await open_store(str(world.folder / "data"), own=True)
    keys = Keys.of(b"k" * 32)
    if await store.tenant(TENANT) is None:
        await store.write(TENANT, [PutTenant(tenant=Tenant(id=TENANT, created_at=1, updated_at=1))])
    vault = Vault(store, keys, _now_ms)
    for name, value in world.secrets.items():
        await vault.set(TENANT, name, value)
    defaults: Any = Docker.__init__.__kwdefaults__  # the operator has no setting for the engine's socket
    defaults["socket_path"] = world.socket
    egress = Egress(ports=world.ports, allow_private=[f"127.0.0.1:{port}" for port in world.ports])
    settings = RunnerSettings(folder=world.folder / "runners", ssh_hosts=("127.0.0.1",), docker_images=("rust:latest",))
    workers = ProcessWorkers(PoolOptions(jail="best_effort", spares=0)) if world.destination.provider_id == "wasm" else None
    runners = open_runners(store, vault, egress, keys, _now_ms, settings, workers)
    await runners.recover()
    await runners.add(TENANT, world.destination)
    for thread in THREADS:
        await runners.select(TENANT, thread, "box", "/workspace")
    return store, runners, workers


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def serve(connection: Connection, world: World) -> None:
    """Answers verbs until it is killed or told to end."""

    async def main() -> None:
        store, runners, workers = await _open(world)
        connection.send(("ready", None))
        while True:
            verb, thread, argument = await asyncio.to_thread(connection.recv)
            if verb == "end":
                break
            try:
                connection.send(("ok", await _do(runners, store, verb, thread, argument)))
            except GatewayError as refused:
                connection.send((refused.code, str(refused)))
        await runners.pool.close()
        if workers is not None:
            await workers.aclose()
        await store.close()
        connection.send(("ok", None))

    asyncio.run(main())


async def _do(runners: StoredRunners, store: Store, verb: str, thread: str, argument: Any) -> Any:
    if verb == "write":
        path, contents = argument
        return await (await runners.use(TENANT, thread)).write_file(wire.WriteFile(path=path, contents=wire.Octets(contents)))
    if verb == "read":
        return bytes((await (await runners.use(TENANT, thread)).read_file(wire.ReadFile(path=argument))).contents)
    if verb == "sh":
        command = wire.Command(command_id="c", program="sh", args=["-c", argument])
        done = await runners.run(TENANT, thread, command)
        return done.exit_code, done.stdout + done.stderr + "".join(done.warnings)
    if verb == "expose":
        return (await runners.expose(TENANT, thread, wire.Port(port=argument)))[1]
    if verb == "snapshot":
        taken = await runners.snapshot(TENANT, thread)
        return taken.snapshot_id if taken is not None else None
    if verb == "artifact":
        return (await (await runners.use(TENANT, thread)).export_artifact(wire.ArtifactRequest(path="f"))).artifact_id
    if verb == "look":
        session = await runners.pool.session(TENANT, thread)
        ports = {port: session.ports.id_of(port) for port in session.ports}
        return session.id, ports, [one.snapshot_id for one in session._snapshots]
    if verb == "blob":
        return await runners.read_artifact(TENANT, thread, argument)
    if verb == "stop":
        return (await runners.stop(TENANT, thread)).status
    if verb == "delete":
        return await runners.delete(TENANT, thread)
    assert verb == "kinds"
    kinds = ("runner.lease", *(f"runner.state/{name}" for name in argument))
    return [kind for kind in kinds if (await store.entries(TENANT, kind, limit=1)).items]


# The campaign


class Broken(AssertionError):
    """A gateway did not keep its word."""


@dataclass
class Thread:
    """What a thread was told, by place: the last acknowledged number, and those on their way since."""

    name: str
    acknowledged: dict[str, int] = field(default_factory=dict)
    coming: dict[str, set[int]] = field(default_factory=dict)
    ports: dict[int, str] = field(default_factory=dict)
    snapshots: list[str] = field(default_factory=list)
    artifacts: dict[str, set[bytes]] = field(default_factory=dict)

    def begin(self, places: list[str], number: int) -> None:
        for place in places:
            self.coming.setdefault(place, set()).add(number)

    def end(self, places: list[str], number: int) -> None:
        for place in places:
            self.acknowledged[place] = number
            self.coming[place] = set()

    def expected(self, place: str) -> set[str]:
        """What may be there."""
        numbers = self.coming.get(place, set()) | ({self.acknowledged[place]} if place in self.acknowledged else set())
        before = set() if place in self.acknowledged else {""}
        return {f"{self.name}:{number}" for number in numbers} | before


class Campaign:
    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random = world, random.Random(seed)
        self.threads = [Thread(name) for name in THREADS]
        self.number = self.kills = 0
        self.sessions: set[str] = set()
        self.mark = f"LIFECYCLE={os.urandom(8).hex()}"
        """In the environment of a process that commands leave behind."""
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__])
        self._process: Any = None
        self._connection: Any = None

    def start(self) -> None:
        ours, theirs = self._context.Pipe()
        self._process = self._context.Process(target=serve, args=(theirs, self.world))
        self._process.start()
        theirs.close()
        self._connection = ours

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._connection.close()
        self.kills += 1

    def answer(self) -> Any:
        if not self._connection.poll(_PATIENCE_S):
            raise Broken("the gateway does not answer")
        try:
            said, value = self._connection.recv()
        except (EOFError, OSError):
            raise Broken("the gateway died") from None
        if said not in ("ok", "ready"):
            raise Broken(f"{said}: {value}")
        return value

    def ask(self, verb: str, thread: Thread, argument: Any = None) -> Any:
        self._connection.send((verb, thread.name, argument))
        return self.answer()

    def run(self, kills: int) -> None:
        self.start()
        while self.kills < kills:
            if self.random.random() < 0.1:  # while it starts
                time.sleep(self.random.random() * 0.3)
            else:
                self.answer()
                self.check()
                for _ in range(self.random.randrange(1, 6)):
                    self.step(self.random.choice(self.threads))
                if self.random.random() < 0.7:
                    self.begin_step(self.random.choice(self.threads))
                    time.sleep(self.random.random() * 0.05)
            self.kill()
            self.start()
        self.answer()
        self.check()
        self.finish()

    def step(self, thread: Thread) -> None:
        kind = self.random.choice(["file", "command", "command", "port", "snapshot", "artifact", "stop"])
        if kind == "port" and self.world.provider in ("unix-local", "ssh"):
            port = self.random.randrange(3000, 3010)
            thread.ports[port] = self.ask("expose", thread, port)
        elif kind == "snapshot" and len(thread.snapshots) < 4:
            thread.snapshots.append(self.ask("snapshot", thread))
        elif kind == "artifact" and "file" in thread.acknowledged:
            made, may = self.ask("artifact", thread), {one.encode() for one in thread.expected("file")}
            thread.artifacts[made] = may
        elif kind == "stop":
            self.ask("stop", thread)
        else:
            places, number = self.begin_step(thread, is_file=kind == "file")
            found = self.answer()
            if found is not None and found[0] != 0:
                raise Broken(f"a command failed: {found}")
            thread.end(places, number)

    def begin_step(self, thread: Thread, *, is_file: bool | None = None) -> tuple[list[str], int]:
        """Write the next number, and do not wait for an answer."""
        self.number += 1
        is_file = self.random.random() < 0.5 if is_file is None else is_file
        places = ["file"] if is_file else [place for place in self.places if place != "file"]
        text = f"{thread.name}:{self.number}"
        thread.begin(places, self.number)
        if is_file:
            self._connection.send(("write", thread.name, ("f", text.encode())))
        else:
            lines = [f"printf {text} > .part && mv .part {PLACES[place].format(thread=thread.name)}" for place in places]
            left = f"; {self.mark} sleep 1000 > /dev/null 2>&1 &" if self.world.provider in ("unix-local", "ssh") else ""
            self._connection.send(("sh", thread.name, " && ".join(lines) + left))
        return places, self.number

    @property
    def places(self) -> list[str]:
        world = self.world
        absent = {"volume": not world.has_volume, "bucket": not world.bucket, "entry": world.provider == "hatchway"}
        return [place for place in PLACES if not absent.get(place)]

    def check(self) -> None:
        for thread in self.threads:
            for place in self.places:
                self._check_place(thread, place)
            name, ports, snapshots = self.ask("look", thread)
            self.sessions.add(name)
            if not thread.ports.items() <= ports.items():
                raise Broken(f"{thread.name} lost ports: {thread.ports} {ports}")
            if not set(thread.snapshots) <= set(snapshots):
                raise Broken(f"{thread.name} lost snapshots: {thread.snapshots} {snapshots}")
            for name, may in thread.artifacts.items():
                if self.ask("blob", thread, name) not in may:
                    raise Broken(f"{thread.name}: artifact {name} is not what it was")

    def _check_place(self, thread: Thread, place: str) -> None:
        code = f"cat {PLACES[place].format(thread=thread.name)} 2> /dev/null; true"
        found = self.ask("sh", thread, code)[1]
        expected = thread.expected(place)
        if place == "entry" and "" in expected:
            expected = expected - {""} | {"seeded"}
        if found not in expected:
            raise Broken(f"{thread.name} found {found!r} in its {place}, and not one of {sorted(expected)}")
        if found.startswith(thread.name):
            thread.end([place], int(found.partition(":")[2]))
        others = [f"{other.name}:" for other in self.threads if other is not thread]
        if place != "volume" and any(one in found for one in others):
            raise Broken(f"{thread.name} found {found!r} of another thread")

    def finish(self) -> None:
        """Delete the threads: nothing of them may be left."""
        for thread in self.threads:
            self.ask("delete", thread)
        left = self.ask("kinds", self.threads[0], sorted(self.sessions))
        if left:
            raise Broken(f"the store still has {left}")
        self._connection.send(("end", "", None))
        self.answer()
        self._process.join()
        runners = self.world.folder / "runners"
        folders = [one for base in (runners / TENANT, self.world.folder / "far") if base.is_dir() for one in base.iterdir()]
        if folders:
            raise Broken(f"folders are left: {folders}")
        if len(self.sessions) != len(self.threads):
            raise Broken(f"a session was replaced: {self.sessions}")
        if processes := find_processes(self.mark):
            raise Broken(f"processes are left: {processes}")


def find_processes(mark: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in place.read_bytes():
                found.append(place.parent.name)
    return found


# The world around


@contextlib.contextmanager
def a_world(provider: str, folder: Path) -> Iterator[World]:
    (folder / "data").mkdir()
    sources = folder / "runners" / ".sources" / TENANT
    sources.mkdir(parents=True)
    (sources / "seed").write_text("seeded")
    with contextlib.ExitStack() as stack:
        if provider in ("wasm", "unix-local"):
            endpoint = stack.enter_context(a_bucket())
            port = int(endpoint.rpartition(":")[2])
            secrets = {"s3": msgspec.json.encode(PAIR).decode()}
            yield World(folder, provider, secrets=secrets, bucket=f"s3://bucket/{folder.name}?endpoint={endpoint}", ports=(port,))
        elif provider == "ssh":
            (folder / "sshd").mkdir()
            (folder / "far").mkdir()
            far = stack.enter_context(sshd.serve(folder / "sshd"))
            config = {
                "host": "127.0.0.1", "port": far.port, "username": far.username, "root": str(folder / "far"),
                "host_key": far.host_key, "identity": {"id": "key"},
            }  # fmt: skip
            yield World(folder, provider, config, secrets={"key": far.identity.decode()})
        elif provider == "docker":
            engine = stack.enter_context(an_engine(folder / "docker.sock"))
            yield World(folder, provider, socket=str(engine.path))
            if engine.containers or engine.images - {"rust:latest"}:
                raise Broken(f"the engine still has {list(engine.containers)} {engine.images}")
        else:
            yield from _another_gateway(folder)


@contextlib.contextmanager
def a_bucket() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"

    async def make() -> None:
        intent = wire.MountIntent(kind="s3", uri=f"s3://bucket?endpoint={endpoint}", credentials=wire.SecretRef("s3"))
        egress = Egress(ports=(port,), allow_private=[f"{host}:{port}"])
        await S3Store(intent, egress, Secrets(s3=msgspec.json.encode(PAIR)))._send("PUT", "", "", b"", 1 << 20)

    asyncio.run(make())
    try:
        yield endpoint
    finally:
        server.stop()


@contextlib.contextmanager
def an_engine(path: Path) -> Iterator[FakeEngine]:
    """An engine on a loop of its own thread, which outlives gateways."""
    loop, engine = asyncio.new_event_loop(), FakeEngine(path)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(engine.__aenter__(), loop).result()
    try:
        yield engine
    finally:
        asyncio.run_coroutine_threadsafe(engine.__aexit__(None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _another_gateway(folder: Path) -> Iterator[World]:
    """A real one, which is not killed. It must have no session left in the end."""
    (folder / "other").mkdir()
    with serving(folder / "other") as other:
        config = {"url": other.url, "token": {"id": "other"}}
        yield World(folder, "hatchway", config, secrets={"other": other.token}, ports=(int(other.url.rpartition(":")[2]),))
        request = urllib.request.Request(f"{other.url}/v1/sessions", headers={"Authorization": f"Bearer {other.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            left = json.load(answer)["items"]
        if left:
            raise Broken(f"the other gateway still has {left}")


def campaign(provider: str, kills: int, seed: int) -> int:
    """How many numbers were written."""
    with tempfile.TemporaryDirectory(prefix="hatchway-lifecycle-") as name, a_world(provider, Path(name)) as world:
        one = Campaign(world, seed)
        try:
            one.run(kills)
        finally:
            if one._process.is_alive():
                one._process.kill()
                one._process.join()
        return one.number


def main() -> None:
    parser = argparse.ArgumentParser(description="kill -9 runners at random instants")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--provider", action="append", choices=PROVIDERS)
    asked = parser.parse_args()
    for provider in asked.provider or PROVIDERS:
        steps = campaign(provider, asked.kills, asked.seed)
        print(f"{provider}: {asked.kills} kills, {steps} writes, seed {asked.seed}: every word was kept", flush=True)


if __name__ == "__main__":
    from tests.gateway.runners import lifecycle_campaign  # not this one: gateways are forked from a process that has that one

    lifecycle_campaign.main()
