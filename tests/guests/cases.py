"""Readers of the `.test` files next to the guests: readable cases that anyone can add to.

    ### name of the case
    program
    --- stdin | stdout | stderr | result | error CODE | warning CODE | status N
    …

A case ends at the next `### `; a section ends at the next `--- `. The blank line before the next case is not part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

GUESTS = Path(__file__).parents[2] / "wasm_modules"


@dataclass
class Case:
    name: str
    program: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    """Text by section; `error`, `warning` and `status` hold what follows the word."""

    def get(self, section: str) -> str | None:
        return self.sections.get(section)


def read_cases(path: Path) -> Iterator[Case]:
    blocks = ("\n" + path.read_text("utf-8")).split("\n### ")[1:]
    for block in blocks:
        name, _, body = block.partition("\n")
        case, section, lines = Case(name.strip()), "", list[str]()
        text = body if body.endswith("\n") else body + "\n"
        for line in [*text.splitlines(keepends=True), "--- end\n"]:
            if line.startswith("--- "):
                _keep(case, section, "".join(lines))
                word, _, beside = line[4:].strip().partition(" ")
                section, lines = word, []
                if beside:
                    case.sections[word] = beside.strip()
            else:
                lines.append(line)
        yield case


def _keep(case: Case, section: str, text: str) -> None:
    if section == "":
        case.program = text
    elif section not in case.sections:
        case.sections[section] = text
