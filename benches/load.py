"""Load over HTTP: many kept connections that ask again as soon as they are answered, from a process of its own.

Requests are bytes that were made beforehand; of an answer only its status and length are read, so that the client takes little
of the machine that the server needs too (its share is reported). Answers must say their length.

    python -m benches.load        reads one order as JSON from stdin, answers with what it saw
"""

from __future__ import annotations

import json
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benches.estimates import quantile

_ROOT = Path(__file__).resolve().parent.parent
_REFUSED = (b"429", b"503")
_GRACE_S = 30.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Load:
    """Answers of each kind a second; the median and the 99th percentile of good ones; the client's own use of a core."""

    requests: int
    good_per_s: float
    refused_per_s: float
    failed_per_s: float
    median_ms: float
    p99_ms: float
    client_share: float


def drive(address: str, requests: Sequence[bytes], connections: int, seconds: float, settle_s: float = 0.0) -> Load:
    """Ask `address` (host:port) for so long, after `settle_s` that are not counted; each connection takes the next request."""
    texts = [one.decode("latin-1") for one in requests]
    order = {"address": address, "requests": texts, "connections": connections, "seconds": seconds, "settle_s": settle_s}
    done = subprocess.run(
        [sys.executable, "-m", "benches.load"],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        cwd=_ROOT,
        timeout=seconds + settle_s + 2 * _GRACE_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the load client failed: {done.stderr.strip()[-300:]}")
    return Load(**json.loads(done.stdout))


def request(method: str, path: str, host: str, token: str = "", body: Any = None) -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    heads = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    heads += [f"Authorization: Bearer {token}"] if token else []
    heads += ["Content-Type: application/json", f"Content-Length: {len(data)}"] if data else []
    return "\r\n".join([*heads, "", ""]).encode("ascii") + data


@dataclass(slots=True)
class _Connection:
    """One client: it has asked at `asked_s` and has `got` so far."""

    socket: socket.socket
    asked_s: float = 0.0
    got: bytearray = field(default_factory=bytearray)

    def status(self) -> bytes:
        """Of an answer that is complete; empty while it is not."""
        head = self.got.find(b"\r\n\r\n")
        if head < 0:
            return b""
        length = _LENGTH.search(self.got, 0, head)
        if length is None:
            raise ValueError("an answer without a length")
        return bytes(self.got[9:12]) if len(self.got) >= head + 4 + int(length[1]) else b""


class _Client:
    def __init__(self, address: str, requests: Sequence[bytes], connections: int) -> None:
        host, _, port = address.rpartition(":")
        self._address, self._requests, self._next = (host, int(port)), requests, 0
        self._poll = select.epoll()
        self._open: dict[int, _Connection] = {}
        self.latencies_s: list[float] = []
        self.refused = self.failed = 0
        for _ in range(connections):
            self._connect()

    def _connect(self) -> None:
        made = socket.create_connection(self._address, timeout=_GRACE_S)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open[made.fileno()] = _Connection(made)
        self._poll.register(made, select.EPOLLIN)

    def _ask(self, one: _Connection) -> None:
        one.got.clear()
        one.asked_s = time.perf_counter()
        one.socket.sendall(self._requests[self._next % len(self._requests)])
        self._next += 1

    def begin(self) -> None:
        for one in list(self._open.values()):
            self._ask(one)

    def run(self, seconds: float) -> float:
        """Counts from nought; how long it took. What is still under way at the end is not waited for and not counted."""
        self.latencies_s, self.refused, self.failed = [], 0, 0
        started_s = now_s = time.perf_counter()
        while (now_s := time.perf_counter()) - started_s < seconds:
            for number, _ in self._poll.poll(min(0.1, seconds), 64):
                self._answered(self._open[number])
        return now_s - started_s

    def _answered(self, one: _Connection) -> None:
        data = b""
        try:
            data = one.socket.recv(65536)
        except OSError:
            pass
        if not data:
            self.failed += 1
            self._poll.unregister(one.socket)
            del self._open[one.socket.fileno()]
            one.socket.close()
            self._connect()
            self._ask(next(reversed(self._open.values())))
            return
        one.got += data
        if status := one.status():
            self._count(status, time.perf_counter() - one.asked_s)
            self._ask(one)

    def _count(self, status: bytes, taken_s: float) -> None:
        if status == b"200":
            self.latencies_s.append(taken_s)
        elif status in _REFUSED:
            self.refused += 1
        else:
            self.failed += 1


def main() -> None:
    order = json.load(sys.stdin)
    client = _Client(order["address"], [one.encode("latin-1") for one in order["requests"]], order["connections"])
    client.begin()
    client.run(order["settle_s"])
    busy_s = time.process_time()
    took_s = client.run(order["seconds"])
    busy_s = time.process_time() - busy_s
    good = len(client.latencies_s)
    seen = Load(
        requests=good + client.refused + client.failed,
        good_per_s=good / took_s,
        refused_per_s=client.refused / took_s,
        failed_per_s=client.failed / took_s,
        median_ms=quantile(client.latencies_s, 0.5) * 1e3 if good else 0.0,
        p99_ms=quantile(client.latencies_s, 0.99) * 1e3 if good else 0.0,
        client_share=busy_s / took_s,
    )
    print(json.dumps({name: getattr(seen, name) for name in Load.__slots__}))


if __name__ == "__main__":
    main()
