"""Port preview: real servers in real sessions, seen through the application behind a real HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypercorn.asyncio import serve
from hypercorn.config import Config
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gateway.egress import Egress
from gateway.egress.http1_exchange import Exchange
from gateway.egress.proxy import Proxy
from gateway.errors import GatewayError, NotFound
from gateway.runners.port_preview import Target, show_port
from gateway.runners.providers.unix_local import UnixLocal
from gateway.runners.runner_session import RunnerSession
from gateway.runners.runners import parse_port
from gateway.runners.wire import Command, Destination, Port
from tests.gateway.runners.places import Servers, a_place, go, read, run, until, write

PLACES = ("unix-local", "ssh")
SERVER = """
import base64, hashlib, http.server, os, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket": return self.websocket()
        if self.path == "/endless": return self.endless()
        seen = repr(sorted((k.lower(), v) for k, v in self.headers.items()))
        body = (self.path + "\\n" + seen).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "token=stolen")
        self.send_header("Clear-Site-Data", '"*"')
        self.send_header("Content-Security-Policy", "default-src *")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def endless(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True: self.wfile.write(b"4\\r\\ntick\\r\\n"); time.sleep(0.01)
        except OSError: print("left", file=open("log", "w"))
        self.close_connection = True
    def do_POST(self):
        if self.path == "/bad":
            self.wfile.write(b"HTTP/9 nonsense\\r\\n\\r\\n"); self.close_connection = True; return
        if self.path == "/chunks":
            said = ("%s %s!" % (self.headers["Transfer-Encoding"], self.headers.get("Content-Length"))).encode()
            while self.rfile.readline().strip() != b"0": pass
            self.rfile.readline()
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(body), 50000):
            part = body[start:start + 50000]
            self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(part), part))
        self.wfile.write(b"0\\r\\n\\r\\n")
    def websocket(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        if self.headers.get("Sec-WebSocket-Protocol"): self.send_header("Sec-WebSocket-Protocol", "second")
        self.end_headers()
        self.wfile.write(b"\\x81\\x05hello")
        while True:
            head = self.rfile.read(2)
            if len(head) < 2: return
            size = head[1] & 127
            if size == 126: size = int.from_bytes(self.rfile.read(2), "big")
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
            if head[0] & 15 == 8: self.wfile.write(b"\\x88\\x02\\x03\\xe8"); return
            back = data[::-1]
            half = len(back) // 2  # in two fragments
            for first, part in ((head[0] & 15, back[:half]), (128, back[half:])):
                size = bytes([len(part)]) if len(part) < 126 else b"\\x7e" + len(part).to_bytes(2, "big")
                self.wfile.write(bytes([first]) + size + part)
    def log_message(self, *_): pass

listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w") as told: told.write(str(listening.server_address[1]))
os.replace("port.new", "port")
listening.serve_forever()
"""


async def port_of(session: RunnerSession) -> int:
    """Where the server in the session listens, which it has chosen itself."""
    told = b""

    async def is_told() -> bool:
        nonlocal told
        with contextlib.suppress(NotFound):
            told = await read(session, "port")
        return bool(told)

    await until(is_told)
    return int(told)


@contextlib.asynccontextmanager
async def serving(session: RunnerSession) -> AsyncIterator[int]:
    """The gateway's side: `/p/{port}/…` is a port of the session. Its own port."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        kind, _, rest = scope["raw_path"].lstrip(b"/").partition(b"/")
        port, _, path = rest.partition(b"/")
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        try:
            if kind != b"p":
                raise NotFound("NOT_FOUND", "nothing here")
            target = Target(session, parse_port(port.decode()), b"/" + path + query)
        except GatewayError as refused:
            await refuse(refused, scope, send)
        else:
            await show_port(target, refuse, scope, receive, send)

    config = Config()
    listening = socket.create_server(("127.0.0.1", 0))
    mine = int(listening.getsockname()[1])
    config.bind, config.accesslog, config.errorlog = [f"fd://{listening.detach()}"], None, None
    stop = asyncio.Event()
    task = asyncio.create_task(serve(app, config, shutdown_trigger=stop.wait))
    await until(lambda: _accepts(mine))
    try:
        yield mine
    finally:
        stop.set()
        await task


async def refuse(error: GatewayError, scope: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": error.status, "headers": []})
    await send({"type": "http.response.body", "body": msgspec.json.encode(error.error)})


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


async def ask(
    port: int, target: str, method: str = "GET", body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    exchange = Exchange(reader, writer, max_body_bytes=64 << 20)
    sent = [("Host", "gateway"), ("Connection", "close"), ("Content-Length", str(len(body)))]
    sent += [(name.replace("_", "-"), value) for name, value in headers.items()]
    try:
        await exchange.send(method, target, sent, body)
        await exchange.read_head()
        return exchange.status, dict(exchange.headers), await exchange.read()
    finally:
        exchange.close()


async def ask_raw(port: int, *parts: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"".join(parts))
    found = await reader.readuntil(b"!")
    writer.close()
    return found


@pytest.fixture(params=PLACES)
def preview(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Callable[..., None]:
    """Runs a check with a session in which the server listens, its port, and the gateway's port."""

    def run_check(check: Any, *, expose: bool = True) -> None:
        async def main() -> None:
            async with a_place(request.param, tmp_path, servers) as place:
                session = await place.open()
                await write(session, "server.py", SERVER.encode())
                running = asyncio.create_task(session.run(Command(command_id="server", program="python3", args=["server.py"])))
                port = await port_of(session)
                await session.expose_port(Port(port=port))
                await until(lambda: dials(session, port))
                if not expose:
                    session.ports.withdraw(port)
                async with serving(session) as mine:
                    await check(session, port, mine)
                await session.cancel("server")
                await running

        go(main())

    return run_check


async def dials(session: RunnerSession, port: int) -> bool:
    try:
        _, writer = await session.dial(port)
    except Exception:
        return False
    writer.close()
    return True


def test_pages_of_a_server_in_a_session_are_seen_through_the_gateway(preview: Callable[..., None]) -> None:
    async def check(session: RunnerSession, port: int, mine: int) -> None:
        status, _, body = await ask(mine, f"/p/{port}/a%20b?x=1&y=%2F")
        assert status == 200
        assert body.splitlines()[0] == b"/a%20b?x=1&y=%2F"
        head = b"POST /p/%d/chunks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % port
        chunked = await ask_raw(mine, head, b"3\r\nabc\r\n0\r\n\r\n")
        assert chunked.startswith(b"HTTP/1.1 200") and b"chunked" in chunked
        big = bytes(range(256)) * 4000
        status, _, body = await ask(mine, f"/p/{port}/echo", "POST", big)
        assert (status, body) == (201, big)

    preview(check)


def test_a_visitor_who_leaves_an_endless_page_ends_it(preview: Callable[..., None]) -> None:
    async def check(session: RunnerSession, port: int, mine: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", mine)
        writer.write(b"GET /p/%d/endless HTTP/1.1\r\nHost: x\r\n\r\n" % port)
        await reader.readuntil(b"tick")
        writer.close()
        await until(lambda: _says(session, "left"))

    preview(check)


async def _says(session: RunnerSession, text: str) -> bool:
    return text in (await run(session, "cat", "log", command_id="look")).stdout


def test_tm_run_preview_credentials_of_the_visitor_stay_and_pages_get_an_origin_of_their_own(
    preview: Callable[..., None],
) -> None:
    async def check(session: RunnerSession, port: int, mine: int) -> None:
        _, headers, body = await ask(
            mine, f"/p/{port}/", Authorization="Bearer hunter2", Cookie="session=hunter2", X_Api_Key="hunter2", Accept="text/x"
        )
        assert b"hunter2" not in body and b"text/x" in body
        assert "set-cookie" not in headers and "clear-site-data" not in headers
        assert headers["content-security-policy"].startswith("sandbox ")
        assert "allow-same-origin" not in headers["content-security-policy"]

    preview(check)


def test_a_websocket_passes_both_ways(preview: Callable[..., None]) -> None:
    async def check(session: RunnerSession, port: int, mine: int) -> None:
        async with connect(f"ws://127.0.0.1:{mine}/p/{port}/chat", subprotocols=["first", "second"], proxy=None) as client:  # type: ignore[list-item]
            assert client.subprotocol == "second"
            assert await client.recv() == "hello"
            await client.send("abc")
            assert await client.recv() == "cba"
            await client.send(bytes(range(200)))
            assert await client.recv() == bytes(range(200))[::-1]

    preview(check)


def test_a_port_that_is_not_exposed_is_refused_although_something_listens(preview: Callable[..., None]) -> None:
    async def check(session: RunnerSession, port: int, mine: int) -> None:
        status, _, body = await ask(mine, f"/p/{port}/")
        assert status == 403 and b"PORT_NOT_EXPOSED" in body
        with pytest.raises((ConnectionClosed, InvalidStatus)):
            async with connect(f"ws://127.0.0.1:{mine}/p/{port}/", proxy=None) as client:
                await client.recv()
        for target, expected in (("/p/99999/", 400), ("/p/x/", 400), ("/other", 404)):
            assert (await ask(mine, target))[0] == expected

    preview(check, expose=False)


def test_a_server_that_speaks_nonsense_is_an_error_of_the_gateway_not_a_crash(preview: Callable[..., None]) -> None:
    async def check(session: RunnerSession, port: int, mine: int) -> None:
        status, _, body = await ask(mine, f"/p/{port}/bad", "POST", b"x")
        assert status == 503 and b"gave no answer" in body
        assert (await ask(mine, f"/p/{port}/"))[0] == 200

    preview(check)


@pytest.mark.parametrize("network", [False, True])
def test_tm_run_port_a_server_of_the_machine_is_not_reachable_by_exposing_its_port(tmp_path: Path, network: bool) -> None:
    """A tenant exposes a port that somebody else on this machine listens on."""

    async def main() -> None:
        provider = UnixLocal(tmp_path, proxy=Proxy(Egress(), ["*.example"]))
        session = await provider.create(Destination(id="d", provider_id="unix-local", config={"network": network}))
        await run(session, "true")
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            await session.expose_port(Port(port=port))
            async with serving(session) as mine:
                status, _, body = await ask(mine, f"/p/{port}/")
                assert status == 503 and b"nothing of this session listens" in body
            other.settimeout(0)
            with pytest.raises(BlockingIOError):
                other.accept()
        await provider.close()

    go(main())


def test_a_server_is_previewed_also_where_a_session_has_a_network(tmp_path: Path) -> None:
    async def main() -> None:
        provider = UnixLocal(tmp_path, proxy=Proxy(Egress(), ["*.example"]))
        session = await provider.create(Destination(id="d", provider_id="unix-local", config={"network": True}))
        await write(session, "server.py", SERVER.encode())
        running = asyncio.create_task(run(session, "python3", "server.py"))
        port = await port_of(session)
        await session.expose_port(Port(port=port))
        await until(lambda: dials(session, port))
        await session.cancel("c")
        assert (await running).status == "cancelled"
        await provider.close()

    go(main())
