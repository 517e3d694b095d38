"""What is remembered and for how long: the audit log (read it, export it, verify its chain), and retention (what is old enough to
be deleted, and deleting it at once)."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from gateway.audit.verification import Verdict
from gateway.http.api.operation import Call, Chunks, Operation
from gateway.http.api.pagination import LIMIT_MAX, Page
from gateway.lifecycle.retention import Due
from gateway.records import AuditRecord
from gateway.service import Service
from gateway.stores.expiry import Collected


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Records after this sequence; `cursor` is the `next` of the page before."""

    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = 100
    cursor: Annotated[int, Meta(ge=0)] = 0


class ExportQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Records after this sequence: all of them, or the first `limit`."""

    limit: Annotated[int, Meta(ge=1)] | None = None
    cursor: Annotated[int, Meta(ge=0)] = 0


def operations(service: Service) -> list[Operation]:
    async def export_audit(call: Call) -> Chunks:
        lines = service.audit_log.export(call.principal.tenant, call.query.cursor, call.query.limit)
        return Chunks(lines, "application/x-ndjson")

    row, path = partial(Operation, tag="audit", audience="operator"), "/v1/audit"
    keep = partial(row, tag="retention")
    return [
        row("GET", path, "Read the audit log",
            lambda call: service.audit_log.page(call.principal.tenant, call.query.cursor, call.query.limit),
            name="list_audit", query=AuditQuery, answer=Page[AuditRecord]),
        row("GET", path + "/export", "All of it, one JSON object a line", export_audit, query=ExportQuery, answer=bytes,
            answer_types=("application/x-ndjson",)),
        row("GET", path + "/verify", "Check that nothing was changed, removed or reordered",
            lambda call: service.audit_log.verify(call.principal.tenant), name="verify_audit", answer=Verdict),
        keep("GET", "/v1/retention", "How long things are kept, and what would go now",
             lambda call: service.upkeep.list_due(call.principal.tenant), name="get_retention", answer=Due),
        keep("POST", "/v1/retention", "Let go now what is older than is kept",
             lambda call: service.upkeep.collect(call.principal.tenant, call.principal.name),
             name="collect_retention", answer=Collected, finishes=True),
    ]  # fmt: skip
