"""What commands show on a terminal: colours and progress only there, complaints as one line with a hint."""

from __future__ import annotations

import sys
from typing import IO

STATUS_EXIT = {
    "timeout": 124,
    "resource_exhausted": 137,
    "cancelled": 130,
    "permission_denied": 126,
    "waiting_for_approval": 126,
}


def paint(text: str, colour: str, stream: IO[str]) -> str:
    codes = {"red": "31", "yellow": "33", "green": "32", "dim": "2", "bold": "1"}
    return f"\x1b[{codes[colour]}m{text}\x1b[0m" if stream.isatty() else text


def complain(message: str, hint: str | None = None) -> None:
    print(f"{paint('error', 'red', sys.stderr)}: {message}", file=sys.stderr)
    if hint:
        print(f"{paint('hint', 'yellow', sys.stderr)}: {hint}", file=sys.stderr)


def show_progress(what: str, done: float) -> None:
    """A bar while something is built for the first time."""
    if sys.stderr.isatty():
        filled = int(done * 30)
        print(
            f"\r{what:24} [{'#' * filled}{'.' * (30 - filled)}] {done:4.0%}",
            end="\n" if done >= 1 else "",
            file=sys.stderr,
            flush=True,
        )
    elif done >= 1:
        print(f"{what}: done", file=sys.stderr, flush=True)


def write_output(stream: int, data: bytes) -> None:
    target = (sys.stdout, sys.stderr)[stream]
    if target is not None:  # it is None where the parent process has closed it
        target.buffer.write(data)
        target.flush()


def say(text: str) -> None:
    """A line on stdout, in UTF-8 like the programs' own output, whatever the terminal's encoding."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write((text + "\n").encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
