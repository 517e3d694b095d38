"""CBOR, the part of it we write: deterministic encoding (RFC 8949, 4.2), and one decoder for it and for what clients write.

There are integers, byte and text strings, arrays, maps, true, false and null. What clients send is read with
`decode(…, lenient=True)`: there, numbers may be longer than they need to be, map keys are texts in any order, and there are
finite floats and integers as large as JSON may say (tags 2 and 3). Otherwise every value has exactly one encoding.

THREAT[TM-SNAP-BOMB]: the decoder takes one pass over the bytes, without recursion, and allocates nothing that the bytes it has
seen do not pay for. Other tags, indefinite lengths, repeated keys, depth and item counts over their caps, and bytes after the
end are always refused.
"""

from __future__ import annotations

import struct
from typing import Any, Final, cast

DEPTH_MAX: Final = 16
ITEMS_MAX: Final = 4_000_000
_SIMPLE: Final = {0xF4: False, 0xF5: True, 0xF6: None}
_FLOATS: Final = {0xF9: ">e", 0xFA: ">f", 0xFB: ">d"}
_LARGE_BYTES_MAX: Final = 1785
"""4,299 decimal digits: Python reads no longer ones from JSON."""
_LEAST: Final = {24: 24, 25: 1 << 8, 26: 1 << 16, 27: 1 << 32}


class CborError(ValueError):
    """Bytes that are not one value in our encoding."""


def encode(value: Any) -> bytes:
    """Keys of one map are all text or all integers: among those, the library's order is RFC 8949's."""
    import cbor2  # imported late: a run that stores nothing does not need it

    return cbor2.dumps(value, canonical=True)


def head(major: int, number: int) -> bytes:
    """The bytes before an item's contents: a string's kind and length."""
    if number < 24:
        return bytes([major << 5 | number])
    short = 24 if number < 1 << 8 else 25 if number < 1 << 16 else 26 if number < 1 << 32 else 27
    return bytes([major << 5 | short]) + number.to_bytes(1 << short - 24, "big")


class _Open:
    """An array or map that is being read. A map's values follow their keys; `key` is the one waiting for its value."""

    __slots__ = ("into", "key", "last", "left", "mapping")

    def __init__(self, mapping: bool, left: int) -> None:
        self.mapping = mapping
        self.left = left
        self.into: Any = {} if mapping else []
        self.key: Any = None
        self.last = b""


def decode(data: bytes, start: int = 0, *, depth_max: int = DEPTH_MAX, items_max: int = ITEMS_MAX, lenient: bool = False) -> Any:
    """The value that `data` encodes from `start` to its end, or `CborError`."""
    position, end, items, value = start, len(data), 0, cast(Any, None)
    stack: list[_Open] = []
    while True:
        items += 1
        if items > items_max:
            raise CborError(f"more than {items_max} items")
        item = position
        if position >= end:
            raise CborError("the data ends too early")
        first = data[position]
        major = first >> 5
        if major == 7:
            if first in _SIMPLE:
                value, position = _SIMPLE[first], position + 1
            elif lenient and first in _FLOATS:
                value, position = _float(data, position)
            else:
                raise CborError(f"an item of a kind that is not used here ({first:#x})")
        else:
            number = first & 31
            if number < 24:
                position += 1
            else:
                number, position = _number(data, position, number, lenient)
            if major == 2 or major == 3:
                if number > end - position:
                    raise CborError("a string is longer than the data")
                raw = data[position : position + number]
                position += number
                value = raw if major == 2 else _text(raw)
            elif major == 4 or major == 5:
                opened = _open(major == 5, number * (major - 3), end - position, stack, depth_max)
                if opened.left:
                    stack.append(opened)
                    continue
                value = opened.into
            elif major < 2:
                value = number if major == 0 else -1 - number
            elif lenient:
                value, position = _encode_large(data, position, number)
            else:
                raise CborError("a tag")
        while stack:
            top = stack[-1]
            top.left -= 1
            if top.mapping:
                _put(top, value, data[item:position] if top.key is None else b"", lenient)
            else:
                top.into.append(value)
            if top.left:
                break
            value = stack.pop().into
            if stack and stack[-1].mapping and stack[-1].key is None:
                raise CborError("a map has a key that is no string or integer")
        if not stack:
            if position != end:
                raise CborError(f"{end - position} bytes after the end")
            return value


def _open(mapping: bool, count: int, left: int, stack: list[_Open], depth_max: int) -> _Open:
    """Every item takes a byte at least: a count that the rest cannot hold is refused before anything is made."""
    if count > left:
        raise CborError("an array or map is longer than the data")
    if len(stack) >= depth_max:
        raise CborError(f"nested deeper than {depth_max}")
    if stack and stack[-1].mapping and stack[-1].key is None:
        raise CborError("a map has a key that is no string or integer")
    return _Open(mapping, count)


def _put(top: _Open, value: Any, raw: bytes, lenient: bool) -> None:
    """A map's next key, in the bytes `raw`, or the value of the one before."""
    if top.key is None:
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            raise CborError("a map has a key that is no string or integer")
        if lenient and (type(value) is not str or value in top.into):
            raise CborError("a map has a key that is no text, or a key twice")
        if not lenient and raw <= top.last:
            raise CborError("a map's keys are repeated or not in order")
        top.key, top.last = value, raw
    else:
        top.into[top.key] = value
        top.key = None


def _number(data: bytes, position: int, short: int, lenient: bool) -> tuple[int, int]:
    """The number in the bytes after an item's first, which say how many they are, and where they end."""
    position += 1
    least = _LEAST.get(short)
    if least is None:
        raise CborError("an indefinite or reserved length")
    size = 1 << (short - 24)
    if position + size > len(data):
        raise CborError("the data ends too early")
    number = int.from_bytes(data[position : position + size], "big")
    if number < least and not lenient:
        raise CborError("a number that is longer than it needs to be")
    return number, position + size


def _float(data: bytes, position: int) -> tuple[float, int]:
    form = _FLOATS[data[position]]
    after = position + 1 + struct.calcsize(form)
    if after > len(data):
        raise CborError("the data ends too early")
    value: float = struct.unpack(form, data[position + 1 : after])[0]
    if value - value != 0:
        raise CborError("NaN or infinity")
    return value, after


def _encode_large(data: bytes, position: int, tag: int) -> tuple[int, int]:
    """An integer as the bytes of its amount: tag 2, or 3 for a negative one."""
    if tag not in (2, 3) or position >= len(data) or data[position] >> 5 != 2:
        raise CborError("a tag that is not of a large integer")
    short = data[position] & 31
    length, position = (short, position + 1) if short < 24 else _number(data, position, short, True)
    if length > len(data) - position:
        raise CborError("a string is longer than the data")
    if length > _LARGE_BYTES_MAX:
        raise CborError(f"an integer has more than {_LARGE_BYTES_MAX} bytes")
    amount = int.from_bytes(data[position : position + length], "big")
    return amount if tag == 2 else -1 - amount, position + length


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise CborError("a text that is not UTF-8") from None
