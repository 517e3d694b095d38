"""The store in PostgreSQL, for gateways that share one.

How: a pool of connections. A write is one transaction that begins with a lock on its tenant, so that writes of a tenant follow
each other and those of others go on at the same time. Where gateways share the store (`fence`) the lock is on the tenant's row in
`owners`, and the same statement asks whether the tenant is still this gateway's (THREAT[TM-FLEET-FENCE]); where one gateway
serves the store it is an advisory lock, for the row may not exist; a command, which may run next to either, takes both.
Durability is the server's: `synchronous_commit` stays on, and is set for every connection.

Rules: a connection that breaks before COMMIT was sent is tried once more; one that breaks during COMMIT is STORE_UNCERTAIN,
because the outcome cannot be known. THREAT[TM-STORE-AWAY]: a database that is away is `StoreUnavailable`, without the database's
words, for each caller; the log says once that it is away, and once that it is back. The pool connects again by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final, TypeVar

import asyncpg  # type: ignore[import-untyped,unused-ignore]
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from gateway.errors import GatewayError, StoreFailed, StoreUnavailable
from gateway.stores.engines import migrations
from gateway.stores.engines.ownership import PATIENCE_S, PAUSE_S, in_use
from gateway.stores.engines.sql import Statements
from gateway.stores.fence import Fence, NotOwner
from gateway.stores.row_operations import Get, Operation, Present, Rows, Scan, Steps, Tell
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits

T = TypeVar("T")
_DIALECT: Final = PGDialect_asyncpg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
_STATEMENTS: Final = Statements(_DIALECT, postgresql.insert, postgresql.ARRAY)
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
_FENCE: Final = "SELECT 1 FROM owners WHERE tenant = $1 AND epoch = $2 FOR NO KEY UPDATE"
_LOCK_OWNER: Final = "SELECT 1 FROM owners WHERE tenant = $1 FOR NO KEY UPDATE"
_END_FLEET: Final = "UPDATE owners SET gateway = '', epoch = epoch + 1", "DELETE FROM members"
_OWN: Final = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
_SHARE: Final = "SELECT pg_try_advisory_lock_shared(hashtextextended($1, 0))"
_TELL: Final = "SELECT pg_notify($1, $2)"
CHANNEL: Final = "hatchway"
_SCHEMA_LOCK: Final = "hatchway schema"
_OWNER_LOCK: Final = "hatchway owner"
_FAREWELL_S: Final = 2.0
_CONNECT_S: Final = 5.0
_COMMAND_S: Final = 30.0
_log = logging.getLogger("hatchway.store")
_BROKEN: Final = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what the driver says of a connection that died in the middle of something
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
)
_AWAY: Final = (*_BROKEN, asyncpg.TooManyConnectionsError, asyncio.TimeoutError)
_ERRORS: Final = (*_AWAY, asyncpg.PostgresError)


class _Uncertain(Exception):
    pass


class PostgresStore(Store):
    """`await PostgresStore.open("postgresql://…")`; `close` when done. It belongs to the event loop it was opened in."""

    def __init__(self, url: str, pool: Any, limits: StoreLimits | None, owning: Owning | None) -> None:
        self.limits = limits or StoreLimits()
        self.url, self.pool = url, pool
        self.fence: Fence | None = None
        """Set by a gateway that shares the store, before its first write."""
        self._owning = owning
        self._is_away = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        limits: StoreLimits | None = None,
        connections: int = 10,
        own: bool = False,
        share: bool = False,
    ) -> PostgresStore:
        """With `own` no other gateway may serve this database (`gateway.stores.engines.ownership`), but for those of its fleet if
        all of them `share` it."""
        owning = Owning(url, share) if own else None
        try:
            if owning is not None:
                await owning.take(PATIENCE_S)
            pool = await asyncpg.create_pool(
                url,
                min_size=0,
                max_size=connections,
                timeout=_CONNECT_S,
                command_timeout=_COMMAND_S,
                server_settings={"synchronous_commit": "on", "application_name": "hatchway", "jit": "off"},
            )
            try:
                async with pool.acquire() as connection, connection.transaction():
                    await _migrate(connection)
                    for text in _END_FLEET if own and not share else ():
                        await connection.execute(text)  # a gateway of a fleet that is only cut off would write again
            except BaseException:
                pool.terminate()
                raise
        except BaseException as error:
            if owning is not None:
                await owning.close()
            if isinstance(error, _ERRORS):
                raise _failure(error) from error
            raise
        return cls(url, pool, limits, owning)

    async def _read(self, steps: Steps[T], *, several: bool = False) -> T:
        async with self.translate_errors(), self.pool.acquire() as connection:
            if not several:
                return await _run(connection, steps)
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await _run(connection, steps)

    async def _write(
        self, tenant: str, make_steps: Callable[[], Steps[None]], *, deletes: bool, contents: Sequence[bytes]
    ) -> None:
        epoch = None if self.fence is None else self.fence.find_epoch(tenant)
        async with self.translate_errors():
            if self._owning is not None:
                await self._owning.take()
            try:
                await self._write_once(tenant, epoch, make_steps())
            except _BROKEN:
                await self._write_once(tenant, epoch, make_steps())

    @contextlib.asynccontextmanager
    async def translate_errors(self) -> AsyncIterator[None]:
        """Errors of the database as those of a store."""
        try:
            yield
        except _Uncertain as error:
            message = "the connection broke during commit: the write is there whole, or not at all"
            raise StoreFailed("STORE_UNCERTAIN", message, "read it back") from error
        except _ERRORS as error:
            failure = _failure(error)
            if isinstance(failure, StoreUnavailable) and not self._is_away:
                self._is_away = True
                _log.error("the database is away: %s", error or type(error).__name__)
            raise failure from error
        if self._is_away:
            self._is_away = False
            _log.warning("the database is back")

    async def _write_once(self, tenant: str, epoch: int | None, steps: Steps[None]) -> None:
        async with self.pool.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                await self._lock(connection, tenant, epoch)
                await _run(connection, steps, "" if self.fence is None else self.fence.gateway)
            except BaseException:
                if not connection.is_closed():
                    await transaction.rollback()
                raise
            try:
                await transaction.commit()
            except _BROKEN as error:
                raise _Uncertain from error

    async def _lock(self, connection: Any, tenant: str, epoch: int | None) -> None:
        """Until the transaction ends no other write to the tenant happens, and no gateway claims it."""
        if epoch is not None and self.fence is not None:
            if await connection.fetchval(_FENCE, tenant, epoch) is None:
                self.fence.note_lost(tenant, epoch)
                raise NotOwner(tenant)
            return
        await connection.execute(_LOCK, tenant)
        if self._owning is None:
            await connection.execute(_LOCK_OWNER, tenant)

    @contextlib.asynccontextmanager
    async def exclude_others(self, what: str) -> AsyncIterator[None]:
        async with self.pool.acquire() as connection, connection.transaction():
            async with self.translate_errors():
                await connection.execute(_LOCK, f"hatchway {what}")
            yield

    async def compact(self) -> None:
        """Vacuum: rows that are gone leave the table's files."""
        async with self.translate_errors(), self.pool.acquire() as connection:
            await connection.execute("VACUUM", timeout=600)

    async def close(self) -> None:
        try:
            async with asyncio.timeout(10):
                await self.pool.close()
        except (TimeoutError, *_ERRORS):
            self.pool.terminate()
        if self._owning is not None:
            await self._owning.close()


