"""A message on a WebSocket that is too large ends the conversation at once, whatever the client does then."""

from __future__ import annotations

import pytest
from wsproto.events import AcceptConnection, CloseConnection

from tests.gateway.http.api.test_sse import CLOSE, WebSocket
from tests.gateway.http.rig import Process, running
from tests.gateway.http.wire import body_of, exchange, until

CAP = 1 << 20


def streams(server: Process) -> float:
    metrics = body_of(exchange(server.port, b"GET /metrics HTTP/1.1\r\nHost: h\r\n" + CLOSE + b"\r\n"))
    return float(metrics.split(b"\nhatchway_http_streams ")[1].split(b"\n")[0])


@pytest.mark.parametrize("size", [CAP + 1, 2_000_000])
def test_a_message_that_is_too_large_frees_the_stream_although_the_client_never_closes(size: int) -> None:
    with running(message_bytes_max=CAP) as server, WebSocket(server, "/v1/streams/x/live", token=server.token) as ws:
        ws.next(AcceptConnection)
        until(lambda: streams(server) == 1, "the stream to be open")
        ws.sock.sendall(b"\x81\xff" + size.to_bytes(8, "big") + b"\0\0\0\0" + b"x" * size)
        assert ws.next(CloseConnection).code == 1009
        until(lambda: streams(server) == 0, "the stream to be given back")
        assert ws.sock.recv(65536) == b"", "it is said that nothing more comes"
