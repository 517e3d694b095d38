"""What each language can and cannot do: `python -m tests.guests.languages > docs/languages.md`.

`abilities.txt` holds a program for each cell of the table:

    ## AREA
    # what it is
    --- LANGUAGE … yes | partly: REMARK | no: WHAT TO USE
    program

What follows a line `---- later, in a fork` is run after what stands before it, in a fork of its session. A program that shows an
ability prints `yes`, and ends well. One that shows its absence fails. A test runs all of them, so that a cell cannot say what is
not so. Knows nothing of how the languages do it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.wire import RunResult

ABILITIES = Path(__file__).with_name("abilities.txt")
LATER = "---- later, in a fork\n"
COLUMNS = ("python", "javascript", "typescript", "shell")
HEAD = """# What each language can and cannot do

Made from programs that a test runs (`tests/guests/abilities.txt`) by `python -m tests.guests.languages`; do not edit. What is
missing in detail stands in [LIMITATIONS.md](../LIMITATIONS.md). A dash: this language has no such thing.
"""


@dataclass(frozen=True)
class Cell:
    area: str
    ability: str
    languages: tuple[str, ...]
    says: str
    """`yes`, `partly: …` or `no: …`."""
    program: str

    @property
    def runs(self) -> list[str]:
        return self.program.split(LATER)

    @property
    def is_there(self) -> bool:
        return not self.says.startswith("no")


def read_cells() -> Iterator[Cell]:
    area = ability = ""
    for block in ("\n" + ABILITIES.read_text("utf-8")).split("\n--- "):
        head, _, rest = block.partition("\n")
        lines = rest.splitlines()
        above = [line for line in lines if line.startswith(("## ", "# "))]
        program = "\n".join(lines[: lines.index(above[0])] if above else lines).strip() + "\n"
        if ability:
            *languages, first = (words := head.partition(":")[0].split())
            says = first + head[len(head.partition(":")[0]) :]
            assert set(languages) <= set(COLUMNS) and first in ("yes", "partly", "no") and len(words) > 1, head
            yield Cell(area, ability, tuple(languages), says, program)
        for line in above:
            if line.startswith("## "):
                area = line[3:]
            else:
                ability = line[2:]


def shows(cell: Cell, result: RunResult) -> bool:
    """Whether a run of the cell's program is as the cell says."""
    return (result.ok and result.stdout.endswith("yes\n")) == cell.is_there and (cell.is_there or not result.ok)


def page() -> str:
    rows: dict[str, dict[str, dict[str, str]]] = {}
    for cell in read_cells():
        row = rows.setdefault(cell.area, {}).setdefault(cell.ability, {})
        row.update(dict.fromkeys(cell.languages, cell.says))
    lines = [HEAD]
    for area, abilities in rows.items():
        lines += [f"## {area}", "| | Python | JavaScript | TypeScript | Shell |", "|---|---|---|---|---|"]
        for ability, says in abilities.items():
            lines.append(f"| {ability} | " + " | ".join(says.get(language, "–") for language in COLUMNS) + " |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    print(page(), end="")
