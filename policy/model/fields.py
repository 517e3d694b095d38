"""One attribute of a request: its kind, what it can hold, and whether it may be missing.

Rules: kinds are the rows of `kinds.py`. Numbers are in the smallest unit of their kind (bytes, milliseconds).
This file does not know who has which fields.
"""

from __future__ import annotations

import msgspec

from policy.model.kinds import KINDS, Kind
from policy.model.kinds import Scalar as Scalar
from policy.text.literals import INT_MAX, INT_MIN

MAX_NAME_CHARS = 4096


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attribute of a request."""

    name: str
    kind: str
    values: tuple[str, ...] = ()
    low: int = INT_MIN
    high: int = INT_MAX
    required: bool = True
    default: Scalar | None = None
    sensitive: bool = False
    doc: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is not a kind of field; kinds are {', '.join(KINDS)}")

    @property
    def type(self) -> Kind:
        return KINDS[self.kind]

    @property
    def usable(self) -> bool:
        return self.required or self.default is not None

    def accepts(self, value: object) -> bool:
        """Whether a concrete value is one this field can hold."""
        kind = self.type
        if kind.shape == "flag":
            return value is True or value is False
        if kind.is_number:
            return value.__class__ is int and self.low <= value <= self.high
        if value.__class__ is not str:
            return False
        assert isinstance(value, str)
        if kind.shape == "choice":
            return value in self.values
        return kind.accepts(value) if kind.accepts is not None else len(value) <= MAX_NAME_CHARS


class CatalogError(ValueError):
    """A definition cannot be used; the message says which and why."""


def check_field(field: Field) -> None:
    """Raises CatalogError for a field that no value fits, or whose default does not."""
    if field.type.shape == "choice" and not field.values:
        raise CatalogError(f"{field.name!r} is one of a fixed list of values, and the list is empty")
    if field.low > field.high:
        raise CatalogError(f"no number fits {field.name!r}: it lies in {field.low}..{field.high}")
    if field.default is not None and not field.accepts(field.default):
        raise CatalogError(f"the default of {field.name!r} is not one of its values")
