"""Retention: what is old enough to be deleted now, and deleting it at once."""

from __future__ import annotations

from functools import partial

from gateway.http.api.operation import Operation
from gateway.lifecycle.retention import Due
from gateway.service import Service
from gateway.stores.expiry import Collected


def operations(service: Service) -> list[Operation]:
    row, path = partial(Operation, tag="retention", audience="operator"), "/v1/retention"
    return [
        row("GET", path, "How long things are kept, and what would go now",
            lambda call: service.upkeep.due(call.principal.tenant), name="get_retention", answer=Due),
        row("POST", path, "Let go now what is older than is kept",
            lambda call: service.upkeep.collect(call.principal.tenant, call.principal.name),
            name="collect_retention", answer=Collected, finishes=True),
    ]  # fmt: skip
