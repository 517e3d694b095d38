"""Raw sockets for tests: what is sent is exactly what is written, and an answer is what came before the end."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import h2.config
import h2.connection
import h2.events

PATIENCE_S = 60.0


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
        yield sock


def read_all(sock: socket.socket) -> bytes:
    """Everything until the server closes. A server that keeps the connection open fails the test by its timeout."""
    pieces = []
    while True:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces)


def exchange(port: int, data: bytes) -> bytes:
    with connected(port) as sock:
        try:
            sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it may refuse before it has read everything
        return read_all(sock)


def status_of(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    return int(answer.split(b" ", 2)[1])


def body_of(answer: bytes) -> bytes:
    return answer.split(b"\r\n\r\n", 1)[1]


def probe(port: int) -> dict[str, int]:
    """What the server under test says about itself."""
    answer = exchange(port, b"GET /v1/probe HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    found: dict[str, int] = json.loads(body_of(answer))
    return found


def until(condition: Callable[[], Any], what: str = "the condition") -> Any:
    """Ask again until it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(f"{what} did not come to hold")


class H2Client:
    """HTTP/2 with prior knowledge over a plain socket."""

    def __init__(self, sock: socket.socket, **settings: Any) -> None:
        self.sock = sock
        config = h2.config.H2Configuration(
            client_side=True, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False, **settings
        )
        self.connection = h2.connection.H2Connection(config)
        self.connection.initiate_connection()
        self.flush()
        self.answers: dict[int, tuple[int, bytearray]] = {}
        self.ended: set[int] = set()
        self.reset: dict[int, int] = {}
        self.terminated: int | None = None

    def flush(self) -> None:
        data = self.connection.data_to_send()
        if data:
            self.sock.sendall(data)

    def request(self, path: bytes, *headers: tuple[bytes, bytes], method: bytes = b"GET", end: bool = True) -> int:
        stream_id = self.connection.get_next_available_stream_id()
        named = [(b":method", method), (b":scheme", b"http"), (b":authority", b"localhost"), (b":path", path), *headers]
        self.connection.send_headers(stream_id, named, end_stream=end)
        return stream_id

    def read_until(self, done: Callable[[], bool]) -> None:
        while not done():
            data = self.sock.recv(65536)
            if not data:
                self.terminated = -1 if self.terminated is None else self.terminated
                return
            for event in self.connection.receive_data(data):
                self._note(event)
            self.flush()

    def _note(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            self.answers[event.stream_id] = (int(dict(event.headers)[b":status"]), bytearray())
        elif isinstance(event, h2.events.DataReceived):
            self.answers[event.stream_id][1].extend(event.data)
            self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self.reset[event.stream_id] = int(event.error_code or 0)
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.terminated = int(event.error_code or 0)
