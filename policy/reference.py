"""The reference page, made from the grammar, the checks and the fixed lists: `python -m policy.reference` prints it.

A test compares the page in `docs/` with this.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from policy.model.catalog import EFFECTS, Capability, Field, builtin_catalog
from policy.model.settings import EXECUTORS, ON_ERROR, RATE_SCOPES, SETTINGS
from policy.syntax.parser import grammar_text
from policy.text.diagnostics import CHECKS
from policy.tools.editor_queries import KEYWORDS

_INTRO = """# Policy language reference

Made from the compiler by `python -m policy.reference`; do not edit. The guide is [policy.md](policy.md).
"""


def page() -> str:
    catalog = builtin_catalog()
    capabilities = sorted(catalog.capabilities.values(), key=lambda c: c.name)
    parts = [
        _INTRO,
        f"## Grammar\n\n```lark\n{grammar_text().strip()}\n```\n",
        _table("Keywords", "word | meaning", ((f"`{word}`", meaning) for word, meaning in sorted(KEYWORDS.items()))),
        _table("Facts about the caller", "field | type | default | meaning", map(_describe_fact, catalog.context.values())),
        _table("Built-in capabilities", "capability | effects | fields | needs limits", map(_describe, capabilities)),
        _table(
            "Limits",
            "limit | type | in a decision | meaning",
            ((f"`{name}`", setting.kind, f"`{setting.wire}`", setting.doc) for name, setting in SETTINGS.items()),
        ),
        _lists(),
        _table("Errors", "code | name | what | why", _list_checks("error")),
        _table("Warnings", "code | name | what | why", _list_checks("warning")),
    ]
    return "\n".join(parts)


def _table(title: str, heads: str, rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"## {title}\n", f"| {heads} |", "|---" * len(heads.split(" | ")) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _describe_fact(field: Field) -> tuple[str, ...]:
    default = "required" if field.default is None else f"`{str(field.default).lower()}`" if field.default != "" else "empty"
    return f"`{field.name}`", _kind(field), default, field.doc


def _describe(capability: Capability) -> tuple[str, ...]:
    fields = "<br>".join(f"`{f.name}`: {_kind(f)}; {f.doc}" for f in capability.fields.values())
    return f"`{capability.name}`", ", ".join(capability.effects), fields, ", ".join(capability.needs) or "–"


def _kind(field: Field) -> str:
    if field.type.shape == "choice":
        return ", ".join(f"`{value}`" for value in field.values)
    if field.type.is_number and not field.type.units:
        return f"number {field.low:,}..{field.high:,}"
    return field.kind


def _list_checks(severity: str) -> Iterable[tuple[str, ...]]:
    return ((c.code, c.slug, c.title, c.why) for c in CHECKS.values() if c.severity == severity)


def _lists() -> str:
    lists = (("A rate is counted per", RATE_SCOPES), ("A hook runs", EXECUTORS), ("`on_error` is", ON_ERROR))
    lines = ["## Fixed lists\n", "- Effects: " + ", ".join(f"`{effect}`" for effect in EFFECTS)]
    lines += [f"- {says} " + ", ".join(f"`{word}` ({meaning})" for word, meaning in words.items()) for says, words in lists]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
