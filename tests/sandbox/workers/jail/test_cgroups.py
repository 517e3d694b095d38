"""Cgroups: made where they may be, and otherwise it is said why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.workers.jail import cgroups


@pytest.fixture
def tree(tmp_path: Path) -> tuple[Path, Path]:
    """A root and our own line, as a delegated cgroup looks."""
    ours = tmp_path / "root" / "service"
    ours.mkdir(parents=True)
    (tmp_path / "root" / "cgroup.controllers").write_text("cpu memory\n")
    (ours / "cgroup.subtree_control").write_text("cpu memory\n")
    own = tmp_path / "own"
    own.write_text("12:memory:/x\n0::/service\n")
    return tmp_path / "root", own


def test_a_worker_gets_a_cgroup_with_its_limit(tree: tuple[Path, Path]) -> None:
    found, why = cgroups.find(*tree)
    assert found is not None and why == ""
    assert found.add(1234, 1 << 30)
    made = tree[0] / "service" / "hatchway-1234"
    assert (made / "memory.max").read_text() == str(1 << 30) and (made / "cgroup.procs").read_text() == "1234"


def test_a_cgroup_that_cannot_be_made_is_not_a_failure(tree: tuple[Path, Path]) -> None:
    found, _ = cgroups.find(*tree)
    assert found is not None
    (tree[0] / "service" / "hatchway-1").write_text("in the way")
    assert not found.add(1, 1)
    found.remove(2)


def test_what_is_missing_is_told(tree: tuple[Path, Path], tmp_path: Path) -> None:
    (tree[0] / "service" / "cgroup.subtree_control").write_text("cpu\n")
    assert cgroups.find(*tree) == (None, "the memory controller is not delegated to this process")
    tree[1].write_text("1:memory:/\n")
    assert cgroups.find(*tree) == (None, "this machine has no cgroups of version 2")
    assert cgroups.find(tmp_path / "nowhere", tmp_path / "neither")[0] is None
