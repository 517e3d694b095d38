"""Hatchway: run untrusted code for many tenants inside WebAssembly sandboxes.

    import hatchway
    with hatchway.Sandbox() as box:
        box.run("print(1 + 1)").stdout                       # '2\\n'
        box.run("echo hi > a.txt", language="shell")
        box.run("open('/workspace/a.txt').read()").result    # 'hi\\n'
"""

from __future__ import annotations

from hatchway.box import AsyncSandbox, Sandbox
from sandbox.capabilities import Capability, CapabilityLimits, ToolError
from sandbox.errors import RequestError, SandboxError, SetupError
from sandbox.wire import DEFAULT_LIMITS, Diagnostic, Display, ErrorObject, Language, RunResult, RunStatus, SessionLimits, Span

__version__ = "0.1.0"
__all__ = [
    "DEFAULT_LIMITS",
    "AsyncSandbox",
    "Capability",
    "CapabilityLimits",
    "Diagnostic",
    "Display",
    "ErrorObject",
    "Language",
    "RequestError",
    "RunResult",
    "RunStatus",
    "Sandbox",
    "SandboxError",
    "SessionLimits",
    "SetupError",
    "Span",
    "ToolError",
    "__version__",
]
