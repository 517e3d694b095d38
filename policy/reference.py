"""The reference page, made from the grammar, the checks and the fixed lists: `python -m policy.reference` prints it.

Rules: nothing is described here that is not defined elsewhere in the package; a test compares the page in `docs/` with this.
This file does not know where the page is kept.
"""

from __future__ import annotations

import re
import sys

from policy.model.catalog import EFFECTS, Capability, Field, builtin_catalog
from policy.model.settings import EXECUTORS, ON_ERROR, RATE_SCOPES, SETTINGS
from policy.syntax.parser import grammar_text
from policy.text.diagnostics import CHECKS
from policy.tools.editor_queries import KEYWORDS

_INTRO = """# Policy language reference

Made from the compiler by `python -m policy.reference`; do not edit. The guide is [policy.md](policy.md).
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [_INTRO, _grammar(), _keywords(), _fields(), _capabilities(), _words(), _checks("error"), _checks("warning")]
    return "\n".join(parts)


def _grammar() -> str:
    return f"## Grammar\n\n```lark\n{grammar_text().strip()}\n```\n"


def _keywords() -> str:
    rows = "\n".join(f"| `{word}` | {_cell(meaning)} |" for word, meaning in sorted(KEYWORDS.items()))
    return f"## Keywords\n\n| word | meaning |\n|---|---|\n{rows}\n"


def _fields() -> str:
    rows = "\n".join(_field_row(field) for field in builtin_catalog().context.values())
    return f"## Facts about the caller\n\n| field | type | default | meaning |\n|---|---|---|---|\n{rows}\n"


def _field_row(field: Field) -> str:
    default = "required" if field.default is None else f"`{str(field.default).lower()}`" if field.default != "" else "empty"
    return f"| `{field.name}` | {_kind(field)} | {default} | {_cell(field.doc)} |"


def _kind(field: Field) -> str:
    if field.type.shape == "choice":
        return ", ".join(f"`{value}`" for value in field.values)
    if field.type.is_number and not field.type.units:
        return f"number {field.low:,}..{field.high:,}"
    return field.kind


def _capabilities() -> str:
    rows = "\n".join(_capability_row(c) for c in sorted(builtin_catalog().capabilities.values(), key=lambda c: c.name))
    return f"## Built-in capabilities\n\n| capability | effects | fields | needs limits |\n|---|---|---|---|\n{rows}\n"


def _capability_row(capability: Capability) -> str:
    fields = "<br>".join(f"`{f.name}`: {_kind(f)}; {_cell(f.doc)}" for f in capability.fields.values())
    return f"| `{capability.name}` | {', '.join(capability.effects)} | {fields} | {', '.join(capability.needs) or '–'} |"


def _words() -> str:
    limits = "\n".join(f"| `{name}` | {s.kind} | `{s.wire}` | {_cell(s.doc)} |" for name, s in SETTINGS.items())
    lists = [
        f"## Limits\n\n| limit | type | in a decision | meaning |\n|---|---|---|---|\n{limits}\n",
        "## Fixed lists\n",
        "- Effects: " + ", ".join(f"`{effect}`" for effect in EFFECTS),
        "- A rate is counted per " + ", ".join(f"`{word}` ({meaning})" for word, meaning in RATE_SCOPES.items()),
        "- A hook runs " + ", ".join(f"`{word}` ({meaning})" for word, meaning in EXECUTORS.items()),
        "- `on_error` is " + ", ".join(f"`{word}` ({meaning})" for word, meaning in ON_ERROR.items()) + "\n",
    ]
    return "\n".join(lists)


def _checks(severity: str) -> str:
    title = {"error": "Errors", "warning": "Warnings"}[severity]
    rows = "\n".join(
        f"| {c.code} | {c.slug} | {_cell(c.title)} | {_cell(c.why)} |" for c in CHECKS.values() if c.severity == severity
    )
    return f"## {title}\n\n| code | name | what | why |\n|---|---|---|---|\n{rows}\n"


def _cell(text: str) -> str:
    return re.sub(r"\|", r"\\|", text)


if __name__ == "__main__":
    sys.stdout.write(page())
