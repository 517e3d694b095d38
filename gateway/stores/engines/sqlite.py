"""The store in one SQLite file: the embedded default.

How: write-ahead logging with synchronous=FULL: a write returns after its bytes were flushed to the disk. One thread writes;
what came while it flushed is committed together next (group commit), each write in a savepoint of its own, so that one that
fails takes no other with it. Readers have connections and threads of their own and never wait for the writer.

Rules: THREAT[TM-STORE-DISK]: an error of the disk fails the writes it met, with StoreFailed, and nothing else: they are
rolled back, and the next write finds a sound file. What deletes is written on a full disk too, from a reserve. Deleted bytes are
overwritten with zeros (secure_delete), because deleting a tenant must mean it. The file is readable by its owner only.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import queue
import sqlite3
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy.dialects import sqlite

from gateway.errors import StoreFailed, Unavailable
from gateway.stores.engines import migrations
from gateway.stores.engines.ownership import own_file
from gateway.stores.engines.reserve import Reserve
from gateway.stores.engines.sql import Statements
from gateway.stores.row_operations import Operation, Put, Rows, Steps
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits

T = TypeVar("T")
_READERS: Final = 4
_GROUP_MAX: Final = 256
_LARGE_BYTES: Final = 256 << 10
"""A write that others need not wait for."""
_SHRINK_PAGES: Final = 4096
_SMALL_SHRINK_PAGES: Final = 256
_WAIT_MS: Final = 10_000
_JOURNAL_BYTES: Final = 64 << 20
_STATEMENTS: Final = Statements(sqlite.dialect(paramstyle="qmark"), sqlite.insert)
_READER: Final = ("query_only = ON", "temp_store = MEMORY")
_WRITER: Final = (
    "auto_vacuum = INCREMENTAL",
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "temp_store = MEMORY",
    f"journal_size_limit = {_JOURNAL_BYTES}",
)


@dataclass(slots=True)
class _Job:
    """Something for the writer: work on its connection, which for a write is to take steps in a transaction."""

    done: asyncio.Future[None]
    work: Callable[[sqlite3.Connection], object]
    make_steps: Callable[[], Steps[None]] | None = None
    deletes: bool = False
    large_of: str | None = None
    """The tenant of a write that takes long."""


class SqliteStore(Store):
    """`await SqliteStore.open(path)`; `close` when done."""

    def __init__(self, path: Path, limits: StoreLimits | None) -> None:
        self.path = path
        self.limits = limits or StoreLimits()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._writer: sqlite3.Connection | None = None
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._closed = False
        self._owned: int | None = None
        self._reserve: Reserve | None = None

    @classmethod
    async def open(
        cls, path: Path | str, *, limits: StoreLimits | None = None, create: bool = True, own: bool = False
    ) -> SqliteStore:
        """With `own` no other gateway may serve this store (`gateway.stores.engines.ownership`)."""
        store = cls(Path(path), limits)
        try:
            await asyncio.to_thread(store._prepare, create, own)
        except BaseException:
            store._readers.shutdown()
            raise
        store._thread.start()
        return store

    def _prepare(self, create: bool, own: bool) -> None:
        try:
            if create:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            elif not self.path.is_file():
                raise StoreFailed(
                    "STORE_MISSING", f"there is no store at {self.path}", "name the gateway's data folder with --data"
                )
            if own:
                self._owned = own_file(self.path)
                reserve = Reserve(self.path.with_name(f"{self.path.name}.reserve"))
                self._reserve = reserve if reserve.hold() else None
            self._writer = self._connect()
            migrate(self._writer)
        except BaseException as error:
            self._drop_writer()
            self._disown()
            if isinstance(error, (sqlite3.Error, OSError)):
                raise _failure(error) from error
            raise

    def _disown(self) -> None:
        if self._owned is not None:
            os.close(self._owned)
            self._owned = None

    def _connect(self, *, reads_only: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_WAIT_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            for pragma in _READER if reads_only else _WRITER:
                connection.execute(f"PRAGMA {pragma}").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    async def _read(self, steps: Steps[T], *, several: bool = False) -> T:
        if self._closed:
            raise Unavailable("STORE_CLOSED", "the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read_now, steps, several)

    def _read_now(self, steps: Steps[T], several: bool) -> T:
        try:
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self._connect(reads_only=True)
                self._opened.append(connection)
            if not several:
                return run(connection, steps)
            connection.execute("BEGIN")
            try:
                return run(connection, steps)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            self._drop_reader()
            raise _failure(error) from error

    def _drop_reader(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            self._opened.remove(connection)
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    async def _write(self, tenant: str, make_steps: Callable[[], Steps[None]], *, deletes: bool, size_bytes: int) -> None:
        large_of = tenant if size_bytes >= _LARGE_BYTES else None
        await self._submit(lambda connection: commit(connection, make_steps), make_steps, deletes=deletes, large_of=large_of)

    async def _submit(
        self,
        work: Callable[[sqlite3.Connection], object],
        make_steps: Callable[[], Steps[None]] | None = None,
        **more: Any,
    ) -> None:
        if self._closed:
            raise Unavailable("STORE_CLOSED", "the store is closed")
        job = _Job(asyncio.get_running_loop().create_future(), work, make_steps, **more)
        self._jobs.put(job)
        await job.done

    def _serve(self) -> None:
        """The writer's thread: take what waits, commit it together, say how it went. THREAT[TM-LIM-STARVE]: of large writes one
        is made at a time, tenant by tenant, and what came meanwhile goes first."""
        large: OrderedDict[str, deque[_Job]] = OrderedDict()
        is_open = True
        while is_open or large:
            group: list[_Job] = []
            while is_open and len(group) < _GROUP_MAX:
                try:
                    job = self._jobs.get(block=not group and not large)
                except queue.Empty:
                    break
                if job is None:
                    is_open = False
                elif job.large_of is not None:
                    large.setdefault(job.large_of, deque()).append(job)
                else:
                    group.append(job)
            if group:
                _deliver(self._commit_group(group))
            if large:
                tenant, line = large.popitem(last=False)
                _deliver(self._commit_group([line.popleft()]))
                if line:
                    large[tenant] = line
        self._drop_writer()

    def _commit_group(self, group: list[_Job]) -> list[tuple[_Job, BaseException | None]]:
        steps = [job.make_steps for job in group if job.make_steps is not None]
        if self._reserve is not None and self._reserve.is_given_up:
            self._reserve.hold()
        elif len(group) > 1 and len(steps) == len(group):
            try:
                return list(zip(group, _commit_together(self._connection(), steps), strict=True))
            except Exception:
                self._abandon()  # whose fault it was is not known: each tries alone
        return [(job, self._alone(job)) for job in group]

    def _alone(self, job: _Job) -> BaseException | None:
        try:
            if self._reserve is not None and self._reserve.is_given_up and job.make_steps is not None and not job.deletes:
                return _full()
            job.work(self._connection())
        except Exception as error:
            self._abandon()
            failure = _failure(error)
            is_full = isinstance(failure, StoreFailed) and failure.code == "STORE_FULL"
            if is_full and job.deletes and self._reserve is not None and not self._reserve.is_given_up:
                return self._delete_on_full_disk(self._reserve, job)
            return failure
        return None

    def _delete_on_full_disk(self, reserve: Reserve, job: _Job) -> BaseException | None:
        """With the reserve, and without zeros for every page: what is free is cut off the file at once instead."""
        try:
            reserve.give_up()
            connection = self._connection()
            with contextlib.suppress(sqlite3.Error):
                _empty_log(connection)
            connection.execute("PRAGMA secure_delete = FAST").fetchall()
            outcome = self._alone(job)
            with contextlib.suppress(sqlite3.Error):
                while outcome is None and _shrink(connection, _SMALL_SHRINK_PAGES):
                    pass
                _empty_log(connection)
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            reserve.hold()
        except (sqlite3.Error, OSError) as error:
            return _failure(error)
        return outcome

    def _connection(self) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = self._connect()
        return self._writer

    def _abandon(self) -> None:
        """Undo what failed. The connection stays: only it knows that what it wrote to the log, commit mark and all, is void."""
        if self._writer is not None:
            try:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
            except sqlite3.Error:
                self._drop_writer()

    def _drop_writer(self) -> None:
        connection, self._writer = self._writer, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    async def compact(self) -> None:
        """Piece by piece, so that writes get their turn in between."""
        left = 1

        def shrink(connection: sqlite3.Connection) -> None:
            nonlocal left
            left = _shrink(connection)

        while left:
            await self._submit(shrink)
        await self._submit(_empty_log)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)
            await asyncio.to_thread(self._readers.shutdown)
            for connection in self._opened:
                connection.close()
            self._disown()


def _deliver(outcomes: list[tuple[_Job, BaseException | None]]) -> None:
    """Wake the callers, once for each event loop."""
    for loop in {job.done.get_loop() for job, _ in outcomes}:
        mine = [(job, error) for job, error in outcomes if job.done.get_loop() is loop]
        # A loop that is closed has no caller left to tell.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, mine)


def _settle(outcomes: list[tuple[_Job, BaseException | None]]) -> None:
    for job, error in outcomes:
        if job.done.done():
            continue
        if error is None:
            job.done.set_result(None)
        else:
            job.done.set_exception(error)


def commit(connection: sqlite3.Connection, make_steps: Callable[[], Steps[None]]) -> None:
    """Take steps in a transaction, which leaving the connection ends."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        run(connection, make_steps())


