"""The audit log: read it, carry it away, check its chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from gateway.audit import verification
from gateway.audit.verification import Verdict
from gateway.http.api.operation import Call, Chunks, Operation
from gateway.http.api.pagination import LIMIT_MAX, Page
from gateway.records import AuditRecord

if TYPE_CHECKING:
    from gateway.service import Service


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Records after this sequence; `cursor` is the `next` of the page before."""

    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = 100
    cursor: Annotated[int, Meta(ge=0)] = 0


class ExportQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Records after this sequence, all of them or the first so many."""

    limit: Annotated[int, Meta(ge=1)] | None = None
    cursor: Annotated[int, Meta(ge=0)] = 0


def operations(service: Service) -> list[Operation]:
    async def list_audit(call: Call) -> Page[AuditRecord]:
        records = await service.store.audit(call.principal.tenant, after=call.query.cursor, limit=call.query.limit)
        more = str(records[-1].sequence) if len(records) == call.query.limit else None
        return Page(records, more)

    async def export_audit(call: Call) -> Chunks:
        lines = verification.export(service.store, call.principal.tenant, after=call.query.cursor)
        return Chunks(_first(lines, call.query.limit), "application/x-ndjson")

    async def verify_audit(call: Call) -> Verdict:
        return await verification.verify(service.store, call.principal.tenant)

    path, tag = "/v1/audit", "audit"
    return [
        Operation("GET", path, "Read the audit log", list_audit, query=AuditQuery, answer=Page[AuditRecord], audience="operator",
                  tag=tag),
        Operation("GET", path + "/export", "All of it, one JSON object a line", export_audit, query=ExportQuery, answer=bytes,
                  answer_types=("application/x-ndjson",), audience="operator", tag=tag),
        Operation("GET", path + "/verify", "Check that nothing was changed, removed or reordered", verify_audit, answer=Verdict,
                  audience="operator", tag=tag),
    ]  # fmt: skip


async def _first(lines: AsyncIterator[bytes], count: int | None) -> AsyncIterator[bytes]:
    async for line in lines:
        yield line
        if count is not None:
            count -= 1
            if not count:
                return
