"""Capabilities: what programs of a tenant can call."""

from __future__ import annotations

from functools import partial

from gateway.errors import missing
from gateway.http.api.operation import Call, Operation
from gateway.service import Service
from sandbox.capabilities.registry import Capability


def operations(service: Service) -> list[Operation]:
    async def list_capabilities(call: Call) -> list[Capability]:
        return service.catalogue.tools()

    async def get_capability(call: Call) -> Capability:
        for tool in service.catalogue.tools():
            if tool.name == call.path["name"]:
                return tool
        raise missing("capability", call.path["name"])

    row, path = partial(Operation, tag="capabilities", audience="anyone"), "/v1/capabilities"
    return [
        row("GET", path, "List capabilities", list_capabilities, answer=list[Capability]),
        row("GET", path + "/{name}", "Look at a capability", get_capability, answer=Capability),
    ]
