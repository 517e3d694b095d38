"""Schemas: what a capability takes and gives, checked by `jsonschema-rs`.

How arguments meet an input schema:
- A schema with `"type": "object"` or `properties` describes arguments by name. Positional arguments take the names of
  `properties`, in the order they are written; one too many, or one that is also given by name, is refused. The function is then
  called with names only, so what was checked is what is called.
- Any other schema describes the list of positional arguments. The two that say nothing, `{}` and the contract's default
  `{"type": "array"}`, let keyword arguments through; under any other, keyword arguments are refused, for nothing describes them.

Rules: a schema is compiled once, when it is registered, and one that cannot be is refused then. Patterns run in linear time (no
look-around, no back-references); a `$ref` leads nowhere outside of its schema. `format` is not checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, get_type_hints

import msgspec

from sandbox.errors import RequestError

SCHEMA_BYTES_MAX = 256 << 10
_MESSAGE_CHARS_MAX = 500
_SAY_NOTHING: tuple[dict[str, Any], ...] = ({}, {"type": "array"})
_PATTERN_BYTES_MAX = 1 << 20


class Mismatch(Exception):
    """A value that is not as its schema says."""


class _Validator(Protocol):
    def validate(self, instance: Any) -> None: ...


def compile_schema(schema: Any, what: str) -> _Validator | None:
    """A validator, or None if the schema allows everything. Raises `RequestError` for one that is no schema."""
    if schema == {} or schema is True:
        return None
    if not isinstance(schema, dict):
        raise RequestError("INVALID_ARGUMENT", f"{what} must be a JSON object, not {type(schema).__name__}")
    from sandbox.capabilities.schema_costs import check_cost  # imported late: a process without schemas does not need it

    try:
        size_bytes = len(msgspec.json.encode(schema))
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestError("INVALID_ARGUMENT", f"{what} is not plain JSON: {error}") from None
    if size_bytes > SCHEMA_BYTES_MAX:
        raise RequestError("INVALID_ARGUMENT", f"{what} has more than {SCHEMA_BYTES_MAX} bytes")
    # THREAT[TM-CAP-SCHEMA]: a server's schema may not fetch, backtrack or multiply.
    why = check_cost(schema)
    if why is not None:
        raise RequestError("INVALID_ARGUMENT", f"{what}: {why}")
    import jsonschema_rs

    try:
        options = jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES_MAX)
        return jsonschema_rs.validator_for(schema, pattern_options=options, offline=True)
    except ValueError as error:
        raise RequestError("INVALID_ARGUMENT", f"{what} is not a JSON Schema: {_cut_first_line(error)}") from None


def check_value(validator: _Validator, value: Any, what: str) -> None:
    try:
        validator.validate(value)
    except ValueError as error:
        where = "".join(f"[{step!r}]" for step in getattr(error, "instance_path", ()))
        raise Mismatch(f"{what}{where}: {_cut_first_line(error)}"[:_MESSAGE_CHARS_MAX]) from None


def _cut_first_line(error: Exception) -> str:
    return str(getattr(error, "message", error)).partition("\n")[0][:_MESSAGE_CHARS_MAX]


class Arguments:
    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._validator = None if schema in _SAY_NOTHING else compile_schema(schema, "input_schema")
        self.is_named = schema.get("type") == "object" or "properties" in schema if isinstance(schema, Mapping) else False
        self._names = list(schema.get("properties", ())) if self.is_named else []

    def bind(self, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments to call the function with. Raises `Mismatch`."""
        if self._validator is None:
            return args, kwargs
        if not self.is_named:
            if kwargs:
                raise Mismatch(f"there is no argument called {next(iter(kwargs))[:80]!r}: arguments are positional")
            check_value(self._validator, args, "arguments")
            return args, kwargs
        if args:
            kwargs = self._name_arguments(args, kwargs)
        check_value(self._validator, kwargs, "arguments")
        return [], kwargs

    def _name_arguments(self, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = self._names
        if len(args) > len(names):
            taken = f"{len(names)}: {', '.join(names)[:200]}" if names else "none"
            raise Mismatch(f"{len(args)} positional arguments were given, and it takes {taken}")
        named = dict(zip(names, args, strict=False))
        for name in kwargs:
            if name in named:
                raise Mismatch(f"the argument {name[:80]!r} was given twice")
        return {**named, **kwargs}


def derive_schemas(function: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Input and output schema from a function's signature and type hints.

    A parameter without a hint, or with one JSON does not know, may be anything. A function with `*args` or positional-only
    parameters gets the default, because names could not be passed to it; one without any signature too.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(function, include_extras=True)
    except (TypeError, ValueError, NameError, AttributeError):
        return {"type": "array"}, {}
    output = _derive_schema(hints["return"]) if "return" in hints else {}
    if any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY) for parameter in parameters):
        return {"type": "array"}, output
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    for parameter in named:
        described = _derive_schema(hints[parameter.name]) if parameter.name in hints else {}
        definitions.update(described.pop("$defs", {}))
        properties[parameter.name] = described
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in named if parameter.default is parameter.empty],
        "additionalProperties": len(named) < len(parameters),
    }
    return ({**schema, "$defs": definitions} if definitions else schema), output


def _derive_schema(hint: Any) -> dict[str, Any]:
    try:
        return msgspec.json.schema(hint)
    except (TypeError, ValueError, RecursionError):
        return {}
