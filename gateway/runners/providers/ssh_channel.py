"""Channels: one command at the far end of an SSH connection, its streams and how it ends.

Does not know: what is run, or where.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import asyncssh

from gateway.runners.command_output import STDERR, STDOUT, Output

_SLOW_SECONDS: Final = 0.01
"""How long a channel whose output is full is not read."""


class Channel(asyncssh.SSHClientSession[bytes]):
    """`ended` is the command's exit status; None if the connection was lost. Its output is read as fast as it is wanted."""

    def __init__(self, output: Output) -> None:
        self.output: Output | None = output
        self.ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._finished = asyncio.Event()
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def give(self, stdin: bytes) -> None:
        assert self._channel is not None
        with contextlib.suppress(OSError):
            self._channel.write(stdin)
            self._channel.write_eof()

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if self.output is not None:
            self.output.write(STDOUT if datatype is None else STDERR, data)
        is_unwanted = self.output is None or (self.output.is_full and not self.ended.done())
        if is_unwanted and self._channel is not None:
            self._channel.pause_reading()
            asyncio.get_running_loop().call_later(_SLOW_SECONDS, self._channel.resume_reading)

    def exit_status_received(self, status: int) -> None:
        self._end(status)

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        numbers = {"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "SEGV": 11, "PIPE": 13, "ALRM": 14, "TERM": 15}
        self._end(128 + numbers.get(signal, 0))

    def eof_received(self) -> bool:
        self._finished.set()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._finished.set()
        self._end(None)

    def _end(self, status: int | None) -> None:
        if not self.ended.done():
            self.ended.set_result(status)
            if self._channel is not None:
                self._channel.resume_reading()  # what it left is counted before it is answered for

    def signal(self, name: str) -> None:
        if self._channel is not None and not self._channel.is_closing():
            with contextlib.suppress(OSError, asyncssh.Error):
                self._channel.send_signal(name)

    async def drained(self, seconds: float) -> bool:
        """Is all that was written here? If not, something at the far end still holds the stream open."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._finished.wait(), seconds)
        return self._finished.is_set()
