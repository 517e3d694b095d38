"""A small service for tests: a catalogue with sources, and ports that are really there but keep everything in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.invocation import ToolCall, make, prepare
from gateway.capabilities.sources import Caller, Source
from gateway.egress import Decide, EgressRefused
from sandbox.capabilities.registry import ToolCallContext, ToolError

Gate = Callable[[ToolCall], Awaitable[None]]
ANN = Caller("acme", "s1")


async def permit(call: ToolCall) -> None:
    pass


class Service:
    def __init__(self) -> None:
        self.catalogue = Catalogue()

    async def add(self, source: Source, name: str = "test") -> Service:
        await self.catalogue.add(name, source)
        return self

    async def call(self, name: str, /, *args: Any, gate: Gate = permit, caller: Caller = ANN, **kwargs: Any) -> Any:
        call = prepare(self.catalogue, caller, ToolCallContext(name, list(args), kwargs))
        await gate(call)
        return await make(self.catalogue, call)

    async def code(self, name: str, /, *args: Any, **kwargs: Any) -> str:
        """The code with which a call fails."""
        return (await self.error(name, *args, **kwargs)).code

    async def error(self, name: str, /, *args: Any, **kwargs: Any) -> ToolError:
        try:
            value = await self.call(name, *args, **kwargs)
        except ToolError as error:
            return error
        return ToolError("OK", repr(value))


class MemorySecrets:
    """Secrets that may be sent to some hosts only."""

    def __init__(self, values: dict[str, str], hosts: Sequence[str]) -> None:
        self._values, self._hosts = values, hosts

    async def use(self, caller: Caller, name: str, host: str) -> str:
        if host not in self._hosts or name not in self._values:
            raise ToolError("PERMISSION_DENIED", f"the secret {name!r} may not be sent to {host!r}")
        return self._values[name]


def allow_all(caller: Caller) -> Decide:
    return lambda host, port, scheme: None


def deny_all(caller: Caller) -> Decide:
    def decide(host: str, port: int, scheme: str) -> None:
        raise EgressRefused("PERMISSION_DENIED", f"{caller.tenant} may not connect to {host}")

    return decide
