"""Problems: every failure as RFC 9457 tells it, with the contract's `{code,message,hint,span}` next to it.

Rules: THREAT[TM-HTTP-LEAK]: what a caller sees comes from errors that were written for callers. Any other exception is
`500 INTERNAL` with the request's id and nothing else; the log has the rest. No stack trace, no path of this machine, no secret.
A failure without a hint of its own gets the remedy of its code (docs/errors.md).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

from gateway.codes import table
from gateway.errors import GatewayError
from gateway.http.api.negotiation import encode
from gateway.policies.compiler import Finding, Place, RefusedPolicy
from policy.errors import PolicyError
from policy.text import diagnostics as policy_text
from sandbox.errors import RequestError, SetupError
from sandbox.wire import Diagnostic, ErrorObject, Severity, Span

JSON_PROBLEM: Final = "application/problem+json"
CBOR_PROBLEM: Final = "application/problem+cbor"
DIAGNOSTICS_MAX: Final = 100


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: str
    title: str
    status: int
    detail: str
    code: str
    message: str
    hint: str | None = None
    span: Span | None = None
    diagnostics: list[Diagnostic] = []
    request_id: str = ""


_REQUEST_STATUS: Final = {
    "SESSION_NOT_FOUND": 404,
    "PERMISSION_DENIED": 403,
    "UNSUPPORTED_FEATURE": 422,
    "SNAPSHOT_CORRUPT": 422,
    "SNAPSHOT_VERSION_MISMATCH": 422,
    "SNAPSHOT_CAPABILITY_MISMATCH": 422,
}
"""What a sandbox's refusal is over HTTP; all others are 400."""


def describe_problem(error: BaseException, request_id: str) -> Problem:
    if isinstance(error, RefusedPolicy):
        return _make(error.status, error.error, request_id, [_describe(found, found.place) for found in error.findings])
    if isinstance(error, GatewayError):
        return _make(error.status, error.error, request_id)
    if isinstance(error, RequestError):
        return _make(_REQUEST_STATUS.get(error.error.code, 400), error.error, request_id, list(error.more))
    if isinstance(error, PolicyError):
        findings = error.diagnostics[:DIAGNOSTICS_MAX]
        diagnostics = [_describe(found, None if found.span is None else Span(**found.span.place())) for found in findings]
        return _make(422, ErrorObject(code="POLICY_INVALID", message=str(error)[:1000]), request_id, diagnostics)
    if isinstance(error, SetupError):
        said = ErrorObject(code="NOT_READY", message="this language is not ready here", hint="see /readyz")
        return _make(503, said, request_id)
    said = ErrorObject(code="INTERNAL", message="something went wrong here", hint=f"tell the operator: request {request_id}")
    return _make(500, said, request_id)


def _make(status: int, said: ErrorObject, request_id: str, diagnostics: list[Diagnostic] | None = None) -> Problem:
    known = table().get(said.code)
    return Problem(
        type=f"urn:hatchway:problem:{said.code.lower()}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=said.message,
        code=said.code,
        message=said.message,
        hint=said.hint or (known.remedy if known is not None else None),
        span=said.span,
        diagnostics=(diagnostics or [])[:DIAGNOSTICS_MAX],
        request_id=request_id,
    )


def list_headers(error: BaseException) -> list[tuple[bytes, bytes]]:
    """Headers that a failure brings with it."""
    wait_ms = 10_000 if isinstance(error, SetupError) else getattr(error, "retry_after_ms", None)
    if wait_ms is not None:
        return [(b"retry-after", b"%d" % max(1, -(-wait_ms // 1000)))]
    if isinstance(error, GatewayError) and error.status == 401:
        return [(b"www-authenticate", b'Bearer realm="hatchway"')]
    return []


def _describe(found: Finding | policy_text.Diagnostic, place: Place | Span | None) -> Diagnostic:
    span = None if place is None else Span(place.line, place.column, place.end_line, place.end_column)
    return Diagnostic(message=found.message, severity=Severity(found.severity), code=found.code, hint=found.hint, span=span)


def is_ours(error: BaseException) -> bool:
    """Whether this is a mistake of the service, which must be logged with all that is known."""
    return not isinstance(error, (GatewayError, RequestError, PolicyError)) or (
        isinstance(error, GatewayError) and error.status in (500, 507)
    )


def encode_problem(problem: Problem, cbor: bool) -> tuple[str, bytes]:
    return (CBOR_PROBLEM if cbor else JSON_PROBLEM), encode(problem, cbor)
