"""Outputs: what a hook answered, read from its standard output and exit status.

Rules, as the contract has them: nothing on stdout means allow after status 0 and block otherwise; what is there must be one
JSON object and then the status means nothing. Unknown fields are ignored; wrong types, a key twice and text after the object
are errors, because two readers might understand them differently. Reading never raises: whatever cannot be read is an
`Error`.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from sandbox.workers.interface import FileChanges

MAX_OUTPUT_BYTES: Final = 65536
"""Of stdout and stderr together."""
_SHOWN_BYTES: Final = 80


class Allow(msgspec.Struct, frozen=True, tag_field="decision", tag="allow"):
    user_message: str | None = None


class Block(msgspec.Struct, frozen=True, tag_field="decision", tag="block"):
    reason: str
    user_message: str | None = None


class Mutate(msgspec.Struct, frozen=True, tag_field="decision", tag="mutate"):
    patch: Any
    user_message: str | None = None
    reason: str | None = None


class Error(msgspec.Struct, frozen=True, tag_field="decision", tag="error"):
    message: str


HookOutput = Allow | Block | Mutate | Error


class Ran(msgspec.Struct, frozen=True):
    """What came of one hook: its answer, the files it left, and what there was to see. `attempts` counts a webhook's requests."""

    output: HookOutput
    changes: FileChanges = FileChanges()
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    attempts: int = 1


class _Answer(msgspec.Struct):
    decision: str | None = None
    reason: str | None = None
    user_message: str | None = None
    patch: Any = None


_decode = msgspec.json.Decoder(_Answer).decode


def make_timeout(timeout_ms: int) -> Error:
    return Error(f"hook timed out after {timeout_ms} ms")


def make_overrun() -> Error:
    return Error(f"hook output exceeded {MAX_OUTPUT_BYTES} bytes")


def parse(stdout: str, stderr: str = "", exit_code: int = 0) -> HookOutput:
    text = stdout.lstrip()
    if not text:
        return Allow() if exit_code == 0 else Block(stderr.strip() or "hook exited non-zero")
    if not text.startswith("{"):
        shown = text.encode("utf-8", "replace")[:_SHOWN_BYTES].decode("utf-8", "ignore")
        return Error(f"hook stdout is not JSON (first 80 bytes: {shown})")
    try:
        answer = _decode(text)
        _check_keys(text)
    except (ValueError, RecursionError) as error:
        return Error(f"hook stdout JSON parse failed: {error}")
    if answer.decision is None or answer.decision == "allow":
        return Allow(answer.user_message)
    if answer.decision == "block":
        return Block("hook blocked" if answer.reason is None else answer.reason, answer.user_message)
    if answer.decision == "mutate":
        if answer.patch is None:
            return Error("hook decision `mutate` missing `patch`")
        return Mutate(answer.patch, answer.user_message, answer.reason)
    return Error(f"unknown hook decision `{answer.decision}`")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {name[:80]!r} is there twice")
            seen.add(name)
    return found


_check_keys = json.JSONDecoder(object_pairs_hook=_refuse_duplicates).decode
