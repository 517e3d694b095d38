"""A gateway of our own to measure: `hatchway serve` in a process of its own, asked over kept connections.

Rules: it is served as people serve it (embedded store, access log, tokens, policy); only the log's lines go nowhere. Its policy
is the one that comes with Hatchway without its rates per minute, which a bench would meet. An answer that is not the expected
one is never a sample.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benches.load import Load, drive, request

Workers = Literal["processes", "in-process"]
_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 120.0
_IDLE_S = 5.0
_SAMPLE = _ROOT / "gateway" / "samples" / "default.hatch"


@dataclass(frozen=True, slots=True)
class Served:
    pid: int
    host: str
    token: str
    listened_s: float
    """How long it took until it said that it listens."""


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="hatchway-bench-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def served(place: Path, workers: Workers = "processes", token: str = "", arguments: Sequence[str] = ()) -> Iterator[Served]:
    """A gateway on the folder `place`; with `token` it was started there before. `arguments` are more of its options."""
    policy = place / "bench.hatch"
    policy.write_text(re.sub(r"\n +rate [^\n]*", "", _SAMPLE.read_text("utf-8")), "utf-8")
    words = ["serve", "--data", str(place / "data"), "--port", "0", "--workers", workers, "--policy", str(policy)]
    words += arguments
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "hatchway.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=_ROOT,
        env={**os.environ, "HATCHWAY_CONNECTIONS_MAX": "4096", "HATCHWAY_JAIL": "best_effort"},
    )
    try:
        host, shown, listened_s = _first_lines(process, started, bool(token))
        yield Served(process.pid, host, token or shown, listened_s)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _first_lines(process: subprocess.Popen[str], started: float, is_known: bool) -> tuple[str, str, float]:
    assert process.stdout is not None
    host, token, listened_s = "", "", 0.0
    while not host or not (token or is_known):
        ready, _, _ = select.select([process.stdout], [], [], _PATIENCE_S)
        line = process.stdout.readline() if ready else ""
        if not line:
            raise RuntimeError("the gateway did not start")
        if found := re.search(r"listens on http://(\S+)", line):
            host, listened_s = found[1], time.perf_counter() - started
        elif found := re.search(r"HATCHWAY_TOKEN=(\S+)", line):
            token = found[1]
    return host, token, listened_s


class Asker:
    """One kept connection, made again if the server has closed it for being idle."""

    def __init__(self, host: str, token: str = "") -> None:
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = http.client.HTTPConnection(host, timeout=_PATIENCE_S)
        self._used_s = -_IDLE_S

    def _connect(self) -> None:
        self._http.close()
        self._http.connect()
        self._http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        headers = self._headers
        data = None
        if body is not None:
            data, headers = json.dumps(body).encode(), {**headers, "Content-Type": "application/json"}
        if time.monotonic() - self._used_s > _IDLE_S:
            self._connect()
        self._http.request(method, path, data, headers)
        answer = self._http.getresponse()
        self._used_s = time.monotonic()
        return answer.status, answer.read()

    def made(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.ask(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer[:200]!r}")
        return json.loads(answer) if answer else None

    def session(self, **options: Any) -> str:
        """The path of a new session."""
        return f"/v1/sessions/{self.made('POST', '/v1/sessions', options)['id']}"

    def run(self, session: str, code: str = "1+1", expect: Any = 2) -> None:
        result = self.made("POST", session + "/runs", {"code": code})["result"]
        if result["result"] != expect:
            raise RuntimeError(f"{code} answered {result}"[:300])

    def close(self) -> None:
        self._http.close()


def load(server: Served, sessions: Sequence[str], connections: int, seconds: float, settle_s: float = 0.0) -> Load:
    """Warm runs as fast as `connections` clients can ask, each for the next of the sessions."""
    asked = [request("POST", f"{session}/runs", server.host, server.token, {"code": "1+1"}) for session in sessions]
    return drive(server.host, asked, connections, seconds, settle_s)
