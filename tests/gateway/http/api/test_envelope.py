"""What every answer has, whoever gives it: an operation, the console, a preview, or nobody."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.configuration import Configuration
from gateway.http.api.envelope import Envelope
from gateway.http.assembly import Face
from gateway.service import Service
from gateway.telemetry import Telemetry, log_to
from tests.gateway.http.asking import Reply, ask

EVERYWHERE = [
    "/v1/me",
    "/nowhere",
    "/docs",
    "/healthz",
    "/console",
    "/console/",
    "/console/none.js",
    "/preview/t/80/",
    "/preview/",
]


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    logger = logging.getLogger("hatchway")
    before = list(logger.handlers), logger.propagate, logger.level
    stream = io.StringIO()
    log_to(stream)
    yield stream
    logger.handlers, logger.propagate, logger.level = before


def lines(logged: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logged.getvalue().splitlines()]


def answers(tmp_path: Path, *paths: str, telemetry: Telemetry | None = None) -> list[Reply]:
    """Of a whole service that speaks TLS."""

    async def main() -> list[Reply]:
        settings = Configuration(data=str(tmp_path), workers="in-process", tls_key="key.pem", tls_certificate="cert.pem")
        service = await Service.open(settings)
        try:
            face = Face(service, settings, telemetry or Telemetry())
            return [await ask(face.asgi, "GET", path, x_request_id="abcd-1234") for path in paths]
        finally:
            await service.stop(0)

    return asyncio.run(main())


def test_whatever_is_served_has_the_security_headers_an_id_and_a_line_in_the_log(tmp_path: Path, logged: io.StringIO) -> None:
    for path, reply in zip(EVERYWHERE, answers(tmp_path, *EVERYWHERE), strict=True):
        assert reply.headers["strict-transport-security"] == "max-age=31536000", path
        assert reply.headers["x-content-type-options"] == "nosniff", path
        assert reply.headers["referrer-policy"] == "no-referrer", path
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"], path
        assert reply.headers["x-request-id"] == "abcd-1234", path
    seen = [line["message"].split()[1] for line in lines(logged) if line["logger"] == "hatchway.access"]
    assert seen == EVERYWHERE
    assert all(line["request_id"] == "abcd-1234" for line in lines(logged))


def test_mounted_applications_are_counted_by_name(tmp_path: Path) -> None:
    telemetry = Telemetry()
    answers(tmp_path, "/console/", "/console/app.js", "/preview/t/80/", telemetry=telemetry)
    text = telemetry.metrics_text().decode()
    assert 'hatchway_http_requests_total{operation="console",status="200"} 2.0' in text
    assert 'hatchway_http_requests_total{operation="preview",status="401"} 1.0' in text


def test_a_previews_ticket_is_not_logged(tmp_path: Path, logged: io.StringIO) -> None:
    answers(tmp_path, "/preview/~ticket-that-lets-one-in/index.html")
    assert "ticket-that" not in logged.getvalue()
    assert "GET /preview/~…/index.html 4" in logged.getvalue()


def framed(app: Any) -> Envelope:
    return Envelope(app, Configuration(access_log=False), Telemetry())


def test_tm_http_leak_a_failure_of_a_mounted_application_is_a_problem_that_says_nothing(logged: io.StringIO) -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("secret at /home/somebody")

    reply = asyncio.run(ask(framed(fails), "GET", "/x"))
    assert (reply.status, reply.code) == (500, "INTERNAL")
    assert "secret" not in reply.body.decode() and reply.json["request_id"] == reply.headers["x-request-id"]
    assert "secret at" in lines(logged)[0]["error"]


def test_what_an_answer_says_itself_stands_but_its_id_is_ours() -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"Content-Security-Policy", b"sandbox"), (b"X-Request-Id", b"of somebody else")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    reply = asyncio.run(ask(framed(page), "GET", "/x", x_request_id="abcd-1234"))
    assert reply.headers["x-request-id"] == "abcd-1234" and "X-Request-Id" not in reply.headers
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store" and "content-security-policy" not in reply.headers
