"""Admission: how many requests may be on their way, and how fast they may come.

Rules: THREAT[TM-HTTP-FLOOD]: every request takes a place, of all and of its tenant, before its body is read or its operation
begins, and gives it back when it ends, is cancelled or its client leaves. There is no queue: a request that finds no place is
refused at once. Rates are token buckets: of its minute a tenant may use 600 requests or a sixth at once, then as fast as its
quota refills. Streams have places of their own, because they stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from gateway.configuration import Configuration
from gateway.errors import TooMany, Unavailable
from gateway.pools import LARGE_BYTES, Neighbours
from gateway.records import Principal, Quotas, Tenant
from gateway.telemetry import Telemetry
from sandbox.capabilities.rate_limits import Bucket

FindTenant = Callable[[str], Awaitable[Tenant | None]]
"""`Store.tenant`; None: there is no such tenant (its operations will say so)."""
TENANTS_MAX: Final = 10_000
QUOTAS_AGE_S: Final = 5.0
_LOOK_S: Final = 0.005
LATELY_S: Final = 1.0
ANSWERS_EACH: Final = 8
"""Large answers of one tenant that are made, or held for a client that has not taken them."""
SHARED_BYTES_PER_S: Final = 32 << 20
"""Of large bodies together, while several tenants ask."""
BURST_SHARE: Final = 6
BURST_WHOLE_MAX: Final = 600
"""A quota of at most this many requests a minute may be used at once."""


def compute_burst(requests_per_min: int) -> float:
    return max(requests_per_min / BURST_SHARE, float(min(requests_per_min, BURST_WHOLE_MAX)))


class _Tenant:
    __slots__ = ("answers", "body_bytes", "bucket", "in_flight", "quotas", "read_s", "streams")

    def __init__(self) -> None:
        self.in_flight = 0
        self.body_bytes = 0
        self.streams = 0
        self.answers = asyncio.Semaphore(ANSWERS_EACH)
        self.quotas = Quotas()
        self.read_s = float("-inf")
        self.bucket = Bucket()


class _Place:
    """Taken from when it is entered until it is left."""

    __slots__ = ("_of",)

    def __init__(self, of: Admission | _Tenant) -> None:
        self._of = of

    def __enter__(self) -> None:
        self._of.in_flight += 1

    def __exit__(self, *_: object) -> None:
        self._of.in_flight -= 1


class AnswerPlace:
    """One of a tenant's places for large answers: held as long as the answer that it goes along with is there."""

    __slots__ = ("_of",)

    def __init__(self, of: asyncio.Semaphore) -> None:
        self._of: asyncio.Semaphore | None = of

    def leave(self) -> None:
        of, self._of = self._of, None
        if of is not None:
            of.release()

    __del__ = leave


class Turns:
    """Of the pieces of large bodies the event loop handles one in each of its rounds, tenant after tenant; while other tenants
    ask as well, no more than a rate. THREAT[TM-LIM-STARVE]: a request of a few steps waits for a few pieces, however many bodies
    come at once, and finds cores that are free: a client that sends as fast as it can is slowed down, too."""

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours
        self._lines: OrderedDict[str, deque[tuple[asyncio.Future[None], int]]] = OrderedDict()
        self._free_s = 0.0
        """When the next piece may be handled."""

    async def take(self, tenant: str, size: int) -> None:
        loop = asyncio.get_running_loop()
        if not self._lines:
            self._wait(loop)
        turn: asyncio.Future[None] = loop.create_future()
        self._lines.setdefault(tenant, deque()).append((turn, size))
        await turn

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._free_s > loop.time():
            loop.call_at(self._free_s, self._give, loop)
        else:
            loop.call_soon(self._give, loop)

    def _give(self, loop: asyncio.AbstractEventLoop) -> None:
        tenant, line = self._lines.popitem(last=False)
        turn, size = line.popleft()
        if line:
            self._lines[tenant] = line
        if not turn.done():
            turn.set_result(None)
            if self._neighbours.has_other(tenant):
                self._free_s = max(self._free_s, loop.time()) + size / SHARED_BYTES_PER_S
        if self._lines:
            self._wait(loop)


class Room:
    """For one body, of what its tenant has for all of them: held while it is entered, by the request or by what goes on when its
    client has left. `count` is told of each piece, and returns when it is that piece's turn."""

    def __init__(self, tenant: _Tenant, take_turn: Callable[[int], Awaitable[None]], most: int, telemetry: Telemetry) -> None:
        self._tenant, self._take_turn, self._most, self._telemetry = tenant, take_turn, most, telemetry
        self._bytes = self._holders = 0

    async def count(self, size: int) -> None:
        self._bytes += size
        self._tenant.body_bytes += size
        if self._tenant.body_bytes > self._most:
            self._telemetry.refused.labels("tenant_bodies").inc()
            message = f"the bodies of this tenant's requests have more than {self._most} bytes together"
            raise TooMany("BUSY", message, "send fewer large bodies at the same time")
        if self._bytes > LARGE_BYTES:
            await self._take_turn(size)

    def __enter__(self) -> Room:
        if not self._holders:
            self._tenant.body_bytes += self._bytes
        self._holders += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._holders -= 1
        if not self._holders:
            self._tenant.body_bytes -= self._bytes


