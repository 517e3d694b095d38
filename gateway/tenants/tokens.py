"""API tokens: making them, and what each role may do.

    text, stored = mint(tenant="acme", name="ci", role="member", now_ms=clock.now_ms())   # text: hw_…, shown once
    await store.write("acme", [PutToken(token=stored)])

Rules: a token is `hw_` and 43 random digits of base62. Only its SHA-256 digest is kept: with 256 random bits there is nothing to
guess, so no slow hash is needed. Time is asked of a clock that never goes back, so that what has expired stays expired.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from typing import Any, Final, Literal

from gateway.ids import uuid7
from gateway.records import Role, StoredToken, Token

TOKEN: Final = re.compile(r"hw_[0-9A-Za-z]{43}")
_ALPHABET: Final = string.digits + string.ascii_letters
_DIGITS: Final = 43  # 62**43 > 2**256

Audience = Literal["public", "anyone", "member", "approver", "author", "operator", "admin"]
"""Whom an operation is for. `public` needs no token, `anyone` any valid one."""

MAY: Final[dict[Audience, frozenset[Role]]] = {
    "anyone": frozenset(("admin", "operator", "approver", "author", "member")),
    "member": frozenset(("admin", "operator", "member")),
    "approver": frozenset(("admin", "operator", "approver")),
    "author": frozenset(("admin", "operator", "author")),
    "operator": frozenset(("admin", "operator")),
    "admin": frozenset(("admin",)),
}
"""Which roles an audience consists of."""


def mint(*, now_ms: int, **fields: Any) -> tuple[str, StoredToken]:
    """A new token with these fields of `Token`: its text, to be shown once, and what is stored."""
    text = "hw_" + "".join(secrets.choice(_ALPHABET) for _ in range(_DIGITS))
    token = Token(id=uuid7(now_ms), created_at=now_ms, **fields)
    return text, StoredToken(token=token, digest=digest_of_token(text))


def digest_of_token(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_valid(token: Token, now_ms: int) -> bool:
    return token.revoked_at is None and (token.expires_at is None or now_ms < token.expires_at)
