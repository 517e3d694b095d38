"""Audit records on their way to the store, for decisions that write nothing else.

Purpose: a run, a snapshot, an approval write their audit records together with themselves. A decision about reading a file, or a
refusal, has nothing to go with: it is gathered here and written with others, a moment later.

Rules: nothing is dropped. THREAT[TM-AUDIT-LOSS]: when records cannot be written they are kept, and when there are too many of
them whatever would need another one is refused. `close` writes what is left.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from gateway.errors import BadRequest, GatewayError, NotFound, TooLarge, Unavailable
from gateway.stores.interface import AppendAudit, Store

KEPT_MAX: Final = 10_000
_BATCH: Final = 500
_PAUSE_SECONDS: Final = 0.05
_log = logging.getLogger("hatchway.audit")


class Trail:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, list[AppendAudit]] = defaultdict(list)
        self._count = 0
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def note(self, tenant: str, record: AppendAudit) -> None:
        """Raises `Unavailable` when no more can be kept."""
        if self._count >= KEPT_MAX:
            raise Unavailable("AUDIT_UNAVAILABLE", "the audit log cannot be written", "free space for the store")
        self._waiting[tenant].append(record)
        self._count += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write_soon())

    def extend(self, tenant: str, records: Iterable[AppendAudit]) -> None:
        for record in records:
            self.note(tenant, record)

    async def _write_soon(self) -> None:
        while self._count:
            await asyncio.sleep(_PAUSE_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write what has gathered; what cannot be written stays."""
        async with self._writing:
            for tenant in list(self._waiting):
                try:
                    await self._flush(tenant, self._waiting[tenant])
                except GatewayError as error:
                    _log.error("audit records of %s cannot be written: %s", tenant, error)
                if not self._waiting[tenant]:
                    del self._waiting[tenant]

    async def _flush(self, tenant: str, waiting: list[AppendAudit]) -> None:
        size = _BATCH
        while batch := waiting[:size]:
            try:
                await self._store.write(tenant, batch)
            except NotFound:
                pass  # the tenant was deleted, and its log with it
            except (TooLarge, BadRequest) as refused:
                if size > 1:
                    size = 1
                    continue
                await self._store.write(tenant, [_bare(batch[0], refused.code)])
            del waiting[: len(batch)]
            self._count -= len(batch)

    async def close(self) -> None:
        async with self._writing:  # a write that is under way is not broken off: it would be repeated
            if self._task is not None:
                self._task.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()


def _bare(record: AppendAudit, why: str) -> AppendAudit:
    """That it happened, if not what: one record that cannot be kept must not hold up all that follow."""
    return AppendAudit(at=record.at, kind=record.kind, subject=ascii(record.subject)[:200], data={"omitted": why})
