"""Hatchway: run untrusted code for many tenants inside WebAssembly sandboxes.

import hatchway
with hatchway.Sandbox() as box:
    box.run("print(1 + 1)").stdout                       # '2\\n'
    box.run("echo hi > a.txt", language="shell")
    box.run("open('/workspace/a.txt').read()").result    # 'hi\\n'

In reading order: `arguments` (what callers hand over, checked), `box` (`Sandbox`, a session in this process), `async_box` (the
same for asyncio), `client` (a gateway's sessions from Python), `cli` (the command), `remote` (a gateway from the command line),
`mcp` (a gateway for agents).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hatchway.async_box import AsyncSandbox
    from hatchway.box import Sandbox
    from hatchway.client.async_client import AsyncClient
    from hatchway.client.client import Client
    from policy import Policy, PolicyError
    from sandbox.capabilities.registry import Capability, CapabilityLimits, ToolError
    from sandbox.encoding.sealing import Keys
    from sandbox.errors import RequestError, SandboxError, SetupError, Suspend
    from sandbox.filesystem.errnos import VfsError
    from sandbox.result_view import RunFailed
    from sandbox.snapshots.history import History
    from sandbox.snapshots.recordings import Recording, replay
    from sandbox.wire import DEFAULT_LIMITS, Diagnostic, Display, ErrorObject, Language, RunResult, RunStatus, SessionLimits, Span

__version__ = "0.2.0"
__all__ = [
    "DEFAULT_LIMITS",
    "AsyncClient",
    "AsyncSandbox",
    "Capability",
    "CapabilityLimits",
    "Client",
    "Diagnostic",
    "Display",
    "ErrorObject",
    "History",
    "Keys",
    "Language",
    "Policy",
    "PolicyError",
    "Recording",
    "RequestError",
    "RunFailed",
    "RunResult",
    "RunStatus",
    "Sandbox",
    "SandboxError",
    "SessionLimits",
    "SetupError",
    "Span",
    "Suspend",
    "ToolError",
    "VfsError",
    "__version__",
    "replay",
]

_HOMES = {
    "hatchway.async_box": ("AsyncSandbox",),
    "hatchway.client.async_client": ("AsyncClient",),
    "hatchway.box": ("Sandbox",),
    "hatchway.client.client": ("Client",),
    "policy": ("Policy", "PolicyError"),
    "sandbox.capabilities.registry": ("Capability", "CapabilityLimits", "ToolError"),
    "sandbox.filesystem.errnos": ("VfsError",),
    "sandbox.errors": ("RequestError", "SandboxError", "SetupError", "Suspend"),
    "sandbox.result_view": ("RunFailed",),
    "sandbox.snapshots.history": ("History",),
    "sandbox.snapshots.recordings": ("Recording", "replay"),
    "sandbox.encoding.sealing": ("Keys",),
    "sandbox.wire": (
        "DEFAULT_LIMITS", "Diagnostic", "Display", "ErrorObject", "Language", "RunResult", "RunStatus", "SessionLimits", "Span",
    ),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names are imported when first used: the command line starts faster without what it does not need."""
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(home), name)
            return value
    raise AttributeError(f"module 'hatchway' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
