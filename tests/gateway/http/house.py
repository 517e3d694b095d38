"""The real service behind HTTP, in this process: two tenants, and a token of each for every role."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.configuration import Configuration
from gateway.http.assembly import Face
from gateway.lifecycle.readiness import Preparation
from gateway.records import Tenant
from gateway.service import Service
from gateway.stores.changes import PutTenant, PutToken
from gateway.telemetry import Telemetry
from gateway.tenants.tokens import mint
from sandbox.guests.images import images
from tests.gateway.http.asking import Reply, ask

needs_javascript = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
JAVASCRIPT = {"language": "javascript"}


class House:
    """A running service with two tenants, `acme` and `globex`, and a token of each for every role."""

    def __init__(self, service: Service, configuration: Configuration) -> None:
        self.service = service
        self.face = Face(service, configuration, Telemetry())
        self.tokens: dict[tuple[str, str], str] = {}

    async def furnish(self) -> None:
        now = self.service.clock.now_ms()
        roles: tuple[Any, ...] = ("admin", "operator", "approver", "author", "member")
        for name in ("acme", "globex"):
            changes: list[Any] = [PutTenant(tenant=Tenant(id=name, created_at=now, updated_at=now))]
            for role in roles:
                text, stored = mint(tenant=name, name=role, role=role, now_ms=now, user=f"{role}@{name}")
                self.tokens[name, role] = text
                changes.append(PutToken(token=stored))
            await self.service.store.write(name, changes)

    async def ask(
        self, method: str, target: str, body: Any = b"", *, tenant: str = "acme", role: str = "operator", **headers: str
    ) -> Reply:
        return await ask(self.face.asgi, method, target, body, token=self.tokens[tenant, role], **headers)


def live_in(
    tmp_path: Path, test: Callable[[House], Awaitable[None]], readiness: Preparation = Preparation(), **settings: Any
) -> None:
    async def main() -> None:
        configuration = Configuration(data=str(tmp_path / "data"), workers="in-process", access_log=False, **settings)
        service = await Service.open(configuration, readiness=readiness)
        try:
            house = House(service, configuration)
            await house.furnish()
            await test(house)
        finally:
            await service.stop(1000)

    asyncio.run(main())
