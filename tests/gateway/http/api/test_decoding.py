"""Whatever bytes come, decoding gives a value or a BadRequest."""

from __future__ import annotations

import contextlib
import json
from typing import Any, Literal

import cbor2
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.configuration import Configuration
from gateway.errors import BadRequest
from gateway.http.api.decoding import decode_cbor, decode_json
from gateway.http.api.negotiation import decode_body, encode, wants_cbor
from gateway.http.api.operation import Operation
from sandbox.wire import Language

CAPS: Any = {"depth_max": 16, "items_max": 1000}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(PLAIN)
@settings(max_examples=200)
def test_what_others_encode_is_decoded_to_the_same(value: Any) -> None:
    assert decode_json(json.dumps(value).encode(), **CAPS) == value
    assert decode_cbor(cbor2.dumps(value), **CAPS) == value
    assert decode_cbor(encode(value, True), **CAPS) == value


@given(st.binary(max_size=200))
@settings(max_examples=500)
def test_any_bytes_give_a_value_or_a_bad_request(data: bytes) -> None:
    for decode in (decode_json, decode_cbor):
        with contextlib.suppress(BadRequest):
            decode(data, **CAPS)


@given(st.text(alphabet='[]{}",:\\u d8a1', max_size=200))
@settings(max_examples=500)
def test_json_is_accepted_only_if_the_standard_library_agrees(text: str) -> None:
    try:
        ours = decode_json(text.encode(), **CAPS)
    except BadRequest:
        return
    assert ours == json.loads(text)


def test_depth_and_items_are_counted_exactly() -> None:
    decode_json(b"[" * 16 + b"]" * 16, **CAPS)
    decode_cbor(b"\x81" * 15 + b"\x80", **CAPS)
    decode_json(b"[" + b"[]," * 900 + b"[]]", **CAPS)
    decode_cbor(cbor2.dumps([0] * 900), **CAPS)
    for decode, data in (
        (decode_json, b"[" * 18 + b"]" * 18),
        (decode_cbor, b"\x81" * 17 + b"\x80"),
        (decode_json, b"[" + b"[]," * 1100 + b"[]]"),
        (decode_cbor, cbor2.dumps([0] * 1100)),
    ):
        with pytest.raises(BadRequest, match=r"deeper|more than"):
            decode(data, **CAPS)


def test_brackets_in_strings_do_not_count() -> None:
    text = json.dumps({"a": "[" * 500 + '\\"' * 10 + "{" * 500})
    assert decode_json(text.encode(), **CAPS) == json.loads(text)


def test_half_a_surrogate_pair_in_a_result_is_told_somehow_in_both_forms() -> None:
    value = {"result": "a\ud800b"}
    assert json.loads(encode(value, False)) == value
    assert cbor2.loads(encode(value, True)) == {"result": "a?b"}


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("application/cbor", True),
        ("application/cbor, application/json", False),
        ("application/cbor, application/json;q=0.5", True),
        ("application/cbor;q=0.1, */*;q=0.5", False),
        ("application/cbor, */*", True),
        ("application/cbor;q=0", False),
        ("application/cbor;q=x", False),
        ("," * 100, False),
    ],
)
def test_cbor_is_answered_when_it_is_preferred(accept: str, wanted: bool) -> None:
    assert wants_cbor(accept) is wanted


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    language: Language | None = None
    mode: Literal["wait", "async"] = "wait"
    inner: dict[str, int] = {}


@pytest.mark.parametrize(
    ("sent", "hint"),
    [
        ({"language": "ruby"}, "there are: python, type_script, javascript, shell"),
        ({"mode": "later"}, "there are: async, wait"),
        ({"lang": "python"}, "there are: language, mode, inner"),
        ({"inner": {"a": "b"}}, None),
        ([], None),
    ],
)
def test_what_does_not_fit_is_told_with_what_would(sent: Any, hint: str | None) -> None:
    nothing: Any = None
    operation = Operation("POST", "/v1/asked", "Asked", nothing, body=Asked, name="asked")
    with pytest.raises(BadRequest) as refused:
        decode_body(operation, json.dumps(sent).encode(), "application/json", Configuration())
    assert refused.value.error.hint == hint
