"""The table of what each language can and cannot do is so, cell by cell, and the page is made from it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import hatchway
from tests.guests.languages import COLUMNS, Cell, page, read_cells, shows

PAGE = Path(__file__).parents[2] / "docs" / "languages.md"
CELLS = [(language, cell) for cell in read_cells() for language in cell.languages]


@pytest.fixture(scope="module")
def base() -> Iterator[hatchway.Sandbox]:
    with hatchway.Sandbox(limits={"wall_ms": 60_000, "cpu_ms": 30_000, "memory_mb": 256}) as base:
        yield base


@pytest.mark.parametrize(("language", "cell"), CELLS, ids=[f"{language}: {cell.ability}" for language, cell in CELLS])
def test_a_cell_says_what_its_program_shows(base: hatchway.Sandbox, language: str, cell: Cell) -> None:
    with contextlib.ExitStack() as opened:
        box = base
        for program in cell.runs:
            box = opened.enter_context(box.fork())
            result = box.run(program, language=language)
    assert shows(cell, result), (cell.says, result, result.stdout, result.stderr)


def test_each_language_has_a_cell_of_each_kind_once() -> None:
    assert {language for language, _ in CELLS} == set(COLUMNS)
    named = [(language, cell.area, cell.ability) for language, cell in CELLS]
    assert len(named) == len(set(named))


def test_the_page_is_made_from_the_programs() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.guests.languages > docs/languages.md"
