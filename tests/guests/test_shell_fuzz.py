"""The fuzzing command works: kept inputs do not crash, and a few seconds of new ones find nothing either."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from wasm_modules.shell.fuzz import __main__ as command
from wasm_modules.shell.fuzz import harness

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


@pytest.fixture(scope="module")
def program() -> Path:
    return harness.build()


@pytest.mark.parametrize("target", harness.TARGETS)
def test_kept_inputs_do_not_crash(program: Path, target: str, tmp_path: Path) -> None:
    assert command.replay(program, target, tmp_path) == 0


def test_exploring_for_a_moment_finds_no_crash(program: Path, tmp_path: Path) -> None:
    assert command.explore(program, "jq", 2, 1, tmp_path) == 0


def test_a_crash_is_told_and_written_down(tmp_path: Path) -> None:
    crashing = tmp_path / "crashing.c"
    crashing.write_text(
        "int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { if (n) *(volatile char *)8 = *p; return 0; }\n"
    )
    binary, corpus, faults = tmp_path / "crashing", tmp_path / "corpus", tmp_path / "faults"
    harness.run([harness.compiler(), "-o", str(binary), str(crashing), str(harness.SHELL / "fuzz" / "driver.c")])
    corpus.mkdir()
    faults.mkdir()
    (corpus / "one").write_text("x")
    arguments = ["--seconds", "1", "--seed", "1", str(corpus), str(faults)]
    assert command.start(binary, "none", arguments, tmp_path) == 1
    kept = list(faults.iterdir())
    assert kept
    assert command.start(binary, "none", [str(kept[0])], tmp_path) == 1
