"""The words of a policy: constants with their units, targets, and the fixed lists, each checked where it stands.

A bare word is a text only where no field, set or let has that name. Equal targets are the same tuple, so that results can be
kept per target.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lark import Token

from policy.model.catalog import EFFECTS, Capability, Catalog, Field
from policy.model.kinds import Fault
from policy.model.patterns import make_pattern
from policy.syntax import tree as s
from policy.text.diagnostics import Findings
from policy.text.sources import Source, Span
from policy.text.spelling import mixes_scripts

Targets = tuple[Capability, ...]
_ABOUT_CATALOG = ("HP020", "HP021")
_WILDCARDS = frozenset("*?")
_BRACED = re.compile(r"\{([A-Za-z_][\w.]*)\}")
_FORMER = {("session.role", "runner"): "member", ("session.creator_role", "runner"): "member"}
"""Words that policies may still say, by field, and what they are called now: a deny must not lose its meaning with its word."""


@dataclass(slots=True)
class SetEntry:
    name: Token
    values: tuple[s.Value, ...]
    source: Source
    used: bool = False


class Size(NamedTuple):
    """What a condition expands to. `needs` has one bit per let it refers to, directly or not."""

    needs: int
    atoms: int
    depth: int
    broken: bool


@dataclass(slots=True)
class LetEntry:
    name: Token
    expr: s.Expr
    source: Source
    index: int
    size: Size
    used: bool = False


@dataclass(slots=True)
class Vocabulary:
    """`about` are the capabilities of the rule being read; without `typed` the catalog is not the policy's own."""

    catalog: Catalog
    findings: Findings
    source: Source
    sets: dict[str, SetEntry] = field(default_factory=dict)
    lets: dict[str, LetEntry] = field(default_factory=dict)
    faults: int = 0
    about: Targets = ()
    typed: bool = True
    _targets: dict[tuple[str, ...], Targets] = field(default_factory=dict)

    def span(self, token: Token) -> Span:
        start, end = s.offsets(token)
        return Span(self.source, start, end)

    def error(self, code: str, message: str, at: Token, hint: str | None = None) -> None:
        self.faults += 1
        if self.typed or code not in _ABOUT_CATALOG:
            self.findings.add(code, message, self.span(at), hint)

    def misfit(self, field_: Field, why: str, at: Token) -> None:
        """Report that a field's type does not fit what is asked of it, with how it is compared."""
        kind = field_.type
        self.error("HP030", f"`{field_.name}` is {kind.words}{why}", at, kind.compare(field_.name, field_.values))

    def number(self, field_: Field, value: s.Value) -> int | None:
        """A constant for a numeric field, in bytes or milliseconds, or None after reporting."""
        kind = field_.type
        if value.kind != kind.literal:
            is_text = value.kind in ("string", "symbol")
            message = f"`{field_.name}` is {kind.words}" + (", not text" if is_text else "")
            self.error("HP030" if is_text else "HP031", message, value.token, f"write {kind.words}, as in {kind.example}")
            return None
        number = kind.parse(value.token)
        if not field_.low <= number <= field_.high:
            self.error("HP032", f"`{field_.name}` lies in {field_.low:,}..{field_.high:,}", value.token)
            return None
        return number

    def is_field(self, word: str) -> bool:
        return word in self.catalog.context or any(word in target.fields for target in self.about)

    def constant(self, field_: Field, value: s.Value) -> str | None:
        """A constant in a condition: `text`, unless the word stands for something else there."""
        word = str(value.token)
        if value.kind == "symbol" and word not in field_.values and (self.is_field(word) or word in self.lets):
            what = "a field, and no constant" if self.is_field(word) else "a condition, not a value"
            self.error("HP030", f"`{word}` is {what}", value.token, f'write `"{word}"` if the text is meant')
            return None
        if field_.kind == "path" and "{" in word and any(self.is_field(name) for name in _BRACED.findall(word)):
            hint = 'write `under "/home/{user}"`'
            self.error("HP039", f"`{word}`: a field takes the place of a segment only after `under`", value.token, hint)
            return None
        if field_.type.labels is not None and field_.type.within == "in" and (sign := next(iter(_WILDCARDS & set(word)), "")):
            hint = f"`{field_.name} under` a folder covers everything below it; write the folder alone"
            self.error(
                "HP029",
                f"`{sign}` is no wildcard in {field_.type.words}: {word} matches only a file called so",
                value.token,
                hint,
            )
            return None
        return self.text(field_, value)

    def pattern(self, field_: Field, word: str, value: s.Value) -> str | None:
        """A pattern in its canonical form, or None after reporting."""
        if value.kind != "string":
            self.error("HP030", f"`{value.token}` is no text in quotes, and no set", value.token, f'write `"{value.token}"`')
            return None
        text = str(value.token)[1:-1]
        if mixes_scripts(text):
            self.error("HP026", f"`{text}` mixes letters that look alike", value.token, "type it again in one alphabet")
            return None
        found = make_pattern(field_.type, word, text)
        if isinstance(found, Fault):
            self.error(found.code, found.message, value.token, found.hint)
            return None
        return found

    def text(self, field_: Field, value: s.Value) -> str | None:
        """A constant for a text-like field, or None after reporting."""
        if value.kind not in ("string", "symbol"):
            self.misfit(field_, ", not a number", value.token)
            return None
        text = str(value.token)[1:-1] if value.kind == "string" else str(value.token)
        if value.kind == "symbol" and text in self.sets:
            self.error("HP030", f"`{text}` is a set", value.token, f"write `{field_.name} in {text}`")
            return None
        if mixes_scripts(text):
            self.error("HP026", f"`{text}` mixes letters that look alike", value.token, "type it again in one alphabet")
            return None
        if field_.type.shape == "choice" and text not in field_.values:
            hint = self.findings.guess(text, field_.values, "values: " + ", ".join(field_.values[:20]))
            self.error("HP023", f"`{field_.name}` is never `{text}`", value.token, hint)
            return None
        fault = field_.type.find_fault(text)
        if fault is not None:
            self.error(fault.code, fault.message, value.token, fault.hint)
            return None
        now = _FORMER.get((field_.name, text), text)
        if now != text:
            self.findings.add("HP107", f"`{text}` is read as `{now}`, its name now", self.span(value.token), f"write `{now}`")
        return now

    def target(self, target: s.Target) -> Targets:
        """The capabilities a target stands for; empty after reporting."""
        token = target.token
        if token is None:
            found = self._list_by_effects(target)
        elif target.kind == "capability":
            found = [self.catalog.capabilities[token]] if token in self.catalog.capabilities else []
            if not found:
                self.report_unknown_capability(token)
        else:
            found = [c for name, c in sorted(self.catalog.capabilities.items()) if name.startswith(token + ".")]
            if not found:
                families = sorted({name.rsplit(".", 1)[0] for name in self.catalog.capabilities if "." in name})
                hint = self.findings.guess(token, families, after=".*")
                self.error("HP020", f"no capability begins with `{token}.`", token, hint)
        return self._targets.setdefault(list_names(found), tuple(found))

    def _list_by_effects(self, target: s.Target) -> list[Capability]:
        for value in target.effects:
            if str(value.token) not in EFFECTS:
                self.report_unknown_word(value.token, EFFECTS, "effects are")
                return []
        wanted = {str(value.token) for value in target.effects}
        return [c for _, c in sorted(self.catalog.capabilities.items()) if wanted & set(c.effects)]

    def report_unknown_capability(self, token: Token) -> None:
        hint = self.findings.guess(token, self.catalog.capabilities, "is the right catalog named in the header?")
        self.error("HP020", f"no capability is called `{token}`", token, hint)

    def report_unknown_word(self, token: Token, known: Iterable[str], says: str) -> None:
        words = list(known)
        hint = self.findings.guess(token, words, f"{says} " + ", ".join(words))
        self.error("HP024", f"`{token}` is not known here", token, hint)

    def locate_statement(self, target: s.Target, effect: Token | None) -> Span:
        token = target.token or (target.effects[0].token if target.effects else None)
        start, end = s.offsets(token) if token is not None else (0, 0)
        if effect is not None and s.offsets(effect)[0] < start:
            start = s.offsets(effect)[0]
        return Span(self.source, start, max(start, end))


def list_names(targets: Iterable[Capability]) -> tuple[str, ...]:
    return tuple(target.name for target in targets)


def write_target(target: s.Target) -> str:
    if target.kind == "capability":
        return str(target.token)
    if target.kind == "family":
        return f"{target.token}.*"
    return "any with effects { " + ", ".join(sorted(str(v.token) for v in target.effects)) + " }"
