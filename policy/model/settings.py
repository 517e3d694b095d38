"""The limits, rate scopes, executors and failure choices a policy may name; the reference page is made from them."""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """One limit: the kind of its value in the language and its name, with unit, in a decision."""

    kind: str
    wire: str
    doc: str


SETTINGS: dict[str, Setting] = {
    "cpu": Setting("duration", "cpu_ms", "processor time of one run"),
    "wall": Setting("duration", "wall_ms", "elapsed time of one run"),
    "memory": Setting("size", "memory_bytes", "memory a run may add"),
    "output": Setting("size", "output_bytes", "stdout and stderr together"),
    "calls": Setting("int", "external_calls", "capability calls one run may start"),
    "stack": Setting("int", "stack_depth", "nesting of calls in the guest"),
    "timeout": Setting("duration", "timeout_ms", "elapsed time of one capability call"),
    "request": Setting("size", "request_bytes", "size of a call's arguments"),
    "response": Setting("size", "response_bytes", "size of a call's answer"),
    "concurrency": Setting("int", "concurrency", "calls in flight at once"),
}
RATE_SCOPES: dict[str, str] = {
    "session": "each session",
    "tenant": "each tenant",
    "user": "each user",
    "capability": "all callers together",
}
LANGUAGES = ("javascript", "python", "shell", "typescript", "wasm")
"""What `language` may be in a rule about `run`. A test holds it equal to what the sandbox runs."""
EXECUTORS: dict[str, str] = {
    "shell": "a script for the shell guest",
    "python": "a Python file",
    "javascript": "a JavaScript file",
    "wasm": "a WebAssembly module",
    "webhook": "an https URL; counts as using net.connect",
}
ON_ERROR: dict[str, str] = {
    "block": "a hook that fails blocks the call",
    "allow": "a hook that fails is ignored",
    "warn": "a hook that fails is ignored with a warning",
}
HOOK_TIMEOUT_MS = (1, 30_000)
APPROVAL_MS = (60_000, 7 * 86_400_000)
MAX_COMPARISONS = 10_000
