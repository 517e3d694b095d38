"""Shares: which connections there may be, and which of them gives way when there are too many.

Rules: THREAT[TM-HTTP-FLOOD]: an address has at most its share of the connections, and a connection that does nothing is worth
less than a new one. Where a share is used up, a connection of the same address gives way to the next; where all places are taken,
one of the address that has most to spare does, if that has more connections than the new one's. The first to give way is the one
that has shown no valid token for longest; then the one that has been idle for longest; one that answers an admitted caller never
does. If none gives way there is a small reserve, in which only health is answered, so that a service that is full does not look
dead. THREAT[TM-HTTP-SLOW]: who sends or reads slowly and has shown no token holds a connection only while none else wants it.

An IPv6 client can have any address of its /64, so that is what counts as one. The operator's proxies (`proxies`) speak for many
clients: they have no share of their own, and none of their connections gives way.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from typing import Final

from starlette.types import Scope

SEAT: Final = "hatchway.seat"
RESERVE: Final = 32
RESERVE_EACH: Final = 4
RESERVE_S: Final = 2.0
"""How long a connection in the reserve may wait for its request."""
GRACE_S: Final = 0.2
"""For a request that has begun to show its token: until then its connection does not give way."""


class Seat:
    """The place of one connection. `is_known`: a request on it had a valid token. `give_way` ends the connection."""

    __slots__ = ("address", "give_way", "is_busy", "is_known", "is_reserve", "since_s")

    def __init__(self, address: str, since_s: float, is_reserve: bool) -> None:
        self.address, self.since_s, self.is_reserve = address, since_s, is_reserve
        self.is_known = self.is_busy = False
        self.give_way: Callable[[], object] = lambda: None

    def is_spare(self, now_s: float) -> bool:
        """Whether it may be made to give way."""
        return not self.is_reserve and (not self.is_busy or (not self.is_known and now_s - self.since_s > GRACE_S))


def find_seat(scope: Scope) -> Seat | None:
    """None for a request that came over no connection of ours."""
    found: Seat | None = scope.get("state", {}).get(SEAT)
    return found


class Shares:
    """`most_each` 0: a quarter of all."""

    def __init__(self, most: int, most_each: int = 0, proxies: Iterable[str] = ()) -> None:
        self._most, self._most_each = most, most_each or max(1, most // 4)
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]
        self._seats: dict[str, dict[Seat, None]] = {}
        """By address, in the order they came: the clock may not tell them apart."""
        self._taken = self._reserved = 0

    def __len__(self) -> int:
        return self._taken + self._reserved

    def take(self, address: str, now_s: float) -> Seat | None:
        """A place for a connection from there; None if there is none."""
        name = self._name(address)
        own = self._seats.get(name, {})
        if name and len(own) >= self._most_each:
            has_room = self._push_out(name, now_s)
        elif self._taken >= self._most:
            heavier = [
                other for other, seats in self._seats.items() if other and (other == name or not name or len(seats) > len(own))
            ]
            most_spare = max(heavier, key=lambda other: sum(seat.is_spare(now_s) for seat in self._seats[other]), default="")
            has_room = bool(most_spare) and self._push_out(most_spare, now_s)
        else:
            has_room = True
        if not has_room and (self._reserved >= RESERVE or sum(seat.is_reserve for seat in own) >= RESERVE_EACH):
            return None
        seat = Seat(name, now_s, is_reserve=not has_room)
        self._seats.setdefault(name, {})[seat] = None  # not `own`: the last of it may have given way
        self._count(seat, 1)
        return seat

    def leave(self, seat: Seat) -> None:
        """Once for each seat; nothing happens if it was made to give way before."""
        seats = self._seats.get(seat.address, {})
        if seat in seats:
            del seats[seat]
            self._count(seat, -1)
            if not seats:
                del self._seats[seat.address]

    def _count(self, seat: Seat, by: int) -> None:
        if seat.is_reserve:
            self._reserved += by
        else:
            self._taken += by

    def _push_out(self, name: str, now_s: float) -> bool:
        seats = [seat for seat in self._seats[name] if seat.is_spare(now_s)]
        if not seats:
            return False
        last = min(seats, key=lambda seat: (seat.is_known, seat.since_s))
        self.leave(last)
        last.give_way()
        return True

    def _name(self, address: str) -> str:
        """What counts as one client; empty for a proxy."""
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return address or "unknown"
        if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        if any(found in proxy for proxy in self._proxies):
            return ""
        return str(found) if found.version == 4 else str(ipaddress.ip_network((found, 64), strict=False))
