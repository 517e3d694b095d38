"""What gateways that share a PostgreSQL store agree on there: who is a member and until when, and who owns which tenant.

    owners(tenant, gateway, epoch)     the last claim of a tenant; rows stay, so that an epoch is never used again
    members(id, address, until)        a lease for each gateway, renewed by the database's clock
    agreements(name, value)            what must be the same for all, such as the fingerprints of their keys

Rules: time is the database's, so that clocks of machines need not agree. A tenant is claimed if it is unowned, if its owner's
lease is over, or if this gateway owns it already and wants a new epoch. A claim and a renewal of the owner's lease wait for each
other (`FOR SHARE`), and so do a claim and a write (the row in `owners`): whatever comes second sees the first.
Does not know: what a gateway does with what it owns (`gateway.fleet`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped,unused-ignore]

from gateway.errors import StoreUnavailable
from gateway.stores.engines.postgres import CHANNEL, PostgresStore

_CONNECT_S: Final = 2.0
_RENEW: Final = """
INSERT INTO members (id, address, until) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
ON CONFLICT (id) DO UPDATE SET address = excluded.address, until = excluded.until
RETURNING (extract(epoch FROM clock_timestamp()) * 1000)::bigint
"""
_FORGET_MEMBERS: Final = "DELETE FROM members WHERE until < clock_timestamp() - interval '1 hour'"
_LOOK: Final = """
SELECT o.gateway, o.epoch, COALESCE(m.address, ''), COALESCE(m.until > clock_timestamp(), false)
FROM owners o LEFT JOIN members m ON m.id = o.gateway WHERE o.tenant = $1
"""
_IS_ALIVE: Final = "SELECT until > clock_timestamp() FROM members WHERE id = $1 FOR SHARE"
_FIRST_CLAIM: Final = "INSERT INTO owners (tenant, gateway, epoch) VALUES ($1, $2, 1) ON CONFLICT DO NOTHING RETURNING epoch"
_CLAIM: Final = """
UPDATE owners SET gateway = $2, epoch = epoch + 1 WHERE tenant = $1 AND gateway = $3 AND epoch = $4 RETURNING epoch
"""
_RELEASE: Final = "UPDATE owners SET gateway = '' WHERE tenant = $1 AND gateway = $2 AND epoch = $3"
_RELEASE_ALL: Final = "UPDATE owners SET gateway = '' WHERE gateway = $1"
_TELL: Final = "SELECT pg_notify($1, $2)"
_AGREE: Final = "INSERT INTO agreements (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING"
_UNOWNED: Final = """
SELECT t.tenant FROM tenants t LEFT JOIN owners o ON o.tenant = t.tenant LEFT JOIN members m ON m.id = o.gateway
WHERE t.tenant > $1 AND COALESCE(m.until <= clock_timestamp(), true)
"""
_DUE: Final = f"""{_UNOWNED} AND (
    EXISTS (SELECT 1 FROM runs r WHERE r.tenant = t.tenant AND r.unfinished = 1 AND NOT EXISTS (
        SELECT 1 FROM approvals a WHERE a.tenant = t.tenant AND a.decided = 0
        AND convert_from(a.body, 'UTF8')::json ->> 'run_id' = r.id))
    OR EXISTS (SELECT 1 FROM approvals a WHERE a.tenant = t.tenant AND a.decided = 0 AND a.expires_at <= $2)
) ORDER BY t.tenant LIMIT $3"""
_NEXT_UNOWNED: Final = f"{_UNOWNED} ORDER BY t.tenant LIMIT $2"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns a tenant. `address` is where other gateways reach it; `is_alive` says whether its lease runs."""

    gateway: str
    epoch: int
    address: str
    is_alive: bool


