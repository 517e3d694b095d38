"""Pages: every item of a list that a store answers in pages.

    async for session in walk(lambda after: store.sessions("acme", after=after, limit=PAGE_MAX)): ...

Rules: one page is in memory at a time. What is written meanwhile may or may not be met; nothing is met twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from gateway.stores.store import Store
from gateway.stores.stored import PAGE_MAX, Page

T = TypeVar("T")


async def walk(read: Callable[[str | None], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    after = None
    while True:
        page = await read(after)
        for item in page.items:
            yield item
        after = page.next
        if after is None:
            return


async def tenant_ids(store: Store) -> AsyncIterator[str]:
    async for tenant in walk(lambda after: store.tenants(after=after, limit=PAGE_MAX)):
        yield tenant.id
