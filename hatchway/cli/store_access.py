"""A gateway's store, opened by a command: for `audit`, `secrets` and `tokens`.

Rules: what goes wrong is one line with a hint and exit status 2. Only these commands import this file: it needs the gateway.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from gateway.errors import GatewayError, missing
from gateway.stores.factory import open_store
from gateway.stores.pages import tenant_ids
from gateway.stores.store import Store
from hatchway.cli.terminal import complain
from sandbox.errors import SandboxError


def run_or_complain(work: Coroutine[Any, Any, int]) -> int:
    """The exit status of the work, or 2."""
    try:
        return asyncio.run(work)
    except GatewayError as error:
        complain(f"{error.code}: {error}", error.error.hint)
    except (SandboxError, OSError) as error:
        complain(str(error))
    return 2


@asynccontextmanager
async def open_tenants(place: str, tenant: str | None, *, own: bool = False) -> AsyncIterator[tuple[Store, list[str]]]:
    """The store, and the tenant named or all there are. `own` keeps a gateway from serving it meanwhile."""
    store = await open_store(place, create=False, own=own)
    try:
        if tenant is not None and await store.tenant(tenant) is None:
            raise missing("tenant", tenant)
        yield store, [tenant] if tenant is not None else [name async for name in tenant_ids(store)]
    finally:
        await store.close()
