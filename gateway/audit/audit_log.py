"""The audit log of a tenant, for its operator: read it page by page, export it, verify its chain."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway.audit import verification
from gateway.records import AuditRecord
from gateway.stores.store import Store
from gateway.stores.stored import Page


class AuditLog:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, tenant: str, after: int, limit: int) -> Page[AuditRecord]:
        """Records after a sequence; `next` is the last one's."""
        records = await self._store.audit(tenant, after=after, limit=limit)
        return Page(records, str(records[-1].sequence) if len(records) == limit else None)

    async def export(self, tenant: str, after: int, limit: int | None) -> AsyncIterator[bytes]:
        """The records as JSON lines: all of them, or the first `limit`."""
        async for line in verification.export(self._store, tenant, after=after):
            yield line
            if limit is not None:
                limit -= 1
                if not limit:
                    return

    async def verify(self, tenant: str) -> verification.Verdict:
        return await verification.verify(self._store, tenant)
