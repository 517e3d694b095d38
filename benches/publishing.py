"""What is made of results: the remembered file, SPECIFICATION.md, the page, the pictures.

Rules: a full run is what is published; it is remembered while it goes on. A run replaces only the scenarios it measured. A
quick run is remembered apart, for looking at; one that compares is for its comparison only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from benches import page, specification
from benches.harness import Scenario
from benches.pictures import NoBrowser, draw_all
from benches.results import Results
from benches.rounds import ROOT

LATEST = ROOT / "benches" / "results" / "latest.json"
QUICK = ROOT / "benches" / "results" / "quick.json"


class Keeper:
    """Keeps results in files while they grow. One that cannot be written is said once and not tried again."""

    def __init__(self, *, quick: bool, also: Path | None = None, remembers: bool = True) -> None:
        place = QUICK if quick else LATEST
        self._remembered = place if remembers else None
        self._also = also
        self._earlier = load(place)

    @property
    def place(self) -> Path | None:
        return self._remembered if self._remembered is not None else self._also

    def keep(self, results: Results) -> None:
        whole = results
        if self._earlier is not None:
            measured = {name: one for name, one in results.scenarios.items() if one.rows or name not in self._earlier.scenarios}
            whole = msgspec.structs.replace(results, scenarios={**self._earlier.scenarios, **measured})
        if self._remembered is not None and not _save(whole, self._remembered):
            self._remembered = None
        if self._also is not None and not _save(results, self._also):
            self._also = None


def _save(results: Results, path: Path) -> bool:
    try:
        results.save(path)
    except OSError as error:
        print(f"the results cannot be kept in {path}: {error}", file=sys.stderr)
        return False
    return True


def load(path: Path) -> Results | None:
    """None if there is none that can be read."""
    try:
        return Results.load(path)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def publish(results: Results, scenarios: Mapping[str, Scenario]) -> Iterator[Path]:
    """Everything the repository shows of its numbers. Without a browser there are no pictures, which is said."""
    written = ROOT / "SPECIFICATION.md"
    written.write_text(specification.write(scenarios, results), "utf-8")
    yield written
    report = LATEST.with_name("report.html")
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(page.write(results, scenarios), "utf-8")
    yield report
    try:
        yield from draw_all(results, scenarios, ROOT / "docs" / "images")
    except NoBrowser as error:
        print(f"no pictures: {error}", file=sys.stderr)
