"""Tickets: a way to look at one port of one session, without a token.

    /preview/~{ticket}/…

A browser that opens a page cannot send a header. So whoever exposes a port gets an address that says, sealed, whose port it is
and until when it may be looked at.

Rules: THREAT[TM-RUN-TICKET]: a ticket is sealed with the gateway's keys for one tenant and one purpose; it can be neither made
nor changed outside. It lasts an hour, opens one port of one thread, and nothing else. Every other one is refused with the same
words.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from gateway.errors import Unauthorized
from sandbox.errors import RequestError
from sandbox.sealing import Keys, open_seal, seal

LASTS_MS: Final = 3_600_000
TICKET_CHARS_MAX: Final = 1024
MARK: Final = "~"
_PURPOSE: Final = "port-preview"


@dataclass(frozen=True, slots=True)
class Ticket:
    tenant: str
    thread_id: str
    port: int


class Tickets:
    def __init__(self, keys: Keys, clock_ms: Callable[[], int]) -> None:
        self._keys, self._clock_ms = keys, clock_ms

    def issue(self, ticket: Ticket) -> str:
        said = msgspec.json.encode([ticket.thread_id, ticket.port, self._clock_ms() + LASTS_MS])
        sealed = seal(said, self._keys, tenant=ticket.tenant, purpose=_PURPOSE)
        return f"{MARK}{_encode(ticket.tenant.encode())}.{_encode(sealed)}"

    def open(self, text: str) -> Ticket:
        try:
            if len(text) > TICKET_CHARS_MAX or not text.startswith(MARK):
                raise ValueError
            owner, _, sealed = text[1:].partition(".")
            tenant = _decode(owner).decode()
            said = open_seal(_decode(sealed), self._keys, tenant=tenant, purpose=_PURPOSE)
            thread_id, port, until_ms = msgspec.json.decode(said, type=tuple[str, int, int])
            if self._clock_ms() >= until_ms:
                raise ValueError
        except (ValueError, binascii.Error, RequestError, msgspec.DecodeError):
            raise Unauthorized("UNAUTHORIZED", "a valid ticket is needed", "expose the port again for a new one") from None
        return Ticket(tenant, thread_id, port)


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
