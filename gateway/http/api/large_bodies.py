"""Large bodies: decoded in a child that can be killed.

Why: decoding a body of some megabytes holds the interpreter's lock from its first byte to its last, in whichever thread it is
done, and every other request waits. What a child sends back is only copied. THREAT[TM-LIM-STARVE].

Rules: each thread that decodes has a child of its own, started when it is first needed. A body that takes too long or too much
memory costs its child and is refused. Integers of more than 64 bits are refused in large bodies: they have no short form.

Does not know: HTTP, types of the operations.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from gateway.errors import BadRequest
from gateway.http.api.decoding import decode_cbor, decode_json
from sandbox.confinement.child import Child, ChildDied

CHILD_BYTES: Final = 512 << 10
"""From here on a body is decoded in a child."""
SECONDS: Final = 20.0
MEMORY_BYTES: Final = 2 << 30
Form = Literal["json", "cbor"]
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
