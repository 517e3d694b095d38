"""Names that look like other names: the nearest right one for a hint, and pairs a reader could confuse. Work is bounded."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_MAX_CHARS = 64
_ALIKE = {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
_LOOKALIKES = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("1", "l"), ("i", "l"), ("0", "o"), ("5", "s"), ("_", ""))


def distance(a: str, b: str) -> int:
    """Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`."""
    a, b = a[:_MAX_CHARS], b[:_MAX_CHARS]
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, previous, row = row, before, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, previous[j - 2] + 1)
            row.append(cost)
    return row[-1]


def find_nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate a typist most likely meant, if any is close enough; ties go to the alphabetically first."""
    allowed = max(1, len(name) // 3)
    best: tuple[int, str] | None = None
    for candidate in candidates:
        if abs(len(candidate) - len(name)) > allowed:
            if not candidate.endswith("." + name):
                continue
            score = 1
        else:
            score = distance(name.lower(), candidate.lower())
        if score <= allowed and (best is None or (score, candidate) < best):
            best = (score, candidate)
    return best[1] if best else None


def mixes_scripts(text: str) -> bool:
    """Whether a text mixes alphabets that look alike, or is not in its composed form: it may read like another text."""
    if text.isascii():
        return False
    scripts = {unicodedata.name(char, "").split(" ")[0] for char in text if char.isalpha()}
    return len(scripts & _ALIKE) > 1 or not unicodedata.is_normalized("NFKC", text)


def skeleton(name: str) -> str:
    """Equal for names that look alike in common fonts."""
    shape = name.lower()
    for part, replacement in _LOOKALIKES:
        shape = shape.replace(part, replacement)
    return shape
