"""One attribute of a request: its type, what it can hold, and whether it may be missing.

Rules: a field is bool, enum, bounded int, size, duration, name, path or host. Numbers are in bytes and milliseconds.
This file does not know who has which fields.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from policy.text.literals import INT_MAX, INT_MIN, is_host, is_path

Kind = Literal["bool", "enum", "int", "size", "duration", "name", "path", "host"]
Scalar = bool | int | str
KINDS: tuple[Kind, ...] = ("bool", "enum", "int", "size", "duration", "name", "path", "host")
MAX_NAME_CHARS = 4096


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attribute of a request. Numbers are in bytes and milliseconds."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    low: int = INT_MIN
    high: int = INT_MAX
    required: bool = True
    default: Scalar | None = None
    sensitive: bool = False
    doc: str = ""

    @property
    def usable(self) -> bool:
        return self.required or self.default is not None

    def accepts(self, value: object) -> bool:
        """Whether a concrete value is one this field can hold."""
        if self.kind == "bool":
            return value is True or value is False
        if self.kind in ("int", "size", "duration"):
            return value.__class__ is int and self.low <= value <= self.high
        if value.__class__ is not str:
            return False
        assert isinstance(value, str)
        if self.kind == "enum":
            return value in self.values
        if self.kind == "host":
            return is_host(value)
        if self.kind == "path":
            return is_path(value)
        return len(value) <= MAX_NAME_CHARS


class CatalogError(ValueError):
    """A definition cannot be used; the message says which and why."""


def check_field(field: Field) -> None:
    """Raises CatalogError for a field that no value fits, or whose default does not."""
    if field.kind == "enum" and not field.values:
        raise CatalogError(f"{field.name!r} is one of a fixed list of values, and the list is empty")
    if field.low > field.high:
        raise CatalogError(f"no number fits {field.name!r}: it lies in {field.low}..{field.high}")
    if field.default is not None and not field.accepts(field.default):
        raise CatalogError(f"the default of {field.name!r} is not one of its values")
