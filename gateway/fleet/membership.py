"""Membership: a gateway joins a fleet when it starts, and leaves it when it stops.

    fleet = await join(configuration, store, rings)
    await fleet.start(application)

Rules: gateways of a fleet have the same keys, or what one seals the other cannot open. So the store holds a fingerprint of each,
and a gateway with others does not start. What this gateway serves others is open before it is a member, and closes last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from starlette.types import ASGIApp

from gateway.configuration import Configuration
from gateway.errors import Unavailable
from gateway.fleet.mutual_tls import FleetKey, read_key
from gateway.fleet.ownership_clock import OwnershipClock
from gateway.fleet.peers import Peers
from gateway.fleet.tenant_ownership import Ownership
from gateway.stores.engines.fleet_tables import FleetTables
from gateway.stores.engines.postgres import PostgresStore
from sandbox.encoding.sealing import Keys

_PURPOSE = b"hatchway keys fingerprint"


class Fleet:
    """This gateway's part in it."""

    def __init__(self, ownership: Ownership, key: FleetKey, address: str) -> None:
        self.ownership, self.peers = ownership, Peers(ownership, key)
        self._address = address

    async def start(self, app: ASGIApp) -> None:
        host, _, port = self._address.rpartition(":")
        taken = await self.peers.listen(host.strip("[]"), int(port), app)
        self.ownership.address = f"{host}:{taken}"
        await self.ownership.start()

    async def close(self) -> None:
        await self.ownership.close()
        await self.peers.close()


async def join(configuration: Configuration, store: PostgresStore, rings: Mapping[str, Keys]) -> Fleet:
    """`rings` are the keys that must be the same for all, by what they are for. Raises `Unavailable` if they are not."""
    key = read_key(Path(configuration.fleet_key))
    ownership = Ownership(store, configuration.fleet_address, OwnershipClock(configuration.fleet_lease_ms))
    await _agree(ownership.tables, "fleet key", key.fingerprint, configuration.fleet_key)
    for name, ring in rings.items():
        for key_id, secret in ring.by_id.items():
            fingerprint = hashlib.blake2b(_PURPOSE, key=secret, digest_size=32).hexdigest()
            await _agree(ownership.tables, f"{name} {key_id}", fingerprint, configuration.keys_file)
    return Fleet(ownership, key, configuration.fleet_address)


async def _agree(tables: FleetTables, name: str, fingerprint: str, place: str) -> None:
    if await tables.agree(name, fingerprint) != fingerprint:
        message = f"the {name!r} of this gateway ({place}) is not that of the fleet it would join"
        raise Unavailable("FLEET_KEYS_DIFFER", message, "give every gateway of a fleet the same files, as docs/fleet.md says")
