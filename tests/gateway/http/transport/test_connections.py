"""Refusing must not become all the work, and nobody pays for another's refusal: behind a proxy tenants share connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gateway.configuration import Configuration
from gateway.http.transport import connections
from gateway.http.transport.connections import REFUSALS_FREE, Pressure
from gateway.records import Quotas
from tests.gateway.http.rig import Rig

PATIENCE_S = 30.0
FOR_EVER_S = 3600.0


class Asker:
    """One kept connection, asked by one tenant or another."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, token: str) -> int:
        self._writer.write(f"GET /v1/notes HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await self._reader.readexactly(length)
        return int(head.split(b" ", 2)[1])

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


class Stage:
    """A server on which `hasty` may ask once a minute, and `other` as often as it likes."""

    def __init__(self, rig: Rig) -> None:
        self._rig, self._askers = rig, list[Asker]()
        self.hasty, self.other = rig.token("acme"), rig.token("globex")
        rig.memory.quota["acme"] = Quotas(requests_per_min=1)

    async def connect(self) -> Asker:
        self._askers.append(Asker(*await asyncio.open_connection("127.0.0.1", self._rig.server.port)))
        return self._askers[-1]

    async def close(self) -> None:
        for asker in self._askers:
            await asker.close()


def play(scene: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        rig = Rig(Configuration(port=0, access_log=False, drain_deadline_ms=0))
        await rig.server.start()
        stage = Stage(rig)
        try:
            await scene(stage)
        finally:
            await stage.close()
            await rig.server.stop()

    asyncio.run(main())


def expect_a_flood(monkeypatch: pytest.MonkeyPatch, *, late_s: float) -> None:
    """Every refusal is one too many, and a connection's next one is that late."""
    monkeypatch.setattr(connections, "HEED_S", FOR_EVER_S)
    monkeypatch.setattr(connections, "HEED_S_MAX", late_s)
    monkeypatch.setattr(connections, "REFUSALS_FREE", 0)
    monkeypatch.setattr(connections, "REFUSALS_SHARE", 0)


def test_a_few_refusals_are_told_at_once_however_soon_one_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEED_S", FOR_EVER_S)

    async def scene(stage: Stage) -> None:
        asker = await stage.connect()
        assert [await asker.ask(stage.hasty) for _ in range(5)] == [200, 429, 429, 429, 429]

    play(scene)


def test_tm_http_flood_while_there_are_too_many_a_connections_next_refusal_is_late_and_others_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expect_a_flood(monkeypatch, late_s=FOR_EVER_S)

    async def scene(stage: Stage) -> None:
        hasty, other = await stage.connect(), await stage.connect()
        assert [await hasty.ask(stage.hasty) for _ in range(2)] == [200, 429]
        waits = asyncio.create_task(hasty.ask(stage.hasty))
        for _ in range(20):
            assert await other.ask(stage.other) == 200
        assert not waits.done(), "it was refused again at once"
        waits.cancel()
        await asyncio.wait((waits,))

    play(scene)


def test_whoever_shares_a_connection_with_a_refused_tenant_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    expect_a_flood(monkeypatch, late_s=FOR_EVER_S)

    async def scene(stage: Stage) -> None:
        shared, fresh = await stage.connect(), await stage.connect()
        assert [await shared.ask(stage.hasty) for _ in range(2)] == [200, 429]
        assert [await shared.ask(stage.other) for _ in range(5)] == [200] * 5
        assert await fresh.ask(stage.hasty) == 429, "a connection's first refusal is told at once"

    play(scene)


def test_a_late_refusal_is_told_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    expect_a_flood(monkeypatch, late_s=0.001)

    async def scene(stage: Stage) -> None:
        asker = await stage.connect()
        assert [await asker.ask(stage.hasty) for _ in range(4)] == [200, 429, 429, 429]

    play(scene)


def test_whoever_comes_back_when_told_is_refused_at_once_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEED_S", 0.0)  # every moment is late enough
    monkeypatch.setattr(connections, "HEED_S_MAX", FOR_EVER_S)
    monkeypatch.setattr(connections, "REFUSALS_FREE", 0)
    monkeypatch.setattr(connections, "REFUSALS_SHARE", 0)

    async def scene(stage: Stage) -> None:
        asker = await stage.connect()
        assert [await asker.ask(stage.hasty) for _ in range(4)] == [200, 429, 429, 429]

    play(scene)


def test_refusals_are_too_many_when_they_are_more_than_a_share_of_the_answers() -> None:
    pressure = Pressure()
    for _ in range(200):
        assert not pressure.note(1.1, False)
    assert not any(pressure.note(1.5, True) for _ in range(50))
    assert pressure.note(1.9, True)
    assert pressure.note(2.1, True), "a new second has only begun"
    assert not pressure.note(4.2, True), "they are long gone"
    assert not any(pressure.note(9.0, True) for _ in range(REFUSALS_FREE))
    assert pressure.note(9.0, True), "nothing but refusals"
