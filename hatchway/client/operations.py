"""Operations of a gateway that need no function of their own: a request made of a row and its arguments.

    client.do("tokens create", name="ci", role="runner")        # hatchway remote tokens create ci --role runner

Rules: pure; the rows are in `operation_table`, the clients send, `remote_command` makes a command line of them. What a path
names (`{token}`, `{name...}`) must be given; other fields go into the body of a POST, PUT or PATCH, and into the query of the
rest. A missing argument, one that is not there and one of another kind are refused before anything is sent.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hatchway.client import url_paths
from hatchway.client.requests import Ask
from sandbox.errors import RequestError

Kind = Literal["text", "number", "count", "flag", "texts", "object", "bytes", "sources", "attributes", "id"]
PAGE_MAX: Final = 200
_PLACE: Final = re.compile(r"\{(\w+)(\.\.\.)?\}")
_WITH_BODY: Final = frozenset(("POST", "PUT", "PATCH"))
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
    "id": (str,),
}


@dataclass(frozen=True, slots=True)
class Field:
    """What an operation is told. `at` is its place in the body or the query, with dots for objects in objects; a body that is
    only this field is `at` "*". A count is how many items of a list are wanted; an id is made if none is given. `option` is
    what it is called on the command line, if not by its name."""

    name: str
    about: str
    kind: Kind = "text"
    at: str = ""
    default: Any = None
    is_word: bool = False
    choices: tuple[str, ...] = ()
    option: str = ""

    @property
    def place(self) -> str:
        return self.at or self.name


@dataclass(frozen=True, slots=True)
class Operation:
    """`columns` are what is shown of each item of a list; `fixed` is what its body always has."""

    name: str
    about: str
    method: str
    path: str
    fields: tuple[Field, ...] = ()
    answers: Literal["one", "list", "nothing", "bytes"] = "one"
    columns: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def places(self) -> list[str]:
        """What its path names."""
        return [found[1] for found in _PLACE.finditer(self.path)]

    def known(self) -> dict[str, Field]:
        """Everything it may be told, by name."""
        return {one.name: one for one in (*self.words(), *self.fields)}

    def words(self) -> Iterator[Field]:
        """What it cannot be without, in order: what its path names, unless there is a default, and its own words."""
        own = {one.name for one in self.fields}
        yield from (Field(name, "", is_word=True) for name in self.places if name not in own)
        yield from (one for one in self.fields if one.is_word)


def request(operation: Operation, arguments: Mapping[str, Any]) -> Ask:
    given = _checked(operation, arguments)
    path = _PLACE.sub(lambda found: (url_paths.name if found[2] else url_paths.segment)(given[found[1]]), operation.path)
    query: dict[str, str] = {}
    body: dict[str, Any] = dict(operation.fixed)
    headers: dict[str, str] = {}
    content: bytes | None = None
    for one in operation.fields:
        value = given.get(one.name)
        if value is None or one.name in operation.places:
            continue
        if one.kind == "bytes":
            content, headers = value, {"content-type": "application/octet-stream"}
        elif operation.method not in _WITH_BODY or content is not None:
            query[one.place] = _text(one, value)
        elif one.place == "*":
            body = {**value}
        else:
            _put(body, one.place, value)
    kind = None if operation.answers in ("bytes", "nothing") else Any
    json = None if content is not None or not (body or operation.fields) or operation.method not in _WITH_BODY else body
    return Ask(operation.method, path, json=json, content=content, query=query, kind=kind, headers=headers)


def wanted(operation: Operation, arguments: Mapping[str, Any]) -> int | None:
    """How many items of a list; None for all."""
    (count,) = [one.name for one in operation.fields if one.kind == "count"] or [""]
    found: int | None = arguments.get(count)
    return found


def _checked(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    fields = operation.known()
    unknown = [name for name in arguments if name not in fields]
    if unknown:
        known = ", ".join(fields) or "none"
        raise RequestError("INVALID_ARGUMENT", f"{operation.name} has no argument {unknown[0]!r}", f"there are: {known}")
    given = {name: arguments.get(name, one.default) for name, one in fields.items()}
    for name, one in fields.items():
        if one.kind == "id" and given[name] is None:
            given[name] = secrets.token_hex(8)
        value: Any = given[name]
        if value is None and one.is_word:
            raise RequestError("INVALID_ARGUMENT", f"{operation.name} needs the argument {name!r}")
        if value is None:
            continue
        if not _fits(one.kind, value):
            raise RequestError("INVALID_ARGUMENT", f"{name} must be a {one.kind}, not {type(value).__name__}")
        if one.choices and value not in one.choices:
            raise RequestError("INVALID_ARGUMENT", f"{name} cannot be {value!r}", f"it is one of: {', '.join(one.choices)}")
        if one.kind == "count" and value < 1:
            raise RequestError("INVALID_ARGUMENT", f"{name} must be at least 1")
    return given


def _fits(kind: Kind, value: Any) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "flag" or not isinstance(value, bool))


def _text(one: Field, value: Any) -> str:
    if one.kind == "flag":
        return "true" if value else "false"
    return str(min(value, PAGE_MAX) if one.kind == "count" else value)


def _put(body: dict[str, Any], place: str, value: Any) -> None:
    *outer, last = place.split(".")
    for name in outer:
        body = body.setdefault(name, {})
    body[last] = list(value) if isinstance(value, tuple) else value
