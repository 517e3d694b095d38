"""A newcomer's path, timed: clone, `make serve`, and the first run by the `curl` that stands in README.md.

    python -m tests.gateway.newcomer [--from URL_OR_FOLDER] [--keep-cache]

Prints how long each step took from the one before. Nothing that is here already is used, but for pip's own cache and, with
--keep-cache, the compiled guests: without it `HATCHWAY_CACHE` is an empty folder, as on a fresh machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, Queue

from tests.gateway.test_newcomers_path import PORT, commands

ROOT = Path(__file__).parents[2]
PATIENCE_S = 3600.0


class Watch:
    """Says what took how long."""

    def __init__(self) -> None:
        self._began_s = self._last_s = time.monotonic()

    def note(self, what: str) -> None:
        now_s = time.monotonic()
        print(f"{now_s - self._last_s:8.1f} s  {what}", flush=True)
        self._last_s = now_s

    def total(self) -> None:
        print(f"{time.monotonic() - self._began_s:8.1f} s  in all", flush=True)


class Service:
    """`make serve`, and what it prints."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["make", "serve", f"PYTHON={sys.executable}"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._lines: Queue[str | None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, pattern: str) -> str:
        """The first group of the first line that matches."""
        said: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE_S)
            except Empty:
                line = None
            if line is None:
                raise SystemExit("make serve ended:\n" + "".join(said[-30:]))
            said.append(line)
            if found := re.search(pattern, line):
                return found[1]

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(120)


def first_run(command: str, token: str) -> str:
    """What the program of README.md printed, as soon as Python is ready."""
    until = time.monotonic() + PATIENCE_S
    environment = {**os.environ, "HATCHWAY_TOKEN": token}
    while time.monotonic() < until:
        done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        if answer.get("code") != "NOT_READY":
            return str(answer["result"]["stdout"])
        time.sleep(1)
    raise SystemExit("Python never became ready")


def walk(source: str, keep_cache: bool) -> None:
    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="hatchway-newcomer-") as place:
        folder = Path(place) / "hatchway"
        subprocess.run(["git", "clone", "--quiet", source, str(folder)], check=True)
        watch.note("git clone")
        port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HATCHWAY_")}
        environment |= {"HATCHWAY_PORT": str(port)} | ({} if keep_cache else {"HATCHWAY_CACHE": str(Path(place) / "cache")})
        with contextlib.closing(Service(folder, environment)) as service:
            service.wait_for(r"listens on (\S+)")
            watch.note("make serve: dependencies, guests, and it listens")
            token = service.wait_for(r"(hw_[0-9A-Za-z]{43})")
            command = next(iter(commands())).replace(PORT, f"localhost:{port}")
            printed = first_run(command, token)
            watch.note(f"first run by curl: it printed {printed!r}")
        watch.total()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", default=str(ROOT), metavar="URL_OR_FOLDER", help="what to clone")
    parser.add_argument("--keep-cache", action="store_true", help="use guests that were compiled before")
    options = parser.parse_args()
    walk(options.source, options.keep_cache)
    return 0


if __name__ == "__main__":
    sys.exit(main())
