"""The clients' table of operations, derived from the gateway's own.

    python -m hatchway.client.derivation           # writes operations.json; run it after a route was added or changed

Rules: the gateway's `Operation` rows are the only description; nothing is added here. A row of the table is plain JSON, so that
clients need no gateway: `"name": "text! What it is"` is a required text with its description, `"number=50"` has a default, and
`"a|b"` is one of these words. A test fails if the file is stale.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import inspect

from gateway.http.api.operation import Operation
from gateway.http.assembly import list_operations

TABLE: Final = Path(__file__).with_name("operations.json")
_KINDS: Final[dict[type, str]] = {
    inspect.StrType: "text",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.BoolType: "flag",
    inspect.DictType: "object",
    inspect.StructType: "object",
}


def derive_table() -> str:
    """The table as text. Handlers are not called, so no service is needed."""
    service: Any = None
    rows = [_describe(operation) for operation in list_operations(service, service, service) if _is_for_clients(operation)]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def _is_for_clients(operation: Operation) -> bool:
    """WebSockets are opened by browsers; what is below /api is another product's shape of the same operations."""
    return operation.path.startswith("/v1/") and not operation.websocket and not operation.hidden


def _describe(operation: Operation) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": operation.name,
        "method": operation.method,
        "path": operation.path,
        "about": operation.summary,
        "answers": _describe_answer(operation),
    }
    if operation.query is not None:
        row["query"] = _describe_fields(operation.query)
    if operation.body is not None:
        is_struct = isinstance(operation.body, type) and issubclass(operation.body, msgspec.Struct)
        row["body"] = _describe_fields(operation.body) if is_struct else "bytes" if operation.body is bytes else "object"
    return row


def _describe_answer(operation: Operation) -> str:
    if operation.answer is None:
        return "events" if operation.streamed else "nothing"
    if operation.answer is bytes:
        return "bytes"
    told = inspect.type_info(operation.answer)
    names = {field.name for field in told.fields} if isinstance(told, inspect.StructType) else set()
    is_list = isinstance(told, inspect.ListType) or {"items", "next"} <= names
    return "list" if is_list and operation.method == "GET" else "one"


def _describe_fields(struct: type[msgspec.Struct]) -> dict[str, str]:
    told = inspect.type_info(struct)
    assert isinstance(told, inspect.StructType)
    return {field.encode_name: _describe_field(field) for field in told.fields}


def _describe_field(field: inspect.Field) -> str:
    kind, about = _describe_type(field.type)
    default = field.default
    if field.required:
        kind += "!"
    elif isinstance(default, str | int) and default not in ("", False):
        kind += f"={getattr(default, 'value', default)}"
    return f"{kind} {about}".strip()


def _describe_type(told: inspect.Type) -> tuple[str, str]:
    """Its kind, and the description that the gateway gives it."""
    if isinstance(told, inspect.Metadata):
        kind, about = _describe_type(told.type)
        return kind, (told.extra_json_schema or {}).get("description", about)
    if isinstance(told, inspect.UnionType):
        others = [choice for choice in told.types if not isinstance(choice, inspect.NoneType)]
        return _describe_type(others[0]) if len(others) == 1 else ("any", "")
    if isinstance(told, inspect.LiteralType):
        return "|".join(map(str, told.values)), ""
    if isinstance(told, inspect.EnumType):
        return "|".join(str(choice.value) for choice in told.cls), ""
    if isinstance(told, inspect.ListType | inspect.VarTupleType) and _describe_type(told.item_type)[0] == "text":
        return "texts", ""
    return _KINDS.get(type(told), "any"), ""


if __name__ == "__main__":
    TABLE.write_text(derive_table(), "utf-8")
