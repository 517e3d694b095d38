"""The guarded client: what it fetches, how it follows, and when it gives up."""

from __future__ import annotations

import asyncio
import datetime
import gzip
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gateway.egress import Egress, EgressError, EgressFailed, EgressRefused, Response
from tests.gateway.egress.test_targets import resolving
from tests.gateway.web import Request, Web, answer, serve


def fetch(egress: Egress, url: str, method: str = "GET", **options: Any) -> Any:
    return egress.request(method, url, **{"timeout_ms": 10_000, **options})


def outcome_of(awaitable: Any) -> Any:
    async def main() -> Response | EgressError:
        try:
            response: Response = await awaitable
            return response
        except EgressError as error:
            return error

    return main()


def test_tm_net_rebind_name_is_resolved_once_and_the_checked_address_is_used() -> None:
    async def main() -> None:
        asked: list[str] = []

        async with serve(lambda request: answer(b"inside")) as web:
            # The first answer is one an operator allowed; a second question would lead to this machine.
            async def resolve(host: str, port: int) -> Sequence[str]:
                asked.append(host)
                return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

            egress = Egress(resolve=resolve, allow_private=["127.0.0.1/32"], ports=[web.port])
            response = await fetch(egress, f"http://rebind.example:{web.port}/")
            assert response.body == b"inside" and asked == ["rebind.example"]
            assert web.requests[0].headers["host"] == f"rebind.example:{web.port}"
            again = await outcome_of(fetch(egress, f"http://rebind.example:{web.port}/"))
            assert isinstance(again, EgressRefused) and again.code == "ADDRESS_REFUSED" and len(web.requests) == 1

    asyncio.run(main())


def test_answer_has_status_headers_body_and_final_url() -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b"hi", "201 Created", X_Seen="yes")) as web:
            response = await fetch(Egress(allow_private=[web.service]), f"{web.url}/a?b=1#c", "POST", body=b"data")
            assert (response.status, response.body, response.header("X-Seen")) == (201, b"hi", "yes")
            assert response.url == f"{web.url}/a?b=1"
            (request,) = web.requests
            assert (request.method, request.path, request.body) == ("POST", "/a?b=1", b"data")
            assert request.headers["accept-encoding"] == "identity" and "cookie" not in request.headers

    asyncio.run(main())


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{other}/x", "http://[::1]/", "//127.0.0.1:{other}/", "http://2130706433/"]
)
def test_tm_net_redirect_to_this_machine_is_refused(location: str) -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b"secret")) as other:
            moved = location.format(other=other.port)
            async with serve(lambda request: answer(status="302 Found", Location=moved)) as web:
                error = await outcome_of(fetch(Egress(allow_private=[web.service], ports=[80, other.port]), web.url))
                assert isinstance(error, EgressRefused) and error.code in ("ADDRESS_REFUSED", "HOST_INVALID")
            assert not other.requests

    asyncio.run(main())


def moved_to(web: Web) -> bytes:
    return answer(status="302 Found", Location=web.url)


def test_every_hop_is_decided_by_the_policy() -> None:
    async def main() -> None:
        asked: list[tuple[str, int, str]] = []
        async with serve(lambda r: answer(b"end")) as other, serve(lambda r: moved_to(other)) as web:

            def decide(host: str, port: int, scheme: str) -> None:
                asked.append((host, port, scheme))
                if port == other.port:
                    raise EgressRefused("PERMISSION_DENIED", "not there")

            egress = Egress(allow_private=[web.service, other.service])
            error = await outcome_of(fetch(egress, web.url, decide=decide))
            assert isinstance(error, EgressRefused) and error.code == "PERMISSION_DENIED"
            assert asked == [("127.0.0.1", web.port, "http"), ("127.0.0.1", other.port, "http")] and not other.requests

    asyncio.run(main())


def test_redirects_are_followed_five_times_and_not_six() -> None:
    async def main() -> None:
        def hop(request: Request) -> bytes:
            left = int(request.path[1:])
            return answer(b"there") if left == 0 else answer(status="301 Moved", Location=f"/{left - 1}")

        async with serve(hop) as web:
            egress = Egress(allow_private=[web.service])
            assert (await fetch(egress, f"{web.url}/5")).body == b"there"
            error = await outcome_of(fetch(egress, f"{web.url}/6"))
            assert isinstance(error, EgressRefused) and error.code == "TOO_MANY_REDIRECTS"
            stay = await fetch(egress, f"{web.url}/5", follow_redirects=False)
            assert (stay.status, stay.header("location")) == (301, "/4")

    asyncio.run(main())


