"""Events over SSE and WebSockets, against a real server process."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import cbor2
import h2.events
import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from tests.gateway.http.rig import Process, running
from tests.gateway.http.wire import PATIENCE_S, H2Client, body_of, connected, exchange, read_all, status_of, until

CLOSE = b"Connection: close\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    with running(heartbeat_ms=60, write_deadline_ms=600, message_bytes_max=2048) as process:
        yield process


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A stream of the test's own."""
    return f"{abs(hash(request.node.name))}"


def say(server: Process, name: str, text: str) -> None:
    body = json.dumps({"text": text}).encode()
    head = (
        b"POST /v1/streams/"
        + name.encode()
        + b"/say HTTP/1.1\r\nHost: h\r\n"
        + server.bearer
        + CLOSE
        + b"Content-Type: application/json\r\n"
    )
    assert status_of(exchange(server.port, head + b"Content-Length: %d\r\n\r\n" % len(body) + body)) == 204


def open_stream(server: Process, path: str, *lines: bytes) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
    sock.sendall(b"GET " + path.encode() + b" HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"".join(lines) + b"\r\n")
    return sock


def read_until(sock: socket.socket, wanted: bytes) -> bytes:
    data = b""
    while wanted not in data:
        piece = sock.recv(65536)
        assert piece, data
        data += piece
    return data


def events_of(data: bytes) -> list[tuple[str, str, Any]]:
    found = []
    for block in data.replace(b"\r\n", b"\n").split(b"\n\n"):
        fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line and not line.startswith(b":"))
        if b"event" in fields:
            found.append((fields.get(b"id", b"").decode(), fields[b"event"].decode(), json.loads(fields[b"data"])))
    return found


def test_events_arrive_as_they_happen_with_ids_and_signs_of_life(server: Process, name: str) -> None:
    with open_stream(server, f"/v1/streams/{name}") as sock:
        head = read_until(sock, b": still here")
        assert b"text/event-stream" in head and b"transfer-encoding: chunked" in head.lower()
        say(server, name, "one\ntwo")
        first = read_until(sock, b"\n\n")
        while not events_of(first):
            first += read_until(sock, b"\n\n")
        assert events_of(first)[0] == ("1", "note", "one\ntwo")
        say(server, name, "end")
        rest = first
        while not rest.endswith(b"0\r\n\r\n"):
            rest += read_until(sock, b"\r\n")
    assert [event[:2] for event in events_of(rest)][-1] == ("2", "result")


def test_a_client_that_comes_back_gets_what_it_missed(server: Process, name: str) -> None:
    for text in ("a", "b", "c", "end"):
        say(server, name, text)
    with open_stream(server, f"/v1/streams/{name}", b"Last-Event-ID: 2\r\n") as sock:
        data = read_until(sock, b"0\r\n\r\n")
    assert [event[0] for event in events_of(data)] == ["3", "4"]
    with open_stream(server, f"/v1/streams/{name}", b"Last-Event-ID: x\r\n", CLOSE) as sock:
        assert b" 400 " in read_until(sock, b"\r\n\r\n")


def test_events_arrive_over_http_2(server: Process, name: str) -> None:
    say(server, name, "a")
    say(server, name, "end")
    with connected(server.port) as sock:
        client = H2Client(sock)
        stream_id = client.request(f"/v1/streams/{name}".encode(), (b"authorization", b"Bearer " + server.token.encode()))
        client.flush()
        client.read_until(lambda: stream_id in client.ended)
        assert [event[1] for event in events_of(bytes(client.answers[stream_id][1]))] == ["note", "result"]


def test_tm_http_slow_reader_of_a_stream_is_dropped_and_its_source_closed(server: Process, name: str) -> None:
    metric = b"hatchway_http_streams 1.0"

    def metrics() -> bytes:
        return body_of(exchange(server.port, b"GET /metrics HTTP/1.1\r\nHost: h\r\n" + CLOSE + b"\r\n"))

    with open_stream(server, "/v1/flood") as sock:
        assert sock.recv(10) == b"HTTP/1.1 2", "the stream is open"
        until(lambda: metric not in metrics(), "the slow reader to be dropped")
    with connected(server.port) as h2_sock:
        client = H2Client(h2_sock)
        stream_id = client.request(b"/v1/flood", (b"authorization", b"Bearer " + server.token.encode()))
        client.flush()
        client.read_until(lambda: stream_id in client.answers)
        until(lambda: metric not in metrics(), "the slow reader to be dropped")


