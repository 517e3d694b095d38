"""Decoding what callers send: JSON and CBOR to plain values, bounded before anything is built.

Rules: THREAT[TM-HTTP-BOMB]: a body's size, the depth and the number of its containers are checked on the bytes; only then
is it decoded. Duplicate keys, other text encodings than UTF-8, lone surrogates, NaN, and bytes after the end are refused.
CBOR is the part of RFC 8949 that JSON can say, plus byte strings: no tags but those of integers too large for 64 bits, no
indefinite lengths, no keys but texts; unlike the stored form (`sandbox/encoding/cbor.py`), keys may be in any order and
there are floats, because clients' encoders write them. An integer is as large as one in JSON may be.

Does not know: HTTP, types of the operations.
"""

from __future__ import annotations

import json
import re
import struct
from typing import Any, Final, NoReturn

import msgspec

from gateway.errors import BadRequest

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, closed or running to the end: so that no text is looked at twice."""
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_FLOATS: Final = {25: ">e", 26: ">f", 27: ">d"}
_LARGE_BYTES_MAX: Final = 1785
"""4,299 decimal digits: Python reads no longer ones from JSON."""
_SIMPLE: Final = {20: False, 21: True, 22: None}


def _refuse(message: str, hint: str | None = None) -> NoReturn:
    raise BadRequest("INVALID_BODY", message, hint)


def decode_json(data: bytes, *, depth_max: int, items_max: int) -> Any:
    _check_nesting(data, depth_max, items_max)
    if _SURROGATE.search(data):
        try:
            msgspec.json.decode(data)  # the only one of our parsers that refuses half a surrogate pair
        except (msgspec.MsgspecError, RecursionError):
            _refuse("the body is not JSON, or holds half a surrogate pair")
    try:
        return _decoder.decode(data.decode())
    except UnicodeDecodeError:
        _refuse("the body is not UTF-8")
    except RecursionError:
        _refuse(f"the body is nested deeper than {depth_max}")
    except json.JSONDecodeError as error:
        _refuse(f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}")
    except ValueError as error:
        _refuse(f"the body is not JSON we take: {error}"[:300])


def _check_nesting(data: bytes, depth_max: int, items_max: int) -> None:
    """Depth is the number of times that innermost pairs of brackets can be taken away."""
    opened = data.count(b"[") + data.count(b"{")
    if opened <= depth_max:
        return
    brackets = _STRING.sub(b"", data).translate(None, _NOT_BRACKETS)
    if len(brackets) > 2 * items_max:
        _refuse(f"the body holds more than {items_max} arrays and objects")
    for _ in range(depth_max):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        _refuse(f"the body is nested deeper than {depth_max}, or its brackets do not match")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has a key twice")
    return made


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return value


_decoder: Final = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float)


class _Open:
    """An array or map that is being read; `key` is the one that waits for its value."""

    __slots__ = ("into", "key", "left", "mapping")

    def __init__(self, mapping: bool, left: int) -> None:
        self.mapping, self.left = mapping, left
        self.into: Any = {} if mapping else []
        self.key: str | None = None


def decode_cbor(data: bytes, *, depth_max: int, items_max: int) -> Any:
    """One pass, without recursion; a length that the rest of the data cannot hold is refused before anything is made."""
    position, end, items = 0, len(data), 0
    stack: list[_Open] = []
    while True:
        items += 1
        if items > items_max:
            _refuse(f"the body holds more than {items_max} values")
        if position >= end:
            _refuse("the CBOR ends too early")
        first = data[position]
        major, short = first >> 5, first & 31
        value: Any
        number, position = _number(data, position + 1, short, end)
        if major in (4, 5):
            count = number * (major - 3)
            if count > end - position:
                _refuse("a CBOR array or map is longer than the body")
            if len(stack) >= depth_max:
                _refuse(f"the body is nested deeper than {depth_max}")
            if stack and stack[-1].mapping and stack[-1].key is None:
                _refuse("a CBOR map has a key that is no text")
            opened = _Open(major == 5, count)
            if count:
                stack.append(opened)
                continue
            value = opened.into
        elif major in (2, 3):
            if number > end - position:
                _refuse("a CBOR string is longer than the body")
            raw = data[position : position + number]
            position += number
            value = raw if major == 2 else _text(raw)
        elif major == 0:
            value = number
        elif major == 1:
            value = -1 - number
        elif major == 7:
            value = _simple(data, position, short)
        else:
            value, position = _large(data, position, number, end)
        while stack:
            top = stack[-1]
            top.left -= 1
            if not top.mapping:
                top.into.append(value)
            elif top.key is None:
                if type(value) is not str:
                    _refuse("a CBOR map has a key that is no text")
                if value in top.into:
                    _refuse("a CBOR map has a key twice")
                top.key = value
            else:
                top.into[top.key], top.key = value, None
            if top.left:
                break
            value = stack.pop().into
        if not stack:
            if position != end:
                _refuse(f"{end - position} bytes after the CBOR value")
            return value


def _number(data: bytes, position: int, short: int, end: int) -> tuple[int, int]:
    if short < 24:
        return short, position
    if short > 27:
        _refuse("CBOR of indefinite length is not taken")
    after = position + (1 << (short - 24))
    if after > end:
        _refuse("the CBOR ends too early")
    return int.from_bytes(data[position:after], "big"), after


def _large(data: bytes, position: int, tag: int, end: int) -> tuple[int, int]:
    """An integer as the bytes of its amount: tag 2, or 3 for a negative one."""
    if tag not in (2, 3) or position >= end or data[position] >> 5 != 2:
        _refuse("CBOR tags are not taken, but for large integers")
    length, position = _number(data, position + 1, data[position] & 31, end)
    if length > end - position:
        _refuse("a CBOR string is longer than the body")
    if length > _LARGE_BYTES_MAX:
        _refuse(f"an integer has more than {_LARGE_BYTES_MAX} bytes")
    amount = int.from_bytes(data[position : position + length], "big")
    return amount if tag == 2 else -1 - amount, position + length


def _simple(data: bytes, after: int, short: int) -> Any:
    if short in _SIMPLE:
        return _SIMPLE[short]
    form = _FLOATS.get(short)
    if form is None:
        _refuse("a CBOR value of a kind that JSON does not have")
    value = struct.unpack(form, data[after - struct.calcsize(form) : after])[0]
    if value - value != 0:
        _refuse("NaN and infinity are not taken")
    return value


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        _refuse("a CBOR text is not UTF-8")
