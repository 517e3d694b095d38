"""From a tool's JSON Schema to typed fields.

What cannot be decided on (fractions, lists, unions, references, values that may be null) is left out, with the reason, so that
a rule about it can be told why. Bounds are those of whole numbers: `exclusiveMaximum: 10.5` permits 10.
THREAT[TM-POL-001]: schemas come from outside; they are walked with an explicit list, and everything is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, isfinite
from typing import Any

from policy.model.kinds import KIND_OF_SCHEMA, KINDS, CatalogError, Field, Kind, check_field
from policy.text.literals import INT_MAX, INT_MIN

MAX_FIELDS = 256
_MAX_DOTS = 4
_SAFE_INT = 2**53 - 1
_VERDICTS = ("allow", "ask", "deny")


def schema_fields(name: str, schema: Mapping[str, Any]) -> tuple[list[Field], dict[str, str]]:
    """The properties that have a type, nested objects flattened with dots; and the others, each with the reason."""
    found: list[Field] = []
    left_out: dict[str, str] = {}
    pending: list[tuple[str, Mapping[str, Any], bool]] = [("", schema, True)]
    while pending:
        prefix, node, always = pending.pop()
        required = set(node.get("required", ()))
        for key, part in sorted(node.get("properties", {}).items()):
            path, needed = prefix + key, always and key in required
            why = _explain_unusable(path, key, part)
            if why is None and part.get("type") == "object":
                pending.append((path + ".", part, needed))
            elif why is None:
                found.append(_schema_field(path, part, needed))
            elif len(left_out) < MAX_FIELDS:
                left_out[path] = why
            if len(found) + len(pending) > MAX_FIELDS:
                raise CatalogError(f"{name}: more than {MAX_FIELDS} fields")
    return sorted(found, key=lambda field: field.name), dict(sorted(left_out.items()))


def _explain_unusable(path: str, key: str, part: Any) -> str | None:
    """Why a property cannot stand in a condition, or None."""
    if not isinstance(part, Mapping):
        return "it has no schema"
    if not key.isascii() or not key.isidentifier() or path.split(".")[0] in _VERDICTS:
        return "its name cannot be written in a policy"
    if part.get("type") == "object":
        return "it is nested too deeply" if path.count(".") >= _MAX_DOTS else None
    usable = _schema_kind(part)
    if usable is not None:
        low, high = _bounds(part, usable)
        return "no value fits it" if low > high or (usable.shape == "choice" and not part.get("enum")) else None
    kind = part.get("type")
    if "$ref" in part:
        return "it refers to another schema"
    if isinstance(kind, list):
        return "it may be null" if "null" in kind else "it has several types"
    if any(word in part for word in ("anyOf", "oneOf", "allOf")):
        return "it is a choice of several schemas"
    reasons = {"number": "it may be a fraction", "array": "it is a list", "null": "it is always null"}
    return reasons.get(str(kind), "its values are not all texts" if "enum" in part else "it has no type")


def _schema_field(name: str, part: Mapping[str, Any], required: bool) -> Field:
    kind = _schema_kind(part)
    assert kind is not None
    low, high = _bounds(part, kind) if kind.is_number else (-_SAFE_INT, _SAFE_INT)
    field = Field(
        name,
        kind.name,
        tuple(sorted(set(part["enum"]))) if kind.shape == "choice" else (),
        low,
        high,
        required,
        None if required else part.get("default"),
        bool(part.get("x-sensitive", part.get("writeOnly", False))),
        str(part.get("description", "")),
    )
    check_field(field)
    return field


def _bounds(part: Mapping[str, Any], kind: Kind) -> tuple[int, int]:
    """The least and the greatest whole number a schema permits. A bound `true` makes the other one exclusive, as of old."""
    least, most, above, below = (_number(part, f"{word}imum") for word in ("min", "max", "exclusiveMin", "exclusiveMax"))
    lows = [floor(above) + 1] if above is not None else []
    highs = [ceil(below) - 1] if below is not None else []
    if least is not None:
        lows.append(floor(least) + 1 if part.get("exclusiveMinimum") is True else ceil(least))
    if most is not None:
        highs.append(ceil(most) - 1 if part.get("exclusiveMaximum") is True else floor(most))
    low = max(lows, default=kind.lowest)
    high = min(highs, default=_SAFE_INT)
    return max(INT_MIN, low), min(INT_MAX, high)


def _number(part: Mapping[str, Any], word: str) -> int | float | None:
    value = part.get(word)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value) else None


def _schema_kind(part: Mapping[str, Any]) -> Kind | None:
    declared, kind = KINDS.get(str(part.get("x-type"))), part.get("type", "string")
    if declared is not None and declared.shape != "choice":
        return declared
    if kind != "string":
        return KIND_OF_SCHEMA.get(kind) if kind in ("boolean", "integer") else None
    if isinstance(part.get("enum"), list):
        return KINDS["enum"] if all(isinstance(v, str) for v in part["enum"]) else None
    if "type" not in part:
        return None
    return KIND_OF_SCHEMA.get(str(part.get("format", "")), KINDS["name"])
