"""Constants in a policy: numbers with their units, and texts, checked against the field they are for.

Rules: a constant outside what its field can hold is a mistake, reported where it stands. A bare word is a text only where no
field, set or let has that name.
This file does not know conditions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lark import Token

from policy.model import type_names
from policy.model.catalog import Capability, Catalog, Field
from policy.syntax import tree as s
from policy.text.diagnostics import CHECKS, Findings
from policy.text.literals import duration_ms, host_fault, is_path, quantity, size_bytes
from policy.text.sources import Source, Span
from policy.text.spelling import mixes_scripts

Targets = tuple[Capability, ...]
_ABOUT_CATALOG = ("HP020", "HP021")


@dataclass(slots=True)
class SetEntry:
    name: Token
    values: tuple[s.Value, ...]
    source: Source
    used: bool = False


@dataclass(slots=True)
class LetEntry:
    """`needs` has one bit per let this one refers to, directly or not."""

    name: Token
    expr: s.Expr
    source: Source
    index: int
    needs: int = 0
    atoms: int = 0
    depth: int = 0
    broken: bool = False
    used: bool = False


@dataclass(slots=True)
class Constants:
    """What is defined so far, and how its values are read.

    `about` are the capabilities of the rule being read; without `typed` the catalog is not the policy's own.
    """

    catalog: Catalog
    findings: Findings
    source: Source
    sets: dict[str, SetEntry] = field(default_factory=dict)
    lets: dict[str, LetEntry] = field(default_factory=dict)
    faults: int = 0
    about: Targets = ()
    typed: bool = True

    def span(self, token: Token) -> Span:
        start, end = s.offsets(token)
        return Span(self.source, start, end)

    def error(self, code: str, message: str, at: Token, hint: str | None = None) -> None:
        self.faults += 1
        if self.typed or code not in _ABOUT_CATALOG:
            self.findings.add(code, message, self.span(at), hint)

    def number(self, field_: Field, value: s.Value) -> int | None:
        """A constant for a numeric field, in bytes or milliseconds, or None after reporting."""
        wanted = {"int": "number", "size": "size", "duration": "duration"}[field_.kind]
        if value.kind in ("string", "symbol"):
            self.error(
                "HP030", f"`{field_.name}` is {type_names.a(field_.kind)}, not text", value.token, type_names.example(field_)
            )
            return None
        if value.kind != wanted:
            self.error("HP031", f"`{field_.name}` is {type_names.a(field_.kind)}", value.token, type_names.example(field_))
            return None
        number = {"number": lambda t: quantity(t)[0], "size": size_bytes, "duration": duration_ms}[value.kind](value.token)
        if not field_.low <= number <= field_.high:
            self.error("HP032", f"`{field_.name}` lies in {field_.low:,}..{field_.high:,}", value.token)
            return None
        return number

    def constant(self, field_: Field, value: s.Value) -> str | None:
        """A constant in a condition: `text`, unless the word stands for something else there."""
        word = str(value.token)
        if value.kind == "symbol" and word not in field_.values:
            is_field = word in self.catalog.context or any(word in target.fields for target in self.about)
            if is_field or word in self.lets:
                what = "a field; fields are compared with constants" if is_field else "a condition, not a value"
                self.error("HP030", f"`{word}` is {what}", value.token, f'write `"{word}"` if the text is meant')
                return None
        return self.text(field_, value)

    def text(self, field_: Field, value: s.Value) -> str | None:
        """A constant for a text-like field, or None after reporting."""
        if value.kind not in ("string", "symbol"):
            self.error(
                "HP030",
                f"`{field_.name}` is {type_names.a(field_.kind)}, not a number",
                value.token,
                type_names.comparison(field_),
            )
            return None
        text = str(value.token)[1:-1] if value.kind == "string" else str(value.token)
        if value.kind == "symbol" and text in self.sets:
            self.error("HP030", f"`{text}` is a set", value.token, f"write `{field_.name} in {text}`")
            return None
        if mixes_scripts(text):
            self.error("HP026", f"`{text}` mixes letters that look alike", value.token, "type it again in one alphabet")
            return None
        if field_.kind == "enum" and text not in field_.values:
            guess = self.findings.guess(text, field_.values)
            hint = f"did you mean `{guess}`?" if guess else "values: " + ", ".join(field_.values[:20])
            self.error("HP023", f"`{field_.name}` is never `{text}`", value.token, hint)
            return None
        if field_.kind == "host" and (fault := host_fault(text)):
            hint = {
                "HP035": "name the hosts below it",
                "HP036": "write `*.` in front, as in `*.acme.example`",
                "HP037": "use a host name",
                "HP038": "write lower-case labels, as in `api.acme.example`",
            }[fault]
            self.error(fault, CHECKS[fault].title[:-1] + f": {text}", value.token, hint)
            return None
        if field_.kind == "path" and not is_path(text):
            self.error(
                "HP039",
                f"`{text}` is not an absolute, normalised path",
                value.token,
                "as in `/data/acme`, without `..`, `//` or a final `/`",
            )
            return None
        return text
