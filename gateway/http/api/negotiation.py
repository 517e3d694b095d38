"""Negotiation: which form a body has, and which form an answer gets.

JSON unless a caller says otherwise; CBOR with `Content-Type: application/cbor` (what is sent) and `Accept: application/cbor`
(what is wanted).

Rules: a content type is one of those an operation names, spelt whole, with no parameter but `charset=utf-8`; anything else is
415, never a guess. An `Accept` that allows neither form is answered in JSON, as RFC 9110 permits. Unknown query parameters,
repeated ones, and escapes that are not UTF-8 are refused.
"""

from __future__ import annotations

import base64
import json
import re
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

import cbor2
import msgspec
import msgspec.inspect

from gateway.configuration import Configuration
from gateway.errors import BadRequest, UnsupportedMedia
from gateway.http.api.decoding import decode_form
from gateway.http.api.operation import Operation
from gateway.http.api.routing import BAD_ESCAPE

JSON: Final = "application/json"
CBOR: Final = "application/cbor"
PARAMETERS_MAX: Final = 64
_EMPTY: Final = (b"", b"{}", b"null", b"\xa0", b"\xf6")
"""What clients send that have nothing to say: in JSON, and in CBOR."""
_ENUM: Final = re.compile(r"^Invalid enum value .* - at `\$\.(\w+)`$")
_INTEGER: Final = re.compile(r"-?[0-9]+")
_encoder: Final = msgspec.json.Encoder()


@lru_cache(256)
def media_type(header: str) -> str:
    """`application/json` of `Application/JSON; charset=UTF-8`; refuses other parameters."""
    name, *parameters = (part.strip().lower() for part in header.split(";"))
    for parameter in parameters:
        if parameter not in ("", "charset=utf-8", 'charset="utf-8"'):
            raise UnsupportedMedia("UNSUPPORTED_MEDIA_TYPE", f"the parameter {parameter[:60]!r} of the content type is not taken")
    return name


@lru_cache(256)
def wants_cbor(accept: str) -> bool:
    """Whether CBOR is asked for by name and preferred to JSON."""
    accept = accept.lower()
    if CBOR not in accept:
        return False
    weights: dict[str, float] = {}
    for part in accept.split(",")[:32]:
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = min(1.0, max(0.0, float(parameter[2:])))
                except ValueError:
                    weight = 0.0
        weights[name] = weight
    wanted = weights.get(CBOR, 0.0)
    others = max((weights[name] for name in (JSON, "application/*", "*/*") if name in weights), default=0.0)
    return wanted > 0 and (wanted > others or (wanted == others and JSON not in weights))


def decode_body(operation: Operation, data: bytes, content_type: str, caps: Configuration) -> Any:
    """What the operation's handler gets as `body`."""
    if operation.body is None:
        if data.strip() not in _EMPTY:
            raise BadRequest("INVALID_BODY", "this operation takes no body", "send none, or {}")
        return None
    if not data and not content_type and operation.body_optional:
        return None
    kind = media_type(content_type) if content_type else ""
    if operation.body is bytes:
        if kind not in operation.body_types and "*/*" not in operation.body_types:
            raise _refuse_type(kind, operation.body_types)
        return data
    if kind not in (JSON, CBOR):
        raise _refuse_type(kind, (JSON, CBOR))
    value = decode_form(data, "json" if kind == JSON else "cbor", depth_max=caps.json_depth_max, items_max=caps.items_max)
    return _convert(value, operation.body, () if kind == JSON else (bytes,))


def _refuse_type(kind: str, taken: tuple[str, ...]) -> UnsupportedMedia:
    given = f"the content type {kind[:100]!r} is not taken here" if kind else "the request has no content type"
    return UnsupportedMedia("UNSUPPORTED_MEDIA_TYPE", given, f"send {' or '.join(taken)}")


def _convert(value: Any, kind: Any, builtin: tuple[type, ...]) -> Any:
    try:
        return msgspec.convert(value, kind, builtin_types=builtin)
    except msgspec.ValidationError as error:
        raise BadRequest("INVALID_ARGUMENT", f"the body does not fit: {error}"[:500], _hint(str(error), kind)) from None
    except RecursionError:
        raise BadRequest("INVALID_BODY", "the body is nested too deeply") from None


