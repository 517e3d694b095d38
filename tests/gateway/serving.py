"""A real gateway in a process of its own: `hatchway serve` on a free port, with its first admin token."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class Gateway:
    url: str
    token: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextlib.contextmanager
def serving(
    data: Path,
    *arguments: str,
    token: str = "",
    workers: str = "in-process",
    settings: Mapping[str, str] = {},
    patience_s: float = 60.0,
) -> Iterator[Gateway]:
    """A gateway on `data`. The token is shown at the first start only; later ones get it from their caller. `settings` are
    environment variables."""
    command = [
        sys.executable,
        "-m",
        "hatchway.cli",
        "serve",
        "--data",
        str(data),
        "--port",
        "0",
        "--workers",
        workers,
        *arguments,
    ]
    log = data.parent / f"{data.name}.log"
    with log.open("ab") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**_environment(), **settings})
    try:
        url, shown = _first_lines(process, log, not token, time.monotonic() + patience_s)
        yield Gateway(url, token or shown, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("HATCHWAY_TOKEN")}


def _first_lines(process: subprocess.Popen[str], log: Path, wants_token: bool, until: float) -> tuple[str, str]:
    """Read past the file's own buffer: lines that wait there would not be seen by `select`."""
    assert process.stdout is not None
    said, url, token = "", None, None
    while time.monotonic() < until and not (url and (token or not wants_token)):
        if select.select([process.stdout], [], [], 1)[0]:
            piece = os.read(process.stdout.fileno(), 4096)
            if not piece:
                break
            said += piece.decode("utf-8", "replace")
        url = re.search(r"listens on (http\S+)\s", said)
        token = re.search(r"(hw_[0-9A-Za-z]{43})\s", said)
    told = f"the gateway did not start:\n{said}\n{log.read_text('utf-8', 'replace')[-3000:]}"
    assert url is not None and (token or not wants_token), told
    return url[1], token[1] if token else ""
