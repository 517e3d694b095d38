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


def make_id(prefix: str, value: str) -> str:
    """`make_id("local-worker-", "coder")` is `local-worker-coder-c84a9e3ad144b43d`."""
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_HEX_LEN]
    room = max(1, MAX_IDENTIFIER_LEN - len(prefix) - 1 - DIGEST_HEX_LEN)
    body = _OUTSIDE.sub("-", value).strip("-").lower()
    body = body[:room].strip("-") or "id"
    made = f"{prefix}{body}-{digest}"
    return made if len(made) <= MAX_IDENTIFIER_LEN else f"{prefix[: MAX_IDENTIFIER_LEN - 1 - DIGEST_HEX_LEN]}-{digest}"


def local_host_id(workspace_id: str) -> str:
    return make_id("local-", workspace_id)


def embedded_host_id(workspace_id: str) -> str:
    return make_id("embedded-", workspace_id)


def remote_host_id(runtime_id: str) -> str:
    return make_id("remote-", runtime_id)


def local_worker_id(pod_name: str) -> str:
    return make_id("local-worker-", pod_name)


def check_id(kind: str, value: str) -> str:
    """`kind` is `runtime_id`, `host_id` or `worker_id`."""
    if not _IDENTIFIER.fullmatch(value):
        raise InvalidIdentifier(kind, value[:MAX_IDENTIFIER_LEN])
    return value


def is_id(value: object) -> bool:
    return isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None


def display_hint(value: str, most: int = MAX_HINT_LEN) -> str:
    """A text of another party, safe to show: no control characters, no slashes, not long."""
    if len(value) <= most and value.isprintable() and "/" not in value and "\\" not in value:
        return value
    return "".join(c for c in value[: 16 * most] if not _is_control(c) and c not in "/\\")[:most]


def _is_control(c: str) -> bool:
    """Control characters, and half surrogates, which no JSON can say."""
    return c < " " or "\x7f" <= c < "\xa0" or "\ud800" <= c < "\ue000"
