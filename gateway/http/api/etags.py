"""ETags: which version of a thing a client has, and whether it may be replaced.

Rules: strong ETags only; a weak one (`W/`) in If-Match never matches (RFC 9110, 13.1.1). `*` is any version that exists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gateway.errors import BadRequest, PreconditionFailed
from gateway.stores.changes import ABSENT

_LIST: Final = re.compile(r'\s*(?:\*|(?:W/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W/)?"[\x21\x23-\x7e]*")*)\s*')
_ONE: Final = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"')
GUARDS: Final = {"If-Match": "Only if its ETag is this.", "If-None-Match": "`*`: only if it is not there."}
CHANGED: Final = {412: "It has changed, or is there already."}
"""What an operation that changes a thing says about both."""


def make_etag(digest: str) -> str:
    return f'"{digest}"'


def _read_tags(header: str) -> list[tuple[str, str]] | None:
    """Pairs of `W/`, or nothing, and a digest; None is `*`."""
    if len(header) > 4096 or not _LIST.fullmatch(header):
        raise BadRequest("INVALID_ETAG", "If-Match or If-None-Match is not a list of quoted ETags")
    return None if header.strip() == "*" else _ONE.findall(header)


def check(headers: Mapping[str, str], name: str, digest: str | None) -> str:
    """Before a change, of the thing as it is, None if there is none. What a store is to find when it writes."""
    if (wanted := headers.get("if-match")) is not None:
        tags = _read_tags(wanted)
        if digest is None or (tags is not None and ("", digest) not in tags):
            raise PreconditionFailed("PRECONDITION_FAILED", f"{name} has changed, or is not there", "read it again, then retry")
    if digest is not None and is_unchanged(headers, digest):
        raise PreconditionFailed("PRECONDITION_FAILED", f"{name} is there already", "leave out If-None-Match to replace it")
    return ABSENT if digest is None else digest


def is_guarded(headers: Mapping[str, str]) -> bool:
    return "if-match" in headers or "if-none-match" in headers


def is_unchanged(headers: Mapping[str, str], digest: str) -> bool:
    """Whether If-None-Match names this version (weak comparison, RFC 9110, 13.1.2)."""
    header = headers.get("if-none-match")
    if header is None:
        return False
    tags = _read_tags(header)
    return tags is None or digest in (tag for _, tag in tags)
