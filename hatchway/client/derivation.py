"""The clients' table of operations, derived from the gateway's own.

    python -m hatchway.client.derivation           # writes operations.json; run it after a route was added or changed

Rules: nothing is added here. The table is JSON, so that clients need no gateway; a test fails if the file is stale.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec
from msgspec import inspect

from gateway.http.api.operation import Operation as Route
from gateway.http.assembly import list_operations
from hatchway.client.operations import TABLE, Field, Kind, Operation

_PLACE: Final = re.compile(r"\{(\w+)(\.\.\.)?\}")
_KINDS: Final[dict[type, Kind]] = {
    inspect.StrType: "text",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.BoolType: "flag",
    inspect.DictType: "object",
    inspect.StructType: "object",
}


def derive_table() -> str:
    """As text. Handlers are not called, so no service is needed."""
    service: Any = None
    rows = [_describe(route) for route in list_operations(service, service, service) if _is_for_clients(route)]
    return "[\n" + ",\n".join(msgspec.json.encode(row).decode() for row in rows) + "\n]\n"


def _is_for_clients(route: Route) -> bool:
    """WebSockets are opened by browsers; what is below /api is another product's shape of the same operations."""
    return route.path.startswith("/v1/") and not route.websocket


def _describe(route: Route) -> Operation:
    fields = [Field(found[1], found[1], "path", is_required=True, is_word=True) for found in _PLACE.finditer(route.path)]
    has_struct = isinstance(route.body, type) and issubclass(route.body, msgspec.Struct)
    if route.body is not None and not has_struct:
        kind: Kind = "bytes" if route.body is bytes else "object"
        fields.append(Field("file", "*", "body", kind, is_required=True, is_word=True))
    fields += [*_describe_fields(route.query, "query"), *_describe_fields(route.body if has_struct else None, "body")]
    has_body = route.body not in (None, bytes)
    return Operation(
        route.name, route.summary, route.method, route.path, _describe_answer(route), tuple(fields), has_body=has_body
    )


def _describe_answer(route: Route) -> Literal["one", "list", "nothing", "bytes", "events"]:
    if route.answer is None:
        return "events" if route.streamed else "nothing"
    if route.answer is bytes:
        return "bytes"
    told = inspect.type_info(route.answer)
    names = {field.name for field in told.fields} if isinstance(told, inspect.StructType) else set()
    is_list = isinstance(told, inspect.ListType) or {"items", "next"} <= names
    return "list" if is_list and route.method == "GET" else "one"


def _describe_fields(struct: type[msgspec.Struct] | None, place: Literal["query", "body"]) -> list[Field]:
    told = None if struct is None else inspect.type_info(struct)
    return [_describe_field(field, place) for field in told.fields] if isinstance(told, inspect.StructType) else []


def _describe_field(told: inspect.Field, place: Literal["query", "body"]) -> Field:
    kind, choices, about = _describe_type(told.type)
    default = told.default
    stated = str(getattr(default, "value", default)) if isinstance(default, str | int) and default not in ("", False) else ""
    name, is_required = told.encode_name, told.required
    return Field(name, name, place, kind, about, is_required=is_required, stated=stated, choices=choices)


def _describe_type(told: inspect.Type) -> tuple[Kind, tuple[str, ...], str]:
    """Its kind, the texts it may be, and the description that the gateway gives it."""
    if isinstance(told, inspect.Metadata):
        kind, choices, about = _describe_type(told.type)
        return kind, choices, (told.extra_json_schema or {}).get("description", about)
    if isinstance(told, inspect.UnionType):
        others = [choice for choice in told.types if not isinstance(choice, inspect.NoneType)]
        return _describe_type(others[0]) if len(others) == 1 else ("any", (), "")
    if isinstance(told, inspect.LiteralType):
        return "text", tuple(map(str, told.values)), ""
    if isinstance(told, inspect.EnumType):
        return "text", tuple(str(choice.value) for choice in told.cls), ""
    if isinstance(told, inspect.ListType | inspect.VarTupleType) and _describe_type(told.item_type)[0] == "text":
        return "texts", (), ""
    return _KINDS.get(type(told), "any"), (), ""


if __name__ == "__main__":
    TABLE.write_text(derive_table(), "utf-8")
