"""The way of a request, without a network."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import cbor2
import pytest

from gateway.codes import find
from gateway.configuration import Configuration
from gateway.http.api.admission import compute_burst
from gateway.http.api.operation import Answer, Call, Operation
from gateway.records import Quotas
from tests.gateway.http.asking import Reply, ask
from tests.gateway.http.rig import SECRET, Rig


def serve(test: Callable[[Rig], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        await test(Rig(Configuration(**{"access_log": False, **settings})))

    asyncio.run(main())


def test_a_note_comes_back_in_the_form_that_was_asked_for() -> None:
    async def test(rig: Rig) -> None:
        token = rig.token()
        as_json = await ask(rig.asgi, "POST", "/v1/echo", {"text": "hé", "data": "aGk="}, token=token)
        assert (as_json.status, as_json.headers["content-type"]) == (200, "application/json")
        assert as_json.json == {"text": "hé", "count": 0, "data": "aGk=", "extra": None}
        sent = cbor2.dumps({"text": "hé", "data": b"hi", "extra": [1.5, None, {"z": 1, "a": -7}]})
        as_cbor = await ask(
            rig.asgi, "POST", "/v1/echo", sent, token=token, content_type="application/cbor", accept="application/cbor"
        )
        assert (as_cbor.status, as_cbor.headers["content-type"]) == (200, "application/cbor")
        assert cbor2.loads(as_cbor.body) == {"text": "hé", "count": 0, "data": b"hi", "extra": [1.5, None, {"z": 1, "a": -7}]}

    serve(test)


def test_a_problem_is_cbor_too_when_cbor_is_asked_for() -> None:
    async def test(rig: Rig) -> None:
        reply = await ask(rig.asgi, "GET", "/v1/notes", accept="application/cbor")
        assert (reply.status, reply.headers["content-type"]) == (401, "application/problem+cbor")
        assert cbor2.loads(reply.body)["code"] == "UNAUTHORIZED"

    serve(test)


def test_tm_http_leak_an_unexpected_error_says_nothing_but_its_request_id(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("hatchway").propagate = True

    async def test(rig: Rig) -> None:
        with caplog.at_level(logging.ERROR, "hatchway"):
            reply = await ask(rig.asgi, "POST", "/v1/notes", {"text": "fail"}, token=rig.token())
        assert reply.status == 500
        assert reply.code == "INTERNAL"
        text = reply.body.decode()
        for leak in (SECRET, "/home", "Traceback", "RuntimeError", ".py"):
            assert leak not in text
        assert reply.json["request_id"] == reply.headers["x-request-id"]
        (record,) = caplog.records
        assert record.exc_info is not None and SECRET in str(record.exc_info[1])

    serve(test)


def test_every_answer_has_the_security_headers_and_a_request_id() -> None:
    async def test(rig: Rig) -> None:
        for path in ("/v1/nothing", "/v1/notes", "/nowhere", "/docs", "/healthz"):
            reply = await ask(rig.asgi, "GET", path)
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
            assert len(reply.headers["x-request-id"]) >= 8

    serve(test)


def test_a_callers_request_id_is_kept_if_it_is_harmless() -> None:
    async def test(rig: Rig) -> None:
        kept = await ask(rig.asgi, "GET", "/v1/nothing", x_request_id="abcd-1234")
        assert kept.headers["x-request-id"] == "abcd-1234"
        for bad in ("x", "a" * 65, "12345678\n", "<script>1"):
            replaced = await ask(rig.asgi, "GET", "/v1/nothing", x_request_id=bad)
            assert replaced.headers["x-request-id"] != bad

    serve(test)


def test_a_failure_without_a_hint_of_its_own_gets_the_remedy_of_its_code() -> None:
    async def test(rig: Rig) -> None:
        refused = await ask(rig.asgi, "GET", "/v1/notes/%ff", token=rig.token())
        known = find("INVALID_URL")
        assert known is not None and (refused.code, refused.json["hint"]) == ("INVALID_URL", known.remedy)
        escaped = await ask(rig.asgi, "GET", "/v1/notes/%zz", token=rig.token())
        assert escaped.json["hint"] == "write %25 for a percent sign"

    serve(test)


def test_methods_that_are_not_offered_are_named() -> None:
    async def test(rig: Rig) -> None:
        reply = await ask(rig.asgi, "DELETE", "/v1/notes")
        assert (reply.status, reply.headers["allow"]) == (405, "GET, POST")
        assert (await ask(rig.asgi, "BREW", "/v1/notes")).status == 405

    serve(test)


def test_head_is_answered_like_get() -> None:
    async def test(rig: Rig) -> None:
        reply = await ask(rig.asgi, "HEAD", "/v1/nothing")
        assert (reply.status, reply.headers["content-length"]) == (200, "5")

    serve(test)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=x", "limit"),
        ("limit=1.0", "limit"),
        ("limit=%201", "limit"),
        ("limit=1&limit=2", "twice"),
        ("other=1", "there is no query parameter"),
        ("cursor=%ff", "UTF-8"),
        ("cursor=a%00", "NUL"),
        ("&".join(f"a{n}=1" for n in range(100)), "more than 64"),
    ],
)
def test_query_parameters_are_checked(query: str, message: str) -> None:
    async def test(rig: Rig) -> None:
        reply = await ask(rig.asgi, "GET", f"/v1/notes?{query}", token=rig.token())
        assert reply.status == 400
        assert message in reply.json["message"]

    serve(test)


def test_pages_lead_from_one_to_the_next_until_the_end() -> None:
    async def test(rig: Rig) -> None:
        token, seen, cursor = rig.token(), [], ""
        for _ in range(3):
            page = (await ask(rig.asgi, "GET", f"/v1/notes?limit=200{cursor}", token=token)).json
            seen += page["items"]
            cursor = f"&cursor={page['next']}"
        assert page["next"] is None
        assert seen == list(range(500))

    serve(test)


@pytest.mark.parametrize("cursor", ["x", "AAAA", "%2e%2e", "a" * 2000, "MTIzNA", "----"])
def test_a_cursor_that_was_made_up_is_refused(cursor: str) -> None:
    async def test(rig: Rig) -> None:
        reply = await ask(rig.asgi, "GET", f"/v1/notes?cursor={cursor}", token=rig.token())
        assert (reply.status, reply.code) == (400, "INVALID_CURSOR")

    serve(test)


def test_files_are_guarded_by_etags() -> None:
    async def test(rig: Rig) -> None:
        async def put(body: bytes, **headers: str) -> Reply:
            kind = "application/octet-stream"
            return await ask(rig.asgi, "PUT", "/v1/files/a/b.txt", body, token=token, content_type=kind, **headers)

        token = rig.token()
        first = await put(b"one", if_none_match="*")
        assert first.status == 204
        assert (await put(b"two", if_none_match="*")).status == 412
        assert (await put(b"two", if_match='"other"')).status == 412
        assert (await put(b"two", if_match="W/" + first.headers["etag"])).status == 412
        assert (await put(b"two", if_match="garbage")).status == 400
        second = await put(b"two", if_match=f'"x", {first.headers["etag"]}')
        assert second.status == 204
        assert (await put(b"three", if_match=first.headers["etag"])).status == 412
        got = await ask(rig.asgi, "GET", "/v1/files/a/b.txt", token=token)
        assert (got.body, got.headers["etag"]) == (b"two", second.headers["etag"])
        again = await ask(rig.asgi, "GET", "/v1/files/a/b.txt", token=token, if_none_match=got.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        assert "content-length" not in again.headers

    serve(test)


def test_a_rate_is_held_with_retry_after_and_refills() -> None:
    async def test(rig: Rig) -> None:
        rig.memory.quota["acme"] = Quotas(requests_per_min=60)
        now = [1000.0]
        rig.admission._clock_s = lambda: now[0]
        token, other = rig.token(), rig.token("globex")
        replies = [await ask(rig.asgi, "GET", "/v1/notes", token=token) for _ in range(61)]
        assert [reply.status for reply in replies] == [200] * 60 + [429]
        assert replies[-1].code == "RATE_EXCEEDED"
        assert "60 requests a minute, of which 60 may come at once" in replies[-1].json["message"]
        assert replies[-1].headers["retry-after"] == "2"
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=other)).status == 200
        now[0] += 1.0
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=token)).status == 200
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=token)).status == 429

    serve(test)


@pytest.mark.parametrize(
    ("a_minute", "at_once"), [(1, 1), (40, 40), (600, 600), (601, 600), (3600, 600), (6000, 1000), (60_000, 10_000)]
)
def test_a_small_quota_may_be_used_at_once_and_of_a_large_one_a_part(a_minute: int, at_once: int) -> None:
    assert compute_burst(a_minute) == at_once


def test_an_operation_that_takes_too_long_is_ended_with_503() -> None:
    async def test(rig: Rig) -> None:
        reply = await ask(rig.asgi, "GET", "/v1/wait", token=rig.token())
        assert (reply.status, reply.code) == (503, "DEADLINE_EXCEEDED")
        assert rig.notes.running == 0
        assert rig.admission.in_flight == 0

    serve(test, request_deadline_ms=20)


def test_when_all_places_are_taken_everybody_is_refused_but_health_answers() -> None:
    async def test(rig: Rig) -> None:
        token = rig.token()
        waiting = [asyncio.create_task(ask(rig.asgi, "GET", "/v1/wait", token=token)) for _ in range(3)]
        while rig.notes.running < 3:
            await asyncio.sleep(0)
        reply = await ask(rig.asgi, "GET", "/v1/nothing")
        assert (reply.status, reply.code) == (503, "BUSY")
        assert (await ask(rig.asgi, "GET", "/healthz")).status == 200
        rig.notes.gate.set()
        assert [reply.status for reply in await asyncio.gather(*waiting)] == [200] * 3
        assert (await ask(rig.asgi, "GET", "/v1/nothing")).status == 200

    serve(test, requests_in_flight_max=3)


def test_cors_is_off_unless_an_origin_is_named() -> None:
    async def off(rig: Rig) -> None:
        reply = await ask(rig.asgi, "GET", "/v1/nothing", origin="https://a.example")
        assert not [name for name in reply.headers if name.startswith("access-control")]
        preflight = await ask(rig.asgi, "OPTIONS", "/v1/echo", origin="https://a.example", access_control_request_method="POST")
        assert preflight.status == 405

    async def on(rig: Rig) -> None:
        reply = await ask(rig.asgi, "GET", "/v1/nothing", origin="https://a.example")
        assert reply.headers["access-control-allow-origin"] == "https://a.example"
        assert reply.headers["vary"] == "Origin"
        preflight = await ask(rig.asgi, "OPTIONS", "/v1/echo", origin="https://a.example", access_control_request_method="POST")
        assert preflight.status == 200
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        other = await ask(rig.asgi, "GET", "/v1/nothing", origin="https://b.example")
        assert "access-control-allow-origin" not in other.headers

    serve(off)
    serve(on, cors_origins=("https://a.example",))


def test_the_access_log_has_a_line_of_json_for_each_request_and_no_query_or_token() -> None:
    lines: list[str] = []

    class Stream:
        def write(self, text: str) -> None:
            lines.append(text)

        def flush(self) -> None: ...

    async def test(rig: Rig) -> None:
        token = rig.token()
        await ask(rig.asgi, "GET", "/v1/notes?limit=7", token=token, x_request_id="abcd-1234")
        line = json.loads(lines[0])
        assert line["message"] == "GET /v1/notes 200"
        assert (line["request_id"], line["tenant"], line["operation"]) == ("abcd-1234", "acme", "list_notes")
        assert line["client"] == "192.0.2.1"
        assert "limit" not in lines[0] and token not in lines[0]

    logger = logging.getLogger("hatchway")
    before = list(logger.handlers), logger.propagate, logger.level
    from gateway.telemetry import log_to

    stream: Any = Stream()
    log_to(stream)
    try:
        serve(test, access_log=True)
    finally:
        logger.handlers, logger.propagate, logger.level = before


def test_a_client_that_leaves_is_noted_as_499_and_its_place_is_free() -> None:
    async def test(rig: Rig) -> None:
        task = asyncio.create_task(ask(rig.asgi, "GET", "/v1/wait", token=rig.token()))
        while rig.notes.running < 1:
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert rig.notes.cancelled == 1
        assert rig.admission.in_flight == 0
        assert b'operation="wait_get",status="499"} 1.0' in rig.telemetry.metrics_text()

    serve(test)


def test_tm_http_split_a_header_of_an_answer_stays_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def split(call: Call) -> Answer:
        return Answer({"a": 1}, headers={"location": "/x\r\nset-cookie: a=b"})

    async def main() -> None:
        rig = Rig(Configuration(access_log=False))
        rig.endpoint.routes.add(Operation("GET", "/v1/split", "Split", split, audience="public"))
        reply = await ask(rig.asgi, "GET", "/v1/split")
        assert reply.status == 500
        assert "location" not in reply.headers and "set-cookie" not in reply.headers

    asyncio.run(main())