def test_tm_net_leak_headers_for_one_origin_are_not_sent_to_another() -> None:
    headers = {"Authorization": "Bearer x", "X-Api-Key": "k", "Cookie": "c=1", "Accept": "text/plain", "User-Agent": "me"}

    async def main() -> None:
        async with serve(lambda request: answer(b"end")) as other:

            def move(request: Request) -> bytes:
                return answer(status="307 Temporary", Location=other.url) if request.path == "/out" else answer(b"same")

            async with serve(move) as web:
                egress = Egress(allow_private=[web.service, other.service])
                await fetch(egress, f"{web.url}/out", headers=headers)
                sent = other.requests[0].headers
                assert not {"authorization", "x-api-key", "cookie"} & set(sent)
                assert (sent["accept"], sent["user-agent"]) == ("text/plain", "me")
                assert web.requests[0].headers["authorization"] == "Bearer x"
                error = await outcome_of(fetch(egress, f"{web.url}/out", "POST", body=b"private"))
                assert isinstance(error, EgressRefused) and error.code == "REDIRECT_REFUSED" and len(other.requests) == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "method", "body"), [("303", "GET", b""), ("302", "GET", b""), ("307", "POST", b"x"), ("308", "POST", b"x")]
)
def test_redirect_within_an_origin_keeps_or_drops_the_body_as_its_status_says(status: str, method: str, body: bytes) -> None:
    async def main() -> None:
        def move(request: Request) -> bytes:
            return answer(status=f"{status} Moved", Location="/there") if request.path == "/" else answer(b"ok")

        async with serve(move) as web:
            await fetch(Egress(allow_private=[web.service]), f"{web.url}/", "POST", body=b"x", headers={"Authorization": "a"})
            last = web.requests[-1]
            assert (last.method, last.body, last.headers["authorization"]) == (method, body, "a")

    asyncio.run(main())


def chunked(*chunks: bytes) -> bytes:
    parts = b"".join(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n"


@pytest.mark.parametrize(
    "said",
    [
        answer(b"x" * 2000),
        chunked(*[b"x" * 100] * 20),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 2000,
    ],
)
def test_answer_that_is_too_large_is_refused(said: bytes) -> None:
    async def main() -> None:
        async with serve(lambda request: said) as web:
            error = await outcome_of(fetch(Egress(allow_private=[web.service]), web.url, max_response_bytes=1000))
            assert isinstance(error, EgressRefused) and error.code == "RESPONSE_TOO_LARGE"

    asyncio.run(main())


def test_tm_net_bomb_compressed_answer_is_refused_at_the_size_it_becomes() -> None:
    async def main() -> None:
        small, bomb = gzip.compress(b"hello"), gzip.compress(bytes(20 << 20))
        assert len(bomb) < 100_000

        async with serve(lambda r: answer(small if r.path == "/small" else bomb, Content_Encoding="gzip")) as web:
            egress = Egress(allow_private=[web.service])
            assert (await fetch(egress, f"{web.url}/small")).body == b"hello"
            error = await outcome_of(fetch(egress, web.url, max_response_bytes=1 << 20))
            assert isinstance(error, EgressRefused) and error.code == "RESPONSE_TOO_LARGE"

    asyncio.run(main())


def test_tm_net_slow_answer_that_drips_is_cut_off_at_the_deadline() -> None:
    async def main() -> None:
        async def drip(request: Request) -> bytes:
            request.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while True:
                request.writer.write(b"x")
                await request.writer.drain()
                await asyncio.sleep(0.01)

        async with serve(drip) as web:
            error = await outcome_of(fetch(Egress(allow_private=[web.service]), web.url, timeout_ms=100))
            assert isinstance(error, EgressFailed) and error.code == "TIMEOUT"

    asyncio.run(main())


def test_deadline_covers_a_resolver_that_does_not_answer() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async def main() -> None:
        error = await outcome_of(fetch(Egress(resolve=never), "http://example.com/", timeout_ms=50))
        assert isinstance(error, EgressFailed) and error.code == "TIMEOUT"

    asyncio.run(main())


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        answer(b"x", Content_Encoding="br"),
        answer(b"not gzip", Content_Encoding="gzip"),
        answer(gzip.compress(b"half an answer", mtime=0)[:-12], Content_Encoding="gzip"),
        answer(gzip.compress(b"an answer", mtime=0) + b"and another", Content_Encoding="gzip"),
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
    ],
)
def test_answer_that_is_not_http_fails(said: bytes) -> None:
    async def main() -> None:
        async with serve(lambda request: said) as web:
            error = await outcome_of(fetch(Egress(allow_private=[web.service]), web.url))
            assert isinstance(error, EgressFailed) and error.code in ("ANSWER_INVALID", "BROKEN_OFF")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("headers", "method", "body", "code"),
    [
        ({"Host": "internal"}, "GET", None, "HEADER_INVALID"),
        ({"Transfer-Encoding": "chunked"}, "POST", b"x", "HEADER_INVALID"),
        ({"Content-Length": "0"}, "POST", b"x", "HEADER_INVALID"),
        ({"X": "a\r\nHost: internal"}, "GET", None, "HEADER_INVALID"),
        ({"X\r\n": "a"}, "GET", None, "HEADER_INVALID"),
        ({"X y": "a"}, "GET", None, "HEADER_INVALID"),
        ({"": "a"}, "GET", None, "HEADER_INVALID"),
        ({"X": "a\x01b"}, "GET", None, "HEADER_INVALID"),
        ({}, "CONNECT", None, "METHOD_REFUSED"),
        ({}, "GET /x HTTP/1.1\r\nA: b", None, "METHOD_REFUSED"),
        ({}, "POST", b"x" * 2000, "REQUEST_TOO_LARGE"),
    ],
)
def test_request_that_would_be_more_than_one_or_too_large_is_refused(
    headers: dict[str, str], method: str, body: bytes | None, code: str
) -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b"no")) as web:
            egress = Egress(allow_private=[web.service])
            error = await outcome_of(fetch(egress, web.url, method, headers=headers, body=body, max_request_bytes=1000))
            assert isinstance(error, EgressRefused) and error.code == code and not web.requests

    asyncio.run(main())


