"""Capabilities: what programs of a tenant can call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.errors import missing
from gateway.http.api.operation import Call, Operation
from sandbox.capabilities.registry import Capability

if TYPE_CHECKING:
    from gateway.service import Service


def operations(service: Service) -> list[Operation]:
    async def list_capabilities(call: Call) -> list[Capability]:
        return list(service.catalogue.tools(call.principal.tenant))

    async def get_capability(call: Call) -> Capability:
        for one in service.catalogue.tools(call.principal.tenant):
            if one.name == call.path["name"]:
                return one
        raise missing("capability", call.path["name"])

    tag = "capabilities"
    return [
        Operation("GET", "/v1/capabilities", "List capabilities", list_capabilities, answer=list[Capability], audience="anyone",
                  tag=tag),
        Operation("GET", "/v1/capabilities/{name}", "Look at a capability", get_capability, answer=Capability,
                  audience="anyone", tag=tag),
    ]  # fmt: skip
