"""Retention: what would be forgotten now because it is old, and to have it forgotten at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.http.api.operation import Call, Operation
from gateway.lifecycle.retention import Due
from gateway.stores.expiry import Collected

if TYPE_CHECKING:
    from gateway.service import Service


def operations(service: Service) -> list[Operation]:
    async def get_retention(call: Call) -> Due:
        return await service.upkeep.due(call.principal.tenant)

    async def collect_retention(call: Call) -> Collected:
        return await service.upkeep.collect(call.principal.tenant, call.principal.name)

    path, tag = "/v1/retention", "retention"
    return [
        Operation("GET", path, "How long things are kept, and what would go now", get_retention, answer=Due, audience="operator",
                  tag=tag),
        Operation("POST", path, "Let go now what is older than is kept", collect_retention, answer=Collected, audience="operator",
                  tag=tag, finishes=True),
    ]  # fmt: skip
