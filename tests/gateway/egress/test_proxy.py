"""The proxy for programs without a network: who may ask, for what, and how much passes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from gateway.egress import Egress, EgressRefused
from gateway.egress.proxy import Proxy
from tests.gateway.web import Web, answer, serve

PASSWORD = "right"


@dataclass
class Near:
    """A proxy before a web server, as a program sees it."""

    web: Web
    port: int
    decided: list[tuple[str, int, str]] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)

    async def open(self, asked: str, body: bytes = b"", password: str = PASSWORD, **headers: str) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        pair = base64.b64encode(f"command:{password}".encode()).decode()
        lines = [f"{asked} HTTP/1.1", "Host: x", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
        lines += [f"Proxy-Authorization: Basic {pair}"] if password else []
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return reader, writer

    async def ask(self, asked: str, body: bytes = b"", **options: str) -> bytes:
        reader, writer = await self.open(asked, body, **options)
        said: bytes = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        return said


@contextlib.asynccontextmanager
async def before(said: Any = answer(b"inside"), **options: Any) -> AsyncIterator[Near]:
    async with serve(said if callable(said) else lambda request: said) as web:
        near = Near(web, 0)

        async def resolve(host: str, port: int) -> list[str]:
            near.resolved.append(host)
            return [options.get("address", "127.0.0.1")]

        def decide(host: str, port: int, scheme: str) -> None:
            near.decided.append((host, port, scheme))
            if host.startswith("secret."):
                raise EgressRefused("PERMISSION_DENIED", "the policy refuses net.connect")

        egress = Egress(resolve=resolve, allow_private=["127.0.0.1/32"], ports=[web.port])
        proxy = Proxy(egress, options.get("domains", ["example.com", "*.example.com"]), options.get("bytes_max", 1 << 20))
        find = {PASSWORD: decide}.get
        server = await asyncio.start_server(lambda reader, writer: proxy.serve(reader, writer, find), "127.0.0.1", 0)
        near.port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(60):
            yield near
        server.close()


def go(test: Any, *arguments: Any, **options: Any) -> None:
    async def main() -> None:
        async with before(*arguments, **options) as near:
            await test(near)

    asyncio.run(main())


def test_a_request_is_decided_by_host_and_port_and_sent_without_what_is_the_proxys() -> None:
    async def test(near: Near) -> None:
        said = await near.ask(f"GET http://www.Example.com:{near.web.port}/a?b=c", X_Own="kept", Proxy_Connection="keep-alive")
        assert said.startswith(b"HTTP/1.1 200") and said.endswith(b"\r\n\r\ninside")
        (request,) = near.web.requests
        assert (request.method, request.path, request.headers["x-own"]) == ("GET", "/a?b=c", "kept")
        assert request.headers["host"] == f"www.example.com:{near.web.port}"
        assert not any(name.startswith("proxy") for name in request.headers)
        assert near.decided == [("www.example.com", near.web.port, "http")]

    go(test)


def test_a_request_may_have_a_body() -> None:
    async def test(near: Near) -> None:
        target = f"POST http://example.com:{near.web.port}/"
        assert b"200" in await near.ask(target, b"hello", Content_Length="5")
        assert near.web.requests[0].body == b"hello"

    go(test)


def test_a_tunnel_passes_bytes_both_ways_until_both_ends_have_ended() -> None:
    async def test(near: Near) -> None:
        reader, writer = await near.open(f"CONNECT example.com:{near.web.port}")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"GET /through HTTP/1.1\r\nHost: inner\r\n\r\n")
        writer.write_eof()
        assert (await reader.read()).endswith(b"inside")
        assert near.web.requests[0].headers == {"host": "inner"}, "nothing was added"
        assert near.decided == [("example.com", near.web.port, "https")]
        writer.close()

    go(test)


@pytest.mark.parametrize("password", ["", "wrong", "right "])
def test_tm_net_proxy_without_a_password_of_a_command_nothing_is_looked_up(password: str) -> None:
    async def test(near: Near) -> None:
        for asked in (f"GET http://example.com:{near.web.port}/", f"CONNECT example.com:{near.web.port}"):
            assert (await near.ask(asked, password=password)).startswith(b"HTTP/1.1 407")
        assert (near.decided, near.resolved, near.web.requests) == ([], [], [])

    go(test)


@pytest.mark.parametrize(
    "host",
    [
        "evilexample.com",
        "example.com.evil.test",
        "example.org",
        "127.0.0.1",
        "[::1]",
        "com",
        "example.com%2eevil.test",
        "x@example.com",
    ],
)
def test_a_host_the_operator_does_not_list_is_refused_before_the_policy_is_asked(host: str) -> None:
    async def test(near: Near) -> None:
        for asked in (f"GET http://{host}:{near.web.port}/", f"CONNECT {host}:{near.web.port}"):
            assert (await near.ask(asked)).startswith(b"HTTP/1.1 403")
        assert (near.decided, near.resolved, near.web.requests) == ([], [], [])

    go(test)


def test_names_below_a_domain_do_not_mean_the_domain() -> None:
    async def test(near: Near) -> None:
        assert b"403" in (await near.ask(f"CONNECT example.com:{near.web.port}"))[:20]
        assert b"200" in (await near.ask(f"GET http://a.b.example.com:{near.web.port}/"))[:20]

    go(test, domains=["*.example.com"])


def test_what_the_policy_refuses_is_not_reached_and_the_program_is_told() -> None:
    async def test(near: Near) -> None:
        said = await near.ask(f"CONNECT secret.example.com:{near.web.port}")
        assert said.startswith(b"HTTP/1.1 403") and b"the policy refuses net.connect" in said
        assert near.decided and not near.resolved and not near.web.requests

    go(test)


def test_tm_net_private_a_listed_name_that_leads_inwards_is_refused() -> None:
    async def test(near: Near) -> None:
        for asked in (
            f"GET http://example.com:{near.web.port}/",
            f"CONNECT example.com:{near.web.port}",
            "CONNECT example.com:22",
        ):
            assert (await near.ask(asked)).startswith(b"HTTP/1.1 403")
        assert not near.web.requests

    go(test, address="10.0.0.7")


def test_tm_net_proxy_a_connection_ends_where_its_bytes_do() -> None:
    async def test(near: Near) -> None:
        assert len(await near.ask(f"GET http://example.com:{near.web.port}/")) < 200_000
        reader, writer = await near.open(f"CONNECT example.com:{near.web.port}")
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert len(await reader.read()) < 200_000
        writer.close()

    go(test, answer(b"x" * 1_000_000), bytes_max=100_000)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000,
        b"CONNECT /x HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_request_is_closed_and_the_proxy_goes_on(said: bytes) -> None:
    async def test(near: Near) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", near.port)
        writer.write(said)
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            assert b"200" not in await reader.read()
        writer.close()
        assert b"inside" in await near.ask(f"GET http://example.com:{near.web.port}/")

    go(test)
