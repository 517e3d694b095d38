"""The console: a page for people, under /console, served by Starlette's static files.

Rules: THREAT[TM-CONSOLE-PATH]: a file is served only if its exact name is in a table made at start-up; nothing else of a request
becomes a path on disk. THREAT[TM-CONSOLE-XSS]: the page may load nothing from elsewhere and nothing inline, and text from
programs cannot become markup: Trusted Types refuse it, but for one sandboxed frame without scripts. No page may frame it. What
the page shows it asks for itself, with its user's token; which languages and limits there are it reads from `tables.js`, which
is made of the tables that the rest of Hatchway reads.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketClose

from gateway.errors import BadRequest
from gateway.http.api.access_record import find_record
from sandbox.languages import LANGUAGES
from sandbox.limits import LIMITS

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
_SHARED: Final = "frame.css"
"""The one file that documents of no origin load: the sandboxed frames that show what a program displays."""
_ALWAYS: Final = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
}


def _show_tables() -> str:
    languages = [(language.value, facts.title) for language, facts in LANGUAGES.items()]
    tables = {"LANGUAGES": languages, "LIMITS": {name: limit.default for name, limit in LIMITS.items()}}
    return "".join(f"export const {name} = {msgspec.json.encode(table).decode()};\n" for name, table in tables.items())


_TABLES: Final = _show_tables()


class Console(StaticFiles):
    """Mounted at /console."""

    def __init__(self) -> None:
        super().__init__(directory=FILES)
        self._names = frozenset(path.name for path in FILES.iterdir() if path.suffix in _TYPES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        find_record(scope).operation = "console"
        if scope["type"] == "websocket":
            await WebSocketClose(1008, "the console speaks HTTP only")(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def get_path(self, scope: Scope) -> str:
        """The name as it was asked for: Starlette would take `app.js/` for `app.js`."""
        path: str = scope["path"]
        return path.removeprefix(scope.get("root_path", "") + "/") or "index.html"

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            response = await super().get_response(path, scope)
        except HTTPException as refused:
            if refused.status_code == 405:
                response = Response(status_code=405, headers={"allow": "GET, HEAD"})
            else:
                response = PlainTextResponse("There is no such page; see /console/\n", 404)
        response.headers.update(_ALWAYS)
        return response

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        return super().lookup_path(path) if path in self._names else ("", None)

    def file_response(
        self, full_path: os.PathLike[str] | str, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        name = Path(full_path).name
        response.headers["content-type"] = f"{_TYPES[Path(name).suffix]}; charset=utf-8"
        response.headers["cache-control"] = "no-cache"
        response.headers["cross-origin-resource-policy"] = "cross-origin" if name == _SHARED else "same-origin"
        return response


async def _open_console(request: Request) -> Response:
    if request.scope["raw_path"] not in (b"/", b"/console"):  # Starlette unescapes a path, and a line end may follow it
        raise BadRequest("INVALID_URL", "the path has a control character")
    return RedirectResponse("/console/", 308 if request.url.path == "/console" else 307, _ALWAYS)


async def _send_tables(request: Request) -> Response:
    find_record(request.scope).operation = "console"
    headers = {**_ALWAYS, "cache-control": "no-cache", "cross-origin-resource-policy": "same-origin"}
    return Response(_TABLES, media_type="text/javascript", headers=headers)


ROUTES: Final = [
    Route("/", _open_console),
    Route("/console", _open_console),
    Route("/console/tables.js", _send_tables),
]
"""A browser that opens the bare address comes to the console."""
