"""CBOR, the part of it we write: deterministic encoding (RFC 8949, 4.2), and a decoder that accepts nothing else.

Purpose: everything that is stored or shipped is written with `encode` and read with `decode`. There are integers, byte and text
strings, arrays, maps, true, false and null.

Rules: THREAT[TM-SNAP-BOMB]: the decoder takes one pass over the bytes, without recursion, and allocates nothing that the bytes it
has seen do not pay for. Tags, floats, indefinite lengths, integers longer than they need to be, unsorted or repeated keys, depth
and item counts over their caps, and bytes after the end are all refused; so every value has exactly one encoding.

Does not know: what the values mean.
"""

from __future__ import annotations

from typing import Any, Final

DEPTH_MAX: Final = 16
ITEMS_MAX: Final = 4_000_000
_SIMPLE: Final = {0xF4: False, 0xF5: True, 0xF6: None}
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


def decode(data: bytes, start: int = 0, *, depth_max: int = DEPTH_MAX, items_max: int = ITEMS_MAX) -> Any:
    """The value that `data` encodes from `start` to its end, or `CborError`."""
    position, end, items = start, len(data), 0
    stack: list[_Open] = []
    value: Any
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
            if first not in _SIMPLE:
                raise CborError(f"an item of a kind that is not used here ({first:#x})")
            value, position = _SIMPLE[first], position + 1
        else:
            number = first & 31
            if number < 24:
                position += 1
            else:
                number, position = _number(data, position, number)
            if major == 2 or major == 3:
                if number > end - position:
                    raise CborError("a string is longer than the data")
                raw = data[position : position + number]
                position += number
                value = raw if major == 2 else _text(raw)
            elif major == 4 or major == 5:
                # Every item takes a byte at least: a count that the rest cannot hold is refused before anything is made.
                if number * (major - 3) > end - position:
                    raise CborError("an array or map is longer than the data")
                if len(stack) >= depth_max:
                    raise CborError(f"nested deeper than {depth_max}")
                if stack and stack[-1].mapping and stack[-1].key is None:
                    raise CborError("a map has a key that is no string or integer")
                opened = _Open(major == 5, number * (major - 3))
                if opened.left:
                    stack.append(opened)
                    continue
                value = opened.into
            elif major < 2:
                value = number if major == 0 else -1 - number
            else:
                raise CborError("a tag")
        while stack:
            top = stack[-1]
            top.left -= 1
            if top.mapping:
                _put(top, value, data[item:position] if top.key is None else b"")
            else:
                top.into.append(value)
            if top.left:
                break
            value = top.into
            stack.pop()
            if stack and stack[-1].mapping and stack[-1].key is None:
                raise CborError("a map has a key that is no string or integer")
        if not stack:
            if position != end:
                raise CborError(f"{end - position} bytes after the end")
            return value


def _put(top: _Open, value: Any, raw: bytes) -> None:
    """A map's next key, in the bytes `raw`, or the value of the one before."""
    if top.key is None:
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            raise CborError("a map has a key that is no string or integer")
        if raw <= top.last:
            raise CborError("a map's keys are repeated or not in order")
        top.key, top.last = value, raw
    else:
        top.into[top.key] = value
        top.key = None


def _number(data: bytes, position: int, short: int) -> tuple[int, int]:
    """The number in the bytes after an item's first, which say how many they are, and where they end."""
    position += 1
    least = _LEAST.get(short)
    if least is None:
        raise CborError("an indefinite or reserved length")
    size = 1 << (short - 24)
    if position + size > len(data):
        raise CborError("the data ends too early")
    number = int.from_bytes(data[position : position + size], "big")
    if number < least:
        raise CborError("a number that is longer than it needs to be")
    return number, position + size


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise CborError("a text that is not UTF-8") from None