class FleetTables:
    """`hear` is told of each change that another gateway or a command has made: its kind and tenant; and ("", "") when some may
    have been missed."""

    def __init__(self, store: PostgresStore, gateway: str, hear: Callable[[str, str], None]) -> None:
        self._store, self._gateway, self._hear = store, gateway, hear
        self._line: Any = None
        """A connection of its own: it listens, and renewals never wait for writes."""
        self._connecting = asyncio.Lock()

    async def renew(self, address: str, lease_ms: int) -> int:
        """Be a member for `lease_ms` from now on; the time there, in Unix milliseconds."""
        async with self._store.translate_errors(), self._connecting:
            if self._line is None or self._line.is_closed():
                await self._connect()
            now: int = await self._line.fetchval(_RENEW, self._gateway, address, lease_ms, timeout=lease_ms / 1000)
            return now

    async def _connect(self) -> None:
        settings = {"application_name": "hatchway member"}
        line = await asyncpg.connect(self._store.url, timeout=_CONNECT_S, server_settings=settings)
        await line.add_listener(CHANNEL, self._on_notice)
        await line.execute(_FORGET_MEMBERS)
        self._line = line
        self._hear("", "")

    def _on_notice(self, connection: Any, pid: int, channel: str, payload: str) -> None:
        gateway, _, rest = payload.partition(" ")
        kind, _, tenant = rest.partition(" ")
        if gateway != self._gateway:
            self._hear(kind, tenant)

    async def look(self, tenant: str) -> Owner | None:
        """The tenant's last owner; None if there never was one."""
        async with self._connect_shared() as connection:
            row = await connection.fetchrow(_LOOK, tenant)
            return None if row is None else Owner(*row)

    async def claim(self, tenant: str) -> int | None:
        """A new epoch of the tenant, owned by this gateway; None if another one owns it."""
        async with self._connect_shared() as connection, connection.transaction():
            if not await connection.fetchval(_IS_ALIVE, self._gateway):
                raise StoreUnavailable  # whose lease is over may claim nothing
            found = await connection.fetchrow(_LOOK, tenant)
            if found is None:
                epoch: int | None = await connection.fetchval(_FIRST_CLAIM, tenant, self._gateway)
                return epoch
            owner = Owner(*found)
            if owner.gateway not in ("", self._gateway) and await connection.fetchval(_IS_ALIVE, owner.gateway):
                return None
            epoch = await connection.fetchval(_CLAIM, tenant, self._gateway, owner.gateway, owner.epoch)
            if epoch is not None and owner.gateway not in ("", self._gateway):
                await connection.execute(_TELL, CHANNEL, f"{self._gateway} owner:{epoch} {tenant}")
            return epoch

    async def release(self, tenant: str, epoch: int) -> None:
        """The next gateway that wants the tenant need not wait for the lease to end."""
        async with self._connect_shared() as connection:
            await connection.execute(_RELEASE, tenant, self._gateway, epoch)

    async def leave(self) -> None:
        """As `release` for all tenants."""
        async with self._connect_shared() as connection, connection.transaction():
            await connection.execute(_RELEASE_ALL, self._gateway)
            await connection.execute("DELETE FROM members WHERE id = $1", self._gateway)
            await connection.execute(_TELL, CHANNEL, f"{self._gateway} left {self._gateway}")

    async def agree(self, name: str, value: str) -> str:
        """What the first gateway has said under this name."""
        async with self._connect_shared() as connection:
            await connection.execute(_AGREE, name, value)
            found: str = await connection.fetchval("SELECT value FROM agreements WHERE name = $1", name)
            return found

    async def list_due(self, now_ms: int, limit: int) -> list[str]:
        """Unowned tenants with runs that are not suspended for a pending approval, or with approvals that have expired: what only
        an owner may settle."""
        async with self._connect_shared() as connection:
            return [row[0] for row in await connection.fetch(_DUE, "", now_ms, limit)]

    async def list_unowned(self, after: str, limit: int) -> list[str]:
        """Unowned tenants, by id."""
        async with self._connect_shared() as connection:
            return [row[0] for row in await connection.fetch(_NEXT_UNOWNED, after, limit)]

    @contextlib.asynccontextmanager
    async def _connect_shared(self) -> AsyncIterator[Any]:
        async with self._store.translate_errors(), self._store.pool.acquire() as connection:
            yield connection

    async def close(self) -> None:
        if self._line is not None:
            self._line.terminate()