def test_tm_http_slow_reader_of_a_large_answer_is_dropped(server: Process) -> None:
    content = b"x" * (12 << 20)
    head = b"PUT /v1/files/large HTTP/1.1\r\nHost: h\r\n" + server.bearer + CLOSE + b"Content-Type: application/octet-stream\r\n"
    assert status_of(exchange(server.port, head + b"Content-Length: %d\r\n\r\n" % len(content) + content)) == 204

    def only_this_connection() -> bool:
        metrics = body_of(exchange(server.port, b"GET /metrics HTTP/1.1\r\nHost: h\r\n" + CLOSE + b"\r\n"))
        return b"hatchway_http_connections 1.0" in metrics

    until(only_this_connection, "the earlier connections to be gone")
    with open_stream(server, "/v1/files/large") as sock:
        assert sock.recv(10) == b"HTTP/1.1 2", "the connection is there"
        until(only_this_connection, "the slow reader to be dropped")
        assert len(read_all(sock)) < len(content)
    with connected(server.port) as h2_sock:
        client = H2Client(h2_sock)
        stream_id = client.request(b"/v1/files/large", (b"authorization", b"Bearer " + server.token.encode()))
        client.flush()
        h2_sock.settimeout(PATIENCE_S)
        while stream_id not in client.reset:
            for event in client.connection.receive_data(h2_sock.recv(65536)):
                if isinstance(event, h2.events.StreamReset):
                    client.reset[event.stream_id] = int(event.error_code or 0)


def test_a_stream_and_its_connection_end_when_the_client_leaves_with_a_request_pipelined(server: Process, name: str) -> None:
    def connections() -> int:
        metrics = body_of(exchange(server.port, b"GET /metrics HTTP/1.1\r\nHost: h\r\n" + CLOSE + b"\r\n"))
        return int(float(metrics.split(b"\nhatchway_http_connections ")[1].split(b"\n")[0]))

    until(lambda: connections() == 1, "the earlier connections to be gone")
    with open_stream(server, f"/v1/streams/{name}") as sock:
        sock.sendall(b"GET /v1/nothing HTTP/1.1\r\nHost: h\r\n\r\n")
        read_until(sock, b": still here")
        assert connections() == 2
    until(lambda: connections() == 1, "the connection to be closed")


class WebSocket:
    def __init__(self, server: Process, path: str, *protocols: str, token: str | None = None, extensions: bool = False) -> None:
        self.sock = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
        self.connection = WSConnection(ConnectionType.CLIENT)
        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        if extensions:
            headers.append((b"sec-websocket-extensions", b"permessage-deflate"))
        request = Request(host="h", target=path, subprotocols=list(protocols), extra_headers=headers)
        self.sock.sendall(self.connection.send(request))
        self.events: list[Any] = []

    def next(self, *kinds: type) -> Any:
        while True:
            for index, event in enumerate(self.events):
                if isinstance(event, kinds):
                    del self.events[: index + 1]
                    return event
            data = self.sock.recv(65536)
            self.connection.receive_data(data or None)
            for event in self.connection.events():
                if isinstance(event, Ping):
                    self.sock.sendall(self.connection.send(event.response()))
                self.events.append(event)

    def message(self) -> Any:
        while True:
            event = self.next(TextMessage, BytesMessage)
            value = json.loads(event.data) if isinstance(event, TextMessage) else cbor2.loads(bytes(event.data))
            if value["kind"] != "alive":
                return value

    def send(self, event: Any) -> None:
        self.sock.sendall(self.connection.send(event))

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()


def test_a_websocket_carries_events_and_messages_as_json(server: Process, name: str) -> None:
    with WebSocket(server, f"/v1/streams/{name}/live", "hatchway.json", token=server.token) as ws:
        assert ws.next(AcceptConnection).subprotocol == "hatchway.json"
        ws.send(TextMessage(data='{"hello": "you"}'))
        assert ws.message() == {"number": 1, "kind": "said", "data": {"hello": "you"}}
        say(server, name, "end")
        assert ws.message()["kind"] == "result"
        assert ws.next(CloseConnection).code == 1000


def test_a_websocket_speaks_cbor_and_takes_its_token_as_a_protocol(server: Process, name: str) -> None:
    with WebSocket(server, f"/v1/streams/{name}/live", f"hatchway.bearer.{server.token}", "hatchway.cbor") as ws:
        assert ws.next(AcceptConnection).subprotocol == "hatchway.cbor"
        ws.send(BytesMessage(data=cbor2.dumps({"n": b"\x00"})))
        assert ws.message() == {"number": 1, "kind": "said", "data": {"n": b"\x00"}}


