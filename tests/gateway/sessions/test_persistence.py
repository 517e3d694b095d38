"""Snapshots are sealed for a tenant and its birth, and what was sealed before there were births still opens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gateway.errors import NotFound
from gateway.records import Tenant
from gateway.sessions import persistence
from gateway.sessions.persistence import Seals
from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys, open_seal, seal
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


def test_tm_lim_starve_large_snapshots_are_sealed_and_opened_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = list[str]()

    def noting(function: Callable[..., bytes]) -> Callable[..., bytes]:
        def call(*args: Any, **options: Any) -> bytes:
            threads.append(threading.current_thread().name)
            return function(*args, **options)

        return call

    async def main() -> None:
        store = MemoryStore()
        await store.write("t1", [PutTenant(tenant=Tenant(id="t1", created_at=1, updated_at=1))])
        seals, pack = Seals(store, KEYS), bytes(1 << 20)
        assert await seals.open("t1", await seals.seal("t1", pack)) == pack

    monkeypatch.setattr(persistence, "seal", noting(seal))
    monkeypatch.setattr(persistence, "open_seal", noting(open_seal))
    asyncio.run(main())
    assert len(threads) == 2 and all(name.startswith("hatchway-uploads") for name in threads)
