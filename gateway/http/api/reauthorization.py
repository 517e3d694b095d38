"""Watches: the caller of a stream is authorized again for as long as it is open.

Rules: THREAT[TM-HTTP-TOKEN]: a stream outlives the request that opened it, not the right to it. `check` is asked before anything
is sent and before anything that came is acted upon, and when there was neither for a heartbeat; what it raises ends the stream,
visibly. `stirred` is done as soon as there is a reason to look at once: a token that this process revokes ends its streams
before their next heartbeat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Look = Callable[[], Awaitable[object]]
"""Raises what the stream is to end with."""


class Watch:
    def __init__(self, *looks: Look) -> None:
        self._looks = [*looks]
        self.stirred: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def check(self) -> None:
        for look in self._looks:
            await look()

    def add(self, look: Look) -> None:
        self._looks.append(look)

    def stir(self) -> None:
        """Look now. To miss no reason, take `stirred` before you look, and wait for that one afterwards."""
        before, self.stirred = self.stirred, asyncio.get_running_loop().create_future()
        before.set_result(None)


async def supervise(app: ASGIApp, scope: Scope, receive: Receive, send: Send, watch: Watch, every_s: float) -> None:
    """An application that knows nothing of this, to its end, unless a look on the way breaks it off."""
    refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def hold() -> None:
        """What may not pass stays here until everything is broken off."""
        try:
            await watch.check()
        except Exception as error:
            if not refused.done():
                refused.set_exception(error)
            await asyncio.get_running_loop().create_future()

    async def receive_checked() -> Message:
        message = await receive()
        await hold()
        return message

    async def send_checked(message: Message) -> None:
        await hold()
        await send(message)

    working, stirred = asyncio.ensure_future(app(scope, receive_checked, send_checked)), watch.stirred
    try:
        while True:
            await asyncio.wait((working, refused, stirred), timeout=every_s, return_when=asyncio.FIRST_COMPLETED)
            stirred = watch.stirred
            if refused.done():
                refused.result()
            if working.done():
                working.result()
                return
            await watch.check()
    finally:
        refused.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait((working,))
