"""The CBOR we write, and what the decoder refuses."""

from __future__ import annotations

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.encoding.cbor import CborError, decode, encode

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64 - 1) | st.binary(max_size=300) | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=30), inner, max_size=4),
    max_leaves=10,
)


@given(plain)
def test_values_come_back_and_have_one_encoding(value: object) -> None:
    encoded = encode(value)
    assert decode(encoded) == value
    assert encode(decode(encoded)) == encoded


@given(st.binary(max_size=200))
def test_any_bytes_are_either_our_encoding_of_a_value_or_refused(data: bytes) -> None:
    try:
        value = decode(data)
    except CborError:
        return
    assert encode(value) == data


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("a tag", bytes.fromhex("c000")),
        ("a shared reference", bytes.fromhex("d81c80")),
        ("a cycle in six bytes", bytes.fromhex("d81c81d81d00")),
        ("a regular expression", bytes.fromhex("d8236161")),
        ("a bignum", bytes.fromhex("c249010000000000000000")),
        ("a float", bytes.fromhex("f93c00")),
        ("undefined", bytes.fromhex("f7")),
        ("an indefinite array", bytes.fromhex("9f01ff")),
        ("an indefinite map", bytes.fromhex("bf6161f5ff")),
        ("an indefinite string", bytes.fromhex("5f4101ff")),
        ("a number longer than needed", bytes.fromhex("1801")),
        ("a length longer than needed", bytes.fromhex("58010a")),
        ("a repeated key", bytes.fromhex("a2616101616102")),
        ("keys out of order", bytes.fromhex("a2616201616102")),
        ("an array as key", bytes.fromhex("a1800a")),
        ("an array with items as key", bytes.fromhex("a181010a")),
        ("null as key", bytes.fromhex("a1f60a")),
        ("text that is not UTF-8", bytes.fromhex("61ff")),
        ("bytes after the end", bytes.fromhex("0000")),
        ("nothing", b""),
        ("an array of 2**63 items", bytes.fromhex("9b8000000000000000")),
        ("a map of 2**32 entries", bytes.fromhex("ba7fffffff0000")),
        ("a string of 4 GiB", bytes.fromhex("5b0000000100000000") + b"x"),
        ("a deep nest", b"\x81" * 1000 + b"\x00"),
    ],
)
def test_refuses(what: str, data: bytes) -> None:
    with pytest.raises(CborError):
        decode(data)


def test_refuses_more_items_than_allowed() -> None:
    with pytest.raises(CborError, match="more than 10 items"):
        decode(encode(list(range(20))), items_max=10)


def test_a_megabyte_of_hostile_nesting_is_refused() -> None:
    for data in (b"\x81" * 1_000_000, b"\xa1\x00" * 500_000, b"\x9a\x00\x0f\xff\xff" * 200_000, cbor2.dumps([[]] * 3) * 100_000):
        with pytest.raises(CborError):
            decode(data)
