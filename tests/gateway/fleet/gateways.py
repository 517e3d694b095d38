"""Real gateways of one fleet, each a `hatchway serve --fleet` of its own, on one PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from gateway.stores.tables import TABLES
from tests.gateway.serving import Gateway, serving

LEASE_MS = 2_000


async def empty(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    finally:
        await connection.close()
    assert TABLES


class Fleet:
    """Its gateways share a store and keys; `token` is the first admin's."""

    def __init__(self, folder: Path, url: str, stack: contextlib.ExitStack, settings: dict[str, str]) -> None:
        self._folder, self._url, self._stack, self._settings = folder, url, stack, settings
        self.token = ""
        self.gateways: list[Gateway] = []

    def start(self, **settings: str) -> Gateway:
        name, shared = f"g{len(self.gateways)}", self._folder
        arguments = ("--database-url", self._url, "--fleet", "--key", str(shared / "fleet.key"), "--keys", str(shared / "keys"))
        given = {"HATCHWAY_FLEET_LEASE_MS": str(LEASE_MS), **self._settings, **settings}
        made = self._stack.enter_context(serving(self._folder / name, *arguments, token=self.token, settings=given))
        self.token = self.token or made.token
        self.gateways.append(made)
        return made

    def log(self, index: int) -> str:
        return (self._folder / f"g{index}.log").read_text()


@contextlib.contextmanager
def fleet(folder: Path, url: str, count: int = 2, **settings: str) -> Iterator[Fleet]:
    asyncio.run(empty(url))
    with contextlib.ExitStack() as stack:
        made = Fleet(folder, url, stack, settings)
        for _ in range(count):
            made.start()
        yield made


def ask(
    gateway: Gateway, method: str, path: str, body: Any = None, token: str = "", within_s: float = 60.0, **headers: str
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=within_s)
    given = {"Authorization": f"Bearer {token or gateway.token}", "Content-Type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    if isinstance(body, bytes):
        given["Content-Type"] = "application/octet-stream"
    elif body is not None:
        body = json.dumps(body).encode()
    try:
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        said = answer.read()
        return answer.status, json.loads(said) if said.startswith((b"{", b"[")) else said
    finally:
        connection.close()


def make_tenant(gateway: Gateway, tenant: str) -> str:
    """The tenant, and the token of its operator."""
    status, said = ask(gateway, "POST", "/v1/tenants", {"id": tenant})
    assert status == 201, said
    status, said = ask(gateway, "POST", "/v1/tokens", {"name": "o", "role": "operator"}, Hatchway_Tenant=tenant)
    assert status == 201, said
    token: str = said["secret"]
    return token


def wait_for(gateway: Gateway, method: str, path: str, token: str, within_s: float = 30.0) -> tuple[float, Any]:
    """How long it took until it was answered with success, and the answer."""
    began_s = time.monotonic()
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            status, said = ask(gateway, method, path, token=token, within_s=within_s)
            if status < 300:
                return time.monotonic() - began_s, said
        assert time.monotonic() - began_s < within_s
        time.sleep(0.05)
