"""Options of `hatchway bench` that cannot work are refused before anything is measured or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches import __main__ as command
from benches.rounds import PACKAGES, Tree
from tests.benches.test_harness import results_with, samples


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> int:
        raise AssertionError("it began to measure")

    monkeypatch.setattr(command, "measure", fail)


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


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with everything that a checkout has, and nothing in it."""
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "benches" / "rounds.py").touch()
    return tmp_path


def test_a_checkout_is_measured_with_its_own_code(checkout: Path) -> None:
    assert {place.parent for place in Tree.at(checkout).imported().values()} == {checkout / name for name in PACKAGES}


@pytest.mark.parametrize("lacking", ["sandbox/__init__.py", "benches/rounds.py"])
def test_a_folder_that_is_no_checkout_is_not_compared_with(
    checkout: Path, lacking: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / lacking).unlink()
    assert command.main(["--only", "warm_call", "--compare", str(checkout)]) == 2
    assert f"{checkout} is not a checkout of Hatchway" in capsys.readouterr().err


def test_a_checkout_whose_python_takes_the_code_from_elsewhere_is_not_compared_with(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho \'{"sandbox": "/elsewhere/sandbox/__init__.py"}\'\n')
    python.chmod(0o755)
    assert command.main(["--only", "warm_call", "--compare", str(checkout)]) == 2
    assert "its Python takes it from /elsewhere/sandbox/__init__.py" in capsys.readouterr().err


def compared(base: Path, rounds: int, *words: str) -> int:
    """What the command answers that is to compare with a base of so many rounds."""
    results = results_with({"ours": samples(1, 0.1, rounds=rounds)})
    results.scenarios["warm_call"] = results.scenarios.pop("s")
    results.save(base)
    return command.main(["--only", "warm_call", "--compare", str(base), *words])


@pytest.mark.parametrize(("rounds", "words"), [(1, []), (3, ["--quick"]), (1, ["--quick"])])
def test_a_comparison_that_cannot_tell_anything_says_so_and_is_not_begun(
    rounds: int, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compared(tmp_path / "base.json", rounds, *words) == 2
    assert "nothing could be compared: a change is told from noise by 3 rounds" in capsys.readouterr().err


def test_a_comparison_that_can_tell_is_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match="it began to measure"):
        compared(tmp_path / "base.json", 3)
    said = capsys.readouterr().err
    assert "compared" not in said and "1 scenario in 3 rounds: " in said
