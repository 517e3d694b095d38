"""The verbs of a gateway: what is asked for each of them. Pure; the clients send it.

Rules: `RunOptions` and `SessionOptions` are the arguments of `Sandbox.run` and of a session, as the API has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from hatchway.client import url_paths
from hatchway.client.requests import (
    ApprovalInfo,
    Ask,
    FileInfo,
    MatchInfo,
    Page,
    RetentionInfo,
    RunInfo,
    SearchInfo,
    SessionInfo,
    SnapshotInfo,
)
from sandbox.sessions.session import parse_language
from sandbox.wire import Language, SessionLimits

_BYTES = {"content-type": "application/octet-stream"}


class RunOptions(TypedDict, total=False):
    """What may be said about a run besides its code."""

    language: str | Language | None
    inputs: Mapping[str, Any] | None
    stdin: str
    timeout_ms: int | None
    limits: SessionLimits | None
    validate_only: bool
    filename: str | None
    env: Mapping[str, str] | None
    return_snapshot: bool


class SessionOptions(TypedDict, total=False):
    """What may be said about a new session."""

    id: str | None
    title: str | None
    language: str | Language | None
    limits: SessionLimits | None
    template: str | None
    durable: bool
    facts: Mapping[str, Any] | None


def _session(session_id: str, rest: str = "") -> str:
    return f"/v1/sessions/{url_paths.segment(session_id)}{rest}"


def _file(session_id: str, path: str) -> str:
    return _session(session_id, "/files" + url_paths.segments(path))


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, with the language as the wire has it."""
    body = {name: value for name, value in options.items() if value is not None}
    if "language" in body:
        body["language"] = parse_language(body["language"]).value
    return body


def create_session(options: SessionOptions) -> Ask:
    return Ask("POST", "/v1/sessions", json=_given(options), kind=SessionInfo)


def get_session(session_id: str) -> Ask:
    return Ask("GET", _session(session_id), kind=SessionInfo)


def delete_session(session_id: str) -> Ask:
    return Ask("DELETE", _session(session_id))


def cancel_session(session_id: str) -> Ask:
    return Ask("POST", _session(session_id, "/cancel"), kind=dict[str, bool])


def page(path: str, query: Mapping[str, str], cursor: str | None) -> Ask:
    return Ask("GET", path, query={**query, **({"cursor": cursor} if cursor else {})}, kind=Page)


def run_once(code: str, options: RunOptions) -> Ask:
    return Ask("POST", "/v1/runs", json={"code": code, **_given(options)}, kind=RunInfo, once=True)


def run_in(session_id: str, code: str, options: RunOptions) -> Ask:
    return Ask("POST", _session(session_id, "/runs"), json={"code": code, **_given(options)}, kind=RunInfo, once=True)


def stream_in(session_id: str, code: str, options: RunOptions) -> Ask:
    body = {"code": code, **_given(options)}
    return Ask("POST", _session(session_id, "/runs"), json=body, query={"mode": "stream"}, once=True)


def stream_once(code: str, options: RunOptions) -> Ask:
    return Ask("POST", "/v1/runs", json={"code": code, **_given(options)}, query={"mode": "stream"}, once=True)


def cancel_run(run_id: str) -> Ask:
    return Ask("POST", f"/v1/runs/{url_paths.segment(run_id)}/cancel", kind=dict[str, bool])


def get_run(run_id: str) -> Ask:
    return Ask("GET", f"/v1/runs/{url_paths.segment(run_id)}", kind=RunInfo)


def of_session(session_id: str | None) -> dict[str, str]:
    """Which runs or snapshots of the tenant are listed: a session's, or all."""
    return {} if session_id is None else {"session_id": session_id}


def decide(approval_id: str, decision: str, reason: str) -> Ask:
    body = {"decision": decision, "reason": reason}
    return Ask("POST", f"/v1/approvals/{url_paths.segment(approval_id)}/decide", json=body, kind=ApprovalInfo)


def fork(session_id: str, count: int) -> Ask:
    return Ask("POST", _session(session_id, "/fork"), json={"count": count}, kind=list[SessionInfo])