SECRET = "canary'q\"z\\n-5ecret"
BAD_VALUES = [f"{SECRET} ", f" {SECRET}", f"{SECRET}\x01", f"{SECRET}\x0b", f"{SECRET}\n", f"{SECRET}é"]


@pytest.mark.parametrize("value", BAD_VALUES)
def test_tm_cap_secret_a_header_that_cannot_be_sent_is_named_and_its_value_is_not_shown(value: str) -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b"no")) as web:
            error = await outcome_of(fetch(Egress(allow_private=[web.service]), web.url, headers={"X-Key": value}))
            assert isinstance(error, EgressRefused) and error.code == "HEADER_INVALID" and not web.requests
            assert "'X-Key'" in str(error) and "canary" not in str(error) and "5ecret" not in str(error)

    asyncio.run(main())


@pytest.mark.parametrize(
    "said",
    [f"HTTP/1.1 200 OK\r\n\x00{SECRET}\r\n\r\n".encode(), answer(b"x", Content_Encoding=SECRET)],
    ids=["not HTTP", "encoding"],
)
def test_tm_cap_secret_a_server_that_sends_back_what_it_was_sent_is_not_repeated(said: bytes) -> None:
    async def main() -> None:
        async with serve(lambda request: said) as web:
            error = await outcome_of(fetch(Egress(allow_private=[web.service]), web.url))
            assert isinstance(error, EgressFailed) and "canary" not in str(error)

    asyncio.run(main())


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    async def main() -> None:
        async with serve(lambda request: answer(b"direct")) as web:
            assert (await fetch(Egress(allow_private=[web.service]), web.url)).body == b"direct"

    asyncio.run(main())


def test_nobody_at_the_port_is_a_failure_and_not_a_refusal() -> None:
    async def main() -> None:
        async with serve(lambda request: b"") as web:
            port = web.port
        error = await outcome_of(fetch(Egress(allow_private=[f"127.0.0.1:{port}"]), f"http://127.0.0.1:{port}/"))
        assert isinstance(error, EgressFailed) and error.code == "CONNECT_FAILED"

    asyncio.run(main())


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's and a client's context: the client trusts the server's certificate, which is for `name`."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, secret = made.public_bytes(serialization.Encoding.PEM), folder / "key.pem"
    (folder / "cert.pem").write_bytes(pem)
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "cert.pem", secret)
    return server, ssl.create_default_context(cadata=pem.decode())


def test_certificate_is_checked_for_the_name_and_not_for_the_address(tmp_path: Path) -> None:
    server, client = certificate(tmp_path, "good.example")

    async def main() -> None:
        async with serve(lambda request: answer(b"safe"), server) as web:
            services = [f"good.example:{web.port}", f"bad.example:{web.port}"]
            egress = Egress(allow_private=services, resolve=resolving("127.0.0.1"), tls=client)
            assert (await fetch(egress, f"https://good.example:{web.port}/")).body == b"safe"
            error = await outcome_of(fetch(egress, f"https://bad.example:{web.port}/"))
            assert isinstance(error, EgressFailed) and error.code == "TLS_FAILED"
            untrusting = Egress(allow_private=services, resolve=resolving("127.0.0.1"))
            error = await outcome_of(fetch(untrusting, f"https://good.example:{web.port}/"))
            assert isinstance(error, EgressFailed) and error.code == "TLS_FAILED"

    asyncio.run(main())


def test_redirect_from_https_to_http_is_refused(tmp_path: Path) -> None:
    server, client = certificate(tmp_path, "good.example")

    async def main() -> None:
        async with serve(lambda r: answer(b"clear")) as clear, serve(lambda r: moved_to(clear), server) as web:
            egress = Egress(allow_private=[f"good.example:{web.port}", clear.service], resolve=resolving("127.0.0.1"), tls=client)
            error = await outcome_of(fetch(egress, f"https://good.example:{web.port}/"))
            assert isinstance(error, EgressRefused) and error.code == "REDIRECT_REFUSED" and not clear.requests

    asyncio.run(main())
