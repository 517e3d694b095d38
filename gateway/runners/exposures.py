"""Exposures: the ports of one session that may be looked at.

Rules: a port is exposed until it is withdrawn or its session ends, and each time it is exposed again it has another id, which
cannot be guessed. Exposing it once more meanwhile changes its label and nothing else. THREAT[TM-RUN-TICKET]: a ticket is for an
exposure, so it is worth nothing when a port, a thread or a tenant of the same name is there again.

Does not know: who looks, what listens.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from gateway.runners.errors import busy, invalid, not_exposed, unknown
from gateway.runners.wire import Port

MAX_PORTS: Final = 64
MAX_LABEL: Final = 120
_ID_BYTES: Final = 16


class Exposures:
    def __init__(self) -> None:
        self._by_port: dict[int, tuple[Port, str]] = {}

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

    def looking_at(self, port: int) -> Callable[[], Awaitable[None]]:
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
