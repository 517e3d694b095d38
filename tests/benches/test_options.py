"""Options of `hatchway bench` that cannot work are refused before anything is measured or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches import __main__ as command
from tests.benches.test_harness import results_with


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise AssertionError("it began to measure")

    monkeypatch.setattr(command, "_measure", fail)


@pytest.mark.parametrize("minutes", ["-1", "0", "nan", "inf", "soon"])
def test_a_time_that_is_none_is_refused(minutes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        command.main([f"--minutes={minutes}"])
    assert left.value.code == 2
    assert "--minutes" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_file_that_cannot_be_written_is_refused_first(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (tmp_path / "nowhere" / "out", tmp_path):
        assert command.main([option, str(place)]) == 2
        assert f"cannot write {place}" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_does_not_blame_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.json"
    results_with({}).save(results)
    place = tmp_path / "nowhere" / "out.html"
    assert command.main(["--results", str(results), "--html", str(place)]) == 2
    said = capsys.readouterr().err
    assert f"cannot write {place}" in said and "cannot read" not in said
