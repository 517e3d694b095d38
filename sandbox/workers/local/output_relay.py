"""A run's output on its way from its thread to the event loop that shows it."""

from __future__ import annotations

import asyncio
import threading

from sandbox.workers.interface import OnOutput


class Output:
    """Pieces are joined while the loop is busy."""

    def __init__(self, loop: asyncio.AbstractEventLoop, show: OnOutput) -> None:
        self._loop = loop
        self._show = show
        self._pieces: list[tuple[int, bytes]] = []
        self._lock = threading.Lock()

    def write(self, stream: int, data: bytes) -> None:
        with self._lock:
            self._pieces.append((stream, data))
            told = len(self._pieces) > 1
        if not told:
            self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        with self._lock:
            pieces, self._pieces = self._pieces, []
        joined: list[tuple[int, bytearray]] = []
        for stream, data in pieces:
            if not joined or joined[-1][0] != stream:
                joined.append((stream, bytearray()))
            joined[-1][1].extend(data)
        for stream, gathered in joined:
            self._show(stream, bytes(gathered))
