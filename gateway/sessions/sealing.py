"""Seals: snapshots of a tenant, encrypted before they reach a store or leave the gateway.

Rules: THREAT[TM-SNAP-TENANT]: a snapshot is sealed for the tenant's id and birth. What is in the store goes with its tenant; what
was carried away does not, and must not open in another tenant that has the id later. A tenant that is older than births has
none, and what was sealed for its id alone opens.

Does not know: what is in a snapshot.
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
        """Raises SNAPSHOT_CORRUPT for what is damaged, or was sealed for another."""
        return open_seal(sealed, self._keys, tenant=await self._owner(tenant), purpose=PURPOSE)

    async def _owner(self, tenant: str) -> str:
        """Asked of the store each time: another process may have deleted the tenant and made it anew."""
        found = await self._store.tenant(tenant)
        if found is None:
            raise missing("tenant", tenant)
        return f"{found.id}#{found.birth}" if found.birth else found.id