def test_compression_is_never_agreed_on(server: Process, name: str) -> None:
    with WebSocket(server, f"/v1/streams/{name}/live", "hatchway.json", token=server.token, extensions=True) as ws:
        accepted = ws.next(AcceptConnection)
        assert not accepted.extensions


@pytest.mark.parametrize(
    ("path", "token", "status"), [("/v1/streams/x/live", None, 401), ("/v1/x", "x", 404), ("/v1/notes", "x", 405)]
)
def test_a_websocket_that_is_refused_gets_a_problem(server: Process, path: str, token: str | None, status: int) -> None:
    with WebSocket(server, path, token=token) as ws:
        assert ws.next(RejectConnection).status_code == status
        assert json.loads(bytes(ws.next(RejectData).data))["status"] == status


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (TextMessage(data="{"), 1008),
        (TextMessage(data="[" * 1000), 1008),
        (TextMessage(data='{"a":1,"a":2}'), 1008),
        (BytesMessage(data=b"\xc0\x61a"), 1008),
        (BytesMessage(data=b"\x81" * 1000), 1008),
        (TextMessage(data='"' + "x" * 3000 + '"'), 1009),
    ],
)
def test_a_message_that_is_not_right_closes_with_a_code_that_says_why(server: Process, name: str, event: Any, code: int) -> None:
    with WebSocket(server, f"/v1/streams/{name}/live", token=server.token) as ws:
        ws.next(AcceptConnection)
        ws.send(event)
        assert ws.next(CloseConnection).code == code


def test_data_before_a_websocket_is_accepted_is_refused_and_nothing_is_left_behind(server: Process, name: str) -> None:
    head = b"GET /v1/streams/" + name.encode() + b"/live HTTP/1.1\r\nHost: h\r\n" + server.bearer
    head += b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    early = head + key + b"Sec-WebSocket-Version: 13\r\n\r\n" + b"\x81\x82\0\0\0\0{}"
    for data in (early, head + key + b"Sec-WebSocket-Version: 12\r\n\r\n", head + b"Sec-WebSocket-Version: 13\r\n\r\n"):
        assert status_of(exchange(server.port, data)) == 400


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\xff\xff\xff\xff", 1002),
        (b"\x81\x05hello", 1002),
        (b"\x83\x80\0\0\0\0", 1002),
        (b"\xc1\x82\0\0\0\0{}", 1002),
        (b"\x88\x81\0\0\0\0x", 1002),
        (b"\x09\x80\0\0\0\0", 1002),
        (b"\x81\x82\0\0\0\0\xff\xfe", 1007),
        (b"\x88\x82\0\0\0\0\x03\xe8", 1000),
    ],
)
def test_a_broken_websocket_frame_closes_the_connection_with_a_frame_that_says_so(
    server: Process, name: str, frame: bytes, code: int
) -> None:
    with WebSocket(server, f"/v1/streams/{name}/live", token=server.token) as ws:
        ws.next(AcceptConnection)
        ws.sock.sendall(frame)
        assert ws.next(CloseConnection).code == code
        assert ws.sock.recv(1) == b"", "and nothing comes after it"


def test_a_slow_reader_of_a_websocket_is_dropped_with_a_code_of_its_own() -> None:
    with running(write_deadline_ms=4000) as server, WebSocket(server, "/v1/live-flood", token=server.token) as ws:

        def is_noticed() -> bool:
            metrics = body_of(exchange(server.port, b"GET /metrics HTTP/1.1\r\nHost: h\r\n" + CLOSE + b"\r\n"))
            return b"hatchway_http_slow_readers_total 1.0" in metrics

        until(is_noticed, "the slow reader to be noticed")
        assert ws.next(CloseConnection).code == 4008


def test_a_tenant_has_so_many_streams_and_no_more(name: str) -> None:
    with running(streams_per_tenant_max=2) as server:
        first, second = open_stream(server, f"/v1/streams/{name}"), open_stream(server, f"/v1/streams/{name}")
        try:
            for sock in (first, second):
                read_until(sock, b"\r\n\r\n")
            with open_stream(server, f"/v1/streams/{name}", CLOSE) as third:
                assert b" 429 " in read_until(third, b"\r\n\r\n")
            with WebSocket(server, f"/v1/streams/{name}/live", token=server.token) as ws:
                assert ws.next(RejectConnection).status_code == 429
        finally:
            first.close()
            second.close()
        with WebSocket(server, f"/v1/streams/{name}/live", token=server.other) as ws:
            assert ws.next(AcceptConnection)
