"""The server's beginning and end: TLS, the cap on connections, an orderly shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from gateway.configuration import Configuration, ConfigurationError
from gateway.http.transport.server import Server, load_tls
from gateway.lifecycle.readiness import LanguageState, Preparation
from tests.gateway.certificates import write_certificate
from tests.gateway.http.asking import ask
from tests.gateway.http.rig import Process, Rig, running
from tests.gateway.http.wire import H2Client, connected, exchange, read_all, status_of

GET = b"GET /v1/nothing HTTP/1.1\r\nHost: h\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: h\r\n"
READY = b"GET /readyz HTTP/1.1\r\nHost: h\r\n\r\n"
CLOSE = b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_certificate(tmp_path_factory.mktemp("tls"))


def test_https_speaks_http_1_and_http_2_and_no_old_tls(certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    with running(tls_certificate=str(cert), tls_key=str(key)) as server:
        context = ssl.create_default_context(cafile=str(cert))
        with connected(server.port) as plain, context.wrap_socket(plain, server_hostname="localhost") as sock:
            sock.sendall(GET + CLOSE)
            answer = b""
            while piece := sock.recv(65536):
                answer += piece
            assert status_of(answer) == 200
            assert b"strict-transport-security" in answer
        context.set_alpn_protocols(["h2"])
        with connected(server.port) as plain, context.wrap_socket(plain, server_hostname="localhost") as sock:
            assert sock.selected_alpn_protocol() == "h2"
            client = H2Client(sock)
            stream_id = client.request(b"/v1/nothing")
            client.flush()
            client.read_until(lambda: stream_id in client.ended)
            assert client.answers[stream_id] == (200, bytearray(b"hello"))
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with connected(server.port) as plain, old.wrap_socket(plain) as sock:
            assert sock.version() == "TLSv1.2"
        assert exchange(server.port, GET + CLOSE) == b"", "plain HTTP is not answered"


def test_a_client_certificate_is_demanded_if_configured(certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    with running(tls_certificate=str(cert), tls_key=str(key), tls_client_ca=str(cert)) as server:
        context = ssl.create_default_context(cafile=str(cert))
        refused = contextlib.suppress(ssl.SSLError, ConnectionError)
        with connected(server.port) as plain, refused, context.wrap_socket(plain, server_hostname="localhost") as sock:
            sock.sendall(GET + CLOSE)
            assert sock.recv(100) == b"", "answered without a certificate"
        context.load_cert_chain(cert, key)
        with connected(server.port) as plain, context.wrap_socket(plain, server_hostname="localhost") as sock:
            sock.sendall(GET + CLOSE)
            assert sock.recv(100).startswith(b"HTTP/1.1 200")


def test_unusable_tls_files_are_an_error_that_names_no_secret(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("secret")
    settings = Configuration(tls_certificate=str(tmp_path / "no.pem"), tls_key=str(tmp_path / "key.pem"))
    with pytest.raises(ConfigurationError, match="TLS files"):
        load_tls(settings)


def hold(port: int, count: int, source: str = "127.0.0.1") -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", port), 10, (source, 0)) for _ in range(count)]


def ask_from(source: str, port: int, head: bytes = HEALTH) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 10, (source, 0)) as sock, contextlib.suppress(ConnectionError):
        sock.sendall(head + CLOSE)
        return read_all(sock)
    return b""


def watch(server: Process) -> socket.socket:
    """An admitted caller with a stream that stays open."""
    (sock,) = hold(server.port, 1)
    sock.sendall(b"GET /v1/streams/one HTTP/1.1\r\nHost: h\r\n" + server.bearer + b"\r\n")
    data = b""
    while b": hello" not in data:
        data += sock.recv(4096)
    return sock


def is_open(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        return sock.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def test_tm_http_flood_one_address_that_holds_connections_keeps_out_neither_others_nor_itself() -> None:
    with running(connections_max=40) as server:
        held = hold(server.port, 60)
        try:
            for source in ("127.0.0.1", "127.0.0.2"):
                assert status_of(ask_from(source, server.port)) == 200
                assert status_of(ask_from(source, server.port, GET)) == 200
            assert sum(is_open(sock) for sock in held) <= 10, "a quarter of all is its share"
        finally:
            for sock in held:
                sock.close()


def test_tm_http_flood_many_addresses_that_hold_every_connection_give_way_to_one_that_has_few() -> None:
    with running(connections_max=8) as server:
        held = [sock for last in range(10, 14) for sock in hold(server.port, 2, f"127.0.0.{last}")]
        try:
            assert status_of(ask_from("127.0.0.2", server.port, GET)) == 200
            assert sum(is_open(sock) for sock in held) == 7
        finally:
            for sock in held:
                sock.close()


def test_tm_http_slow_a_client_that_does_not_read_gives_way_and_an_admitted_one_does_not() -> None:
    with running(connections_max=8, connections_per_address_max=4) as server:
        watching, idle, slow = watch(server), hold(server.port, 3), hold(server.port, 6)
        try:
            for sock in slow:
                with contextlib.suppress(ConnectionError):
                    sock.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n" * 50)
            assert status_of(ask_from("127.0.0.1", server.port)) == 200
            assert is_open(watching) and not any(is_open(sock) for sock in idle)
        finally:
            for sock in (watching, *idle, *slow):
                sock.close()


def test_tm_http_flood_health_is_answered_when_every_connection_is_in_use() -> None:
    with running(connections_max=4, connections_per_address_max=4) as server:
        held = [watch(server) for _ in range(4)]
        try:
            for source in ("127.0.0.1", "127.0.0.2"):
                assert status_of(ask_from(source, server.port)) == 200
                assert status_of(ask_from(source, server.port, GET)) == 503, "the reserve is for health"
            assert all(is_open(sock) for sock in held)
        finally:
            for sock in held:
                sock.close()


def test_tm_http_flood_connections_without_tls_are_counted(certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    with running(tls_certificate=str(cert), tls_key=str(key), connections_max=40) as server:
        held = hold(server.port, 60)
        context = ssl.create_default_context(cafile=str(cert))
        try:
            with connected(server.port) as plain, context.wrap_socket(plain, server_hostname="localhost") as sock:
                sock.sendall(HEALTH + CLOSE)
                assert sock.recv(100).startswith(b"HTTP/1.1 200")
            assert sum(is_open(sock) for sock in held) <= 10
        finally:
            for sock in held:
                sock.close()


def test_a_proxy_speaks_for_many_clients_and_has_no_share() -> None:
    with running(connections_max=40, proxies=["127.0.0.1"]) as server:
        held = hold(server.port, 35)
        try:
            assert status_of(ask_from("127.0.0.1", server.port, GET)) == 200
            assert all(is_open(sock) for sock in held)
        finally:
            for sock in held:
                sock.close()


def receive(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"hello"):
        piece = sock.recv(65536)
        assert piece, data
        data += piece
    return data


async def request(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await reader.read()
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return answer


def rig_of(**settings: Any) -> Rig:
    return Rig(Configuration(**{"port": 0, "access_log": False, **settings}))


def test_shutdown_finishes_what_runs_and_refuses_what_comes() -> None:
    async def main() -> None:
        rig = rig_of(drain_deadline_ms=60_000)
        drained: list[int] = []
        interrupted: list[bool] = []

        async def drain(deadline_ms: int) -> None:
            assert status_of(await request(port, READY)) == 503, "also while runs that nobody waits for come to their end"
            drained.append(deadline_ms)

        async def interrupt() -> None:
            interrupted.append(True)

        rig.server = Server(rig.asgi, rig.admission, rig.configuration, rig.telemetry, drain, interrupt=interrupt)
        await rig.server.start()
        port = rig.server.port
        bearer = f"Authorization: Bearer {rig.token()}\r\n".encode()
        running_one = asyncio.create_task(request(port, b"GET /v1/wait HTTP/1.1\r\nHost: h\r\n" + bearer + b"\r\n"))
        idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", port)
        idle_writer.write(GET + b"\r\n")
        assert (await idle_reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
        while rig.notes.running < 1:
            await asyncio.sleep(0.001)
        stopping = asyncio.create_task(rig.server.stop())
        assert await idle_reader.read() == b"", "an idle connection is closed"
        idle_writer.close()
        refused, readiness = await request(port, GET + b"\r\n"), await request(port, READY)
        assert status_of(refused) == 503 and b"STOPPING" in refused and b"\r\nretry-after: " in refused.lower()
        assert status_of(readiness) == 503 and b'"stopping":true' in readiness
        assert not stopping.done()
        _, silent = await asyncio.open_connection("127.0.0.1", port)
        rig.notes.gate.set()
        answer = await running_one
        assert status_of(answer) == 200
        await stopping
        assert len(drained) == 1 and 0 < drained[0] <= 60_000
        assert not interrupted, "who comes late does not shorten the time of those who were there"
        silent.close()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(main())


def test_shutdown_ends_what_does_not_end_by_itself() -> None:
    async def main() -> None:
        rig = rig_of(drain_deadline_ms=50)
        await rig.server.start()
        bearer = f"Authorization: Bearer {rig.token()}\r\n".encode()
        wait = b"GET /v1/wait HTTP/1.1\r\nHost: h\r\n" + bearer + b"\r\n"
        stuck = asyncio.create_task(request(rig.server.port, wait))
        while rig.notes.running < 1:
            await asyncio.sleep(0.001)
        await rig.server.stop()
        assert await stuck == b""
        assert rig.notes.cancelled == 1

    asyncio.run(main())


def test_readiness_tells_how_far_each_language_is() -> None:
    class Half(Preparation):
        def languages(self) -> dict[str, LanguageState]:
            return {"shell": LanguageState(ready=True, progress=1.0), "python": LanguageState(ready=False, progress=0.25)}

    async def main() -> None:
        rig = Rig(Configuration(access_log=False), Half())
        reply = await ask(rig.asgi, "GET", "/readyz")
        assert reply.status == 503
        assert reply.json["languages"]["python"] == {"ready": False, "progress": 0.25, "problem": None}
        assert (await ask(rig.asgi, "GET", "/healthz")).status == 200

    asyncio.run(main())


@pytest.mark.parametrize(
    ("setting", "none", "member", "operator", "admin"),
    [
        ("open", 200, 200, 200, 200),
        ("operator", 401, 403, 200, 200),
        ("admin", 401, 403, 403, 200),
        ("loopback", 403, 403, 403, 403),
        ("off", 404, 404, 404, 404),
    ],
)
def test_tm_http_metrics_are_for_whom_the_setting_says(setting: Any, none: int, member: int, operator: int, admin: int) -> None:
    async def main() -> None:
        rig = rig_of(metrics=setting)
        assert (await ask(rig.asgi, "GET", "/metrics")).status == none
        for role, status in (("member", member), ("operator", operator), ("admin", admin)):
            assert (await ask(rig.asgi, "GET", "/metrics", token=rig.token("acme", role))).status == status

    asyncio.run(main())


def test_tm_http_metrics_need_a_token_unless_the_operator_says_otherwise() -> None:
    async def main() -> None:
        assert (await ask(rig_of().asgi, "GET", "/metrics", address="127.0.0.1")).status == 401
        local = rig_of(metrics="loopback").asgi
        for address in ("127.0.0.1", "::1"):
            assert (await ask(local, "GET", "/metrics", address=address)).status == 200
            assert (await ask(local, "GET", "/metrics", address=address, x_forwarded_for="198.51.100.7")).status == 403

    asyncio.run(main())
