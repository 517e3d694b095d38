"""The store in one SQLite file, with large contents in a folder next to it (`contents`): the embedded default.

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
import os
import queue
import sqlite3
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from gateway.errors import StoreFailed, Unavailable
from gateway.pools import Neighbours
from gateway.pools import contents as threads
from gateway.shielding import run_to_completion
from gateway.stores.engines.contents import Contents
from gateway.stores.engines.ownership import own_file
from gateway.stores.engines.reserve import Reserve
from gateway.stores.engines.sqlite_readers import Readers
from gateway.stores.engines.sqlite_steps import (
    Applying,
    References,
    commit,
    commit_together,
    connect,
    empty_log,
    full,
    list_references,
    migrate,
    run,
    shrink,
    translate,
)  # fmt: skip
from gateway.stores.row_operations import LARGE_BYTES, Steps
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits

T = TypeVar("T")
_GROUP_MAX: Final = 256
_LARGE_BYTES: Final = 256 << 10
"""A write that others need not wait for."""
_LATELY_SECONDS: Final = 0.25
_PAUSE_COMMITS: Final = 3
_PAUSE_SECONDS_MAX: Final = 0.05
_SMALL_SHRINK_PAGES: Final = 256
_JOURNAL_BYTES: Final = 64 << 20
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
    """Something for the writer: work on its connection, which for a write is to be done in a transaction."""

    done: asyncio.Future[None]
    work: Applying
    is_write: bool = False
    deletes: bool = False
    large_of: str | None = None
    """The tenant of a write that takes long."""
    placed: Mapping[int, str] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    """References that no row has, once it is done."""


class SqliteStore(Store):
    """`await SqliteStore.open(path)`; `close` when done."""

    def __init__(self, path: Path, limits: StoreLimits | None) -> None:
        self.path = path
        self.limits = limits or StoreLimits()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._writer: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._closed = False
        self._owned: int | None = None
        self._reserve: Reserve | None = None
        self._contents = Contents(path.with_name(f"{path.name}.contents"))
        self._readers = Readers(path, self._contents)
        self._is_void = False
        """The end of the log may hold a write that failed: after a crash it would be there."""
        self._doubtful: set[str] = set()
        """References of such writes."""
        self._commit_s = 0.005
        """What a commit takes, lately."""
        self._writers = Neighbours(_LATELY_SECONDS)
        """Of rows."""

    @classmethod
    async def open(
        cls, path: Path | str, *, limits: StoreLimits | None = None, create: bool = True, own: bool = False
    ) -> SqliteStore:
        """With `own` no other gateway may serve this store (`gateway.stores.engines.ownership`)."""
        store = cls(Path(path), limits)
        try:
            await asyncio.to_thread(store._prepare, create, own)
        except BaseException:
            store._readers.close()
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
            self._writer = connect(self.path, _WRITER)
            migrate(self._writer)
            if own:
                self._contents.collect(lambda: list_references(self._connection()))
        except BaseException as error:
            self._drop_writer()
            self._disown()
            if isinstance(error, (sqlite3.Error, OSError)):
                raise translate(error) from error
            raise

    def _disown(self) -> None:
        if self._owned is not None:
            os.close(self._owned)
            self._owned = None

    async def _read(self, steps: Steps[T], *, several: bool = False) -> T:
        return await self._readers.read(steps, several)

    async def _read_contents(self, make_steps: Callable[[], Steps[T]]) -> T:
        return await self._readers.read_contents(make_steps)

    async def _write(
        self, tenant: str, make_steps: Callable[[], Steps[None]], *, deletes: bool, contents: Sequence[bytes]
    ) -> None:
        sizes = [len(content) for content in contents]
        is_large, rows_bytes = sum(sizes) >= _LARGE_BYTES, sum(size for size in sizes if size < LARGE_BYTES)
        large_of = tenant if is_large and rows_bytes >= _LARGE_BYTES else None
        large = {id(content): content for content in contents if is_large and len(content) >= LARGE_BYTES}
        if large:
            await run_to_completion(self._place_and_write(tenant, make_steps, large, large_of))
        else:
            self._writers.note(tenant)
            await self._write_rows(tenant, make_steps, {}, deletes=deletes, large_of=large_of)

    def _find_pause(self, tenant: str) -> float:
        """How long contents leave the disk to others between two pieces: for some commits, if another tenant has written rows
        lately. A slower disk, or one that is slowed down by this, makes it longer."""
        return min(_PAUSE_COMMITS * self._commit_s, _PAUSE_SECONDS_MAX) if self._writers.has_other(tenant) else 0.0

    async def _place_and_write(
        self, tenant: str, make_steps: Callable[[], Steps[None]], large: Mapping[int, bytes], large_of: str | None
    ) -> None:
        try:
            placed = await threads.run(tenant, self._contents.place, list(large.values()), lambda: self._find_pause(tenant))
        except OSError as error:
            raise translate(error) from error
        try:
            references = dict(zip(large, (one.reference for one in placed), strict=True))
            await self._write_rows(tenant, make_steps, references, large_of=large_of)
        finally:
            for one in placed:
                os.close(one.descriptor)

    async def _write_rows(
        self, tenant: str, make_steps: Callable[[], Steps[None]], placed: Mapping[int, str], **more: Any
    ) -> None:
        def apply(connection: sqlite3.Connection) -> None:
            references = References(self._contents, placed)
            run(connection, make_steps(), references)
            job.loose = references.loose

        done = asyncio.get_running_loop().create_future()
        job = _Job(done, apply, is_write=True, placed=placed, loose=set(placed.values()), **more)
        try:
            await self._submit(job)
        finally:
            if job.loose and not done.cancelled():
                await threads.run(tenant, self._contents.remove, job.loose)

    async def _work(self, work: Applying) -> None:
        """Something that is not a write, on the writer's connection."""
        await self._submit(_Job(asyncio.get_running_loop().create_future(), work))

    async def _submit(self, job: _Job) -> None:
        if self._closed:
            raise Unavailable("STORE_CLOSED", "the store is closed")
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
                began_s = time.monotonic()
                outcomes = self._commit_group(group)
                self._commit_s += (time.monotonic() - began_s - self._commit_s) / 8
                self._deliver(outcomes)
            if large:
                tenant, line = large.popitem(last=False)
                self._deliver(self._commit_group([line.popleft()]))
                if line:
                    large[tenant] = line
        self._drop_writer()

    def _commit_group(self, group: list[_Job]) -> list[tuple[_Job, BaseException | None]]:
        if self._reserve is not None and self._reserve.is_given_up:
            self._reserve.hold()
        elif len(group) > 1 and all(job.is_write for job in group):
            try:
                outcomes = commit_together(self._connection(), [job.work for job in group])
                return [(job, self._note(job, outcome)) for job, outcome in zip(group, outcomes, strict=True)]
            except Exception as error:
                self._abandon(error)  # whose fault it was is not known: each tries alone
        return [(job, self._note(job, self._write_alone(job))) for job in group]

    def _note(self, job: _Job, outcome: BaseException | None) -> BaseException | None:
        """What becomes of the contents that were placed for it. A write that met an error of the disk may be there after a
        crash, with what it refers to, until the next one has overwritten it in the log."""
        if not job.is_write:
            return outcome
        if outcome is None:
            self._is_void, self._doubtful, job.loose = False, set(), job.loose | self._doubtful
        elif self._is_void:
            job.loose = set()
            self._doubtful.update(job.placed.values())
        else:
            job.loose = set(job.placed.values())
        return outcome

    def _write_alone(self, job: _Job) -> BaseException | None:
        try:
            if self._reserve is not None and self._reserve.is_given_up and job.is_write and not job.deletes:
                return full()
            if job.is_write:
                commit(self._connection(), job.work)
            else:
                job.work(self._connection())
        except Exception as error:
            self._abandon(error)
            failure = translate(error)
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
                empty_log(connection)
            connection.execute("PRAGMA secure_delete = FAST").fetchall()
            outcome = self._write_alone(job)
            if outcome is None:
                self._contents.remove(job.loose)
            with contextlib.suppress(sqlite3.Error):
                while outcome is None and shrink(connection, _SMALL_SHRINK_PAGES):
                    pass
                empty_log(connection)
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            reserve.hold()
        except (sqlite3.Error, OSError) as error:
            return translate(error)
        return outcome

    def _deliver(self, outcomes: list[tuple[_Job, BaseException | None]]) -> None:
        """Wake the callers, once for each event loop."""
        for loop in {job.done.get_loop() for job, _ in outcomes}:
            mine = [(job, error) for job, error in outcomes if job.done.get_loop() is loop]
            # A loop that is closed has no caller left to tell.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._settle, mine)

    def _settle(self, outcomes: list[tuple[_Job, BaseException | None]]) -> None:
        for job, error in outcomes:
            if job.done.done():
                if job.loose:  # and its caller has left
                    threads.submit(self._contents.remove, job.loose)
            elif error is None:
                job.done.set_result(None)
            else:
                job.done.set_exception(error)

    def _connection(self) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = connect(self.path, _WRITER)
        return self._writer

    def _abandon(self, error: Exception) -> None:
        """Undo what failed. The connection stays: only it knows that what it wrote to the log, commit mark and all, is void."""
        self._is_void = self._is_void or isinstance(error, sqlite3.Error)
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

        def shrink_some(connection: sqlite3.Connection) -> None:
            nonlocal left
            left = shrink(connection)

        while left:
            await self._work(shrink_some)
        await self._work(empty_log)
        await self._readers.collect()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)
            await asyncio.to_thread(self._readers.close)
            self._disown()