class Owning:
    """The database's lock that says who serves it, and the connection that holds it. One that was lost, because the server was
    restarted or the network failed, is taken again before the next write; if another gateway has it by then, we write no more."""

    def __init__(self, url: str, share: bool = False) -> None:
        self._url, self._statement = url, _SHARE if share else _OWN
        self._connection: Any = None
        self._taking = asyncio.Lock()

    async def take(self, patience_s: float = 0.0) -> None:
        """Hold the lock. Raises `Unavailable` if another gateway does."""
        if self._connection is not None and not self._connection.is_closed():
            return
        async with self._taking:
            if self._connection is not None and not self._connection.is_closed():
                return
            settings = {"application_name": "hatchway owner", "tcp_keepalives_idle": "15", "tcp_keepalives_count": "3"}
            connection = await asyncpg.connect(self._url, timeout=_COMMAND_S, server_settings=settings)
            try:
                await _take_ownership(connection, self._statement, time.monotonic() + patience_s)
            except BaseException:
                connection.terminate()
                raise
            self._connection = connection

    async def close(self) -> None:
        """The next one need not wait until the server notices that we are gone."""
        if self._connection is not None:
            with contextlib.suppress(*_ERRORS):
                await self._connection.execute("SELECT pg_advisory_unlock_all()", timeout=_FAREWELL_S)
            self._connection.terminate()


async def _take_ownership(connection: Any, statement: str, until: float) -> None:
    while not await connection.fetchval(statement, _OWNER_LOCK):
        if time.monotonic() >= until:
            raise in_use()
        await asyncio.sleep(PAUSE_S)


async def _migrate(connection: Any) -> None:
    await connection.execute(_LOCK, _SCHEMA_LOCK)
    await connection.execute(migrations.VERSION_TABLE)
    version = await connection.fetchval("SELECT version FROM schema_version")
    for text in migrations.plan(version, _STATEMENTS.schema, postgres=True):
        await connection.execute(text)


async def _run(connection: Any, steps: Steps[T], gateway: str = "") -> T:
    """`gateway` is who tells others of what it has changed."""
    try:
        operation = next(steps)
        while True:
            if isinstance(operation, Tell):
                await connection.execute(_TELL, CHANNEL, f"{gateway} {operation.kind} {operation.tenant}")
                operation = steps.send([])
            else:
                operation = steps.send(await _do(connection, operation))
    except StopIteration as stop:
        answer: T = stop.value
        return answer


async def _do(connection: Any, operation: Operation) -> Rows:
    text, parameters = _STATEMENTS.prepare(operation)
    if isinstance(operation, Get | Scan | Present):
        return [tuple(row) for row in await connection.fetch(text, *parameters[0])]
    if len(parameters) == 1:
        await connection.execute(text, *parameters[0])
    else:
        await connection.executemany(text, parameters)
    return []


def _failure(error: BaseException) -> GatewayError:
    if isinstance(error, asyncpg.DiskFullError):
        return StoreFailed("STORE_FULL", "the database's disk is full; nothing was written", "free some space there")
    if isinstance(error, _AWAY) and not isinstance(error, asyncpg.DataError):
        return StoreUnavailable()
    _log.error("the database failed: %s", error or type(error).__name__)
    return StoreFailed("STORE_IO", "the database failed", "check the database server; the gateway's log has its words")
