"""The default policy: read when the service starts, and again when more capabilities can be called.

Theory: a policy can only name what its catalog knows, and MCP servers may be slow. The service waits a moment for servers, so
that the default is the same as before a restart, and longer only if the policy cannot be read without them.

Rules: sessions keep the default they were opened with (`gateway.policies.pinned_defaults`). A default that cannot be read again
stays as it is, and the log says why; the log also names what a server offers under a name that is taken.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.mcp_servers import ServerSource
from gateway.configuration import ConfigurationError
from gateway.policies.in_force import Policies, catalog_of
from gateway.policies.operator_policies import check_base, load_default
from sandbox.capabilities.registry import Capability

QUICK_SECONDS: Final = 2.0
"""For servers to be there when the service starts."""
_log = logging.getLogger("hatchway.defaults")


@dataclass(eq=False)
class DefaultPolicy:
    """`path` is the operator's file, or "" for the one that comes with Hatchway."""

    _path: str
    _policies: Policies
    _catalogue: Catalogue
    _known: list[Capability] = field(default_factory=list)
    _hidden: dict[str, list[str]] = field(default_factory=dict)
    _learning: asyncio.Task[None] | None = None
    _is_in_force: bool = False

    async def find(self, servers: Sequence[ServerSource]) -> None:
        """Put it in force. Raises `ConfigurationError` if it cannot be read though every server was tried."""
        trying = {asyncio.create_task(server.wait_until_tried()) for server in servers}
        if trying:
            _, trying = await asyncio.wait(trying, timeout=QUICK_SECONDS)
        while True:
            try:
                await self._load()
                break
            except ConfigurationError:
                if not trying:
                    raise
                _, trying = await asyncio.wait(trying, return_when=asyncio.FIRST_COMPLETED)
        for task in trying:
            task.cancel()
        self._is_in_force = True
        self.learn_soon()

    async def close(self) -> None:
        if self._learning is not None:
            self._learning.cancel()
            await asyncio.gather(self._learning, return_exceptions=True)

    async def _load(self) -> None:
        tools = self._catalogue.tools()
        catalog = catalog_of(tools)
        if self._policies.base is not None:
            await asyncio.to_thread(check_base, self._policies.base, catalog)
        default = await asyncio.to_thread(load_default, self._path, catalog)
        self._policies.use_default(default.policy, default.programs)
        self._known = tools

    def learn_soon(self) -> None:
        """There may be something else to call. Until the default is in force, `find` looks itself."""
        if self._is_in_force and (self._learning is None or self._learning.done()):
            self._learning = asyncio.create_task(self._learn())

    async def _learn(self) -> None:
        self._tell_hidden()
        while self._catalogue.tools() != self._known:
            try:
                await self._load()
            except ConfigurationError as error:
                _log.error("there is something new to call, but the default policy stays as it is: %s", error)
                return

    def _tell_hidden(self) -> None:
        """A server that connects late may offer a name that is taken: log it."""
        before, self._hidden = self._hidden, self._catalogue.list_hidden()
        for source, names in self._hidden.items():
            if before.get(source) != names:
                _log.warning("the %s offers what others offered first, and is not asked for it: %s", source, ", ".join(names))
