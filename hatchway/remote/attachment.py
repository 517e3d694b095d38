"""An attachment: the terminal a person sits at, connected to a command's terminal at a gateway.

Rules: keys go there as they are (^C too), the size follows the window, and ^] leaves: the command runs on. The terminal is set
back however this ends. Where standard input is no terminal, it is typed as it comes, and its end is typed as ^D. One thread
types, the other shows what comes.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import os
import select
import shutil
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from typing import Final

from hatchway.cli.terminal import write_output
from hatchway.client import requests
from hatchway.client.async_runner import CommandOptions
from hatchway.client.client import Client, RemoteLive
from sandbox.errors import SandboxError

LEAVE: Final = "\x1d"
"""^], as telnet has it."""
_END: Final = "\x04"


def begin(client: Client, options: argparse.Namespace) -> int:
    size = shutil.get_terminal_size()
    asked: CommandOptions = {"env": dict(pair.partition("=")[::2] for pair in options.env)}
    if options.cwd:
        asked["cwd"] = options.cwd
    if options.timeout_ms:
        asked["timeout_ms"] = options.timeout_ms
    runner = client.runner(options.thread)
    with runner.terminal([options.program, *options.arguments], rows=size.lines, columns=size.columns, **asked) as live:
        return attach(live)


def join(client: Client, options: argparse.Namespace) -> int:
    with client.runner(options.thread).command(options.command).live(options.after) as live:
        return attach(live)


def attach(live: RemoteLive) -> int:
    """Until the command ends, or is left. Its exit status; 0 if it was left."""
    is_terminal = sys.stdin.isatty()
    with _raw(is_terminal), _watch_size() as resized:
        typing = _Typing(live, resized, is_terminal)
        typing.start()
        try:
            for event in live.events():
                if event.kind in requests.STREAMS:
                    write_output(0, event.data.encode())
        except SandboxError:
            if not typing.is_left:
                raise
    if typing.is_left:
        again = f"{live.command_id} --after {live.number}"
        print(f"left; come back with: hatchway remote runners attach THREAD {again}", file=sys.stderr)
        return 0
    done = live.result
    if done is not None and done.status != "exited":
        print(f"the command did not end by itself: {done.status}", file=sys.stderr)
    return 1 if done is None or done.exit_code is None else done.exit_code


class _Typing(threading.Thread):
    """What is typed here goes there, and the window's size."""

    def __init__(self, live: RemoteLive, resized: int, is_terminal: bool) -> None:
        super().__init__(daemon=True)
        self._live, self._resized, self._is_terminal = live, resized, is_terminal
        self.is_left = False

    def run(self) -> None:
        text, waited = codecs.getincrementaldecoder("utf-8")("replace"), [sys.stdin.fileno(), self._resized]
        with contextlib.suppress(SandboxError, OSError):  # the other side says why
            while True:
                ready, _, _ = select.select(waited, [], [])
                if self._resized in ready:
                    if not os.read(self._resized, 64):
                        return
                    size = shutil.get_terminal_size()
                    self._live.resize(size.lines, size.columns)
                    continue
                data = os.read(waited[0], 4096)
                typed = text.decode(data, not data)
                if self._is_terminal and LEAVE in typed:
                    self._live.write(typed.partition(LEAVE)[0])
                    self.is_left = True
                    return self._live.close()
                self._live.write(typed if data else typed + _END)
                if not data:
                    del waited[0]


@contextlib.contextmanager
def _raw(is_terminal: bool) -> Iterator[None]:
    if not is_terminal:
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin, termios.TCSADRAIN)  # what was typed already is not lost
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _watch_size() -> Iterator[int]:
    """What becomes readable when the window's size has changed, and ends with this."""
    woken, waker = os.pipe()
    os.set_blocking(waker, False)

    def tell(*_: object) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(waker, b"r")

    before = signal.signal(signal.SIGWINCH, tell)
    try:
        yield woken
    finally:
        signal.signal(signal.SIGWINCH, before)
        os.close(waker)
