"""What a statement may be about: capabilities by name, family or effects, and the fixed lists of words.

Rules: an unknown word is reported with the nearest right one. Equal targets are the same tuple, so that results can be kept
per target.
This file does not know statements.
"""

from __future__ import annotations

from collections.abc import Iterable

from lark import Token

from policy.lowering.conditions import Conditions
from policy.lowering.constants import Targets
from policy.model.catalog import EFFECTS, Capability, Catalog
from policy.syntax import tree as s
from policy.text.sources import Span


class Vocabulary:
    def __init__(self, catalog: Catalog, conditions: Conditions) -> None:
        self.catalog, self.conditions = catalog, conditions
        self._known: dict[tuple[str, ...], Targets] = {}

    def target(self, target: s.Target) -> Targets:
        """The capabilities a target stands for; empty after reporting."""
        found: list[Capability] = []
        if target.kind == "capability":
            assert target.token is not None
            known = self.catalog.capabilities.get(target.token)
            if known is None:
                self.unknown_capability(target.token)
                return ()
            found = [known]
        elif target.kind == "family":
            assert target.token is not None
            found = [c for name, c in sorted(self.catalog.capabilities.items()) if name.startswith(target.token + ".")]
            if not found:
                families = {name.rsplit(".", 1)[0] for name in self.catalog.capabilities if "." in name}
                guess = self.conditions.findings.guess(target.token, sorted(families))
                self.conditions.error(
                    "HP020",
                    f"no capability begins with `{target.token}.`",
                    target.token,
                    f"did you mean `{guess}.*`?" if guess else None,
                )
        else:
            found = self._by_effects(target)
        names = tuple(c.name for c in found)
        return self._known.setdefault(names, tuple(found)) if names else ()

    def _by_effects(self, target: s.Target) -> list[Capability]:
        wanted: set[str] = set()
        for value in target.effects:
            if str(value.token) in EFFECTS:
                wanted.add(str(value.token))
            else:
                self.unknown_word(value.token, EFFECTS, "effects are")
                return []
        return [c for _, c in sorted(self.catalog.capabilities.items()) if wanted & set(c.effects)]

    def unknown_capability(self, token: Token) -> None:
        guess = self.conditions.findings.guess(token, self.catalog.capabilities)
        hint = f"did you mean `{guess}`?" if guess else "is the right catalog named in the header?"
        self.conditions.error("HP020", f"no capability is called `{token}`", token, hint)

    def unknown_word(self, token: Token, known: Iterable[str], says: str) -> None:
        words = list(known)
        guess = self.conditions.findings.guess(token, words)
        self.conditions.error(
            "HP024", f"`{token}` is not known here", token, f"did you mean `{guess}`?" if guess else f"{says} " + ", ".join(words)
        )

    def locate(self, target: s.Target, effect: Token | None) -> Span:
        token = target.token or (target.effects[0].token if target.effects else None)
        start, end = s.offsets(token) if token is not None else (0, 0)
        if effect is not None and s.offsets(effect)[0] < start:
            start = s.offsets(effect)[0]
        return Span(self.conditions.source, start, max(start, end))


def target_text(target: s.Target) -> str:
    if target.kind == "capability":
        return str(target.token)
    if target.kind == "family":
        return f"{target.token}.*"
    return "any with effects { " + ", ".join(sorted(str(v.token) for v in target.effects)) + " }"
