"""Tickets: a way to look at one port of one session, without a token.

    /preview/~{ticket}/…

A browser that opens a page cannot send a header. So a caller that exposes a port gets an address that says, sealed, whose port
it is and until when it may be looked at.

Rules: THREAT[TM-RUN-TICKET]: a ticket is sealed with the gateway's keys for this one purpose; it can be neither made nor changed
outside, and does not show whose it is. It lasts an hour, opens one exposure of a port (`gateway.runners.exposures`) and nothing
else; the opener checks whether that exposure is still there. Every other one is refused with the same words (`refused`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from gateway.errors import Unauthorized
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.errors import RequestError

LASTS_MS: Final = 3_600_000
TICKET_CHARS_MAX: Final = 1024
MARK: Final = "~"
_PURPOSE: Final = "port-preview"
_ISSUER: Final = "~gateway"
"""In the place of a tenant, none of which can be called so: whose port it is stands inside."""


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
