"""The audit buffer: records of decisions that write nothing else, on their way to the store.

A run, a snapshot, an approval write their audit records together with themselves. A decision is buffered here and written with
the next write of its tenant (`carry`), which is mostly that of the same request: one flush of the disk for both. That of a
decision about reading a file, or of a refusal, is written with others like it, at the latest a moment later.

Rules: nothing is dropped, and what is acknowledged is in the chain: who answers a caller awaits `settle` first.
THREAT[TM-AUDIT-LOSS]: records that cannot be written stay in the buffer; then no answer is given, and when too many wait, an
operation that needs another record is refused. No tenant can take the whole buffer. `close` writes the rest. A failed write is
tried again, for each tenant after pauses that double; the log says so once for each reason, and when it is over.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.errors import BadRequest, GatewayError, NotFound, StoreUnavailable, TooLarge, TooMany, Unavailable
from gateway.shielding import run_to_completion
from gateway.stores.changes import AppendAudit, Change, DeleteTenant
from gateway.stores.fence import NotOwner
from gateway.stores.store import Store

KEPT_MAX: Final = 10_000
TENANT_KEPT_MAX: Final = 2_000
_BATCH: Final = 500
_PAUSE_SECONDS: Final = 0.05
_PAUSE_SECONDS_MAX: Final = 30.0
_log = logging.getLogger("hatchway.audit")


@dataclass(slots=True)
class _Waiting:
    """A tenant's records, and the marks of the last that were noted and written. `said` is the reason that the log gives why they
    cannot be written."""

    records: list[AppendAudit] = field(default_factory=list)
    noted: int = 0
    written: int = 0
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    pause_s: float = _PAUSE_SECONDS
    due_at: float = 0.0
    said: str = ""


class AuditBuffer:
    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._waiting: dict[str, _Waiting] = defaultdict(_Waiting)
        self._count = 0
        self.mark = 0
        """How many records were ever noted."""
        self._lost: dict[str, int] = {}
        """The mark of the last record of a tenant that was dropped when the tenant was lost (`forget`)."""
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False
        store.carry(self._carry)

    def note(self, tenant: str, record: AppendAudit) -> None:
        """Raises `Unavailable` when the buffer is full."""
        waiting = self._waiting[tenant]
        if self._count >= KEPT_MAX or len(waiting.records) >= TENANT_KEPT_MAX:
            raise Unavailable("AUDIT_UNAVAILABLE", "the audit log cannot be written", "free space for the store")
        waiting.records.append(record)
        self._count += 1
        self.mark += 1
        waiting.noted = self.mark
        if self._task is None or self._task.done():
            # For all tenants: in the context of the one that came first it would be bound to that one's claim.
            self._task = asyncio.get_running_loop().create_task(self._write_soon(), context=contextvars.Context())

    def extend(self, tenant: str, records: Iterable[AppendAudit]) -> None:
        for record in records:
            self.note(tenant, record)

    async def settle(self, tenant: str, since: int = 0) -> None:
        """Returns when all that was noted for the tenant until now is in the chain; raises if it cannot be written. If nothing
        was noted for it since the mark `since`, there is nothing to wait for. What several wait for is written together."""
        if since < self._lost.get(tenant, 0):
            raise NotOwner(tenant)
        waiting = self._waiting.get(tenant)
        if waiting is not None and waiting.noted > since:
            await run_to_completion(self._settle(tenant, waiting, waiting.noted))

    async def _settle(self, tenant: str, waiting: _Waiting, through: int) -> None:
        async with waiting.writing:
            if waiting.written < through:
                await self._flush(tenant, waiting)

    def _carry(self, tenant: str, changes: Sequence[Change]) -> Coroutine[Any, Any, None] | None:
        waiting = self._waiting.get(tenant)
        if waiting is None or waiting.writing.locked() or any(isinstance(change, DeleteTenant) for change in changes):
            return None
        return self._write_with(tenant, waiting, changes)

    async def _write_with(self, tenant: str, waiting: _Waiting, changes: Sequence[Change]) -> None:
        """The records that wait, and the changes; these alone if together they are refused."""
        async with waiting.writing:
            batch, through = waiting.records[:_BATCH], waiting.noted
            is_all = len(batch) == len(waiting.records)
            try:
                await self._store.commit(tenant, [*batch, *changes])
            except (TooLarge, BadRequest, TooMany):
                return await self._store.commit(tenant, changes)
            self._remove(waiting, batch)
            if is_all:
                waiting.written = through
            if not waiting.records:
                self._end(tenant, waiting)

    def _remove(self, waiting: _Waiting, batch: list[AppendAudit]) -> None:
        del waiting.records[: len(batch)]
        self._count -= len(batch)

    def _end(self, tenant: str, waiting: _Waiting) -> None:
        if self._waiting.get(tenant) is waiting:
            del self._waiting[tenant]
        if waiting.said:
            waiting.said = ""
            _log.warning("audit records of %s are written again", tenant)

    async def _write_soon(self) -> None:
        while self._count and not self._is_closing:
            await asyncio.sleep(_PAUSE_SECONDS)
            await self.flush(only_due=True)

    async def flush(self, *, only_due: bool = False) -> None:
        """Write the buffered records, with `only_due` those whose pause is over; what cannot be written stays."""
        for tenant, waiting in list(self._waiting.items()):
            if only_due and waiting.due_at > self._clock():
                continue
            try:
                async with waiting.writing:
                    await self._flush(tenant, waiting)
            except GatewayError as error:
                self._put_off(tenant, waiting, error)

    def _put_off(self, tenant: str, waiting: _Waiting, why: GatewayError) -> None:
        waiting.pause_s = min(2 * waiting.pause_s, _PAUSE_SECONDS_MAX)
        waiting.due_at = self._clock() + waiting.pause_s
        if waiting.said != str(why):
            waiting.said = str(why)
            if not isinstance(why, StoreUnavailable):  # of which the store's own line tells
                _log.error("audit records of %s cannot be written: %s", tenant, why)

    async def _flush(self, tenant: str, waiting: _Waiting) -> None:
        size, through = _BATCH, waiting.noted
        while batch := waiting.records[:size]:
            try:
                await self._store.write(tenant, batch)
            except NotFound:
                pass  # the tenant was deleted, and its log with it
            except (TooLarge, BadRequest) as refused:
                if refused.code == "QUOTA_EXCEEDED":
                    raise
                if size > 1:
                    size = 1
                    continue
                await self._store.write(tenant, [_omit_data(batch[0], refused.code)])
            self._remove(waiting, batch)
        waiting.written = through
        self._end(tenant, waiting)

    def forget(self, tenant: str) -> None:
        """The tenant is another gateway's now, and nothing of this one can be written to its log. THREAT[TM-AUDIT-LOSS]: what is
        dropped was not acknowledged, and is not: an answer that would need it raises `NotOwner` when it settles."""
        waiting = self._waiting.pop(tenant, None)
        if waiting is not None and waiting.records:
            self._lost[tenant] = waiting.noted
            self._count -= len(waiting.records)
            _log.warning("%d audit records of %s, of answers that were not given, are dropped", len(waiting.records), tenant)
            waiting.records.clear()

    async def close(self) -> None:
        self._is_closing = True  # a write under way is not broken off: it would be repeated
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()


def _omit_data(record: AppendAudit, why: str) -> AppendAudit:
    """That it happened, if not what: one record that cannot be stored must not block all that follow."""
    return AppendAudit(at=record.at, kind=record.kind, subject=ascii(record.subject)[:200], data={"omitted": why})
