"""Fields: the attributes of a request; and the kinds a field can have, in one table, `KINDS`. A new kind is a new row here.

A kind's `shape` says how conditions are written about it, how generated code checks it and how the solver cuts its values:

    flag     true or false                      a condition by itself
    number   a bounded whole number, with order ==, <=, `in 1..9`
    choice   one of the field's own values      ==, in
    text     any text, compared as a whole      ==, in
    tree     a text of labels in normal form    ==, in, and everything below a constant

No other file spells out a kind's name where a column serves. Numbers are in the smallest unit of their kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from policy.text.diagnostics import CHECKS
from policy.text.literals import (
    DURATION_UNITS_MS,
    INT_MAX,
    INT_MIN,
    SIZE_UNITS,
    compose,
    host_fault,
    is_composed,
    is_host,
    is_path,
    normalise_host,
    parse_quantity,
    read_quantity,
)

Shape = Literal["flag", "number", "choice", "text", "tree"]
Scalar = bool | int | str
MAX_NAME_CHARS = 4096


class Fault(NamedTuple):
    """What is wrong with a constant: the check's code, the message, a hint."""

    code: str
    message: str
    hint: str


class Labels(NamedTuple):
    """How a tree's texts are taken apart, outermost label first, and put together again. `below` makes a child of a text."""

    split: Callable[[str], tuple[str, ...]]
    join: Callable[[tuple[str, ...]], str]
    below: Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Kind:
    """One row. `literal` is how a number is written (a rule of the grammar), `units` what its suffixes are worth; `normalise`
    gives a value of a request the spelling under which rules know it, if it has one. `patterns` are the words that look inside
    it; the run that a `*` stands for holds no `separator`."""

    name: str
    words: str
    shape: Shape
    comparison: str
    example: str = ""
    literal: str = ""
    units: Mapping[str, int] = field(default_factory=dict)
    lowest: int = 0
    schema: tuple[str, ...] = ()
    within: Literal["in", "host"] = "in"
    accepts: Callable[[str], bool] | None = None
    normalise: Callable[[str], str] | None = None
    find_fault: Callable[[str], Fault | None] = lambda text: None
    labels: Labels | None = None
    separator: str = ""
    patterns: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        return self.shape == "number"

    def parse(self, token: str) -> int:
        """The number that a literal of this kind stands for. The grammar guarantees the form."""
        number, unit = parse_quantity(token)
        return number * self.units.get(unit, 1)

    def read(self, text: str) -> Scalar | None:
        """A value as a command line gives it, or None. A number needs no unit there."""
        if self.shape == "flag":
            return {"true": True, "false": False}.get(text)
        return read_quantity(text, self.units) if self.is_number else text

    def write(self, value: int | str) -> str:
        """A constant as the language writes it, in the largest unit that fits."""
        if isinstance(value, str):
            return value if self.shape == "choice" or value.isidentifier() else f'"{value}"'
        for unit, worth in sorted(self.units.items(), key=lambda item: -item[1]):
            if worth == 1 or (value and value % worth == 0):
                return f"{value // worth}{unit}"
        return f"{value:_}"

    def compare(self, name: str, values: tuple[str, ...] = ()) -> str:
        """A hint: how a condition on the field `name` is written."""
        return f"write `{self.comparison.format(name=name, value=(values or ('value',))[0])}`"


def _find_host_fault(text: str) -> Fault | None:
    code = host_fault(text)
    hints = {
        "HP035": "name the hosts below it",
        "HP036": "write `*.` in front, as in `*.acme.example`",
        "HP037": "use a host name",
        "HP038": "write lower-case labels, as in `api.acme.example`",
    }
    return Fault(code, f"{CHECKS[code].title[:-1]}: {text}", hints[code]) if code else None


def _find_path_fault(text: str) -> Fault | None:
    hint = "as in `/data/acme`, without `..`, `//` or a final `/`"
    return None if is_path(text) else Fault("HP039", f"`{text}` is not an absolute, normalised path", hint)


_HOST_LABELS = Labels(
    lambda text: tuple(reversed(text.split("."))) if text else (),
    lambda labels: ".".join(reversed(labels)),
    lambda text, label: f"{label}.{text or 'example'}",
)
_PATH_LABELS = Labels(
    lambda text: tuple(part for part in text.split("/") if part),
    lambda labels: "/" + "/".join(labels),
    lambda text, label: f"{text.rstrip('/')}/{label}",
)
_ROWS = (
    Kind("bool", "a yes-or-no field", "flag", "{name}` or `not {name}", schema=("boolean",)),
    Kind("enum", "one of a fixed list of values", "choice", "{name} == {value}"),
    Kind("int", "a plain number", "number", "{name} <= 10", "1_000", "number", lowest=-(2**53 - 1), schema=("integer",)),
    Kind("size", "a size", "number", "{name} <= 4MiB", "4MiB", "size", SIZE_UNITS),
    Kind("duration", "a duration", "number", "{name} <= 15m", "15m", "duration", DURATION_UNITS_MS),
    Kind(
        "name",
        "a name",
        "text",
        '{name} == "text"',
        schema=("string",),
        normalise=compose,
        patterns=("like", "starts", "ends"),
    ),
    Kind(
        "path",
        "a path",
        "tree",
        '{name} under "/data"',
        schema=("path", "file-path"),
        accepts=is_path,
        normalise=compose,
        find_fault=_find_path_fault,
        labels=_PATH_LABELS,
        separator="/",
        patterns=("like", "ends", "segment ==", "segment in", "segment starts", "segment ends"),
    ),
    Kind(
        "host",
        "a host name",
        "tree",
        '{name} in {{ "api.acme.example" }}',
        schema=("hostname",),
        within="host",
        accepts=is_host,
        normalise=normalise_host,
        find_fault=_find_host_fault,
        labels=_HOST_LABELS,
        separator=".",
        patterns=("like",),
    ),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}
# A schema's `type` or, for a text, its `format`.
KIND_OF_SCHEMA: dict[str, Kind] = {word: kind for kind in _ROWS for word in kind.schema}


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
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
        return kind.accepts(value) if kind.accepts is not None else len(value) <= MAX_NAME_CHARS and is_composed(value)


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
