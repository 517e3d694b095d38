"""The gateway's errors. Each carries the contract's code, a message and a hint; its class says which HTTP status it is.
Every code stands in docs/errors.md with its cause and remedy.

    GatewayError
    ├── the caller's fault
    │   ├── BadRequest 400          ├── Conflict 409             ├── Unprocessable 422
    │   ├── Unauthorized 401        ├── PreconditionFailed 412   └── TooMany 429 (says when to retry)
    │   ├── Forbidden 403           ├── TooLarge 413
    │   ├── NotFound 404            └── UnsupportedMedia 415
    └── ours
        ├── Internal 500
        ├── Unsupported 501
        ├── Unavailable 503         busy, starting, stopping, a worker died (says when to retry)
        │   └── StoreUnavailable    the database is away
        └── StoreFailed 507         the disk or the database refused; nothing was written

THREAT[TM-HTTP-ORACLE]: another tenant's object is NotFound, with the same words as an absent one: `missing` makes them all.
"""

from __future__ import annotations

from typing import ClassVar

from sandbox.wire import ErrorObject, Span


class GatewayError(Exception):
    """`retry_after_ms`: when the same request may succeed, for failures that pass."""

    status: ClassVar[int] = 500
    retry_after_ms: int | None = None

    def __init__(
        self, code: str, message: str, hint: str | None = None, *, span: Span | None = None, retry_after_ms: int | None = None
    ) -> None:
        super().__init__(message)
        self.error = ErrorObject(code=code, message=message, hint=hint, span=span)
        if retry_after_ms is not None:
            self.retry_after_ms = retry_after_ms

    @property
    def code(self) -> str:
        return self.error.code


class BadRequest(GatewayError):
    status = 400


class Unauthorized(GatewayError):
    status = 401


class Forbidden(GatewayError):
    status = 403


class NotFound(GatewayError):
    status = 404


class Conflict(GatewayError):
    status = 409


class PreconditionFailed(GatewayError):
    status = 412


class TooLarge(GatewayError):
    status = 413


class UnsupportedMedia(GatewayError):
    status = 415


class Unprocessable(GatewayError):
    status = 422


class TooMany(GatewayError):
    status = 429
    retry_after_ms = 1000


class Internal(GatewayError):
    status = 500


class Unsupported(GatewayError):
    status = 501


class Unavailable(GatewayError):
    status = 503
    retry_after_ms = 1000


class StoreUnavailable(Unavailable):
    """The database is away, for now. Every caller is told the same; why stands in the log, with the `__cause__`."""

    retry_after_ms = 2000

    def __init__(self) -> None:
        super().__init__("STORE_UNAVAILABLE", "the database cannot be reached now", "try again as Retry-After says")


class StoreFailed(GatewayError):
    status = 507


def missing(kind: str, name: str) -> NotFound:
    """The object does not exist for this caller: `missing("session", "s1")`."""
    return NotFound(f"{kind.upper()}_NOT_FOUND", f"{kind} not found: {name[:200]}")
