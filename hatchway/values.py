"""Values and secrets of a sandbox: small texts under keys, two namespaces with the same verbs, as a gateway's sessions have them.

Rules: the host's alone: a program sees one only if a capability gives it. A listing never shows a value, nor does a `repr`. Forks
get copies; snapshots hold none.
"""

from __future__ import annotations

import time
from typing import Final

import msgspec

from hatchway.arguments import check_kind
from sandbox.errors import RequestError

KEY_BYTES_MAX: Final = 255
RESERVED: Final = "tool_approval/"


class KeyInfo(msgspec.Struct, frozen=True):
    """Times are in milliseconds since 1970."""

    key: str
    created_at: int
    updated_at: int


class Values:
    def __init__(self) -> None:
        self._entries: dict[str, tuple[str, KeyInfo]] = {}

    def set(self, key: str, value: str) -> None:
        check_value(value)
        now = time.time_ns() // 1_000_000
        _, before = self._entries.get(check_key(key), (None, None))
        self._entries[key] = (value, KeyInfo(key, now if before is None else before.created_at, now))

    def get(self, key: str) -> str | None:
        value, _ = self._entries.get(check_key(key), (None, None))
        return value

    def delete(self, key: str) -> bool:
        """Was there one?"""
        return self._entries.pop(check_key(key), None) is not None

    def list(self) -> list[KeyInfo]:
        """Sorted by key."""
        return [self._entries[key][1] for key in sorted(self._entries)]

    def copy(self) -> Values:
        other = Values()
        other._entries = self._entries.copy()
        return other

    def __repr__(self) -> str:
        return f"<Values {', '.join(sorted(self._entries)) or 'without keys'}>"


def _encode(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise RequestError("INVALID_ARGUMENT", f"the {name} is not valid Unicode") from None


def check_value(value: str) -> bytes:
    return _encode("value", check_kind("value", value, str))


def check_key(key: str) -> str:
    check_kind("key", key, str)
    if not 1 <= len(_encode("key", key)) <= KEY_BYTES_MAX or "\0" in key:
        raise RequestError("INVALID_ARGUMENT", f"a key has 1 to {KEY_BYTES_MAX} bytes and no NUL")
    if key.startswith(RESERVED):
        raise RequestError("INVALID_ARGUMENT", f"keys that begin with {RESERVED} are reserved")
    return key
