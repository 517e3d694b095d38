"""Routing: from a method and a raw path to an operation and its parameters.

Ours, because Starlette unescapes a path before it is split and asks one route after the other: `Routes` splits first and finds
one of 137 operations by one lookup for each segment.

Rules: THREAT[TM-HTTP-PATH]: the path is cut at its slashes first and unescaped after, segment by segment, so that `%2F` never
makes a new segment and `%2e%2e` is only a name. A segment that is `.` or `..`, escaped or not, empty, holds a NUL, a control
character, bytes that are not UTF-8 or a broken escape is refused, whatever the operation. Only the rest of a path (`{path...}`)
may hold an escaped slash and an empty last segment: it is a file's path, which has its own normaliser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.errors import BadRequest, GatewayError, NotFound
from gateway.http.api.operation import Operation

SEGMENTS_MAX: Final = 128
BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_REFUSED: Final = re.compile(r"[\0-\x1f\x7f]|(?:^|/)\.{0,2}(?:/|\Z)")
"""A control character, or an empty part, `.` or `..`."""


class MethodNotAllowed(GatewayError):
    """The path exists, the method does not."""

    status = 405

    def __init__(self, method: str, allowed: list[str]) -> None:
        super().__init__("METHOD_NOT_ALLOWED", f"{method[:20]} is not offered at this path", f"there are: {', '.join(allowed)}")
        self.allowed = allowed


class UpgradeRequired(GatewayError):
    status = 426


class _Node:
    __slots__ = ("children", "name", "operations", "parameter", "rest")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.rest: _Node | None = None
        self.name = ""
        self.operations: dict[str, Operation] = {}


class Routes:
    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _Node()
        self._literals: dict[bytes, str] = {}
        self.operations: list[Operation] = []
        for operation in operations:
            self.add(operation)

    def add(self, operation: Operation) -> None:
        node = self._root
        for segment in operation.path.strip("/").split("/") if operation.path != "/" else []:
            if segment.endswith("...}"):
                node.rest = node = node.rest or _Node()
                _name(node, segment[1:-4], operation)
            elif segment.startswith("{"):
                node.parameter = node = node.parameter or _Node()
                _name(node, segment[1:-1], operation)
            else:
                node = node.children.setdefault(segment, _Node())
                self._literals[segment.encode()] = segment
        key = "WEBSOCKET" if operation.websocket else operation.method
        if key in node.operations:
            raise ValueError(f"two operations for {key} {operation.path}")
        node.operations[key] = operation
        self.operations.append(operation)

    def match(self, method: str, raw_path: bytes) -> tuple[Operation, dict[str, str]]:
        node, parameters = self._find(raw_path)
        operation = node.operations.get(method)
        if operation is None and method == "HEAD":
            operation = node.operations.get("GET")
        if operation is None and method in ("GET", "HEAD") and "WEBSOCKET" in node.operations:
            raise UpgradeRequired("UPGRADE_REQUIRED", "this is for WebSockets", "ask with  Upgrade: websocket")
        if operation is None:
            raise MethodNotAllowed(method, sorted({"GET" if key == "WEBSOCKET" else key for key in node.operations}))
        return operation, parameters

    def _find(self, raw_path: bytes) -> tuple[_Node, dict[str, str]]:
        if not raw_path.startswith(b"/"):
            raise BadRequest("INVALID_URL", "the request's target is not a path")
        node, parameters = self._root, {}
        raw = raw_path[1:].split(b"/") if raw_path != b"/" else []
        if len(raw) > SEGMENTS_MAX:
            raise BadRequest("INVALID_URL", f"the path has more than {SEGMENTS_MAX} segments")
        known, last = self._literals, len(raw) - 1
        segments = [known.get(segment) or _unescape(segment, last=index == last) for index, segment in enumerate(raw)]
        for index, segment in enumerate(segments):
            child = node.children.get(segment)
            if child is None and node.parameter is not None and segment and "/" not in segment:
                child = node.parameter
                parameters[child.name] = segment
            if child is None:
                if node.rest is None:
                    raise NotFound("NOT_FOUND", "there is nothing at this path", "see /docs")
                parameters[node.rest.name] = "/".join(segments[index:])
                return node.rest, parameters
            node = child
        if not node.operations:
            if node.rest is not None:
                parameters[node.rest.name] = ""
                return node.rest, parameters
            raise NotFound("NOT_FOUND", "there is nothing at this path", "see /docs")
        return node, parameters


class OperationRoute(BaseRoute):
    """Takes every path below `prefix`, whether there is an operation or not: a refusal there is a problem of ours."""

    def __init__(self, app: ASGIApp, prefix: bytes) -> None:
        self._app, self._prefix = app, prefix

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.FULL if scope["raw_path"].startswith(self._prefix) else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _name(node: _Node, name: str, operation: Operation) -> None:
    if node.name not in ("", name):
        raise ValueError(f"{operation.path}: this segment is called {node.name!r} elsewhere")
    node.name = name


def _unescape(raw: bytes, last: bool) -> str:
    if BAD_ESCAPE.search(raw):
        raise BadRequest("INVALID_URL", "the path has a % without two hexadecimal digits", "write %25 for a percent sign")
    try:
        text = unquote_to_bytes(raw).decode() if b"%" in raw else raw.decode("ascii")
    except UnicodeDecodeError:
        raise BadRequest("INVALID_URL", "the path is not UTF-8, or not escaped") from None
    if (text or not last) and _REFUSED.search(text):
        raise BadRequest("INVALID_URL", "the path has an empty segment, a '.' or '..', or a control character")
    return text
