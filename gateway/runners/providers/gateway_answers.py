"""What another gateway's answers mean to the `hatchway` runner, and the paths of what it has.

Rules: THREAT[TM-RUN-LEAK]: its words are not repeated; they may name things of that gateway. An id becomes one segment of a path,
whole; `.` and `..`, which would name something else, are no ids.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec

from gateway.egress.peer_gateway import Client, Reply, Unreachable
from gateway.errors import Forbidden, GatewayError
from gateway.runners.errors import absent, invalid, not_a_file, read_only, too_large, unavailable
from gateway.runners.wire import MAX_FILE_BYTES

_TIMEOUT_MS: Final = 30_000
"""A snapshot, an archive or a large file takes longer than most answers."""
_VERBS: Final = ("run", "snapshot", "session")
_NOT_IDS: Final = ("", ".", "..")


async def ask(client: Client, method: str, path: str, *, json: Any = None, body: bytes | None = None) -> Reply:
    """Whatever it answers, with our own error where it does not."""
    try:
        return await client.request(method, path, json=json, body=body, timeout_ms=_TIMEOUT_MS)
    except Unreachable as unreachable:
        raise unavailable(f"the other gateway cannot be reached ({unreachable.code})") from None


def encode_segment(name: str) -> str:
    """An id as it stands in a path."""
    if name in _NOT_IDS:
        raise invalid(f"{name!r} cannot be the id of a session, run or snapshot")
    return quote(name, safe="")


def read_id(answer: Any) -> str:
    """The id of what the other gateway has made."""
    found = read_field(answer, "id")
    if not isinstance(found, str) or found in _NOT_IDS:
        raise unavailable("the other gateway gave an id that cannot be used")
    return found


def read_answer(reply: Reply, what: str) -> Any:
    """What the other gateway says, or our own error for its."""
    if reply.status < 400:
        try:
            return msgspec.json.decode(reply.body) if reply.body.strip() else {}
        except msgspec.DecodeError:
            raise unavailable("the other gateway gave an answer that cannot be read") from None
    raise translate_refusal(reply.status, what)


def read_code(reply: Reply) -> str:
    try:
        said = msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        return ""
    return str(said.get("code", "")) if isinstance(said, dict) else ""


def read_field(value: Any, name: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        raise unavailable("the other gateway gave an answer that cannot be read")
    return value[name]


def translate_refusal(status: int, what: str) -> GatewayError:
    if status == 404:
        return absent(what)
    if status == 403 and what in _VERBS:
        return Forbidden("PERMISSION_DENIED", f"the other gateway does not let this token do a {what} there")
    if status == 403:
        return read_only(what)
    if status == 413:
        return too_large(what[:200], MAX_FILE_BYTES)
    if status in (400, 409, 422):
        return not_a_file(what, "was refused by the other gateway")
    return unavailable(f"the other gateway answered {status}")
