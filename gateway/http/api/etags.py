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
_ONE: Final = re.compile(r'(W/)?("[\x21\x23-\x7e]*")')
GUARDS: Final = {"If-Match": "Only if its ETag is this.", "If-None-Match": "`*`: only if it is not there."}
CHANGED: Final = {412: "It has changed, or is there already."}
"""What an operation that changes a thing says about both."""


def make_etag(digest: str) -> str:
    return f'"{digest}"'


def _tags(header: str) -> list[tuple[bool, str]] | None:
    """(weak, tag) pairs; None is `*`."""
    if len(header) > 4096 or not _LIST.fullmatch(header):
        raise BadRequest("INVALID_ETAG", "If-Match or If-None-Match is not a list of quoted ETags")
    if header.strip() == "*":
        return None
    return [(bool(weak), tag) for weak, tag in _ONE.findall(header)]


def check(headers: Mapping[str, str], etag: str | None) -> None:
    """Before a change. `etag` is that of the thing as it is, None if there is none."""
    if (wanted := headers.get("if-match")) is not None:
        tags = _tags(wanted)
        if etag is None or (tags is not None and (False, etag) not in tags):
            raise PreconditionFailed("PRECONDITION_FAILED", "it has changed, or is not there", "read it again, then retry")
    if etag is not None and is_unchanged(headers, etag):
        raise PreconditionFailed("PRECONDITION_FAILED", "it is there already")


def is_guarded(headers: Mapping[str, str]) -> bool:
    return "if-match" in headers or "if-none-match" in headers


def is_unchanged(headers: Mapping[str, str], etag: str) -> bool:
    """Whether If-None-Match names this version (weak comparison, RFC 9110, 13.1.2)."""
    header = headers.get("if-none-match")
    if header is None:
        return False
    tags = _tags(header)
    return tags is None or etag in (tag for _, tag in tags)


def expectation(etag: str | None) -> str:
    """What a store is to find when it writes, once `check` has passed: the digest, or nothing there."""
    return ABSENT if etag is None else etag.strip('"')
