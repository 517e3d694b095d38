"""A client that is refused and asks again at once must not take the time of those who were let in."""

from __future__ import annotations

import asyncio

import pytest

from gateway.configuration import Configuration
from gateway.http import connections
from gateway.records import Quotas
from tests.gateway.http.rig import Rig

PATIENCE_S = 30.0


class Asker:
    """One kept connection, asked without waiting for its answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        self._reader, self._writer = reader, writer
        self._head = f"GET /v1/notes HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n\r\n".encode()

    def send(self) -> None:
        self._writer.write(self._head)

    async def status(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await self._reader.readexactly(length)
        return int(head.split(b" ", 2)[1])

    async def ask(self) -> int:
        self.send()
        return await self.status()

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


def test_tm_http_flood_a_refused_connections_next_request_waits_and_others_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEED_S", 3600.0)

    async def main() -> None:
        rig = Rig(Configuration(port=0, access_log=False, drain_deadline_ms=0))
        rig.memory.quota["acme"] = Quotas(requests_per_min=6)
        await rig.server.start()
        tokens = rig.token(), rig.token("globex")
        hasty, other = [Asker(*await asyncio.open_connection("127.0.0.1", rig.server.port), token) for token in tokens]
        assert await hasty.ask() == 200
        assert await hasty.ask() == 429
        hasty.send()
        waits = asyncio.create_task(hasty.status())
        for _ in range(20):
            assert await other.ask() == 200
        assert not waits.done(), "it was refused again at once"
        waits.cancel()
        await asyncio.wait((waits,))
        await hasty.close()
        await other.close()
        await rig.server.stop()

    asyncio.run(main())


def test_a_refused_connections_next_request_is_answered_when_it_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEED_S", 0.001)

    async def main() -> None:
        rig = Rig(Configuration(port=0, access_log=False))
        rig.memory.quota["acme"] = Quotas(requests_per_min=6)
        await rig.server.start()
        asker = Asker(*await asyncio.open_connection("127.0.0.1", rig.server.port), rig.token())
        assert [await asker.ask() for _ in range(4)] == [200, 429, 429, 429]
        await asker.close()
        await rig.server.stop()

    asyncio.run(main())