def _commit_together(connection: sqlite3.Connection, group: list[Callable[[], Steps[None]]]) -> list[BaseException | None]:
    """Several writes in one transaction, each in a savepoint; why each failed. Raises what an engine's error does to all."""
    outcomes: list[BaseException | None] = []
    connection.execute("BEGIN IMMEDIATE")
    for make_steps in group:
        connection.execute("SAVEPOINT one")
        try:
            run(connection, make_steps())
            outcomes.append(None)
        except sqlite3.Error:
            raise
        except Exception as error:
            connection.execute("ROLLBACK TO one")
            outcomes.append(error)
        connection.execute("RELEASE one")
    connection.execute("COMMIT")
    return outcomes


def migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        connection.execute(migrations.VERSION_TABLE)
        found = connection.execute("SELECT version FROM schema_version").fetchone()
        for text in migrations.plan(found[0] if found else None, _STATEMENTS.schema, postgres=False):
            connection.execute(text)


def _shrink(connection: sqlite3.Connection, pages: int = _SHRINK_PAGES) -> int:
    """Give some free pages back; how many more there are that can be."""
    before: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    # A script, because this pragma frees a page for each step and `execute` makes one step.
    connection.executescript(f"PRAGMA incremental_vacuum({pages})")
    after: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return after if after < before else 0


def _empty_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def run(connection: sqlite3.Connection, steps: Steps[T]) -> T:
    try:
        operation = next(steps)
        while True:
            operation = steps.send(_do(connection, operation))
    except StopIteration as stop:
        answer: T = stop.value
        return answer


def _do(connection: sqlite3.Connection, operation: Operation) -> Rows:
    text, parameters = _STATEMENTS.prepare(operation)
    if isinstance(operation, Put):
        connection.executemany(text, parameters)
        return []
    if len(parameters) == 1:
        return connection.execute(text, parameters[0]).fetchall()
    return [row for each in parameters for row in connection.execute(text, each).fetchall()]


def _full() -> StoreFailed:
    return StoreFailed("STORE_FULL", "the disk is full; nothing was written", "delete something; no restart is needed")


def _failure(error: BaseException) -> BaseException:
    """What a caller is told of an error of the disk or of SQLite; any other error is not ours to name."""
    if not isinstance(error, (sqlite3.Error, OSError)):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return _full()
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable("STORE_BUSY", "another process holds the store", "try again")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreFailed("STORE_CORRUPT", "the store's file is damaged", "restore it from a backup")
    return StoreFailed("STORE_IO", f"the store could not be read or written: {error}", "check the disk; no restart is needed")
