"""A stream ends when the token that opened it holds no longer, and nothing passes it after that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from gateway.configuration import Configuration
from gateway.events import Event
from gateway.http.api.reauthorization import Watch, supervise
from gateway.http.api.sse import add_heartbeats
from gateway.tenants.tokens import digest_of_token
from tests.gateway.http.rig import Rig

NEVER_MS = 3_600_000
SOON_MS = 10
PATIENCE_S = 60
KINDS = ("sse", "websocket")


class Stream:
    """An open stream: what came over it, and what its client says."""

    def __init__(self, rig: Rig, kind: str, token: str) -> None:
        self.kind, self.said, self.came = kind, asyncio.Queue[Any](), asyncio.Queue[Any]()
        path = f"/v1/streams/s{'/live' if kind == 'websocket' else ''}"
        scope = {
            "type": "websocket" if kind == "websocket" else "http",
            "method": "GET",
            "raw_path": path.encode(),
            "path": path,
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {token}".encode())],
            "http_version": "1.1",
            "client": ("192.0.2.1", 1),
            "scheme": "http",
            "subprotocols": [],
        }
        if kind == "websocket":
            self.said.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(rig.asgi(scope, self.said.get, self.came.put))

    async def event(self) -> tuple[str, Any]:
        """The next event, without signs of life; or `closed` and the code that says why."""
        while True:
            message = await self.came.get()
            if message["type"] == "websocket.close":
                return "closed", (message["code"], message["reason"].partition(":")[0])
            if message["type"] == "websocket.send":
                told = json.loads(message["text"])
                if told["kind"] != "alive":
                    return told["kind"], told["data"]
            if message["type"] == "http.response.body":
                text = message["body"].decode()
                lines = dict(line.split(": ", 1) for line in text.splitlines() if line and line[0] != ":")
                if "event" in lines:
                    return lines["event"], json.loads(lines["data"])

    async def ends_refused(self) -> None:
        """Visibly, and with nothing after it."""
        kind, data = await self.event()
        if self.kind == "websocket":
            assert (kind, data) == ("closed", (1008, "UNAUTHORIZED"))
        else:
            assert (kind, data["status"], data["code"]) == ("error", 401, "UNAUTHORIZED")
        await self.task
        assert [one for one in self._rest() if one.get("body")] == []

    def _rest(self) -> list[Any]:
        return [self.came.get_nowait() for _ in range(self.came.qsize())]


def rig_of(**settings: Any) -> Rig:
    return Rig(Configuration(access_log=False, **settings))


def revoke(rig: Rig, token: str) -> str:
    """As another process would; its id."""
    digest = digest_of_token(token)
    rig.memory.tokens[digest] = msgspec.structs.replace(rig.memory.tokens[digest], revoked_at=1)
    return rig.memory.tokens[digest].id


async def opened(rig: Rig, kind: str, token: str) -> Stream:
    """A stream that has shown its first event."""
    stream = Stream(rig, kind, token)
    while "s" not in rig.notes.feeds:
        await asyncio.sleep(0)
    if rig.notes.feeds["s"].next == 1:
        rig.notes.feeds["s"].put("note", "first")
    assert await stream.event() == ("note", "first")
    return stream


def live(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await test()

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_tm_http_token_a_stream_ends_at_once_where_its_token_is_revoked_and_others_go_on(kind: str) -> None:
    async def test() -> None:
        rig = rig_of(heartbeat_ms=NEVER_MS, token_cache_ms=60_000)
        token, other = rig.token(), rig.token()
        stream, going_on = await opened(rig, kind, token), await opened(rig, kind, other)
        rig.authenticator.forget(revoke(rig, token))
        await stream.ends_refused()
        rig.notes.feeds["s"].put("note", "second")
        assert await going_on.event() == ("note", "second")
        rig.notes.feeds["s"].end("result", None)
        assert (await going_on.event())[0] == "result"
        await going_on.task

    live(test)


@pytest.mark.parametrize("kind", KINDS)
def test_tm_http_token_nothing_is_shown_to_a_token_that_was_revoked_elsewhere(kind: str) -> None:
    async def test() -> None:
        rig = rig_of(heartbeat_ms=NEVER_MS, token_cache_ms=0)
        token = rig.token()
        stream = await opened(rig, kind, token)
        revoke(rig, token)
        rig.notes.feeds["s"].put("note", "not for you")
        await stream.ends_refused()

    live(test)


@pytest.mark.parametrize("kind", KINDS)
def test_tm_http_token_a_stream_ends_with_a_heartbeat_when_its_token_has_expired(kind: str) -> None:
    async def test() -> None:
        rig = rig_of(heartbeat_ms=SOON_MS, token_cache_ms=60_000)
        until_ms = rig.clock.now_ms() + NEVER_MS
        stream = await opened(rig, kind, rig.token(expires_at=until_ms))
        rig.clock.advance(until_ms)
        await stream.ends_refused()

    live(test)


def test_tm_http_token_a_message_of_a_revoked_token_is_not_acted_upon() -> None:
    async def test() -> None:
        rig = rig_of(heartbeat_ms=NEVER_MS, token_cache_ms=0)
        token = rig.token()
        stream = await opened(rig, "websocket", token)
        stream.said.put_nowait({"type": "websocket.receive", "text": '"before"'})
        assert await stream.event() == ("said", "before")
        revoke(rig, token)
        stream.said.put_nowait({"type": "websocket.receive", "text": '"cancel"'})
        await stream.ends_refused()
        assert rig.notes.received == ["before"]

    live(test)


def test_tm_http_token_a_request_whose_token_is_revoked_while_its_body_arrives_is_refused() -> None:
    async def test() -> None:
        rig = rig_of(token_cache_ms=60_000)
        token, body, sent = rig.token(), b'{"text": "late"}', []

        async def receive() -> Any:
            if not sent:
                sent.append("a piece")
                return {"type": "http.request", "body": body[:5], "more_body": True}
            rig.authenticator.forget(revoke(rig, token))
            return {"type": "http.request", "body": body[5:], "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": "POST", "raw_path": b"/v1/notes", "path": "/v1/notes", "query_string": b"",
            "headers": [
                (b"authorization", f"Bearer {token}".encode()),
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
            ],
            "http_version": "1.1", "client": ("192.0.2.1", 1), "scheme": "http",
        }  # fmt: skip
        await rig.asgi(scope, receive, send)
        assert (sent[1]["status"], rig.notes.made) == (401, 0)

    live(test)


def test_an_application_that_is_watched_is_broken_off_before_anything_more_passes() -> None:
    class Over(Exception):
        pass

    async def test() -> None:
        is_over, passed = False, asyncio.Queue[Any]()

        async def look() -> None:
            if is_over:
                raise Over

        async def echo(scope: Any, receive: Any, send: Any) -> None:
            while True:
                await send(await receive())

        said = asyncio.Queue[Any]()
        watching = asyncio.create_task(supervise(echo, {}, said.get, passed.put, Watch(look), NEVER_MS))
        said.put_nowait("one")
        assert await passed.get() == "one"
        is_over = True
        said.put_nowait("two")
        with pytest.raises(Over):
            await watching
        assert passed.empty()

    live(test)


def test_a_stream_that_is_stirred_for_nothing_sends_no_sign_of_life() -> None:
    async def test() -> None:
        gate = asyncio.Event()

        async def events() -> Any:
            await gate.wait()
            yield Event(1, "note", "only")

        looks = 0

        async def look() -> None:
            nonlocal looks
            looks += 1

        watch = Watch(look)
        source = add_heartbeats(events(), NEVER_MS, watch)
        following = asyncio.ensure_future(anext(source))
        while looks == 0:
            watch.stir()
            await asyncio.sleep(0)
        gate.set()
        found = await following
        assert found is not None and found.data == "only"

    live(test)