def save(session_id: str, label: str, template: bool) -> Ask:
    return Ask("POST", _session(session_id, "/snapshots"), json={"label": label, "template": template}, kind=SnapshotInfo)


def carry_away(snapshot_id: str) -> Ask:
    return Ask("GET", f"/v1/snapshots/{url_paths.segment(snapshot_id)}/content")


def bring_in(blob: bytes) -> Ask:
    return Ask("POST", "/v1/snapshots", content=blob, headers={"content-type": "application/cbor"}, kind=SnapshotInfo)


def forget_snapshot(snapshot_id: str) -> Ask:
    return Ask("DELETE", f"/v1/snapshots/{url_paths.segment(snapshot_id)}")


def restore(snapshot_id: str, session_id: str | None) -> Ask:
    body = {"session_id": session_id}
    return Ask("POST", f"/v1/snapshots/{url_paths.segment(snapshot_id)}/restore", json=body, kind=SessionInfo)


def secrets_of(session_id: str | None) -> str:
    """Where secrets are: a session's, or the tenant's."""
    return "/v1/secrets" if session_id is None else _session(session_id, "/secrets")


def set_secret(session_id: str | None, name: str, value: str) -> Ask:
    return Ask("PUT", f"{secrets_of(session_id)}/{url_paths.name(name)}", json={"value": value})


def delete_secret(session_id: str | None, name: str) -> Ask:
    return Ask("DELETE", f"{secrets_of(session_id)}/{url_paths.name(name)}")


def values_of(session_id: str) -> str:
    """Where a session's values are."""
    return _session(session_id, "/values")


def get_value(session_id: str, key: str) -> Ask:
    return Ask("GET", f"{values_of(session_id)}/{url_paths.name(key)}")


def set_value(session_id: str, key: str, value: bytes) -> Ask:
    return Ask("PUT", f"{values_of(session_id)}/{url_paths.name(key)}", content=value, headers=_BYTES)


def delete_value(session_id: str, key: str) -> Ask:
    return Ask("DELETE", f"{values_of(session_id)}/{url_paths.name(key)}")


def retention() -> Ask:
    return Ask("GET", "/v1/retention", kind=RetentionInfo)


def collect() -> Ask:
    return Ask("POST", "/v1/retention", kind=dict[str, int])


def read_file(session_id: str, path: str) -> Ask:
    return Ask("GET", _file(session_id, path))


def write_file(session_id: str, path: str, data: bytes | str) -> Ask:
    content = data.encode() if isinstance(data, str) else data
    return Ask("PUT", _file(session_id, path), content=content, headers=_BYTES, kind=FileInfo)


def files_of(session_id: str) -> str:
    """Where a session's directories are listed, page by page."""
    return _session(session_id, "/files")


def directory(path: str) -> dict[str, str]:
    """Which directory is listed there."""
    return {"path": url_paths.path(path), "limit": "200"}


def stat_file(session_id: str, path: str) -> Ask:
    return Ask("GET", _session(session_id, "/stat"), query={"path": url_paths.path(path)}, kind=FileInfo)


def make_directory(session_id: str, path: str) -> Ask:
    return Ask("POST", _session(session_id, "/directories"), json={"path": url_paths.path(path)}, kind=FileInfo)


def delete_file(session_id: str, path: str, recursive: bool) -> Ask:
    return Ask("DELETE", _file(session_id, path), query={"recursive": "true"} if recursive else {})


def grep_files(session_id: str, text: str, path: str | None) -> Ask:
    return Ask("GET", _session(session_id, "/grep"), query=_pattern(text, path), kind=list[MatchInfo])


def search_files(session_id: str, pattern: str, path: str | None) -> Ask:
    return Ask("GET", _session(session_id, "/search"), query=_pattern(pattern, path), kind=SearchInfo)


def _pattern(text: str, path: str | None) -> dict[str, str]:
    """`path` is a part of the paths to look at, not one of them."""
    return {"pattern": text, **({} if path is None else {"path": path})}
