"""Every error code: where it comes from, its HTTP status, its cause and its remedy. The one table is docs/errors.md.

    find("SESSION_NOT_FOUND").remedy      # "Create the session, or list those there are."

Rules: a code, once published, keeps its meaning. A code that is raised, or put into a result, stands there once, and every
code there is raised somewhere: tests/gateway/test_codes.py reads the sources. The policy compiler's HPnnn codes have their own
table (`policy.text.diagnostics`). Standard library only: the command line and the tests read this without the service.
"""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_PLACES: Final = (Path(__file__).with_name("errors.md"), Path(__file__).parents[1] / "docs" / "errors.md")
"""The page in a wheel, and in a checkout."""


class Code(NamedTuple):
    code: str
    statuses: tuple[int, ...]
    cause: str
    remedy: str
    area: str


@cache
def table() -> dict[str, Code]:
    """All codes, in the order of the page: a row is `code`, HTTP statuses or –, cause, remedy."""
    found: dict[str, Code] = {}
    area = ""
    page = next(place for place in _PLACES if place.exists())
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("## "):
            area = line[3:]
        elif line.startswith("| `"):
            code, statuses, cause, remedy = (cell.strip() for cell in line.strip("|").split(" | "))
            code = code.strip("`")
            if code in found:
                raise ValueError(f"{code} stands in the table twice")
            found[code] = Code(code, () if statuses == "–" else tuple(map(int, statuses.split(","))), cause, remedy, area)
    return found


def find(code: str) -> Code | None:
    """A code however it is written: `session_not_found` and `urn:hatchway:problem:session_not_found` too."""
    word = code.strip().rpartition(":")[2]
    return table().get(word) or table().get(word.upper()) or table().get(word.lower())


def suggest(code: str) -> list[str]:
    """The codes that look most like one that does not exist."""
    codes = {known.upper(): known for known in table()}
    return [codes[near] for near in difflib.get_close_matches(code.strip().upper(), codes, 3, 0.6)]
