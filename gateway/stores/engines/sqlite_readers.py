"""Readers of a SQLite store: connections and threads of their own, which never wait for the writer.

Rules: THREAT[TM-LIM-STARVE]: a tenant that reads large contents does not take all threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from gateway.errors import StoreFailed, Unavailable
from gateway.pools import Pool
from gateway.stores.engines.contents import Contents
from gateway.stores.engines.sqlite_steps import References, connect, list_references, run, translate
from gateway.stores.row_operations import Steps

T = TypeVar("T")
_READERS: Final = 4
_WAITING_MAX: Final = 4096
_PRAGMAS: Final = ("query_only = ON", "temp_store = MEMORY")


class Readers:
    def __init__(self, path: Path, contents: Contents) -> None:
        self._path, self._contents = path, contents
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._threads = Pool("store-reader", _READERS, each=_READERS - 1, waiting_max=_WAITING_MAX)
        self._closed = False

    async def read(self, steps: Steps[T], several: bool) -> T:
        """Raises FileNotFoundError if a content was removed after its row was read."""
        if self._closed:
            raise Unavailable("STORE_CLOSED", "the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read_now, steps, several)

    async def read_contents(self, make_steps: Callable[[], Steps[T]]) -> T:
        missing = None
        while True:
            try:
                return await self.read(make_steps(), several=True)
            except FileNotFoundError as error:
                if error.filename == missing:
                    raise StoreFailed("STORE_CORRUPT", f"the store has lost {missing}", "restore it from a backup") from error
                missing = error.filename

    def _read_now(self, steps: Steps[T], several: bool) -> T:
        try:
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = connect(self._path, _PRAGMAS)
                self._opened.append(connection)
            references = References(self._contents)
            if not several:
                return run(connection, steps, references)
            connection.execute("BEGIN")
            try:
                return run(connection, steps, references)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except FileNotFoundError:
            raise
        except (sqlite3.Error, OSError) as error:
            self._drop()
            raise translate(error) from error

    def _drop(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            self._opened.remove(connection)
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    async def collect(self) -> None:
        """Remove the contents that no row refers to."""

        def collect() -> None:
            with contextlib.closing(connect(self._path, _PRAGMAS)) as connection:
                self._contents.collect(lambda: list_references(connection))

        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, collect)
        except (sqlite3.Error, OSError) as error:
            raise translate(error) from error

    def close(self) -> None:
        self._closed = True
        self._threads.shutdown()
        for connection in self._opened:
            connection.close()