def _hint(said: str, kind: Any) -> str | None:
    """What would have been taken instead of an unknown name or value."""
    if not isinstance(kind, type) or not issubclass(kind, msgspec.Struct):
        return None
    if "unknown field" in said and " - at " not in said:
        return "there are: " + ", ".join(kind.__struct_encode_fields__)
    found = _ENUM.search(said)
    if found is None or found[1] not in kind.__struct_fields__:
        return None
    wanted = msgspec.inspect.type_info(kind)
    assert isinstance(wanted, msgspec.inspect.StructType)
    offered = next(field.type for field in wanted.fields if field.name == found[1])
    values = [str(value) for choice in _choices(offered) for value in _values(choice)]
    return "there are: " + ", ".join(values) if values else None


def _choices(kind: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, ...]:
    if isinstance(kind, msgspec.inspect.Metadata):
        kind = kind.type
    return kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)


def _values(kind: msgspec.inspect.Type) -> list[Any]:
    if isinstance(kind, msgspec.inspect.EnumType):
        return [member.value for member in kind.cls]
    return list(kind.values) if isinstance(kind, msgspec.inspect.LiteralType) else []


def decode_query(operation: Operation, raw: bytes) -> Any:
    kind = operation.query
    if kind is None:
        if raw:
            raise BadRequest("INVALID_ARGUMENT", "this operation takes no query parameters")
        return None
    values: dict[str, str] = {}
    for key, text in _parse_query(raw) if raw else ():
        if key in values:
            raise BadRequest("INVALID_ARGUMENT", f"the query parameter {key[:60]!r} is given twice")
        if key not in kind.__struct_fields__:
            known = ", ".join(kind.__struct_fields__)
            raise BadRequest("INVALID_ARGUMENT", f"there is no query parameter {key[:60]!r}", f"there are: {known}")
        if key in _find_integers(kind) and not _INTEGER.fullmatch(text):
            raise BadRequest("INVALID_ARGUMENT", f"the query parameter {key!r} is a whole number")
        values[key] = text
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest("INVALID_ARGUMENT", f"a query parameter does not fit: {error}"[:500], _hint(str(error), kind)) from None


@lru_cache(256)
def _find_integers(kind: type) -> frozenset[str]:
    """Which parameters are whole numbers: to be lenient about `true` is to be lenient about `1.0`, too."""
    found = msgspec.inspect.type_info(kind)
    assert isinstance(found, msgspec.inspect.StructType)
    return frozenset(field.name for field in found.fields if msgspec.inspect.IntType in map(type, _choices(field.type)))


def _parse_query(raw: bytes) -> list[tuple[str, str]]:
    if BAD_ESCAPE.search(raw):
        raise BadRequest("INVALID_URL", "the query has a % without two hexadecimal digits", "write %25 for a percent sign")
    if b"%00" in raw or b"\0" in raw:
        raise BadRequest("INVALID_URL", "the query holds a NUL")
    if raw.count(b"&") >= PARAMETERS_MAX:
        raise BadRequest("INVALID_ARGUMENT", f"more than {PARAMETERS_MAX} query parameters")
    try:
        return parse_qsl(raw.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("INVALID_URL", "the query is not UTF-8") from None


def encode(value: Any, cbor: bool) -> bytes:
    """An answer's bytes. A result of a program may hold half a surrogate pair: JSON can say it with an escape, CBOR cannot."""
    if cbor:
        return _encode_cbor(value)
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode()


def _encode_cbor(value: Any) -> bytes:
    plain = msgspec.to_builtins(value, builtin_types=(bytes,))
    try:
        return cbor2.dumps(plain)
    except (UnicodeEncodeError, cbor2.CBOREncodeError):
        mended = json.dumps(plain, ensure_ascii=False, default=lambda raw: base64.b64encode(raw).decode())
        return cbor2.dumps(json.loads(mended.encode("utf-8", "replace")))
