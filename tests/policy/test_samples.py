"""The sample policies pass every check, each rule is hit and missed by tests, and the layout is the standard one."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.checker import check
from policy.lowering.loading import Folder
from policy.proofs.policy_tests import mutants
from policy.syntax.formatter import format_text

PRACTICE = Path(__file__).parent.parent.parent / "policy" / "samples" / "practice"
SAMPLES = sorted(PRACTICE.glob("*.hatch"))


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_sample_passes_every_check(file: Path) -> None:
    checked = check(file.name, Folder(PRACTICE))
    assert checked.ok, [(d.code, d.location(), d.message) for d in checked.diagnostics]
    assert checked.results and checked.proofs
    assert not {d.code for d in checked.diagnostics} & {"HP104", "HP106"}
    assert format_text(file.read_text()) == file.read_text()


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_flipped_conditions_of_a_sample_are_noticed(file: Path) -> None:
    tried, survivors = mutants(check(file.name, Folder(PRACTICE)).program)
    assert tried and len(survivors) * 4 <= tried, [(mutant.rule, mutant.lit) for mutant in survivors]


def test_there_is_a_sample_of_each_kind() -> None:
    names = {file.stem for file in SAMPLES}
    assert names == {
        "branch.rules", "claude.permissions", "cluster.rules", "iam.statements", "money.rules", "photo.albums", "sudo.rules",
    }  # fmt: skip
