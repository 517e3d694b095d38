"""Hatchway: run untrusted code for many tenants inside WebAssembly sandboxes.

import hatchway
with hatchway.Sandbox() as box:
    box.run("print(1 + 1)").stdout                       # '2\\n'
    box.run("echo hi > a.txt", language="shell")
    box.run("open('/workspace/a.txt').read()").result    # 'hi\\n'

In reading order: `arguments` (what callers hand over, checked; `local_arguments`: to a sandbox in this process), `values`
(key/values and secrets), `box` (`Sandbox`, a session in this process), `async_box` (the same for asyncio), `client` (a
gateway's sessions from Python), `cli` (the command), `remote` (a gateway from the command line), `mcp` (a gateway for agents).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hatchway.async_box import AsyncSandbox as AsyncSandbox
    from hatchway.box import Sandbox as Sandbox
    from hatchway.client.async_client import AsyncClient as AsyncClient
    from hatchway.client.client import Client as Client
    from policy import Policy as Policy
    from policy import PolicyError as PolicyError
    from sandbox.capabilities.registry import Capability as Capability
    from sandbox.capabilities.registry import CapabilityLimits as CapabilityLimits
    from sandbox.capabilities.registry import ToolError as ToolError
    from sandbox.encoding.sealing import Keys as Keys
    from sandbox.errors import RequestError as RequestError
    from sandbox.errors import SandboxError as SandboxError
    from sandbox.errors import SetupError as SetupError
    from sandbox.errors import Suspend as Suspend
    from sandbox.filesystem.errnos import VfsError as VfsError
    from sandbox.result_view import RunFailed as RunFailed
    from sandbox.snapshots.history import History as History
    from sandbox.snapshots.recordings import Recording as Recording
    from sandbox.snapshots.recordings import replay as replay
    from sandbox.wire import DEFAULT_LIMITS as DEFAULT_LIMITS
    from sandbox.wire import Diagnostic as Diagnostic
    from sandbox.wire import Display as Display
    from sandbox.wire import ErrorObject as ErrorObject
    from sandbox.wire import Language as Language
    from sandbox.wire import RunResult as RunResult
    from sandbox.wire import RunStatus as RunStatus
    from sandbox.wire import SessionLimits as SessionLimits
    from sandbox.wire import Span as Span

__version__ = "0.2.0"
_HOMES = {
    "hatchway.async_box": "AsyncSandbox",
    "hatchway.box": "Sandbox",
    "hatchway.client.async_client": "AsyncClient",
    "hatchway.client.client": "Client",
    "policy": "Policy PolicyError",
    "sandbox.capabilities.registry": "Capability CapabilityLimits ToolError",
    "sandbox.encoding.sealing": "Keys",
    "sandbox.errors": "RequestError SandboxError SetupError Suspend",
    "sandbox.filesystem.errnos": "VfsError",
    "sandbox.result_view": "RunFailed",
    "sandbox.snapshots.history": "History",
    "sandbox.snapshots.recordings": "Recording replay",
    "sandbox.wire": "DEFAULT_LIMITS Diagnostic Display ErrorObject Language RunResult RunStatus SessionLimits Span",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> Any:
    """Names are imported when first used: the command line starts faster without what it does not need."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hatchway' has no attribute {name!r}")
    try:
        home = importlib.import_module(_HOME_OF[name])
    except ModuleNotFoundError as error:
        if error.name != _HOME_OF[name]:
            raise
        told = f"hatchway.{name} needs the whole package, and only its clients are installed: pip install hatchway"
        raise ImportError(told) from None
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return __all__
