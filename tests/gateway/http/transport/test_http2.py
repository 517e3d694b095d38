"""Attacks on HTTP/2, frame by frame, against a real server process."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import h2.exceptions
import pytest

from tests.gateway.http.rig import Process, running
from tests.gateway.http.wire import H2Client, connected, probe, until

CLOSE = b"Connection: close\r\n"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\x04\0\0\0\0\0"


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    with running(header_deadline_ms=60_000, body_deadline_ms=60_000, resets_per_connection_max=300) as process:
        yield process


@pytest.fixture(scope="module")
def impatient() -> Iterator[Process]:
    with running(header_deadline_ms=1500, body_deadline_ms=700) as process:
        yield process


def bearer(server: Process) -> tuple[bytes, bytes]:
    return (b"authorization", b"Bearer " + server.token.encode())


def test_requests_are_served_side_by_side_over_http_2(server: Process) -> None:
    with connected(server.port) as sock:
        client = H2Client(sock)
        ids = [client.request(b"/v1/notes?limit=%d" % (n + 1), bearer(server)) for n in range(40)]
        client.flush()
        client.read_until(lambda: len(client.ended) == 40)
        for n, stream_id in enumerate(ids):
            status, body = client.answers[stream_id]
            assert status == 200
            assert len(json.loads(body)["items"]) == n + 1


def test_a_body_arrives_and_a_long_answer_leaves_through_small_windows(server: Process) -> None:
    with connected(server.port) as sock:
        client = H2Client(sock)
        note = json.dumps({"text": "x" * 90_000}).encode()
        stream_id = client.request(b"/v1/echo", bearer(server), (b"content-type", b"application/json"), method=b"POST", end=False)
        left = note
        while left:
            client.flush()
            room = min(client.connection.local_flow_control_window(stream_id), 16_000)
            if room <= 0:
                before = client.connection.local_flow_control_window(stream_id)
                client.read_until(lambda before=before: client.connection.local_flow_control_window(stream_id) > before)  # type: ignore[misc]
                continue
            client.connection.send_data(stream_id, left[:room], end_stream=len(left) <= room)
            left = left[room:]
        client.flush()
        client.read_until(lambda: stream_id in client.ended)
        status, body = client.answers[stream_id]
        assert status == 200
        assert len(json.loads(body)["text"]) == 90_000


def test_tm_http_reset_a_reset_stream_cancels_its_work(server: Process) -> None:
    before = probe(server.port)
    with connected(server.port) as sock:
        client = H2Client(sock)
        ids = [client.request(b"/v1/wait", bearer(server)) for _ in range(20)]
        client.flush()
        until(lambda: probe(server.port)["running"] == before["running"] + 20, "all running")
        for stream_id in ids:
            client.connection.reset_stream(stream_id)
        client.flush()
        until(lambda: probe(server.port)["running"] == before["running"], "all cancelled")
        assert probe(server.port)["cancelled"] == before["cancelled"] + 20
        again = client.request(b"/v1/nothing")
        client.flush()
        client.read_until(lambda: again in client.ended)
        assert client.answers[again][0] == 200


def test_tm_http_reset_rapid_resets_never_pile_up_work_and_close_the_connection(server: Process) -> None:
    begun = probe(server.port)["begun"]
    with connected(server.port) as sock:
        client = H2Client(sock)
        try:
            for _ in range(2000):
                stream_id = client.request(b"/v1/wait", bearer(server))
                client.connection.reset_stream(stream_id)
                client.flush()
            client.read_until(lambda: client.terminated is not None)
        except (BrokenPipeError, ConnectionResetError, h2.exceptions.ProtocolError):
            client.terminated = client.terminated or -1
        assert client.terminated is not None
    until(lambda: probe(server.port)["running"] == 0 and probe(server.port)["in_flight"] == 0, "no work left")
    assert probe(server.port)["most"] <= 64
    assert probe(server.port)["begun"] - begun <= 400


def test_more_streams_than_announced_are_refused(server: Process) -> None:
    with connected(server.port) as sock:
        client = H2Client(sock)
        for _ in range(65):
            client.request(b"/v1/wait", bearer(server))
        client.flush()
        client.read_until(lambda: client.terminated is not None or bool(client.reset))
    until(lambda: probe(server.port)["running"] == 0, "no work left")


@pytest.mark.parametrize("path", [b"/v1/\xc3\xa9", b"/v1/\xff\xfe", b"v1/nothing", b"*", b"http://x/v1/nothing"])
def test_a_path_that_is_not_one_is_refused_and_the_connection_lives(server: Process, path: bytes) -> None:
    with connected(server.port) as sock:
        client = H2Client(sock)
        bad = client.request(path)
        good = client.request(b"/v1/nothing")
        client.flush()
        client.read_until(lambda: {bad, good} <= client.ended)
        assert client.answers[bad][0] == 400
        assert client.answers[good][0] == 200


def test_connect_is_refused(server: Process) -> None:
    with connected(server.port) as sock:
        client = H2Client(sock)
        bad = client.request(b"/v1/live", (b":protocol", b"websocket"), method=b"CONNECT", end=False)
        client.flush()
        client.read_until(lambda: bad in client.ended or client.terminated is not None)
        assert client.terminated is not None or client.answers[bad][0] == 400


def test_a_dripped_body_ends_by_its_deadline(impatient: Process) -> None:
    with connected(impatient.port) as sock:
        client = H2Client(sock)
        stream_id = client.request(
            b"/v1/echo", bearer(impatient), (b"content-type", b"application/json"), method=b"POST", end=False
        )
        client.connection.send_data(stream_id, b"{")
        client.flush()
        client.read_until(lambda: stream_id in client.answers)
        assert client.answers[stream_id][0] == 408


def test_data_for_a_stream_that_was_answered_does_not_break_the_connection(server: Process) -> None:
    with connected(server.port) as sock:
        client = H2Client(sock)
        early = client.request(b"/v1/nothing", method=b"GET", end=False)
        client.flush()
        client.read_until(lambda: early in client.answers)
        for _ in range(20):
            try:
                client.connection.send_data(early, b"x" * 1000)
            except h2.exceptions.StreamClosedError:
                break
            client.flush()
        good = client.request(b"/v1/nothing")
        client.flush()
        client.read_until(lambda: good in client.ended)
        assert client.answers[good][0] == 200


def test_headers_over_the_cap_are_refused(server: Process) -> None:
    with connected(server.port) as sock:
        client = H2Client(sock)
        stream_id = client.request(b"/v1/nothing", *[(b"x-%d" % n, b"a" * 1000) for n in range(60)])
        client.flush()
        client.read_until(lambda: stream_id in client.ended or client.terminated is not None)
        assert client.terminated is not None or client.answers[stream_id][0] == 431


FRAMES = {
    "garbage": b"\xff" * 64,
    "data on stream 0": b"\0\0\1\0\0\0\0\0\0x",
    "headers on an even stream": b"\0\0\1\1\5\0\0\0\2\x82",
    "an endless header block": b"\0\0\1\1\0\0\0\0\1\x82" + b"\0\0\1\x09\0\0\0\0\1\x84" * 5000,
    "a frame over the limit": b"\xff\xff\xff\0\0\0\0\0\1",
    "settings with a wrong length": b"\0\0\1\4\0\0\0\0\0x",
    "window of zero": b"\0\0\4\x08\0\0\0\0\0\0\0\0\0",
    "window overflow": b"\0\0\4\x08\0\0\0\0\0\x7f\xff\xff\xff" * 2,
    "a stream that depends on itself": b"\0\0\5\2\0\0\0\0\1\0\0\0\1\x10",
    "priorities without end": b"".join(b"\0\0\5\2\0" + n.to_bytes(4, "big") + b"\0\0\0\0\x10" for n in range(1, 6001, 2)),
    "pings without end": b"\0\0\x08\6\0\0\0\0\0pingping" * 3000,
    "settings without end": b"\0\0\0\4\0\0\0\0\0" * 3000,
    "a bad header index": b"\0\0\1\1\5\0\0\0\1\xff",
    "a push promise": b"\0\0\4\5\4\0\0\0\1\0\0\0\2",
    "goaway": b"\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\0",
    "reset of an idle stream": b"\0\0\4\3\0\0\0\0\1\0\0\0\x08",
}


@pytest.mark.parametrize("name", FRAMES)
def test_broken_frames_end_at_most_their_own_connection(server: Process, name: str) -> None:
    with connected(server.port) as sock:
        try:
            sock.sendall(PREFACE + SETTINGS + FRAMES[name])
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass
        except ConnectionError:
            pass
    assert probe(server.port)["in_flight"] == 0


def test_the_server_is_well_after_all_of_this(server: Process) -> None:
    found = probe(server.port)
    assert found["running"] == 0
    assert found["in_flight"] == 0


def test_http_2_can_be_switched_off() -> None:
    with running(http2=False) as process, connected(process.port) as sock:
        sock.sendall(PREFACE + SETTINGS)
        assert sock.recv(100).startswith(b"HTTP/1.1 400")
