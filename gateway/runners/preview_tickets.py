"""Exposures, the ports of one session that may be looked at; and tickets, a way to look at one of them without a token.

    /preview/~{ticket}/…

A browser that opens a page cannot send a header. So a caller that exposes a port gets an address that says, sealed, whose port
it is and until when it may be looked at.

Rules: a port is exposed until it is withdrawn or its session ends, and each time it is exposed again it has another id, which
cannot be guessed. Exposing it once more meanwhile changes its label and nothing else.
THREAT[TM-RUN-TICKET]: a ticket is sealed with the gateway's keys for this one purpose; it can be neither made nor changed
outside, and does not show whose it is. It lasts an hour, opens one exposure of a port and nothing else, so it is worth nothing
when a port, a thread or a tenant of the same name is there again. Every other one is refused with the same words (`refused`).
Does not know: who looks, what listens.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from gateway.errors import Unauthorized
from gateway.runners.errors import busy, invalid, not_exposed, unknown
from gateway.runners.wire import Port
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.errors import RequestError

LASTS_MS: Final = 3_600_000
TICKET_CHARS_MAX: Final = 1024
MARK: Final = "~"
_PURPOSE: Final = "port-preview"
_ISSUER: Final = "~gateway"
"""In the place of a tenant, none of which can be called so: whose port it is stands inside."""

MAX_PORTS: Final = 64
MAX_LABEL: Final = 120
_ID_BYTES: Final = 16


class Exposures:
    def __init__(self, kept: bytes = b"") -> None:
        """`kept` is what `encode` gave."""
        self._by_port: dict[int, tuple[Port, str]] = msgspec.json.decode(kept, type=dict[int, tuple[Port, str]]) if kept else {}

    def encode(self) -> bytes:
        return msgspec.json.encode(self._by_port)

    def add(self, request: Port) -> None:
        if not 1 <= request.port <= 65535:
            raise invalid(f"port must be from 1 to 65535, not {request.port}")
        if request.label is not None and len(request.label) > MAX_LABEL:
            raise invalid(f"a label has at most {MAX_LABEL} characters")
        if len(self._by_port) >= MAX_PORTS and request.port not in self._by_port:
            raise busy(f"a session exposes at most {MAX_PORTS} ports")
        self._by_port[request.port] = request, self.id_of(request.port) or secrets.token_hex(_ID_BYTES)

    def withdraw(self, port: int) -> None:
        if self._by_port.pop(port, None) is None:
            raise unknown("port", str(port))

    def id_of(self, port: int) -> str | None:
        """None: it is not exposed."""
        found = self._by_port.get(port)
        return None if found is None else found[1]

    def watch_exposure(self, port: int) -> Callable[[], Awaitable[None]]:
        """What says, whenever it is asked, that it is not this exposure of the port any more."""
        exposure_id = self.id_of(port)

        async def look() -> None:
            if self.id_of(port) != exposure_id:
                raise not_exposed(port)

        return look

    def __contains__(self, port: int) -> bool:
        return port in self._by_port

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._by_port))


@dataclass(frozen=True, slots=True)
class Ticket:
    tenant: str
    thread_id: str
    port: int
    exposure_id: str


class Tickets:
    def __init__(self, keys: Keys, clock_ms: Callable[[], int]) -> None:
        self._keys, self._clock_ms = keys, clock_ms

    def issue(self, ticket: Ticket) -> str:
        until_ms = self._clock_ms() + LASTS_MS
        said = msgspec.json.encode([ticket.tenant, ticket.thread_id, ticket.port, ticket.exposure_id, until_ms])
        return MARK + _encode(seal(said, self._keys, tenant=_ISSUER, purpose=_PURPOSE))

    def open(self, text: str) -> Ticket:
        try:
            if len(text) > TICKET_CHARS_MAX or not text.startswith(MARK):
                raise ValueError
            said = open_seal(_decode(text[1:]), self._keys, tenant=_ISSUER, purpose=_PURPOSE)
            tenant, thread_id, port, exposure_id, until_ms = msgspec.json.decode(said, type=tuple[str, str, int, str, int])
            if self._clock_ms() >= until_ms:
                raise ValueError
        except (ValueError, binascii.Error, RequestError, msgspec.DecodeError):
            raise refused() from None
        return Ticket(tenant, thread_id, port, exposure_id)


def refused() -> Unauthorized:
    return Unauthorized("UNAUTHORIZED", "a valid ticket is needed", "expose the port again for a new one")


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
