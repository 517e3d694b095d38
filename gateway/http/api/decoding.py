"""Decoding what callers send: JSON and CBOR to plain values, bounded before anything is built.

Rules: THREAT[TM-HTTP-BOMB]: a body's size, the depth and the number of its containers are checked on the bytes; only then
is it decoded. Duplicate keys, other text encodings than UTF-8, lone surrogates, NaN, and bytes after the end are refused.
CBOR is the part of RFC 8949 that JSON can say, plus byte strings (`sandbox.encoding.cbor`, lenient).

THREAT[TM-LIM-STARVE]: decoding some megabytes holds the interpreter's lock from the first byte to the last, in whichever thread,
and every other request waits. So large bodies are decoded in a child of the thread, which can be killed; one that takes too long
or too much memory costs its child and is refused. Integers of more than 64 bits are refused in them: they have no short form.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections.abc import Callable
from typing import Any, Final, Literal, NoReturn

import msgspec

from gateway.errors import BadRequest
from sandbox.confinement.child import Child, ChildDied
from sandbox.encoding import cbor

LINE_MAX: Final = 200
"""Characters of a title, a name or a label: one line, shown in lists. What does not fit is refused, never cut."""

CHILD_BYTES: Final = 512 << 10
"""From here on a body is decoded in a child."""
SECONDS: Final = 20.0
MEMORY_BYTES: Final = 2 << 30
Form = Literal["json", "cbor"]

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, closed or running to the end: so that no text is looked at twice."""
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def _refuse(message: str, hint: str | None = None) -> NoReturn:
    raise BadRequest("INVALID_BODY", message, hint)


def decode_json(data: bytes, *, depth_max: int, items_max: int) -> Any:
    _check_nesting(data, depth_max, items_max)
    if b"\\u" in data and _SURROGATE.search(data):
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


def decode_cbor(data: bytes, *, depth_max: int, items_max: int) -> Any:
    try:
        return cbor.decode(data, depth_max=depth_max, items_max=items_max, lenient=True)
    except cbor.CborError as error:
        _refuse(f"the body is not CBOR we take: {error}")


_DECODERS: Final[dict[Form, Callable[..., Any]]] = {"json": decode_json, "cbor": decode_cbor}
_own = threading.local()


class _Request(msgspec.Struct, array_like=True):
    form: Form
    depth_max: int
    items_max: int
    data: bytes


class _Answer(msgspec.Struct, array_like=True):
    value: Any = None
    refused: str | None = None
    hint: str | None = None


_decode_answer: Final = msgspec.msgpack.Decoder(_Answer).decode


def decode_form(data: bytes, form: Form, *, depth_max: int, items_max: int) -> Any:
    """The plain value of a body. Waits for a child if it is large."""
    if len(data) < CHILD_BYTES:
        return _DECODERS[form](data, depth_max=depth_max, items_max=items_max)
    child: Child | None = getattr(_own, "child", None)
    if child is None:
        child = _own.child = Child(f"{__name__}:answer", {"data": MEMORY_BYTES})
    try:
        made = _decode_answer(child.ask(msgspec.msgpack.encode(_Request(form, depth_max, items_max, data)), SECONDS))
    except TimeoutError:
        raise BadRequest("INVALID_BODY", "the body takes too long to decode", "send less at once") from None
    except ChildDied:
        raise BadRequest("INVALID_BODY", "the body takes too much memory to decode", "send less at once") from None
    if made.refused is not None:
        raise BadRequest("INVALID_BODY", made.refused, made.hint)
    return made.value


def answer(request: bytes) -> bytes:
    """In the child."""
    asked = msgspec.msgpack.decode(request, type=_Request)
    try:
        value = _DECODERS[asked.form](asked.data, depth_max=asked.depth_max, items_max=asked.items_max)
        return msgspec.msgpack.encode(_Answer(value))
    except BadRequest as refused:
        return msgspec.msgpack.encode(_Answer(refused=refused.error.message, hint=refused.error.hint))
    except OverflowError:
        return msgspec.msgpack.encode(_Answer(refused="an integer has more than 64 bits", hint="write it as a text"))


def check_line(field: str, text: str) -> None:
    if len(text) > LINE_MAX:
        raise BadRequest("INVALID_ARGUMENT", f"{field} has {len(text)} characters", f"at most {LINE_MAX}")
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") for character in text):
        raise BadRequest("INVALID_ARGUMENT", f"{field} holds a control character or a line end", "it is one line of text")
