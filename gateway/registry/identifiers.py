"""Identifiers of the registry: how they are made out of names, and which are taken from callers.

Rules: an id is a prefix, a readable body and the first 16 hex digits of the name's SHA-256, at most 120 characters. Two names
never share one, whatever their bodies look like, and no id can be read as a path. A caller's id is checked before anything is
looked up; of one that is refused at most 120 characters are repeated.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from gateway.registry.errors import InvalidIdentifier

MAX_IDENTIFIER_LEN: Final = 120
DIGEST_HEX_LEN: Final = 16
MAX_HINT_LEN: Final = 80
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_:\-]{1,120}")
_OUTSIDE: Final = re.compile(r"[^A-Za-z0-9_-]")
_UNSHOWN: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff/\\\\]")
"""Control characters, half surrogates, which no JSON can say, and slashes."""


def make_id(prefix: str, value: str) -> str:
    """`make_id("local-worker-", "coder")` is `local-worker-coder-c84a9e3ad144b43d`."""
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_HEX_LEN]
    room = max(1, MAX_IDENTIFIER_LEN - len(prefix) - 1 - DIGEST_HEX_LEN)
    body = _OUTSIDE.sub("-", value).strip("-").lower()
    body = body[:room].strip("-") or "id"
    made = f"{prefix}{body}-{digest}"
    return made if len(made) <= MAX_IDENTIFIER_LEN else f"{prefix[: MAX_IDENTIFIER_LEN - 1 - DIGEST_HEX_LEN]}-{digest}"


def check_id(kind: str, value: str) -> str:
    """`kind` is `runtime_id`, `host_id` or `worker_id`."""
    if not _IDENTIFIER.fullmatch(value):
        raise InvalidIdentifier(kind, value[:MAX_IDENTIFIER_LEN])
    return value


def is_id(value: object) -> bool:
    return isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None


def display_hint(value: str, most: int = MAX_HINT_LEN) -> str:
    """A text of another party, safe to show: no control characters, no slashes, not long."""
    return _UNSHOWN.sub("", value[: 16 * most])[:most]
