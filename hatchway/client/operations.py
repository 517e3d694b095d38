"""Operations of a gateway: the table, and requests made of its rows.

    request("get_run", run_id="0196…")              # by the name that OpenAPI has

Rules: pure; the clients send. `operations.json` is derived from the gateway (`derivation`), so a new route needs no line here.
An argument that is missing, unknown or of another kind is refused before anything is sent.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from hatchway.client import url_paths
from hatchway.client.requests import Ask
from sandbox.errors import RequestError

Kind = Literal["text", "number", "count", "flag", "texts", "object", "bytes", "sources", "attributes", "pairs", "id", "any"]
PAGE_MAX: Final = 200
TABLE: Final = Path(__file__).with_name("operations.json")
URGENT: Final = frozenset(
    {
        "cancel_command",
        "cancel_run",
        "cancel_session",
        "cancel_worker",
        "decide_approval",
        "decide_tool_approval",
        "signal_command",
        "stop_runner_session",
        "stop_worker",
        "wait_for_command",
    }
)
"""What ends or continues work that is under way, and what only waits for it: neither may wait until that work has ended."""
_TYPES: Final[dict[Kind, tuple[type, ...]]] = {
    "text": (str,),
    "number": (int,),
    "count": (int,),
    "flag": (bool,),
    "texts": (list, tuple),
    "object": (Mapping,),
    "bytes": (bytes,),
    "sources": (Mapping,),
    "attributes": (Mapping,),
    "pairs": (Mapping,),
    "id": (str,),
}


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """An argument. `at` is its name in the path, the query or the body, with dots for objects in objects; a body that is only
    this field is `at` "*". A count is how many items of a list are wanted; an id is made if none is given. A word stands on the
    command line without an option; `option` is its option there, if not its name. `stated` is the gateway's default, for help."""

    name: str
    at: str
    place: Literal["path", "query", "body"]
    kind: Kind = "text"
    about: str = ""
    is_required: bool = False
    is_word: bool = False
    default: Any = None
    stated: str = ""
    choices: tuple[str, ...] = ()
    option: str = ""


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """`columns` are what is shown of each item of a list; `fixed` and `query` are what its body and its query always have."""

    name: str
    about: str
    method: str
    path: str
    answers: Literal["one", "list", "nothing", "bytes", "events"]
    fields: tuple[Field, ...] = ()
    has_body: bool = False
    columns: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = {}
    query: Mapping[str, str] = {}


@functools.cache
def api_operations() -> dict[str, Operation]:
    """Every operation of the gateway, by its name in OpenAPI."""
    rows = msgspec.json.decode(TABLE.read_bytes(), type=list[Operation])
    return {row.name: row for row in rows}


def request(name: str, /, *, kind: Any = None, once: bool = False, **arguments: Any) -> Ask:
    """With arguments that this library has made. None is an argument that was not given."""
    return make_request(api_operations()[name], arguments, kind=kind, once=once)


def make_request(operation: Operation, given: Mapping[str, Any], *, kind: Any = None, once: bool = False) -> Ask:
    path = operation.path
    query = dict(operation.query)
    body: dict[str, Any] = dict(operation.fixed)
    content: bytes | None = None
    for param in operation.fields:
        value = given.get(param.name, param.default)
        if param.place == "path":
            path = _fill(path, param.at, value)
        elif value is None:
            continue
        elif param.kind == "bytes":
            content = value
        elif param.place == "query":
            query[param.at] = _write_text(param, value)
        elif param.at == "*":
            body = dict(value)
        elif param.kind == "pairs":
            _put(body, param.at, list(value.items()))
        else:
            _put(body, param.at, value)
    json = body if operation.has_body or body else None
    headers = {} if content is None else {"content-type": "application/octet-stream"}
    urgent = operation.name in URGENT
    return Ask(
        operation.method, path, json=json, content=content, query=query, kind=kind, headers=headers, once=once, is_urgent=urgent
    )


def _fill(path: str, name: str, value: str) -> str:
    """THREAT[TM-CLIENT-PATH]: what others chose becomes part of a path only through `url_paths`."""
    if f"{{{name}}}" in path:
        return path.replace(f"{{{name}}}", url_paths.segment(value))
    if name == "path":  # of a file: it brings its own slash
        return path.replace("/{path...}", url_paths.segments(value))
    return path.replace(f"{{{name}...}}", url_paths.name(value))


def check_arguments(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by the fields' names, with defaults. A field also answers to its name in the API."""
    names = {param.at: param.name for param in operation.fields} | {param.name: param.name for param in operation.fields}
    unknown = [name for name in arguments if name not in names]
    if unknown:
        known = ", ".join(param.name for param in operation.fields) or "none"
        raise RequestError("INVALID_ARGUMENT", f"{operation.name} has no argument {unknown[0]!r}", f"there are: {known}")
    given = {names[name]: value for name, value in arguments.items()}
    return {
        param.name: value for param in operation.fields if (value := _check(operation, param, given.get(param.name))) is not None
    }


def _check(operation: Operation, param: Field, given: Any) -> Any:
    value: Any = param.default if given is None else given
    if value is None:
        if param.is_required:
            raise RequestError("INVALID_ARGUMENT", f"{operation.name} needs the argument {param.name!r}")
        return secrets.token_hex(8) if param.kind == "id" else None
    if not _fits(param.kind, value):
        raise RequestError("INVALID_ARGUMENT", f"{param.name} must be a {param.kind}, not {type(value).__name__}")
    if param.choices and value not in param.choices:
        raise RequestError("INVALID_ARGUMENT", f"{param.name} cannot be {value!r}", f"it is one of: {', '.join(param.choices)}")
    if param.kind == "count" and value < 1:
        raise RequestError("INVALID_ARGUMENT", f"{param.name} must be at least 1")
    return value


def _fits(kind: Kind, value: Any) -> bool:
    """To Python a bool is an int, here it is not."""
    return kind == "any" or (isinstance(value, _TYPES[kind]) and (kind == "flag" or not isinstance(value, bool)))


def count_wanted(operation: Operation, given: Mapping[str, Any]) -> int | None:
    """How many items of a list; None for all."""
    return next((given.get(param.name) for param in operation.fields if param.kind == "count"), None)


def _write_text(param: Field, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(min(value, PAGE_MAX) if param.kind == "count" else value)


def _put(body: dict[str, Any], place: str, value: Any) -> None:
    *outer, last = place.split(".")
    for name in outer:
        body = body.setdefault(name, {})
    body[last] = list(value) if isinstance(value, tuple) else value
