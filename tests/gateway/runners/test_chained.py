"""Two gateways: commands of the one run in sessions of the other, over its real `/v1`, also after it was stopped and started."""

from __future__ import annotations

import asyncio
import contextlib
import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateway.configuration import Configuration
from gateway.egress.client import Egress
from gateway.errors import NotFound, Unavailable
from gateway.http.assembly import Face
from gateway.records import Tenant
from gateway.runners.providers.gateways import Hatchway, Reply
from gateway.runners.wire import ArtifactRequest, Destination
from gateway.service import Service
from gateway.stores.interface import PutTenant, PutToken
from gateway.telemetry import Telemetry
from gateway.tokens import mint
from sandbox.images import images
from tests.gateway.http.asking import ask
from tests.gateway.runners.places import Vault, go, read, run, until, write

pytestmark = pytest.mark.skipif(not images.is_ready("shell"), reason="the shell image is not compiled")
PLACE = Destination(id="b", provider_id="hatchway", config={"gateway": "b", "durable": True})


class Client:
    """A `Client` that asks the application of the other gateway directly."""

    def __init__(self, face: Face, token: str) -> None:
        self._face, self._token = face, token

    async def request(
        self, method: str, path: str, *, json: Any = None, body: bytes | None = None, timeout_ms: int = 30_000
    ) -> Reply:
        kind = {"content_type": "application/octet-stream"} if body is not None else {}
        sent = json if json is not None else body or b""
        reply = await ask(self._face.application, method, path, sent, token=self._token, **kind)
        return Reply(reply.status, reply.body)


@contextlib.asynccontextmanager
async def other_gateway(folder: Path) -> AsyncIterator[Client]:
    configuration = Configuration(data=str(folder / "data"), workers="in-process", access_log=False)
    service = await Service.open(configuration)
    try:
        now = service.clock.now_ms()
        text, stored = mint(tenant="acme", name="chain", role="operator", now_ms=now, user="a@acme")
        tenant = Tenant(id="acme", created_at=now, updated_at=now)
        known = [] if await service.store.tenant("acme") else [PutTenant(tenant=tenant)]
        await service.store.write("acme", [*known, PutToken(token=stored)])
        yield Client(Face(service, configuration, Telemetry()), text)
    finally:
        await service.stop(1000)


def test_a_session_of_another_gateway_is_used_like_any_other(tmp_path: Path) -> None:
    async def main() -> None:
        async with other_gateway(tmp_path) as client:
            provider = Hatchway(clients={"b": client})
            session = await provider.create(PLACE)
            done = await run(session, "sh", "-c", 'echo "$1 $A"; cat; echo e >&2; exit 3', "n", "x", env=[("A", "a")], stdin="in")
            assert (done.stdout, done.stderr, done.exit_code) == ("x a\nin", "e\n", 3)
            await write(session, "d/f", b"\x00bin")
            assert await read(session, "d/f") == b"\x00bin"
            assert (await run(session, "sh", "-c", "wc -c < f", cwd="d")).stdout.strip() == "4"
            with pytest.raises(NotFound):
                await read(session, "nothing")
            kept = await session.export_artifact(ArtifactRequest(path="d", recursive=True))
            with tarfile.open(fileobj=io.BytesIO(await provider.blobs.get(kept.artifact_id))) as archive:
                assert archive.getnames() == ["f"]
            running = asyncio.create_task(run(session, "sh", "-c", "while :; do :; done"))
            await until(lambda: session.command_ids == ["c"])
            assert await session.cancel("c") and (await running).status == "cancelled"
            assert (await run(session, "sh", "-c", "while :; do :; done", timeout_ms=200)).status == "timeout"
            await provider.close()
            assert (await client.request("GET", "/v1/sessions/" + session.id)).status == 404

    go(main())


def test_a_session_is_resumed_after_the_other_gateway_was_stopped_and_started(tmp_path: Path) -> None:
    async def main() -> None:
        async with other_gateway(tmp_path) as client:
            session = await Hatchway(clients={"b": client}).create(PLACE)
            await run(session, "sh", "-c", "echo kept > f")
            state = await session.detach()
        async with other_gateway(tmp_path) as client:
            provider = Hatchway(clients={"b": client})
            again = await provider.resume(PLACE, state)
            assert again.id == session.id
            assert (await run(again, "cat", "f")).stdout == "kept\n"
            await provider.close()

    go(main())


def test_a_gateway_the_guarded_client_must_not_reach_is_not_reached() -> None:
    async def main() -> None:
        provider = Hatchway(http=Egress(), secrets=Vault(t=b"hunter2"))
        for url in ("http://127.0.0.1:80", "http://169.254.169.254", "http://[::1]"):
            config = {"url": url, "token": {"id": "t"}}
            with pytest.raises(Unavailable, match="cannot be reached") as raised:
                await provider.create(Destination(id="d", provider_id="hatchway", config=config))
            assert "hunter2" not in str(raised.value)

    go(main())
