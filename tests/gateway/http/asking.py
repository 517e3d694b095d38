"""Asking an application without a network: one ASGI call, its answer as plain values."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        code: str = self.json["code"]
        return code


async def ask(
    app: Any,
    method: str,
    target: str,
    body: bytes | Any = b"",
    *,
    token: str | None = None,
    address: str = "192.0.2.1",
    **headers: str,
) -> Reply:
    """`body` other than bytes is sent as JSON. Header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
        named.setdefault("content-type", "application/json")
    if token is not None:
        named["authorization"] = f"Bearer {token}"
    if body:
        named["content-length"] = str(len(body))
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "raw_path": path.encode(),
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in named.items()],
        "http_version": "1.1",
        "client": (address, 1),
        "scheme": "http",
    }
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    data = b"".join(message.get("body", b"") for message in sent[1:])
    return Reply(start["status"], {name.decode(): value.decode("latin-1") for name, value in start["headers"]}, data)
