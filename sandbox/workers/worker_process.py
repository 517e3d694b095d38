"""The life of a worker process after its fork: an event loop made before the jail, sessions served within it."""

from __future__ import annotations

import asyncio
import os
import socket
import threading

from sandbox.workers.local.slots import Slots
from sandbox.workers.local.worker import LocalWorker
from sandbox.workers.server import Server

_STACK_BYTES = 8 << 20


class Worker:
    """Called as the zygote's `serve`; `prepare` is called before the jail."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def prepare(self) -> None:
        self._cores = os.cpu_count() or 1
        threading.stack_size(_STACK_BYTES)
        self._loop = asyncio.SelectorEventLoop()  # whatever the host's is: this one asks nothing of the jail but epoll

    def __call__(self, end: socket.socket) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(end))

    async def _serve(self, end: socket.socket) -> None:
        await Server(LocalWorker(slots=Slots(self._cores))).serve(end)
