"""Bodies and answers in both forms: large integers come back as they went, answers are replayed in the form that is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cbor2
import pytest

from gateway.errors import BadRequest
from gateway.http.api.decoding import decode_cbor
from tests.gateway.http.asking import ask
from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript

CBOR = "application/cbor"


def decoded(data: bytes) -> Any:
    return decode_cbor(data, depth_max=8, items_max=100)


@pytest.mark.parametrize("value", [2**64, -(2**64) - 1, 10**4000, -(10**30), [2**70, {"n": -(2**70)}]])
def test_a_large_integer_that_an_answer_may_hold_is_taken_in_a_request(value: Any) -> None:
    assert decoded(cbor2.dumps(value)) == value


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1\x00",  # a time
        b"\xc2\x61a",  # a large integer of text
        b"\xc2",
        b"\xc2\x45abc",
        b"\xc3\x5f\x41a\xff",
        cbor2.dumps(1 << (8 * 1786)),
        b"\xa1" + cbor2.dumps(2**70) + b"\x00",  # as a key
    ],
)
def test_other_tags_and_integers_that_are_none_are_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        decoded(data)


@needs_javascript
def test_a_replayed_answer_has_the_form_that_is_asked_for_now(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        body = {"id": "s1", **JAVASCRIPT}
        first = await house.ask("POST", "/v1/sessions", body, idempotency_key="k")
        again = await house.ask("POST", "/v1/sessions", body, idempotency_key="k", accept=CBOR)
        assert again.headers["content-type"] == CBOR and again.headers["idempotency-replayed"] == "true"
        assert again.headers["location"] == first.headers["location"]
        assert cbor2.loads(again.body) == first.json
        refused = await house.ask("POST", "/v1/sessions", body, idempotency_key="l", accept=CBOR)
        assert (refused.status, refused.headers["content-type"]) == (409, "application/problem+cbor")
        replayed = await house.ask("POST", "/v1/sessions", body, idempotency_key="l")
        assert (replayed.status, replayed.headers["content-type"]) == (409, "application/problem+json")
        assert replayed.json == cbor2.loads(refused.body)

    live_in(tmp_path, test)


@needs_javascript
def test_an_operation_without_a_body_takes_none(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        nothing: tuple[Any, ...] = (b"", {}, None)
        for empty in nothing:
            assert (await house.ask("POST", "/v1/sessions/s1/cancel", empty)).status == 200
        for wrong in ({"force": True}, b"nonsense", [1]):
            said = await house.ask("POST", "/v1/sessions/s1/cancel", wrong)
            assert (said.status, said.code) == (400, "INVALID_BODY"), said.body

    live_in(tmp_path, test)


@needs_javascript
def test_whoever_looks_at_the_root_comes_to_the_console(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        for method in ("GET", "HEAD"):
            said = await ask(house.face.asgi, method, "/")
            assert (said.status, said.headers["location"]) == (307, "/console/")
        assert (await ask(house.face.asgi, "GET", said.headers["location"])).status == 200
        other = await ask(house.face.asgi, "POST", "/")
        assert (other.status, other.headers["content-type"]) == (404, "application/problem+json")

    live_in(tmp_path, test)
