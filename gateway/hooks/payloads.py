"""Payloads: what a hook is told, and the three ways it is told it.

Rules: the same JSON text goes to standard input (as a line, so that `read -r` finds it whole), into a file under
`/workspace/.hooks`, which exists in the hook's fork only, and into the environment. Variables stand in the contract's order,
first all with the prefix `EVERRUNS_HOOK_`, then with `HATCHWAY_HOOK_`; the hook's own come last. A payload longer than one
variable may be on Linux is left out of the environment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gateway.clock import stamp
from gateway.hooks.events import HookEvent
from gateway.ids import uuid7

FOLDER: Final = "/workspace/.hooks"
PREFIXES: Final = ("EVERRUNS_HOOK_", "HATCHWAY_HOOK_")
VARIABLES: Final = ("PAYLOAD_JSON", "PAYLOAD_PATH", "EVENT", "ID", "SESSION_ID", "TURN_ID", "TOOL_NAME", "TOOL_CALL_ID")
_IN_ORDER: Final = tuple((name, prefix + name) for prefix in PREFIXES for name in VARIABLES)
PAYLOAD_BYTES_MAX: Final = 4 << 20
VARIABLE_BYTES_MAX: Final = 128 << 10
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
_encode = msgspec.json.Encoder().encode


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """Something happened in a session. Ids that are not known are None; `data` is the event's own (docs/hooks.md)."""

    event: HookEvent
    session_id: str
    data: Mapping[str, Any]
    turn_id: str | None = None
    org_id: str | None = None
    agent_id: str | None = None


class HookPayload(msgspec.Struct, frozen=True):
    event: HookEvent
    hook_id: str
    session_id: str
    turn_id: str | None
    org_id: str | None
    agent_id: str | None
    ts: str
    data: Mapping[str, Any]


class Letter(msgspec.Struct, frozen=True):
    """A payload ready to be handed over: its text, the path of its file, and the variables without the hook's own."""

    text: bytes
    path: str
    variables: dict[str, str]

    @property
    def line(self) -> bytes:
        return self.text + b"\n"


def make_payload(occasion: Occasion, hook_id: str, data: Mapping[str, Any], now_ms: int) -> HookPayload:
    return HookPayload(**{**msgspec.structs.asdict(occasion), "hook_id": hook_id, "ts": stamp(now_ms), "data": data})


def seal(payload: HookPayload) -> Letter:
    """Raises `ValueError` for data that is no JSON or too large."""
    try:
        text = _encode(payload)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"hook payload is not JSON: {error}") from None
    if len(text) > PAYLOAD_BYTES_MAX:
        raise ValueError(f"hook payload exceeded {PAYLOAD_BYTES_MAX} bytes")
    path = f"{FOLDER}/{_UNSAFE.sub('_', payload.hook_id)}-{uuid7()}.json"
    return Letter(text, path, _variables(payload, text, path))


def _variables(payload: HookPayload, text: bytes, path: str) -> dict[str, str]:
    known = {"PAYLOAD_PATH": path, "EVENT": payload.event.value, "ID": payload.hook_id, "SESSION_ID": payload.session_id}
    if len(text) <= VARIABLE_BYTES_MAX:
        known["PAYLOAD_JSON"] = text.decode()
    if payload.turn_id is not None:
        known["TURN_ID"] = payload.turn_id
    for name, field in (("TOOL_NAME", "tool_name"), ("TOOL_CALL_ID", "tool_call_id")):
        value = payload.data.get(field)
        if isinstance(value, str):
            known[name] = value
    return {variable: known[name] for name, variable in _IN_ORDER if name in known}
