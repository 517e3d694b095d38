"""Snapshots are sealed for a tenant and its birth; what was sealed before there were births still opens."""

from __future__ import annotations

import asyncio

import pytest

from gateway.errors import NotFound
from gateway.records import Tenant
from gateway.sessions.persistence import Seals
from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys, seal
from sandbox.errors import RequestError
from sandbox.snapshots.snapshot_format import PURPOSE

KEYS = Keys.of(b"k" * 32)


def test_tm_snap_tenant_a_seal_opens_for_its_tenant_and_birth_and_a_tenant_without_one_opens_what_is_older() -> None:
    async def main() -> None:
        store = MemoryStore()
        for name, birth in (("old", ""), ("new", "a" * 32), ("twin", "a" * 32)):
            await store.write(name, [PutTenant(tenant=Tenant(id=name, birth=birth, created_at=1, updated_at=1))])
        seals = Seals(store, KEYS)
        older = {name: seal(b"older", KEYS, tenant=name, purpose=PURPOSE) for name in ("old", "new")}
        assert await seals.open("old", older["old"]) == b"older"
        sealed = await seals.seal("new", b"pack")
        assert await seals.open("new", sealed) == b"pack"
        for name, blob in (("new", older["new"]), ("twin", sealed), ("old", sealed)):
            with pytest.raises(RequestError, match="belongs to another tenant"):
                await seals.open(name, blob)
        again = Tenant(id="new", birth="b" * 32, created_at=1, updated_at=1)
        await store.write("new", [PutTenant(tenant=again)])
        with pytest.raises(RequestError, match="belongs to another tenant"):
            await seals.open("new", sealed)
        with pytest.raises(NotFound):
            await seals.open("nobody", sealed)

    asyncio.run(main())
