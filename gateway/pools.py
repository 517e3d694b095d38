"""Pools: threads for work that would hold up the event loop, with turns per tenant.

    pool = Pool("uploads", threads=2)
    value = await pool.run(tenant, function, *arguments)      # off the loop, when it is this tenant's turn

Why not `asyncio.to_thread`: its threads belong to everything in the process, first come, first served; a tenant that fills them
makes every other tenant wait. THREAT[TM-LIM-STARVE].

Rules: each kind of work has a pool of its own, named in this file, so that slow work of one kind holds up no other kind. A tenant
has at most `each` of a pool's threads; those that wait take turns, tenant by tenant, and each tenant in the order it asked. More
than `waiting_max` of one tenant are refused (`TooMany`). A thread cannot be killed: a caller that leaves frees its place in the
line, but a function that has begun keeps its thread until it ends. What may run for long or take much memory belongs into a
killable child (`sandbox.confinement.child`), with a thread of a pool that only waits for it.

Does not know: what is run.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from gateway.errors import TooMany

P = ParamSpec("P")
T = TypeVar("T")


class Pool:
    def __init__(self, name: str, threads: int, *, each: int = 1, waiting_max: int = 256) -> None:
        self._executor = ThreadPoolExecutor(threads, f"hatchway-{name}")
        self._free, self._each, self._waiting_max = threads, each, waiting_max
        self._running: Counter[str] = Counter()
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """Those that wait, by tenant; the tenant whose turn is next comes first."""
        self._lock = threading.Lock()

    async def run(self, tenant: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns or raises. It sees the caller's context variables."""
        await self._enter(tenant)

        def work() -> T:
            try:
                return function(*args, **kwargs)
            finally:
                self._leave(tenant)

        return await asyncio.get_running_loop().run_in_executor(self._executor, contextvars.copy_context().run, work)

    async def _enter(self, tenant: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            line = self._lines.setdefault(tenant, deque())
            if len(line) >= self._waiting_max:
                raise TooMany("BUSY", "too much work of this kind waits for this tenant", "wait for answers before asking more")
            line.append(turn)
            self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                if turn in line:
                    line.remove(turn)
            if turn.done() and not turn.cancelled():
                self._leave(tenant)
            raise

    def _leave(self, tenant: str) -> None:
        """On the thread that is free now."""
        with self._lock:
            self._free += 1
            self._running[tenant] -= 1
            self._running += Counter()  # drops those that are zero
            self._grant()

    def _grant(self) -> None:
        """Gives free threads to those whose turn it is. Called with the lock held."""
        for tenant in [*self._lines] if self._free else ():
            line = self._lines[tenant]
            while line and self._free and self._running[tenant] < self._each:
                turn = line.popleft()
                with contextlib.suppress(RuntimeError):  # its loop is closed: there is no caller any more
                    turn.get_loop().call_soon_threadsafe(self._admit, tenant, turn)
                    self._free -= 1
                    self._running[tenant] += 1
                    self._lines.move_to_end(tenant)
            if not line:
                del self._lines[tenant]

    def _admit(self, tenant: str, turn: asyncio.Future[None]) -> None:
        if turn.cancelled():
            self._leave(tenant)
        else:
            turn.set_result(None)


LARGE_BYTES: Final = 64 << 10


async def run_large(tenant: str, size_bytes: int, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """A function of something that a tenant has sent: here and now if it is small, else on the pool of uploads. What holds the
    interpreter's lock for long (one call of base64, of a regular expression) should go piece by piece: threads share that."""
    if size_bytes <= LARGE_BYTES:
        return function(*args, **kwargs)
    return await uploads.run(tenant, function, *args, **kwargs)


acting_for: contextvars.ContextVar[str] = contextvars.ContextVar("acting_for", default="")
"""The tenant of the request under way, and of what it starts: for work that is not told whose it is."""
CORES = os.cpu_count() or 1
uploads = Pool("uploads", max(2, CORES))
"""Large bodies: hashing, decoding, encoding."""
compilation = Pool("compilation", max(2, CORES))
"""WebAssembly of hooks: what is compiled for a tenant."""
tenant_data = Pool("tenant-data", max(2, CORES), waiting_max=64)
"""What is computed from a tenant's stored data, mostly by waiting for a child: differences, archives, searches."""
schema_trials = Pool("schema-trials", 1)
"""Schemas of servers, tried in a child."""
lookups = Pool("lookups", 8, each=2)
"""Names that are resolved."""
