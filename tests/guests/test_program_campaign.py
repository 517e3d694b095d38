"""A sample of the campaign's programs, each in a fork of its language's session, against what it did natively."""

from __future__ import annotations

import pytest

from tests.guests.program_campaign import (
    FOLDER,
    NATIVE_COMMAND,
    Ending,
    compare,
    find_programs,
    read_disagreeing,
    run_all,
)

PROGRAMS = find_programs()
ONE_IN = 7


@pytest.mark.parametrize("language", NATIVE_COMMAND)
def test_programs_do_what_they_do_natively(language: str) -> None:
    agreeing = [one for one in PROGRAMS if one.language == language and one.name not in read_disagreeing()]
    wrong = [f"{program.name}:\n{difference}" for program, difference in run_all(agreeing[::ONE_IN]) if difference]
    assert not wrong, "\n".join(wrong)


def test_what_every_program_did_natively_is_known() -> None:
    assert not [program.name for program in PROGRAMS if not program.path.with_suffix(".expected").exists()]
    names = {program.path.with_suffix("") for program in PROGRAMS}
    assert len(names) == len(PROGRAMS), "two programs with the same name and different suffixes share their side files"
    assert not [path.name for path in FOLDER.glob("*/*") if path.with_suffix("") not in names]


def test_every_listed_disagreement_has_a_reason() -> None:
    listed = read_disagreeing()
    assert set(listed) <= {program.name for program in PROGRAMS}
    assert all(listed.values())


@pytest.mark.parametrize(
    "got", [Ending("a\nB\n", 0), Ending("a\nb\n", 1), Ending("a\nb", 0)], ids=["other line", "other status", "no last newline"]
)
def test_endings_that_differ_in_anything_disagree(got: Ending) -> None:
    assert compare(Ending("a\nb\n", 0), Ending("a\nb\n", 0, "a note")) == ""
    assert compare(Ending("a\nb\n", 0), got)
