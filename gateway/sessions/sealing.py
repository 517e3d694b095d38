"""Seals: snapshots of a tenant, encrypted before they reach a store or leave the gateway.

Rules: THREAT[TM-SNAP-TENANT]: a snapshot is sealed for the tenant's id and birth. Stored snapshots are deleted with their tenant;
exported ones are not, and must not open in another tenant that gets the same id later. A tenant made before births were recorded
has none; what was sealed for its id alone opens.
"""

from __future__ import annotations

from gateway.errors import missing
from gateway.stores.store import Store
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.snapshots.snapshot_format import PURPOSE


class Seals:
    def __init__(self, store: Store, keys: Keys) -> None:
        self._store, self._keys = store, keys

    async def seal(self, tenant: str, pack: bytes) -> bytes:
        return seal(pack, self._keys, tenant=await self._owner(tenant), purpose=PURPOSE)

    async def open(self, tenant: str, sealed: bytes) -> bytes:
        """Raises SNAPSHOT_CORRUPT if it is damaged or was sealed for another tenant."""
        return open_seal(sealed, self._keys, tenant=await self._owner(tenant), purpose=PURPOSE)

    async def _owner(self, tenant: str) -> str:
        """Read from the store each time: another process may have deleted the tenant and created it again."""
        found = await self._store.tenant(tenant)
        if found is None:
            raise missing("tenant", tenant)
        return f"{found.id}#{found.birth}" if found.birth else found.id