class Admission:
    def __init__(
        self,
        caps: Configuration,
        telemetry: Telemetry,
        find_tenant: FindTenant | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._caps, self._telemetry, self._find_tenant, self._clock_s = caps, telemetry, find_tenant, clock_s
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()
        self._askers = Neighbours(LATELY_S)
        self._turns = Turns(self._askers)
        self.in_flight = 0
        self.draining = False
        telemetry.in_flight.set_function(lambda: self.in_flight)

    def take_place(self) -> _Place:
        """One of the service's places, for any request."""
        if self.draining:
            self._telemetry.refused.labels("draining").inc()
            raise Unavailable("STOPPING", "the service is stopping", "ask another one, or again in a moment", retry_after_ms=5000)
        if self.in_flight >= self._caps.requests_in_flight_max:
            self._telemetry.refused.labels("busy").inc()
            raise Unavailable("BUSY", "too many requests are on their way", "try again in a moment")
        return _Place(self)

    async def check_rate(self, principal: Principal) -> None:
        """Count a request against its tenant's rate."""
        tenant, now_s = self._find(principal.tenant), self._clock_s()
        self._askers.note(principal.tenant)
        if self._find_tenant is not None and now_s - tenant.read_s > QUOTAS_AGE_S:
            tenant.read_s = now_s  # before the await: one question at a time
            found = await self._find_tenant(principal.tenant)
            tenant.quotas = Quotas() if found is None else found.quotas
        per_s = tenant.quotas.requests_per_min / 60
        burst = compute_burst(tenant.quotas.requests_per_min)
        wait_s = tenant.bucket.take(now_s, per_s, burst)
        if wait_s is not None:
            self._telemetry.refused.labels("rate").inc()
            raise TooMany(
                "RATE_EXCEEDED",
                f"more than {tenant.quotas.requests_per_min} requests a minute, of which {burst:.0f} may come at once",
                "wait as Retry-After says, or ask for a higher quota",
                retry_after_ms=int(wait_s * 1000) + 1 if per_s > 0 else 60_000,
            )

    def take_tenant_place(self, name: str) -> _Place:
        """One of a tenant's places."""
        tenant = self._find(name)
        if tenant.in_flight >= self._caps.requests_per_tenant_max:
            self._telemetry.refused.labels("tenant_busy").inc()
            raise TooMany("BUSY", "too many requests of this tenant are on their way", "wait for answers before asking more")
        return _Place(tenant)

    def make_room(self, name: str) -> Room:
        """For the body of a request."""
        return Room(
            self._find(name), functools.partial(self._turns.take, name), self._caps.body_bytes_per_tenant_max, self._telemetry
        )

    async def take_answer_place(self, name: str) -> AnswerPlace:
        """Waits for one. THREAT[TM-HTTP-SLOW]: what a client asks for and does not take is the service's memory."""
        answers = self._find(name).answers
        await answers.acquire()
        return AnswerPlace(answers)

    @contextlib.contextmanager
    def hold_stream(self, name: str) -> Iterator[None]:
        """One of a tenant's open streams."""
        tenant = self._find(name)
        if tenant.streams >= self._caps.streams_per_tenant_max:
            self._telemetry.refused.labels("tenant_streams").inc()
            raise TooMany("BUSY", "too many streams of this tenant are open", "close one")
        tenant.streams += 1
        try:
            yield
        finally:
            tenant.streams -= 1

    def forget_all(self) -> None:
        """Perhaps some quotas were changed."""
        for found in self._tenants.values():
            found.read_s = float("-inf")

    def forget(self, name: str) -> None:
        """After a change of its quotas: the next request asks again."""
        if found := self._tenants.get(name):
            found.read_s = float("-inf")

    async def wait_until_quiet(self, name: str, within_s: float, but: int = 0) -> None:
        """Until at most `but` of a tenant's requests are on their way, and no longer than `within_s`."""
        tenant = self._find(name)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while tenant.in_flight > but:
                    await asyncio.sleep(_LOOK_S)

    def _find(self, name: str) -> _Tenant:
        tenant = self._tenants.get(name)
        if tenant is None:
            tenant = self._tenants[name] = _Tenant()
            if len(self._tenants) > TENANTS_MAX:
                self._sweep()
        return tenant

    def _sweep(self) -> None:
        """Drop the oldest that have nothing on their way. The newest is being used right now."""
        *old, _ = self._tenants
        for name in old[: TENANTS_MAX // 10]:
            tenant = self._tenants[name]
            if not (tenant.in_flight or tenant.streams or tenant.body_bytes or tenant.answers._value < ANSWERS_EACH):
                del self._tenants[name]
