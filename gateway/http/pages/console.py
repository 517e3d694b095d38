"""The console: a page for people, under /console. Static files, read once, served as they are.

    Face(service, …, mounts={"console": Console()})

Rules: THREAT[TM-CONSOLE-PATH]: a file is found by its exact name in a table made at start-up; a request never becomes a path on
disk. THREAT[TM-CONSOLE-XSS]: the page may load nothing from elsewhere and nothing inline, and text from programs cannot become
markup: Trusted Types refuse it, but for one sandboxed frame without scripts. Nobody may frame the page.

Does not know: tokens, tenants, the API. Everything the page shows it asks for itself, with its user's token.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILES: Final = Path(__file__).parents[2] / "console"
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types sandboxed-frame",
    )
)
_TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_START: Final = "index.html"
_SHARED: Final = "frame.css"
"""The one file that documents of no origin load: the sandboxed frames that show what a program displays."""
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]
_ALWAYS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"x-frame-options", b"DENY"),
)


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    etag: bytes
    headers: tuple[tuple[bytes, bytes], ...]


class Console:
    """An ASGI application. It may be mounted with or without its prefix taken off the path."""

    def __init__(self, prefix: str = "/console") -> None:
        self._prefix = prefix
        self._files = {path.name: _read(path) for path in FILES.iterdir() if path.suffix in _TYPES}

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008, "reason": "the console speaks HTTP only"})
            return
        prefix, name = self._prefix, scope["path"].removeprefix(scope.get("root_path", ""))
        if f"{name}/".startswith(f"{prefix}/"):  # whole segments: /console.css is a file
            name = name.removeprefix(prefix)
        if not name:
            await _send(send, 308, [(b"location", f"{prefix}/".encode())])
        elif scope["method"] not in ("GET", "HEAD"):
            await _send(send, 405, [(b"allow", b"GET, HEAD")])
        elif (found := self._files.get(name.removeprefix("/") or _START)) is None:
            await _send(send, 404, [(b"content-type", b"text/plain; charset=utf-8")], b"There is no such page; see /console/\n")
        elif dict(scope["headers"]).get(b"if-none-match") == found.etag:
            await _send(send, 304, list(found.headers), None)
        else:
            await _send(send, 200, list(found.headers), found.content, scope["method"] == "HEAD")


def door(others: App) -> App:
    """Whoever looks at / comes to the console; everything else there is for `others`."""

    async def opened(scope: Any, receive: Receive, send: Send) -> None:
        # Starlette matches `/%0A` too: it unescapes a path, and a line end may follow one.
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["raw_path"] == b"/":
            await _send(send, 307, [(b"location", b"/console/")])
        else:
            await others(scope, receive, send)

    return opened


def _read(path: Path) -> File:
    content = path.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'.encode()
    headers = (
        (b"content-type", f"{_TYPES[path.suffix]}; charset=utf-8".encode()),
        (b"etag", etag),
        (b"cache-control", b"no-cache"),
        (b"cross-origin-resource-policy", b"cross-origin" if path.name == _SHARED else b"same-origin"),
    )
    return File(content, etag, headers)


async def _send(
    send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes | None = b"", head_only: bool = False
) -> None:
    headers = [*headers, *_ALWAYS]
    if body is not None:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head_only or body is None else body})
