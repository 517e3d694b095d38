"""The one client through which anything leaves: guarded, bounded, without memory.

The way of a request: parse the URL, ask the policy, resolve the name once, check every address, connect to the checked
address, exchange; a redirect goes the same way again.

Rules: no proxies, cookies, credentials or settings are taken from the surroundings. A name is resolved once per hop, and the
connection goes to what was checked. If one of a name's addresses is refused, the name is. On another origin only harmless headers
stay, and a body is not sent again. `timeout_ms` covers everything, from the name to the last byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from gateway import pools
from gateway.egress.errors import EgressError, EgressFailed, EgressRefused
from gateway.egress.http1_exchange import Exchange, Headers, begin, check_headers
from gateway.egress.targets import Address, Addresses, Network, Target, parse

REQUEST_BYTES_MAX: Final = 1 << 20
REDIRECTS_MAX: Final = 5
ADDRESSES_MAX: Final = 32
_TRIED_MAX: Final = 3
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_HARMLESS: Final = frozenset(("accept", "accept-language", "content-type", "user-agent"))

Decide = Callable[[str, int, str], None]
"""The policy's word on (host, port, scheme): nothing, or `EgressRefused`."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name."""


@dataclass(frozen=True, slots=True)
class Response:
    """`headers` have lower-case names; `url` is where the answer came from, after redirects."""

    status: int
    headers: Headers
    body: bytes
    url: str

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver, which may take long: in turns, so that one tenant's names hold up no other's."""
    try:
        found = await pools.lookups.run(pools.acting_for.get(), socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise EgressFailed("DNS_FAILED", f"the host {host!r} cannot be found: {error.strerror or error}") from None
    return [str(entry[4][0]) for entry in found]


class Egress:
    """`ports` are those that may be reached, `allow_private` the exceptions to "public addresses only" (see `targets`)."""

    def __init__(
        self,
        *,
        ports: Collection[int] = (80, 443),
        allow_private: Sequence[str | Network] = (),
        resolve: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._addresses = Addresses(allow_private, ports)
        self._resolve = resolve
        self._tls = tls

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
        body: bytes | None = None,
        timeout_ms: int = 5000,
        max_response_bytes: int = 1 << 20,
        max_request_bytes: int = REQUEST_BYTES_MAX,
        decide: Decide | None = None,
        follow_redirects: bool = True,
    ) -> Response:
        """Fetch `url`. Raises `EgressRefused` or `EgressFailed`."""
        given = check_headers(headers.items() if isinstance(headers, Mapping) else headers or ())
        asked = _Asked(_check_method(method), parse(url), given, _check_body(body, max_request_bytes))
        async with _deadline(timeout_ms):
            for _ in range(REDIRECTS_MAX + 1):
                async with self._exchange(asked, max_response_bytes, decide) as exchange:
                    location = exchange.header("location")
                    if not follow_redirects or exchange.status not in _REDIRECTS or location is None:
                        return Response(exchange.status, exchange.headers, await exchange.read(), str(asked.target))
                asked = asked.redirect(exchange.status, location)
            raise EgressRefused("TOO_MANY_REDIRECTS", f"more than {REDIRECTS_MAX} redirects")

    @contextlib.asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        head_timeout_ms: int = 5000,
        max_response_bytes: int = 1 << 20,
        decide: Decide | None = None,
    ) -> AsyncIterator[Exchange]:
        """For answers that come slowly: only the time to the head is limited here. Redirects are not followed."""
        asked = _Asked(_check_method(method), parse(url), check_headers(headers), _check_body(body, REQUEST_BYTES_MAX))
        async with contextlib.AsyncExitStack() as stack:
            async with _deadline(head_timeout_ms):
                exchange = await stack.enter_async_context(self._exchange(asked, max_response_bytes, decide))
            yield exchange

    @contextlib.asynccontextmanager
    async def _exchange(self, asked: _Asked, max_response_bytes: int, decide: Decide | None) -> AsyncIterator[Exchange]:
        target = asked.target
        failed: EgressError | None = None
        for address in await self._find_addresses(target, decide):
            try:
                exchange = await begin(
                    target,
                    address,
                    asked.method,
                    asked.headers,
                    asked.body,
                    tls=self._context(),
                    max_body_bytes=max_response_bytes,
                )
            except EgressFailed as error:
                failed = error
                if error.code != "CONNECT_FAILED":
                    break  # it may have been heard: sending it again is the caller's to decide
                continue
            try:
                yield exchange
            finally:
                exchange.close()
            return
        raise failed or EgressFailed("DNS_FAILED", f"the host {target.host!r} has no address")

    async def connect(self, target: Target, decide: Decide) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A bare connection, checked like a request, for a program that speaks for itself."""
        failed: EgressError | None = None
        for address in await self._find_addresses(target, decide):
            try:
                return await asyncio.open_connection(str(address), target.port)
            except OSError as error:
                failed = EgressFailed("CONNECT_FAILED", f"{target.host!r} port {target.port}: {error.strerror or error}")
        raise failed or EgressFailed("DNS_FAILED", f"the host {target.host!r} has no address")

    async def _find_addresses(self, target: Target, decide: Decide | None) -> list[Address]:
        # THREAT[TM-NET-REDIRECT]: every hop is checked like the first.
        self._addresses.check_target(target)
        if decide is not None:
            decide(target.host, target.port, target.scheme)
        return (await self._resolve_checked(target))[:_TRIED_MAX]

    async def _resolve_checked(self, target: Target) -> list[Address]:
        """THREAT[TM-NET-REBIND]: the answer that is checked is the one that is used; the name is not resolved again."""
        own = target.address
        found = [own] if own is not None else [_address(text) for text in await self._resolve(target.host, target.port)]
        if len(found) > ADDRESSES_MAX:
            raise EgressRefused("ADDRESS_REFUSED", f"{target.host!r} has more than {ADDRESSES_MAX} addresses")
        for address in found:
            self._addresses.check_address(target, address)
        return list(dict.fromkeys(found))

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    target: Target
    headers: Headers
    body: bytes

    def redirect(self, status: int, location: str) -> _Asked:
        target = parse(urljoin(str(self.target), location))
        if self.target.scheme == "https" and target.scheme == "http":
            raise EgressRefused("REDIRECT_REFUSED", "a redirect from https to http would send the request in the clear")
        method, body, headers = self.method, self.body, self.headers
        if status == 303 or (status in (301, 302) and method == "POST"):
            method, body = ("HEAD" if method == "HEAD" else "GET"), b""
            headers = [pair for pair in headers if pair[0].lower() != "content-type"]
        if target.origin != self.target.origin:
            # THREAT[TM-NET-LEAK]: what was meant for one origin is not handed to another.
            if body:
                raise EgressRefused("REDIRECT_REFUSED", f"a redirect to {target.host!r} would send the body to another origin")
            headers = [pair for pair in headers if pair[0].lower() in _HARMLESS]
        return _Asked(method, target, headers, body)


def _check_method(method: str) -> str:
    name = str(method).upper()
    if name not in _METHODS:
        raise EgressRefused("METHOD_REFUSED", f"the method {name[:20]!r} is not one of {', '.join(sorted(_METHODS))}")
    return name


def _check_body(body: bytes | None, most_bytes: int) -> bytes:
    if body is not None and len(body) > most_bytes:
        raise EgressRefused("REQUEST_TOO_LARGE", f"the request's body is larger than {most_bytes} bytes")
    return body or b""


def _address(text: str) -> Address:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        raise EgressFailed("DNS_FAILED", f"the resolver answered {text[:80]!r}, which is not an address") from None


@contextlib.asynccontextmanager
async def _deadline(timeout_ms: int) -> AsyncIterator[None]:
    """THREAT[TM-NET-SLOW]: a server that sends a byte a minute is cut off like one that sends nothing."""
    limit = asyncio.timeout(timeout_ms / 1000)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise EgressFailed("TIMEOUT", f"there was no whole answer within {timeout_ms} ms") from None
