"""Pools: threads for work that would hold up the event loop, with turns per tenant.

Why: asyncio's own threads belong to everything in the process, first come, first served; a tenant that fills them makes every
other tenant wait. THREAT[TM-LIM-STARVE]. The server replaces them by such a pool too (`make_default`), for small work that is
still given to `asyncio.to_thread`: there `acting_for` says whose turn it takes.

Rules: each kind of work has a pool of its own, named in this file, so that slow work of one kind holds up no other kind. A tenant
has at most `each` of a pool's threads; those that wait take turns, tenant by tenant, and each tenant in the order it asked. More
than `waiting_max` of one tenant are refused (`TooMany`). A thread cannot be killed: a caller that leaves frees its place in the
line, but a function that has begun keeps its thread until it ends. What may run for long or take much memory belongs into a
killable child (`sandbox.confinement.child`), with a thread of a pool that only waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import os
import threading
import time
import weakref
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

from gateway.errors import TooMany

P = ParamSpec("P")
T = TypeVar("T")


class Pool(ThreadPoolExecutor):
    def __init__(self, name: str, threads: int, *, each: int = 1, waiting_max: int = 256) -> None:
        super().__init__(threads, f"hatchway-{name}")
        self._free, self._each, self._waiting_max = threads, each, waiting_max
        self._running: Counter[str] = Counter()
        self._lines: OrderedDict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = OrderedDict()
        """What waits, by tenant; the tenant whose turn is next comes first."""
        self._lock = threading.Lock()

    async def run(self, tenant: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns or raises. It sees the caller's context variables."""
        call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)
        found: T = await asyncio.wrap_future(self._queue(tenant, call))
        return found

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As asyncio uses its default executor: in the turn of the tenant that is acted for."""
        return self._queue(acting_for.get(), functools.partial(fn, *args, **kwargs))

    def _queue(self, tenant: str, call: Callable[[], T]) -> Future[T]:
        result: Future[T] = Future()
        with self._lock:
            line = self._lines.setdefault(tenant, deque())
            while line and line[0][0].cancelled():
                line.popleft()
            if len(line) >= self._waiting_max:
                raise TooMany("BUSY", "too much work of this kind waits for this tenant", "wait for answers before asking more")
            line.append((result, call))
            self._grant()
        return result

    def _grant(self) -> None:
        """Gives free threads to those whose turn it is. Called with the lock held."""
        for tenant in [*self._lines] if self._free else ():
            line = self._lines[tenant]
            while line and self._free and self._running[tenant] < self._each:
                result, call = line.popleft()
                if result.set_running_or_notify_cancel():
                    self._free -= 1
                    self._running[tenant] += 1
                    self._lines.move_to_end(tenant)
                    super().submit(self._work, tenant, result, call)
            if not line:
                del self._lines[tenant]

    def _work(self, tenant: str, result: Future[T], call: Callable[[], T]) -> None:
        try:
            value = call()
        except BaseException as error:
            self._leave(tenant)
            result.set_exception(error)
        else:
            self._leave(tenant)
            result.set_result(value)

    def _leave(self, tenant: str) -> None:
        """Before the result is told: who hears of it finds the thread free."""
        with self._lock:
            self._free += 1
            self._running[tenant] -= 1
            self._running += Counter()  # drops those that are zero
            if tenant in self._lines:
                self._lines.move_to_end(tenant)  # behind those that came while it had its turn
            self._grant()


acting_for: contextvars.ContextVar[str] = contextvars.ContextVar("acting_for", default="")
"""The tenant of the request under way, and of what it starts: for work that is not told whose it is."""
LARGE_BYTES: Final = 64 << 10
FAIR_S: Final = 0.002


async def run_large(tenant: str, size_bytes: int, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """A function of something that a tenant has sent: here and now if it is small, else on the pool of uploads. What holds the
    interpreter's lock for long (one call of base64, of a regular expression) should go piece by piece: threads share that."""
    if size_bytes <= LARGE_BYTES:
        return function(*args, **kwargs)
    return await uploads.run(tenant, function, *args, **kwargs)


async def iterate_fairly(items: Iterable[T]) -> AsyncIterator[T]:
    """THREAT[TM-LIM-STARVE]: items that each take a moment here, such as a decision about each of ten thousand files; after some
    milliseconds others have their turn."""
    until_s = time.monotonic() + FAIR_S
    for item in items:
        yield item
        if time.monotonic() >= until_s:
            await asyncio.sleep(0)
            until_s = time.monotonic() + FAIR_S


class Gate:
    """For what takes much memory of this process while it is done, such as a snapshot on its way: one at a time for a tenant, and
    `most` of all."""

    def __init__(self, most: int) -> None:
        self._places = asyncio.Semaphore(most)
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def enter(self, tenant: str) -> AsyncIterator[None]:
        async with self._turns.setdefault(tenant, asyncio.Lock()), self._places:
            yield


class Neighbours:
    """Which tenants have done something lately: what only slows a tenant down for the sake of others asks for them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lately: dict[str, float] = {}
        """When the last two tenants did."""

    def note(self, tenant: str) -> None:
        self._lately.pop(tenant, None)
        self._lately = dict([*self._lately.items(), (tenant, time.monotonic())][-2:])

    def has_other(self, tenant: str) -> bool:
        now_s = time.monotonic()
        return any(other != tenant and now_s - at_s < self._seconds for other, at_s in self._lately.items())


CORES = os.cpu_count() or 1
uploads = Pool("uploads", max(2, CORES))
"""Large bodies: hashing, decoding, encoding."""
compilation = Pool("compilation", max(2, CORES - 1))
"""WebAssembly of hooks: what is compiled for a tenant. Two at least: one tenant's slow module keeps no other's waiting."""
tenant_data = Pool("tenant-data", max(2, CORES), waiting_max=64)
"""What is computed from a tenant's stored data, mostly by waiting for a child: differences, archives, searches."""
policies = Pool("policies", max(2, CORES), waiting_max=1024)
"""Policies of many rules: built, and folded for a caller."""
contents = Pool("contents", 8, waiting_max=4096)
"""Large contents on their way to the disk, and off it."""
schema_trials = Pool("schema-trials", 1)
"""Schemas of servers, tried in a child."""
lookups = Pool("lookups", 8, each=2)
"""Names that are resolved."""


def make_default() -> Pool:
    """The default executor of an event loop, which shuts it down at its end."""
    return Pool("default", 32, each=8, waiting_max=4096)
