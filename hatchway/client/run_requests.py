"""What a new session and a run are asked for with: arguments as people write them, made into requests.

Rules: arguments are checked as those of a sandbox in this process are (`hatchway.arguments`, `sandbox.sessions.request_checks`),
before anything is sent, so that what is wrong with them is said in the same words. Nothing is sent here.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

import msgspec

from hatchway.arguments import Limits, RunOptions, build_request, check_kind, complete_limits, copy_mapping
from hatchway.client.operations import request
from hatchway.client.requests import Ask, RunInfo, SessionInfo
from sandbox.sessions.request_checks import check_limits, check_request, check_session_id, parse_language, stdin_bytes
from sandbox.wire import DEFAULT_LIMITS, DEFAULT_SESSION_ID, Language, SessionLimits


class SessionOptions(TypedDict, total=False):
    """Of a new session. With `thread_id` it is bound to that thread of a runner: its shell and its files are there."""

    id: str | None
    title: str | None
    language: str | Language | None
    limits: Limits
    template: str | None
    durable: bool
    facts: Mapping[str, Any] | None
    thread_id: str | None


def run_request(
    session_id: str | None,
    code: str | bytes,
    options: RunOptions,
    *,
    own: SessionLimits = DEFAULT_LIMITS,
    is_streamed: bool = False,
) -> Ask:
    """A run in a session with the limits `own`, or in one of its own that is gone afterwards."""
    checked = build_request(session_id or DEFAULT_SESSION_ID, code, own, **options)
    check_request(checked)
    name, arguments = ("run_once", {}) if session_id is None else ("run_in_session", {"session_id": session_id})
    told = msgspec.to_builtins(checked)
    for field in ("session_id", "starts") if options.get("language") is not None else ("session_id", "starts", "language"):
        del told[field]
    told |= spell_stdin(stdin_bytes(checked)) | {"mode": "stream" if is_streamed else None}
    return request(name, kind=RunInfo, once=True, **arguments, **told)


def spell_stdin(stdin: bytes) -> dict[str, str]:
    """An input as a request carries it: as text, or in base64."""
    try:
        return {"stdin": stdin.decode(), "stdin_base64": ""}
    except UnicodeDecodeError:
        return {"stdin": "", "stdin_base64": base64.b64encode(stdin).decode()}


def session_request(**options: Unpack[SessionOptions]) -> Ask:
    unknown = options.keys() - SessionOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"a session has no argument {min(unknown)!r}")
    told: dict[str, Any] = {**options, "durable": check_kind("durable", options.get("durable", False), bool)}
    for name in ("title", "template", "thread_id"):
        check_kind(name, options.get(name), str, type(None))
    if options.get("id") is not None:
        check_session_id(options["id"])
    if (language := options.get("language")) is not None:
        told["language"] = parse_language(language).value
    if (limits := complete_limits(options.get("limits"), DEFAULT_LIMITS)) is not None:
        told["limits"] = msgspec.to_builtins(check_limits(limits))
    told["facts"] = copy_mapping("facts", options.get("facts")) or None
    return request("create_session", kind=SessionInfo, **told)
