"""A log's lines, written without ever waiting for the log's reader.

Rules: a line is written whole or not at all; lines that find no room are counted, and the log says how many are missing when it
is read again. THREAT[TM-HTTP-LOG].
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable
from typing import Final

WAITING_BYTES: Final = 256 * 1024
"""What waits for a reader that is slow, before lines are dropped."""


class LogStream:
    """Text for a descriptor. `say_dropped` makes the line that tells how many are missing.

    A pipe, socket or terminal that polls as writable takes `PIPE_BUF` bytes without waiting, and a file always does.
    """

    def __init__(self, descriptor: int, say_dropped: Callable[[int], str]) -> None:
        self._descriptor, self._say_dropped = descriptor, say_dropped
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._waiting = bytearray()
        self._dropped = 0
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        line = text.encode("utf-8", "replace")
        with self._lock:
            if self._waiting:
                self._send()
            if self._dropped and not self._waiting:
                self._waiting += self._say_dropped(self._dropped).encode()
                self._dropped = 0
            if len(self._waiting) + len(line) > WAITING_BYTES:
                self._dropped += 1
            else:
                self._waiting += line
                self._send()
        return len(text)

    def flush(self) -> None:
        """What can be sent has been."""

    def _send(self) -> None:
        while self._waiting:
            ready = self._poll.poll(0)
            if not ready:
                return
            if not ready[0][1] & select.POLLOUT:  # no reader any more
                self._waiting.clear()
                return
            with contextlib.suppress(BlockingIOError):
                del self._waiting[: os.write(self._descriptor, self._waiting[: select.PIPE_BUF])]
