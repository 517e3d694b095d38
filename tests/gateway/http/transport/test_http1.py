"""Attacks on HTTP/1.1 framing and clocks, byte by byte, against a real server process."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator

import cbor2
import pytest

from tests.gateway.http.rig import Process, running
from tests.gateway.http.wire import PATIENCE_S, body_of, connected, exchange, probe, read_all, status_of, until

GET = b"GET /v1/nothing HTTP/1.1\r\nHost: h\r\n"
CLOSE = b"Connection: close\r\n"
IMPATIENT_S = 1.5


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    with running(header_deadline_ms=60_000, body_deadline_ms=60_000, requests_per_tenant_max=16) as process:
        yield process


@pytest.fixture(scope="module")
def impatient() -> Iterator[Process]:
    with running(header_deadline_ms=int(IMPATIENT_S * 1000), body_deadline_ms=700) as process:
        yield process


def alive(server: Process) -> bool:
    return status_of(exchange(server.port, GET + CLOSE + b"\r\n")) == 200


def post(server: Process, body: bytes, content_type: bytes = b"application/json", path: bytes = b"/v1/echo") -> bytes:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: h\r\n" + server.bearer + CLOSE
    return exchange(server.port, head + b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n" % (content_type, len(body)) + body)


AMBIGUOUS = {
    "content-length and transfer-encoding": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
    "transfer-encoding and content-length": b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nX",
    "two content-lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "content-length list": b"Content-Length: 5, 6\r\n\r\nhello",
    "negative content-length": b"Content-Length: -1\r\n\r\nhello",
    "content-length with plus": b"Content-Length: +5\r\n\r\nhello",
    "two transfer-encodings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "hidden transfer-encoding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "space before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "tab in the coding": b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "folded line": b"X-One: a\r\n b\r\n\r\n",
    "folded line by tab": b"X-One: a\r\n\tTransfer-Encoding: chunked\r\n\r\n",
    "bare LF": b"X-One: a\nX-Two: b\r\n\r\n",
    "bare LF at the end": b"X-One: a\r\n\n",
    "bare CR": b"X-One: a\rX-Two: b\r\n\r\n",
    "NUL": b"X-One: a\0b\r\n\r\n",
    "two hosts": b"Host: other\r\n\r\n",
    "chunk size with bare LF": b"Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n",
    "chunk size is negative": b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
    "chunk size with 0x": b"Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
    "chunk longer than it says": b"Transfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n",
    "chunk size too long": b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
    "folded trailer": b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\r\n b\r\n\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_tm_http_smuggle_ambiguous_framing_is_refused_and_the_connection_closed(server: Process, name: str) -> None:
    follower = b"GET /v1/nothing HTTP/1.1\r\nHost: smuggled\r\n\r\n"
    head = b"POST /v1/echo HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"Content-Type: application/json\r\n"
    answer = exchange(server.port, head + AMBIGUOUS[name] + follower)
    assert status_of(answer) == 400
    assert answer.count(b"HTTP/1.1 ") == 1, "the follower was answered too"
    assert b"hello" not in answer


def test_bare_lf_head_is_refused_at_once_not_by_the_deadline(server: Process) -> None:
    assert status_of(exchange(server.port, b"GET /v1/nothing HTTP/1.1\nHost: h\n\n")) == 400


def test_transfer_encoding_in_http_1_0_is_refused(server: Process) -> None:
    data = b"POST /v1/echo HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert status_of(exchange(server.port, data)) == 400


@pytest.mark.parametrize(
    "line",
    [
        b"GET  /v1/nothing HTTP/1.1",
        b"GET /v1/nothing",
        b"GET /v1/nothing HTTP/1.1 extra",
        b"GET http://other/v1/nothing HTTP/1.1",
        b"GET v1/nothing HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"CONNECT host:443 HTTP/1.1",
        b"GET /v1/\xc3\xa9 HTTP/1.1",
        b"GET /v1/\xff HTTP/1.1",
        b"G\xc3\x89T /v1/nothing HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"",
    ],
)
def test_a_malformed_request_line_is_refused(server: Process, line: bytes) -> None:
    assert status_of(exchange(server.port, line + b"\r\nHost: h\r\n" + CLOSE + b"\r\n")) == 400


@pytest.mark.parametrize("method", [b"get", b"Get", b"FETCH"])
def test_a_method_is_taken_as_it_is_written(server: Process, method: bytes) -> None:
    answer = exchange(server.port, method + b" /v1/nothing HTTP/1.1\r\nHost: h\r\n" + CLOSE + b"\r\n")
    assert status_of(answer) == 405


def test_an_unknown_http_version_is_not_served(server: Process) -> None:
    answer = exchange(server.port, b"GET /v1/nothing HTTP/3.7\r\nHost: h\r\n" + CLOSE + b"\r\n")
    assert status_of(answer) == 400


def test_h2c_upgrade_is_declined_and_answered_in_http_1_1(server: Process) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
    answer = exchange(server.port, GET + offer)
    assert status_of(answer) == 200
    assert b" 101 " not in answer


def test_headers_over_the_cap_are_refused_whole_or_dripped_in_pieces(server: Process) -> None:
    for count, size in ((1, 40_000), (40, 1000), (5000, 10), (1, 900_000)):
        lines = b"".join(b"X-%d: %s\r\n" % (n, b"a" * size) for n in range(count))
        answer = exchange(server.port, GET + lines + CLOSE + b"\r\n")
        assert not answer or status_of(answer) == 431, (count, size)
    assert alive(server)


def test_too_many_small_headers_are_refused(server: Process) -> None:
    lines = b"".join(b"X-%d: a\r\n" % n for n in range(150))
    assert status_of(exchange(server.port, GET + lines + CLOSE + b"\r\n")) == 431


def test_a_url_over_the_cap_is_refused(server: Process) -> None:
    answer = exchange(server.port, b"GET /v1/nothing?" + b"a" * 9000 + b" HTTP/1.1\r\nHost: h\r\n" + CLOSE + b"\r\n")
    assert status_of(answer) == 414


@pytest.mark.parametrize(
    "path",
    [
        b"/v1/files/../../etc/passwd",
        b"/v1/files/%2e%2e/%2e%2e/etc/passwd",
        b"/v1/files/%2E./x",
        b"/v1/files/a%00b",
        b"/v1/files/a%0ab",
        b"/v1/files/%ff%fe",
        b"/v1/files/a//b",
        b"/v1/files/a%2f..%2fb",
        b"/v1/files/a%2f%2fb",
        b"//v1/nothing",
        b"/v1/./nothing",
        b"/v1/tenants/%2e",
        b"/v1/files/%zz",
        b"/v1/files/a%2",
        b"/v1/nothing#x",
        b"/v1/notes?limit=%zz",
        b"/v1/notes?limit=1#x",
    ],
)
def test_tm_http_path_tricks_in_a_path_are_refused(server: Process, path: bytes) -> None:
    answer = exchange(server.port, b"GET " + path + b" HTTP/1.1\r\nHost: h\r\n" + server.bearer + CLOSE + b"\r\n")
    assert status_of(answer) == 400
    assert json.loads(body_of(answer))["code"] == "INVALID_URL"


def test_tm_http_path_an_escaped_slash_never_makes_a_segment(server: Process) -> None:
    answer = exchange(server.port, b"GET /v1%2Fnothing HTTP/1.1\r\nHost: h\r\n" + CLOSE + b"\r\n")
    assert status_of(answer) == 404
    answer = exchange(server.port, b"GET /v1/tenants/a%2Fb HTTP/1.1\r\nHost: h\r\n" + server.bearer + CLOSE + b"\r\n")
    assert status_of(answer) == 404


def test_pipelined_requests_are_answered_in_order(server: Process) -> None:
    one, two = b"GET /v1/nothing HTTP/1.1\r\nHost: h\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
    answer = exchange(server.port, (one + two) * 20 + GET + CLOSE + b"\r\n")
    assert answer.count(b"HTTP/1.1 200") == 41
    assert answer.index(b"hello") < answer.index(b'"ok"')


def test_garbage_after_a_body_is_a_bad_request_of_its_own(server: Process) -> None:
    body = b'{"text":"hi"}'
    head = b"POST /v1/echo HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"Content-Type: application/json\r\n"
    answer = exchange(server.port, head + b"Content-Length: %d\r\n\r\n" % len(body) + body + b"\x00\x01garbage\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b"HTTP/1.1 400") == 1


def test_tm_http_slow_dripped_head_is_closed_by_the_deadline(impatient: Process) -> None:
    with connected(impatient.port) as sock:
        sock.sendall(b"GET /v1/nothing HTTP/1.1\r\nHost: h\r\n")
        sock.settimeout(0.2)
        closed = False
        for _ in range(300):
            try:
                sock.sendall(b"X")
                closed = sock.recv(10) == b""
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                closed = True
            if closed:
                break
        assert closed
    assert alive(impatient)


def test_a_connection_that_goes_on_asking_outlives_the_deadline_of_its_first_request(impatient: Process) -> None:
    with connected(impatient.port) as sock:
        twice = time.monotonic() + 2 * IMPATIENT_S
        while time.monotonic() < twice:
            sock.sendall(GET + b"\r\n")
            assert status_of(sock.recv(65536)) == 200
        sock.sendall(GET + CLOSE + b"\r\n")
        assert status_of(read_all(sock)) == 200


def test_a_connection_that_stops_asking_is_closed(impatient: Process) -> None:
    with connected(impatient.port) as sock:
        sock.sendall(GET + b"\r\n")
        assert read_all(sock).count(b"HTTP/1.1 200") == 1


def test_tm_http_slow_dripped_body_gets_408_while_others_are_served(impatient: Process) -> None:
    head = (
        b"POST /v1/echo HTTP/1.1\r\nHost: h\r\n"
        + impatient.bearer
        + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    )
    drips = [socket.create_connection(("127.0.0.1", impatient.port), PATIENCE_S) for _ in range(8)]
    try:
        for sock in drips:
            sock.sendall(head + b"{")
        assert alive(impatient)
        for sock in drips:
            assert status_of(read_all(sock)) == 408
    finally:
        for sock in drips:
            sock.close()
    assert until(lambda: probe(impatient.port)["in_flight"] == 0, "the places given back")


def test_a_body_in_one_byte_chunks_is_refused(server: Process) -> None:
    head = b"POST /v1/echo HTTP/1.1\r\nHost: h\r\n" + server.bearer + CLOSE
    head += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = exchange(server.port, head + b"1\r\n \r\n" * 20_000 + b"0\r\n\r\n")
    assert status_of(answer) == 400
    assert json.loads(body_of(answer))["code"] == "BODY_TOO_FRAGMENTED"


def test_a_body_over_the_cap_is_refused_before_and_while_it_is_read(server: Process) -> None:
    head = b"PUT /v1/files/x HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"Content-Type: application/octet-stream\r\n"
    answer = exchange(server.port, head + b"Content-Length: %d\r\n\r\n" % (17 << 20))
    assert status_of(answer) == 413
    chunk = b"100000\r\n" + b"a" * (1 << 20) + b"\r\n"
    answer = exchange(server.port, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 18 + b"0\r\n\r\n")
    assert not answer or status_of(answer) == 413


def test_an_unwanted_body_does_not_hide_the_answer(server: Process) -> None:
    head = b"GET /v1/nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n"
    answer = exchange(server.port, head + b"a" * 500_000 + GET + CLOSE + b"\r\n")
    assert status_of(answer) == 200


def test_a_client_that_leaves_cancels_its_request(server: Process) -> None:
    before = probe(server.port)
    socks = [socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) for _ in range(5)]
    for sock in socks:
        sock.sendall(b"GET /v1/wait HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"\r\n")
    until(lambda: probe(server.port)["running"] == before["running"] + 5, "five requests running")
    for sock in socks:
        sock.close()
    until(lambda: probe(server.port)["running"] == before["running"], "all cancelled")
    assert probe(server.port)["cancelled"] == before["cancelled"] + 5


def test_tm_http_flood_a_tenant_over_its_places_is_told_at_once_and_others_are_served(server: Process) -> None:
    waiting = b"GET /v1/wait HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"\r\n"
    socks = [socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) for _ in range(16)]
    try:
        for sock in socks:
            sock.sendall(waiting)
        until(lambda: probe(server.port)["running"] == 16, "all places taken")
        refused = exchange(server.port, waiting[:-2] + CLOSE + b"\r\n")
        assert status_of(refused) == 429
        assert b"retry-after: 1\r\n" in refused.lower()
        other = b"GET /v1/notes HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + server.other.encode() + b"\r\n"
        assert status_of(exchange(server.port, other + CLOSE + b"\r\n")) == 200
    finally:
        for sock in socks:
            sock.close()
    until(lambda: probe(server.port)["running"] == 0, "all places given back")


JSON_BOMBS = {
    "10k arrays": b"[" * 10_000,
    "10k arrays, closed": b'{"text":"","extra":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "10k objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "a million arrays": b'{"text":"","extra":[' + b"[]," * 400_000 + b"[]]}",
    "unterminated escapes": b'{"text":"' + b'\\"' * 500_000 + b"[" * 100,
    "duplicate keys": b'{"text":"a","text":"b"}',
    "duplicate keys below": b'{"text":"a","extra":{"x":1,"x":2}}',
    "invalid UTF-8": b'{"text":"\xff\xfe"}',
    "UTF-16": '{"text":"a"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"text":"a"}',
    "lone surrogate": b'{"text":"\\ud800"}',
    "NaN": b'{"text":"a","extra":NaN}',
    "huge exponent": b'{"text":"a","extra":1e999}',
    "a number of 10k digits": b'{"text":"a","extra":' + b"9" * 10_000 + b"}",
    "trailing garbage": b'{"text":"a"} x',
    "two values": b'{"text":"a"}{"text":"b"}',
    "unknown field": b'{"text":"a","other":1}',
    "wrong type": b'{"text":1}',
    "too small": b'{"text":"a","count":-1}',
    "nothing": b"",
    "a string": b'"text"',
}


@pytest.mark.parametrize("name", JSON_BOMBS)
def test_tm_http_bomb_json_is_a_bad_request(server: Process, name: str) -> None:
    answer = post(server, JSON_BOMBS[name])
    assert status_of(answer) == 400
    assert json.loads(body_of(answer))["code"] in ("INVALID_BODY", "INVALID_ARGUMENT")


CBOR_BOMBS = {
    "deep arrays": b"\x81" * 10_000 + b"\x00",
    "deep maps": b"\xa1\x61a" * 10_000 + b"\x00",
    "huge array": b"\x9a\xff\xff\xff\xff",
    "huge map": b"\xbb" + b"\xff" * 8,
    "huge string": b"\x7b" + b"\xff" * 8,
    "huge bytes": b"\x5a\xff\xff\xff\xffab",
    "indefinite array": b"\x9f\x00\xff",
    "indefinite text": b"\x7f\x61a\xff",
    "a tag": b"\xc0\x61a",
    "a regex tag": b"\xd8\x23\x61(",
    "shared references": b"\xd8\x1c\x82\x00\xd8\x1d\x00",
    "bignum": b"\xc2\x49" + b"\x01" * 9,
    "undefined": b"\xf7",
    "a simple value": b"\xf8\x20",
    "NaN": cbor2.dumps({"text": "a", "extra": float("nan")}),
    "duplicate keys": b"\xa2\x64text\x61a\x64text\x61b",
    "a key that is a number": b"\xa1\x01\x02",
    "a key that is an array": b"\xa1\x80\x02",
    "a key that is bytes": b"\xa1\x44text\x61a",
    "invalid UTF-8": b"\xa1\x64text\x62\xff\xfe",
    "ends early": b"\xa1\x64te",
    "trailing bytes": cbor2.dumps({"text": "a"}) + b"\x00",
    "many items": b"\xa2\x64text\x61a\x65extra\x9a\x00\x04\x93\xe0" + b"\x00" * 300_000,
    "nothing": b"",
}


@pytest.mark.parametrize("name", CBOR_BOMBS)
def test_tm_http_bomb_cbor_is_a_bad_request(server: Process, name: str) -> None:
    answer = post(server, CBOR_BOMBS[name], b"application/cbor")
    assert status_of(answer) == 400
    assert json.loads(body_of(answer))["code"] in ("INVALID_BODY", "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    "kind",
    [b"text/plain", b"application/json; charset=latin-1", b"application/json; x=1", b"application/xml", b"", b";;;", b"json"],
)
def test_other_content_types_are_refused(server: Process, kind: bytes) -> None:
    assert status_of(post(server, b'{"text":"a"}', kind)) == 415


@pytest.mark.parametrize(
    ("target", "coding", "status"),
    [
        (b"POST /v1/echo", b"gzip", 415),
        (b"PUT /v1/files/packed", b"gzip, br", 415),
        (b"POST /v1/echo", b"Identity", 200),
    ],
)
def test_a_body_that_is_packed_is_refused_and_not_taken_for_what_is_in_it(
    server: Process, target: bytes, coding: bytes, status: int
) -> None:
    head = target + b" HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"Content-Type: application/json\r\n"
    body = b"Content-Encoding: " + coding + b"\r\nContent-Length: 12\r\n" + CLOSE + b'\r\n{"text":"a"}'
    answer = exchange(server.port, head + body)
    assert status_of(answer) == status
    assert status == 200 or json.loads(body_of(answer))["code"] == "UNSUPPORTED_CODING"


def test_the_server_is_well_after_all_of_this(server: Process) -> None:
    assert alive(server)
    assert probe(server.port)["in_flight"] == 0


def test_a_path_for_websockets_asks_whoever_comes_without_one_to_upgrade_and_the_connection_goes_on(server: Process) -> None:
    with connected(server.port) as sock:
        sock.sendall(b"GET /v1/streams/x/live HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"\r\n")
        sock.sendall(GET + CLOSE + b"\r\n")
        first, _, second = read_all(sock).partition(b"HTTP/1.1 200")
    head = first.partition(b"\r\n\r\n")[0].lower()
    assert status_of(first) == 426
    assert b"\r\nupgrade: websocket" in head and b"\r\nconnection: upgrade" in head
    assert second.endswith(b"hello")
