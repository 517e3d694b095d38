"""The store in memory, for tests and for one process: SQLite without a file, in the caller's thread.

Rules: steps run to their end without giving way, so that a write is alone by itself. Nothing outlives the process.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from gateway.stores.engines.sqlite_steps import commit, migrate, run
from gateway.stores.row_operations import Steps
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits

T = TypeVar("T")


class MemoryStore(Store):
    def __init__(self, limits: StoreLimits | None = None) -> None:
        self.limits = limits or StoreLimits()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=256)
        weakref.finalize(self, self._connection.close)
        migrate(self._connection)

    async def _read(self, steps: Steps[T], *, several: bool = False) -> T:
        return run(self._connection, steps)

    async def _write(
        self, tenant: str, make_steps: Callable[[], Steps[None]], *, deletes: bool, contents: Sequence[bytes]
    ) -> None:
        commit(self._connection, lambda connection: run(connection, make_steps()))

    async def compact(self) -> None:
        pass

    async def close(self) -> None:
        pass
