"""The way of a request under a flood of large bodies, and while the store is away."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateway.configuration import Configuration
from gateway.errors import StoreUnavailable
from gateway.http.api import endpoint
from gateway.http.api.admission import ANSWERS_EACH
from gateway.http.pages import health
from gateway.lifecycle.readiness import Preparation
from gateway.pools import LARGE_BYTES
from gateway.records import Token
from tests.gateway.http.asking import Reply, ask
from tests.gateway.http.rig import Rig

LARGE = {"text": "x" * 100_000}


def serve(test: Callable[[Rig], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        await asyncio.wait_for(test(Rig(Configuration(access_log=False, **settings))), 30)

    asyncio.run(main())


def test_tm_lim_starve_large_bodies_of_one_tenant_hold_up_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bodies of one tenant are decoded off the loop and one after the other, whatever they take."""
    gate, decoded, real = threading.Event(), list[int](), endpoint.decode_body

    def decode(operation: Any, data: bytes, content_type: str, caps: Any) -> Any:
        assert threading.current_thread() is not threading.main_thread() or len(data) < 1000
        if b'"count": 1' in data:
            decoded.append(1)
            gate.wait(20)
        return real(operation, data, content_type, caps)

    monkeypatch.setattr(endpoint, "decode_body", decode)

    async def test(rig: Rig) -> None:
        acme, globex = rig.token("acme"), rig.token("globex")
        flood = [asyncio.create_task(ask(rig.asgi, "POST", "/v1/echo", {**LARGE, "count": 1}, token=acme)) for _ in range(60)]
        while not decoded:
            await asyncio.sleep(0.001)
        async with asyncio.timeout(10):
            for _ in range(5):
                assert (await ask(rig.asgi, "POST", "/v1/echo", LARGE, token=globex)).status == 200
        assert len(decoded) == 1
        gate.set()
        assert {one.status for one in await asyncio.gather(*flood)} == {200}

    serve(test)


def test_tm_http_flood_the_bodies_of_one_tenant_have_a_share_of_the_memory() -> None:
    async def test(rig: Rig) -> None:
        acme, body = rig.token("acme"), {"text": "x" * 60_000}

        async def wait() -> Reply:
            return await ask(rig.asgi, "POST", "/v1/wait", body, token=acme)

        held = [asyncio.create_task(wait()) for _ in range(3)]
        while rig.notes.running < 3:
            await asyncio.sleep(0)
        refused = await wait()
        assert (refused.status, refused.code) == (429, "BUSY") and "bodies" in refused.json["detail"]
        assert (await ask(rig.asgi, "POST", "/v1/echo", body, token=rig.token("globex"))).status == 200
        rig.notes.gate.set()
        assert {one.status for one in await asyncio.gather(*held)} == {200}
        assert (await wait()).status == 200, "what has ended gives its room back"

    serve(test, body_bytes_per_tenant_max=200_000)


def test_tm_http_flood_a_body_keeps_its_room_when_its_client_has_left_and_its_work_goes_on() -> None:
    async def test(rig: Rig) -> None:
        acme, body = rig.token("acme"), {"text": "x" * 60_000}
        for count in range(1, 4):
            leaving = asyncio.create_task(ask(rig.asgi, "POST", "/v1/wait", body, token=acme, idempotency_key=str(count)))
            while rig.notes.running < count:
                await asyncio.sleep(0)
            leaving.cancel()
            await asyncio.wait((leaving,))
        assert rig.notes.running == 3 and (await ask(rig.asgi, "POST", "/v1/echo", body, token=acme)).status == 429
        rig.notes.gate.set()
        while rig.notes.running:
            await asyncio.sleep(0)
        assert (await ask(rig.asgi, "POST", "/v1/echo", body, token=acme)).status == 200

    serve(test, body_bytes_per_tenant_max=200_000)


def test_tm_http_slow_large_answers_that_are_not_taken_have_a_share_of_the_memory() -> None:
    made: list[str] = []

    class Files(dict[str, bytes]):
        def __contains__(self, path: object) -> bool:
            made.append(str(path))
            return super().__contains__(path)

    async def test(rig: Rig) -> None:
        acme, taken = rig.token("acme"), asyncio.Event()
        rig.notes.files = Files(large=bytes(LARGE_BYTES + 1), small=b"x")

        async def take_slowly(scope: Any, receive: Any, send: Any) -> None:
            async def hold(message: Any) -> None:
                if message["type"] == "http.response.body" and message["body"]:
                    await taken.wait()
                await send(message)

            await rig.asgi(scope, receive, hold)

        def start(count: int, asgi: Any = take_slowly) -> list[asyncio.Task[Reply]]:
            return [asyncio.create_task(ask(asgi, "GET", "/v1/files/large", token=acme)) for _ in range(count)]

        held = start(3 * ANSWERS_EACH)
        while len(made) < ANSWERS_EACH:
            await asyncio.sleep(0)
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(made) == ANSWERS_EACH, "the others wait before they are made"
        assert (await ask(rig.asgi, "GET", "/v1/files/large", token=rig.token("globex"))).status == 200
        held[0].cancel()
        await asyncio.wait((held[0],))
        while len(made) < ANSWERS_EACH + 2:  # globex's, and the next
            await asyncio.sleep(0)
        taken.set()
        assert {one.status for one in await asyncio.gather(*held[1:])} == {200}
        small = [await ask(rig.asgi, "GET", "/v1/files/small", token=acme) for _ in range(2 * ANSWERS_EACH)]
        assert {one.status for one in small} == {200}

    serve(test)


def test_tm_store_away_every_request_is_503_and_the_service_is_not_ready_until_it_is_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health, "_ASK_S", 0.01)

    async def test(rig: Rig) -> None:
        known, find, is_away = rig.token(), rig.memory.token, True

        async def token(digest: str) -> Token | None:
            if is_away:
                raise StoreUnavailable from ConnectionRefusedError("no route to db.internal as user hatchway")
            return await find(digest)

        monkeypatch.setattr(rig.authenticator, "_find_token", token)
        watch = health.StoreWatch(lambda: token(""))
        monkeypatch.setattr(rig.endpoint, "_note_outage", watch.note)
        rows = health.operations(rig.configuration, rig.telemetry, rig.admission, Preparation(), store=watch)
        readyz: Any = next(row.handler for row in rows if row.path == "/readyz")
        for bearer in (known, "hw_" + "0" * 43, None):
            refused = await ask(rig.asgi, "GET", "/v1/notes", token=bearer)
            assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "STORE_UNAVAILABLE", "2")
            assert "db.internal" not in refused.body.decode()
        assert (await ask(rig.asgi, "GET", "/healthz")).status == 200
        answer = await readyz(None)
        assert (answer.status, answer.body.ready, answer.body.store) == (503, False, False)
        is_away = False
        while (await readyz(None)).status != 200:
            await asyncio.sleep(0.001)
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=known)).status == 200

    with caplog.at_level(logging.WARNING):
        serve(test, token_cache_ms=0)
    told = [record.getMessage() for record in caplog.records]
    assert [one for one in told if "db.internal" in one] == told[:1] and told[1:] == ["the store is back"]


def test_a_store_that_no_request_has_asked_yet_is_found_away_by_readiness() -> None:
    async def test(rig: Rig) -> None:
        async def hang() -> None:
            await asyncio.Event().wait()

        watch = health.StoreWatch(hang)
        health_started = asyncio.get_running_loop().time()
        assert not await watch.check() and asyncio.get_running_loop().time() - health_started < 5

    serve(test)
