"""OpenAPI 3.1, made from the table of operations and the types they name; and a page to read it in.

Rules: nothing is described twice. Types become schemas by msgspec; what every operation may answer (401, 429, …) is derived
from what the frame does. The page is ours, static, and fetches nothing from elsewhere.
"""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.errors import missing
from gateway.events import Event
from gateway.http.api.negotiation import CBOR, JSON
from gateway.http.api.operation import Answer, Call, Operation, Raw
from gateway.http.api.problems import CBOR_PROBLEM, JSON_PROBLEM, Problem

_REF: Final = "#/components/schemas/{name}"
_PAGE: Final = Path(__file__).parent / "page"
_PAGE_FILES: Final = {"docs.css": "text/css", "docs.js": "text/javascript"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy of a page of ours: nothing from elsewhere, nothing inline."""
_SEGMENT: Final = r"^(?!\.{1,2}$)[^/\u0000-\u001f\u007f]+$"
_REST: Final = r"^(?!.*(^|/)\.{0,2}(/|$))[^\u0000-\u001f\u007f]+$"
_HEADERS: Final = {
    "If-Match": r'^(\*|"[!#-~]*"(, "[!#-~]*")*)$',
    "If-None-Match": r'^(\*|"[!#-~]*"(, "[!#-~]*")*)$',
    "Last-Event-ID": r"^[0-9]{0,18}$",
}
_SENT_EVENT: Final = {
    "type": "object",
    "description": "Each event: its number, its kind, and its data as JSON.",
    "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"}},
}
_ABOUT: Final = (
    "Runs untrusted code for many tenants. JSON by default; `application/cbor` both ways on request. "
    "Failures are RFC 9457 problems. Every POST takes an `Idempotency-Key`. "
    "Lists that grow are pages. Tokens go into `Authorization: Bearer hw_…`."
)


def describe(operations: list[Operation], version: str) -> dict[str, Any]:
    """The whole document."""
    wanted: list[Any] = [Problem, Event]
    for operation in operations:
        wanted += [kind for kind in (operation.query, operation.body, operation.answer) if kind not in (None, bytes)]
    schemas, components = msgspec.json.schema_components(wanted, ref_template=_REF)
    schema_of = dict(zip(map(repr, wanted), schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in operations:
        entry = paths.setdefault(operation.path.replace("...}", "}"), {})
        entry.setdefault(operation.method.lower(), _operation(operation, schema_of, components))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hatchway", "version": version, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "An API token: hw_…"}},
        },
    }


def _operation(operation: Operation, schema_of: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag or "other"],
        "parameters": _parameters(operation, schema_of, components),
        "responses": _responses(operation, schema_of),
        "security": [] if operation.audience == "public" else [{"token": []}],
    }
    if operation.audience != "public":
        made["description"] = f"For: {operation.audience}."
    if operation.body is not None:
        if operation.body is bytes:
            content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in operation.body_types}
        else:
            content = {kind: {"schema": schema_of[repr(operation.body)]} for kind in (JSON, CBOR)}
        made["requestBody"] = {"required": not operation.body_optional, "content": content}
    return made


def _parameters(operation: Operation, schema_of: dict[str, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for name in operation.parameters:
        pattern = _REST if f"{{{name}...}}" in operation.path else _SEGMENT
        text = {"type": "string", "minLength": 1, "pattern": pattern}
        made.append({"name": name, "in": "path", "required": True, "schema": text})
    if operation.query is not None:
        schema = components[schema_of[repr(operation.query)]["$ref"].rsplit("/", 1)[1]]
        for name, kind in schema["properties"].items():
            made.append({"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": kind})
    if operation.method == "POST":
        key = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}
        made.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": key})
    if operation.audience != "public":
        tenant = {"type": "string", "pattern": r"^[a-zA-Z0-9_\-]{1,64}$"}
        about = "For admins: the tenant to act on."
        made.append({"name": "Hatchway-Tenant", "in": "header", "required": False, "schema": tenant, "description": about})
    for name, about in operation.headers.items():
        kind = {"type": "string", "pattern": _HEADERS.get(name, "^[ -~]*$")}
        made.append({"name": name, "in": "header", "required": False, "schema": kind, "description": about})
    return made


def _responses(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    empty = operation.answer is None and not operation.streamed and operation.status == 200
    status = 204 if empty else operation.status
    made: dict[str, Any] = {str(status): _answer(operation, schema_of)}
    if operation.websocket:
        made = {"101": {"description": "A WebSocket with subprotocol hatchway.json or hatchway.cbor; each message is an Event."}}
    for code, about in sorted({**_derive_statuses(operation), **operation.statuses}.items()):
        if str(code) not in made:
            made[str(code)] = _other(operation, schema_of, code, about)
    made["default"] = _problem("A problem.")
    return made


def _other(operation: Operation, schema_of: dict[str, Any], code: int, about: str) -> dict[str, Any]:
    if code == HTTPStatus.NOT_MODIFIED:
        return {"description": about}
    if operation.tag == "health" or code < 400:
        return {**_answer(operation, schema_of), "description": about}
    return _problem(about)


def _derive_statuses(operation: Operation) -> dict[int, str]:
    """What the frame itself may answer."""
    if operation.tag == "health" and operation.audience == "public":
        return {400: "The request is malformed."}
    made = {400: "The request is malformed.", 503: "Too much is on its way, the service stops, or there was no answer in time."}
    if operation.audience != "public":
        made[401] = "No valid token."
        made[403] = "The token's role may not do this."
        made[404] = "There is no tenant of the name in Hatchway-Tenant."
        made[429] = "Too many requests; Retry-After says when to try again."
    if operation.parameters:
        made[404] = "There is no such thing, or it is another tenant's."
    if operation.body is not None:
        made |= {408: "The body came too slowly.", 413: "The body is too large.", 415: "The body's type is not taken."}
    if operation.websocket:
        made[426] = "This is for WebSockets."
    if operation.method == "POST":
        made |= {409: "The first request with this Idempotency-Key is under way.", 422: "Its key was used for another request."}
    return made


def _answer(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    about = HTTPStatus(operation.status).phrase
    if operation.answer is None and not operation.streamed:
        return {"description": "Done."}
    content: dict[str, Any] = {}
    if operation.answer is bytes:
        content = {kind: {"schema": {"type": "string"}} for kind in operation.answer_types}
    elif operation.answer is not None:
        content = {kind: {"schema": schema_of[repr(operation.answer)]} for kind in (JSON, CBOR)}
    if operation.streamed:
        content["text/event-stream"] = {"schema": _SENT_EVENT}
    return {"description": about, "content": content}


def _problem(about: str) -> dict[str, Any]:
    schema = {"schema": {"$ref": _REF.format(name="Problem")}}
    return {"description": about, "content": {JSON_PROBLEM: schema, CBOR_PROBLEM: schema}}


def operations(all_operations: list[Operation], version: str) -> list[Operation]:
    """The document and its page. `all_operations` is read when the document is first asked for, so it may grow until then."""

    @lru_cache(1)
    def document() -> bytes:
        return msgspec.json.encode(describe(all_operations, version))

    async def openapi_document(call: Call) -> Raw:
        return Raw(document(), JSON)

    async def docs_page(call: Call) -> Answer:
        data = (_PAGE / "docs.html").read_bytes()
        return Answer(Raw(data, "text/html; charset=utf-8"), headers={"content-security-policy": _POLICY})

    async def docs_file(call: Call) -> Raw:
        name = call.path["name"]
        if name not in _PAGE_FILES:
            raise missing("file", name)
        return Raw((_PAGE / name).read_bytes(), f"{_PAGE_FILES[name]}; charset=utf-8")

    return [
        Operation("GET", "/openapi.json", "This API, as OpenAPI 3.1", openapi_document, answer=bytes, answer_types=(JSON,),
                  audience="public", tag="documentation"),
        Operation("GET", "/docs", "This API, as a page", docs_page, answer=bytes, answer_types=("text/html",), audience="public",
                  tag="documentation"),
        Operation("GET", "/docs/{name}", "What the page is made of", docs_file, answer=bytes,
                  answer_types=("text/css", "text/javascript"), audience="public", tag="documentation"),
    ]  # fmt: skip
