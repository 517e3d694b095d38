"""Large bodies are decoded in a child, as strictly as small ones are here."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import cbor2
import pytest

from gateway.errors import BadRequest
from gateway.http.api import decoding
from gateway.http.api.decoding import CHILD_BYTES, decode_form

LARGE = "x" * CHILD_BYTES
CAPS = {"depth_max": 16, "items_max": 1000}


def refusal(data: bytes, form: Any = "json") -> str:
    with pytest.raises(BadRequest) as raised:
        decode_form(data, form, **CAPS)
    return raised.value.error.message


def test_values_come_back_as_they_were_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def no(*_: Any, **__: Any) -> None:
        raise AssertionError("it is decoded in this process")

    monkeypatch.setattr(decoding, "_check_nesting", no)
    value = {"text": LARGE, "numbers": [0, -1, 1.5, 2**63 - 1], "none": None, "true": True, "ünï": {"deep": [[]]}}
    assert decode_form(json.dumps(value).encode(), "json", **CAPS) == value
    assert decode_form(cbor2.dumps({**value, "data": b"\0\xff"}), "cbor", **CAPS) == {**value, "data": b"\0\xff"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a": 1, "a": "%s"}', "twice"),
        (b'["%s", NaN]', "NaN"),
        (b'["%s", "\\ud800"]', "surrogate"),
        (b'["%s"' + b"[" * 20, "nested"),
        (b'["%s", 36893488147419103232]', "64 bits"),
        (b'["%s"', "not JSON"),
    ],
)
def test_tm_http_bomb_large_bodies_are_refused_for_what_small_ones_are(data: bytes, why: str) -> None:
    assert why in refusal(data.replace(b"%s", LARGE.encode()))


def test_tm_lim_starve_a_body_that_takes_too_long_or_much_costs_its_child_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"[" + b"1.5," * 2_000_000 + b"1]"
    monkeypatch.setattr(decoding, "SECONDS", 0.001)
    assert "too long" in refusal(body)
    monkeypatch.setattr(decoding, "SECONDS", 20.0)
    monkeypatch.setattr(decoding, "MEMORY_BYTES", 64 << 20)
    told: list[str] = []
    fresh = threading.Thread(target=lambda: told.append(refusal(body)))
    fresh.start()
    fresh.join()
    assert "too much memory" in told[0]
    assert decode_form(json.dumps([LARGE]).encode(), "json", **CAPS) == [LARGE]


def test_a_child_that_was_killed_from_outside_is_started_again() -> None:
    decode_form(json.dumps([LARGE]).encode(), "json", **CAPS)
    os.kill(decoding._own.child._process.pid, 9)
    decoding._own.child._process.wait()
    assert decode_form(json.dumps([LARGE]).encode(), "json", **CAPS) == [LARGE]
