"""An HTTP proxy for programs that have no network: the one way out for what runs in a jail.

The way of a connection: read the request, find whose it is, compare the host with the operator's domains, ask the policy, resolve
the name once, check every address, connect to the checked address, pass on. `CONNECT` passes bytes; a plain `http://` request is
taken apart and sent again, one for each connection.

Rules: a domain is a name (`example.com`), all names below one (`*.example.com`), or `*`. THREAT[TM-NET-PROXY]: which command
asks is told by a password that it has, and the decision is that command's; what shows none is refused before anything is looked
up. Heads, bytes, time and connections are capped. Refusals are answers in plain text, for the person who reads the program's
output. What is inside of a tunnel is not looked at.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

import h11

from gateway.egress.client import Decide, Egress
from gateway.egress.errors import EgressError, EgressRefused
from gateway.egress.http1_exchange import Exchange, Reader, Writer
from gateway.egress.targets import Target, parse

CONNECTIONS_MAX: Final = 64
BYTES_MAX: Final = 1 << 30
_HEAD_BYTES_MAX: Final = 16 << 10
_HEAD_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 15.0
_IDLE_SECONDS: Final = 600.0
_CHUNK: Final = 64 << 10
_HOPS: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split()
)

Find = Callable[[str], Decide | None]
"""Whose password this is: the policy's word for that command, or None."""


class Proxy:
    """`domains` are those the operator allows; `bytes_max` is what one connection may carry, both ways together."""

    def __init__(self, egress: Egress, domains: Sequence[str], bytes_max: int = BYTES_MAX) -> None:
        self._egress, self._bytes_max = egress, bytes_max
        self._domains = [domain.lower().removesuffix(".") for domain in domains]

    def _check_domain(self, host: str) -> None:
        for domain in self._domains:
            if domain in ("*", host) or (domain.startswith("*.") and host.endswith(domain[1:])):
                return
        raise EgressRefused("HOST_REFUSED", f"the operator of this gateway does not let commands reach {host!r}")

    async def serve(self, reader: Reader, writer: Writer, find: Find) -> None:
        """One connection of a program, to its end."""
        http, quota = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES_MAX), _Quota(self._bytes_max)
        try:
            asked = await asyncio.wait_for(_read_request(http, reader), _HEAD_SECONDS)
            decide = find(_read_password(asked))
            if decide is None:
                await _answer(http, writer, 407, "this command has no network, or has ended")
                return
            target = _read_target(asked)
            self._check_domain(target.host)
            async with asyncio.timeout(_CONNECT_SECONDS):
                far = await self._egress.connect(target, decide)
            try:
                if asked.method == b"CONNECT":
                    await _tunnel(http, (reader, writer), far, quota)
                else:
                    await _pass_on(http, asked, target, (reader, writer), far, quota)
            finally:
                far[1].close()
        except (EgressError, TimeoutError) as error:
            status = 403 if isinstance(error, EgressRefused) else 502
            await _answer(http, writer, status, str(error) or "there was no answer in time")
        except (h11.RemoteProtocolError, OSError):
            pass  # it speaks no HTTP, or has left
        finally:
            writer.close()


class _Quota:
    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, count: int) -> None:
        """THREAT[TM-NET-PROXY]: a connection ends where its bytes do."""
        self._left -= count
        if self._left < 0:
            raise EgressRefused("RESPONSE_TOO_LARGE", "this connection has carried as much as one may")


async def _read_event(http: h11.Connection, reader: Reader) -> h11.Event:
    while True:
        event = http.next_event()
        if event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            raise OSError
        if event is not h11.NEED_DATA:
            return event  # type: ignore[return-value]
        http.receive_data(await asyncio.wait_for(reader.read(_CHUNK), _IDLE_SECONDS))


async def _read_request(http: h11.Connection, reader: Reader) -> h11.Request:
    event = await _read_event(http, reader)
    if not isinstance(event, h11.Request):
        raise OSError
    return event


def _read_password(asked: h11.Request) -> str:
    """Basic: the name before it is for people. "" if there is none."""
    said = dict(asked.headers).get(b"proxy-authorization", b"")
    kind, _, pair = said.partition(b" ")
    if kind.lower() != b"basic":
        return ""
    try:
        return base64.b64decode(pair.strip(), validate=True).decode("ascii").rpartition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _read_target(asked: h11.Request) -> Target:
    text = asked.target.decode("ascii", "replace")
    if asked.method == b"CONNECT":
        if any(c in text for c in "/?#"):
            raise EgressRefused("URL_INVALID", "CONNECT names a host and a port")
        return parse(f"https://{text}")
    target = parse(text)
    if target.scheme != "http":
        raise EgressRefused("SCHEME_REFUSED", "https:// goes through CONNECT")
    return target


Ends = tuple[Reader, Writer]


async def _tunnel(http: h11.Connection, near: Ends, far: Ends, quota: _Quota) -> None:
    near[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await near[1].drain()
    early, _ = http.trailing_data
    if early:
        quota.take(len(early))
        far[1].write(early)
    pumps = [asyncio.create_task(_pump(near[0], far[1], quota)), asyncio.create_task(_pump(far[0], near[1], quota))]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _pump(source: Reader, sink: Writer, quota: _Quota) -> None:
    """Until its end is told, which the other direction may outlast."""
    while data := await asyncio.wait_for(source.read(_CHUNK), _IDLE_SECONDS):
        quota.take(len(data))
        sink.write(data)
        await sink.drain()
    if isinstance(sink, asyncio.StreamWriter) and sink.can_write_eof():
        sink.write_eof()


async def _pass_on(http: h11.Connection, asked: h11.Request, target: Target, near: Ends, far: Ends, quota: _Quota) -> None:
    headers = [(name, value) for name, value in asked.headers if name not in _HOPS | {b"host"}]
    framing = [(name, value) for name, value in asked.headers if name == b"transfer-encoding"]
    own = [(b"host", target.authority.encode()), (b"connection", b"close")]
    exchange = Exchange(*far)
    sending = asyncio.create_task(
        exchange.send(asked.method.decode("ascii"), target.path, [*own, *headers, *framing], _read_body(http, near[0], quota))
    )
    try:
        await asyncio.wait_for(exchange.read_head(), _IDLE_SECONDS)
        kept = [(name, value) for name, value in exchange.raw_headers if name not in _HOPS]
        await _write(near[1], http.send(h11.Response(status_code=exchange.status, headers=[*kept, (b"connection", b"close")])))
        async for part in exchange.raw_chunks():
            quota.take(len(part))
            await _write(near[1], http.send(h11.Data(data=part)))
        await _write(near[1], http.send(h11.EndOfMessage()))
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _read_body(http: h11.Connection, reader: Reader, quota: _Quota) -> AsyncIterator[bytes]:
    while isinstance(event := await _read_event(http, reader), h11.Data):
        quota.take(len(event.data))
        yield bytes(event.data)


async def _write(writer: Writer, data: bytes | None) -> None:
    if data:
        writer.write(data)
        await writer.drain()


async def _answer(http: h11.Connection, writer: Writer, status: int, text: str) -> None:
    """In plain text; nothing if an answer was begun."""
    if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    body = f"{text}\n".encode("utf-8", "replace")
    headers = [("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(body))), ("connection", "close")]
    if status == 407:
        headers.append(("proxy-authenticate", 'Basic realm="hatchway"'))
    with contextlib.suppress(OSError, h11.LocalProtocolError):
        sent = [http.send(h11.Response(status_code=status, headers=headers)), http.send(h11.Data(data=body))]
        await _write(writer, b"".join(one or b"" for one in [*sent, http.send(h11.EndOfMessage())]))
