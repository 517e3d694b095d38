"""What a statement may be about: capabilities by name, family or effects, and the fixed lists of words.

Equal targets are the same tuple, so that results can be kept per target.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lark import Token

from policy.lowering.conditions import Conditions
from policy.lowering.constants import Targets
from policy.model.catalog import EFFECTS, Capability
from policy.syntax import tree as s
from policy.text.sources import Span


@dataclass(slots=True)
class Vocabulary(Conditions):
    _targets: dict[tuple[str, ...], Targets] = field(default_factory=dict)

    def target(self, target: s.Target) -> Targets:
        """The capabilities a target stands for; empty after reporting."""
        token = target.token
        if token is None:
            found = self._by_effects(target)
        elif target.kind == "capability":
            found = [self.catalog.capabilities[token]] if token in self.catalog.capabilities else []
            if not found:
                self.unknown_capability(token)
        else:
            found = [c for name, c in sorted(self.catalog.capabilities.items()) if name.startswith(token + ".")]
            if not found:
                families = sorted({name.rsplit(".", 1)[0] for name in self.catalog.capabilities if "." in name})
                hint = self.findings.guess(token, families, after=".*")
                self.error("HP020", f"no capability begins with `{token}.`", token, hint)
        return self._targets.setdefault(names_of(found), tuple(found))

    def _by_effects(self, target: s.Target) -> list[Capability]:
        for value in target.effects:
            if str(value.token) not in EFFECTS:
                self.unknown_word(value.token, EFFECTS, "effects are")
                return []
        wanted = {str(value.token) for value in target.effects}
        return [c for _, c in sorted(self.catalog.capabilities.items()) if wanted & set(c.effects)]

    def unknown_capability(self, token: Token) -> None:
        hint = self.findings.guess(token, self.catalog.capabilities, "is the right catalog named in the header?")
        self.error("HP020", f"no capability is called `{token}`", token, hint)

    def unknown_word(self, token: Token, known: Iterable[str], says: str) -> None:
        words = list(known)
        hint = self.findings.guess(token, words, f"{says} " + ", ".join(words))
        self.error("HP024", f"`{token}` is not known here", token, hint)

    def locate_statement(self, target: s.Target, effect: Token | None) -> Span:
        token = target.token or (target.effects[0].token if target.effects else None)
        start, end = s.offsets(token) if token is not None else (0, 0)
        if effect is not None and s.offsets(effect)[0] < start:
            start = s.offsets(effect)[0]
        return Span(self.source, start, max(start, end))


def names_of(targets: Iterable[Capability]) -> tuple[str, ...]:
    return tuple(target.name for target in targets)


def target_text(target: s.Target) -> str:
    if target.kind == "capability":
        return str(target.token)
    if target.kind == "family":
        return f"{target.token}.*"
    return "any with effects { " + ", ".join(sorted(str(v.token) for v in target.effects)) + " }"
