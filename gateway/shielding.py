"""What goes on to its end when whoever asked for it leaves.

A request is cancelled when its client leaves or its time is up. What changes both memory and store must not be broken off in
between: they would not agree any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def until_done(work: asyncio.Future[Any]) -> None:
    """Whoever waits here may be cancelled, and `work` goes on. `asyncio.wait` says the same and takes three times as long."""
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(_: object) -> None:
        if not waiter.done():
            waiter.set_result(None)

    work.add_done_callback(tell)
    await waiter


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives or raises. It has ended when this returns, however often the task is cancelled meanwhile."""
    task = asyncio.get_running_loop().create_task(work)
    is_left = False
    while not task.done():
        try:
            await until_done(task)
        except asyncio.CancelledError:
            is_left = True
    if is_left:
        if not task.cancelled():
            task.exception()  # nobody looks at it any more
        raise asyncio.CancelledError
    return task.result()
