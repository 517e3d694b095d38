"""HTTP endpoints of the operator's configuration as capabilities.

How arguments become a request: `{name}` in the URL's path or query takes the argument of that name, percent-encoded whole, so
that a value can never be more than one segment. What is left goes into the query (GET, HEAD, DELETE) or into a JSON body. Headers
may refer to secrets (`"Authorization": "Bearer ${secret:API_KEY}"`). A JSON answer becomes its value, any other its text; a
status of 400 or more is a TOOL_ERROR with the status and the beginning of the answer.

Rules: no placeholder stands before the path. Requests leave through the guarded client only, and the policy decides about each.
Redirects are not followed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import msgspec

from gateway.capabilities.catalogue import check_offers
from gateway.capabilities.policy_gates import PolicedSecrets
from gateway.capabilities.secret_headers import fill, mask
from gateway.capabilities.sources import Caller, Offer, Source, call_key
from gateway.egress import Decide, Egress, EgressError, EgressRefused, parse
from sandbox.capabilities.registry import ApprovalPolicy, Capability, CapabilityLimits, ToolError
from sandbox.errors import RequestError
from sandbox.wire import SideEffect

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TOLD_CHARS: Final = 200
_IN_QUERY: Final = ("GET", "HEAD", "DELETE")

DecideFor = Callable[[Caller], Decide]
"""The policy's word on egress, for one caller."""


class EndpointSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An endpoint as configuration declares it."""

    name: str
    url: str
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    description: str = ""
    headers: dict[str, str] = {}
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    output_schema: dict[str, Any] = {}
    side_effect: SideEffect = SideEffect.NETWORK
    limits: CapabilityLimits = CapabilityLimits()
    approval_policy: ApprovalPolicy = "none"
    idempotent: bool = True

    def capability(self) -> Capability:
        fields = {name: getattr(self, name) for name in Capability.__struct_fields__}
        return Capability(**fields)


@dataclass(frozen=True, slots=True)
class WebClient:
    """The guarded client on a program's behalf, with secrets in its headers that do not come back."""

    egress: Egress
    decide_for: DecideFor
    secrets: PolicedSecrets

    async def send(
        self,
        caller: Caller,
        method: str,
        url: str,
        headers: Mapping[str, str],
        limits: CapabilityLimits,
        *,
        body: bytes | None = None,
        using: Caller | None = None,
        follow_redirects: bool = False,
    ) -> tuple[str, str]:
        """The answer's text and its content type. `using`: who the policy is asked about where secrets are used, if it is
        another than the caller. Raises `ToolError`, also for a status that is an error."""
        used: list[str] = []
        try:
            headers, used = await fill(self.secrets, using or caller, headers, parse(url).host)
            response = await self.egress.request(
                method,
                url,
                headers=headers,
                body=body,
                timeout_ms=limits.timeout_ms,
                max_response_bytes=limits.max_response_bytes,
                decide=self.decide_for(caller),
                follow_redirects=follow_redirects,
            )
        except EgressError as error:
            raise _make_tool_error(error, used) from None
        text = mask(response.body.decode("utf-8", "replace"), used)
        if response.status >= (400 if follow_redirects else 300):
            raise ToolError("TOOL_ERROR", f"the server answered {response.status}: {text[:_TOLD_CHARS]}")
        return text, (response.header("content-type") or "").partition(";")[0].strip().lower()


class EndpointSource(Source):
    def __init__(self, specs: Sequence[EndpointSpec], client: WebClient) -> None:
        self._client = client
        self._offers = [Offer(spec.capability(), self._function(spec)) for spec in specs]
        for spec in specs:
            check_spec(spec)
        check_offers(self._offers)

    def _function(self, spec: EndpointSpec) -> Any:
        async def call(caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
            url, body = build(spec, kwargs)
            headers = dict(spec.headers)
            if body is not None:
                headers.setdefault("Content-Type", "application/json")
            if not spec.idempotent:
                headers.setdefault("Idempotency-Key", call_key.get() or str(uuid.uuid4()))
            text, kind = await self._client.send(caller, spec.method, url, headers, spec.limits, body=body)
            return decode_json(text) if kind == "application/json" or kind.endswith("+json") else text

        return call


def check_spec(spec: EndpointSpec) -> None:
    """Refuse a declaration that could not be called, or not safely."""
    authority = spec.url.partition("://")[2].partition("/")[0].partition("?")[0]
    if "{" in authority or "{" in spec.url.partition("://")[0]:
        raise RequestError("INVALID_ARGUMENT", f"{spec.name}: a placeholder may stand in the path or the query only")
    try:
        parse(_PLACEHOLDER.sub("x", spec.url))
    except EgressRefused as error:
        raise RequestError("INVALID_ARGUMENT", f"{spec.name}: {error.message}") from None
    if spec.input_schema.get("type") != "object":
        raise RequestError("INVALID_ARGUMENT", f"{spec.name}: the input_schema of an endpoint describes an object")
    missing = set(_PLACEHOLDER.findall(spec.url)) - set(spec.input_schema.get("properties", {}))
    if missing:
        raise RequestError("INVALID_ARGUMENT", f"{spec.name}: input_schema has no property {sorted(missing)[0]!r}")


def build(spec: EndpointSpec, arguments: Mapping[str, Any]) -> tuple[str, bytes | None]:
    """URL and body for a call's arguments."""
    left = dict(arguments)

    def fill_in(found: re.Match[str]) -> str:
        text = _spell(found[1], arguments.get(found[1]))
        left.pop(found[1], None)
        if text in ("", ".", ".."):
            raise ToolError("INVALID_ARGUMENT", f"the argument {found[1]!r} cannot be {text!r}: it stands in the URL's path")
        return quote(text, safe="")

    url = _PLACEHOLDER.sub(fill_in, spec.url)
    if spec.method not in _IN_QUERY:
        return url, msgspec.json.encode(left)
    pairs = [
        (name, _spell(name, item))
        for name, value in left.items()
        if value is not None
        for item in (value if isinstance(value, list) else [value])
    ]
    return (url + ("&" if "?" in url else "?") + urlencode(pairs) if pairs else url), None


def _spell(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        raise ToolError("INVALID_ARGUMENT", f"the argument {name!r} must be a text or a number to stand in a URL")
    return str(value)


def decode_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise ToolError("TOOL_ERROR", f"the server's answer is not valid JSON: {error}") from None


def _make_tool_error(error: EgressError, used: list[str]) -> ToolError:
    """A failure of the guarded client, as a program is told it."""
    message = mask(error.message, used)
    if not isinstance(error, EgressRefused) or error.code in _NOT_ABOUT_PERMISSION:
        return ToolError("TOOL_ERROR", message)
    return ToolError("RATE_EXCEEDED" if error.code == "RATE_EXCEEDED" else "PERMISSION_DENIED", message)


_NOT_ABOUT_PERMISSION: Final = frozenset(("RESPONSE_TOO_LARGE", "REQUEST_TOO_LARGE", "HEADER_INVALID", "TOO_MANY_REDIRECTS"))
