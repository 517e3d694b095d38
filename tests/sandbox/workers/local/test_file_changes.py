"""Changes of files: a store that carries them out has what the session has."""

from __future__ import annotations

import hashlib
import random

import pytest

from sandbox.errors import RequestError
from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.inodes import Directory
from sandbox.filesystem.vfs import Vfs
from sandbox.workers.interface import FileChanges, FileEntry, FileName
from sandbox.workers.local.file_changes import Digests, Plan, carry_out, compare, read_entries

_NAMES = ("a", "b", "c", "d")


def _step(vfs: Vfs, chance: random.Random) -> None:
    """Something a program may do, if it can be done."""
    path = "/workspace/" + "/".join(chance.choices(_NAMES, k=chance.randint(1, 3)))
    other = "/workspace/" + "/".join(chance.choices(_NAMES, k=chance.randint(1, 3)))
    acts = [
        lambda: vfs.write_file(path, chance.randbytes(chance.choice((0, 5, 200_000))), parents=False),
        lambda: vfs.write_file(path, b"x", parents=True),
        lambda: vfs.mkdir(path),
        lambda: vfs.remove(path, recursive=chance.random() < 0.5),
        lambda: vfs.rename(path, other),
        lambda: vfs.symlink(chance.choice(_NAMES), path),
        lambda: vfs.link(2, path.removeprefix("/workspace/"), False, 2, other.removeprefix("/workspace/")),
        lambda: vfs.set_times(vfs.stat(path).ino, 1, 2),
        lambda: vfs.write_file("/tmp/elsewhere", chance.randbytes(3)),
    ]
    try:
        chance.choice(acts)()
    except VfsError:
        pass


def _contents(vfs: Vfs) -> list[FileEntry]:
    return sorted(read_entries(vfs.checkpoint().nodes), key=lambda one: one.path)


@pytest.mark.parametrize("seed", range(30))
def test_changes_carried_out_elsewhere_give_the_same_files(seed: int) -> None:
    chance = random.Random(seed)
    session, store = Vfs(), Vfs()
    for _ in range(40):
        before = session.checkpoint()
        for _ in range(chance.randint(0, 8)):
            _step(session, chance)
        carry_out(store, compare(before, session.checkpoint()))
        assert _contents(store) == _contents(session)


@pytest.mark.parametrize("seed", range(10))
def test_a_plan_makes_any_filesystem_the_tree(seed: int) -> None:
    chance = random.Random(seed)
    wanted, have = Vfs(), Vfs()
    for _ in range(60):
        _step(wanted, chance)
        _step(have, chance)
    entries = _contents(wanted)
    tree = [
        FileName(path=one.path, kind=one.kind, digest=b"" if one.kind == "directory" else hashlib.sha256(one.data).digest())
        for one in entries
    ]
    plan = Plan(have.checkpoint(), tree, Digests())
    shelf = {hashlib.sha256(one.data).digest(): one.data for one in entries}
    carry_out(have, plan.changes({digest: shelf[digest] for digest in plan.missing}))
    assert _contents(have) == entries
    again = Plan(have.checkpoint(), tree, Digests())
    assert again.missing == [] and not again.changes({})


def test_a_filesystem_that_nobody_touched_is_not_looked_at() -> None:
    vfs = Vfs()
    vfs.write_file("/workspace/a", b"1")
    before = vfs.checkpoint()
    after = vfs.checkpoint()
    assert before.nodes is after.nodes and not compare(before, after)


def test_only_directories_with_changes_are_walked() -> None:
    vfs = Vfs()
    for n in range(20):
        vfs.write_file(f"/workspace/d{n}/x", b"1")
    before = vfs.checkpoint()
    vfs.write_file("/workspace/d7/x", b"2")
    after = vfs.checkpoint()
    shared = [ino for ino, node in after.nodes.items() if isinstance(node, Directory) and before.nodes.get(ino) is node]
    assert len(shared) > 20
    assert [one.path for one in compare(before, after).written] == ["/d7/x"]


def test_contents_that_were_not_fetched_are_refused() -> None:
    vfs = Vfs()
    plan = Plan(vfs.checkpoint(), [FileName(path="/a", digest=hashlib.sha256(b"1").digest())], Digests())
    with pytest.raises(RequestError):
        plan.changes({})


@pytest.mark.parametrize("path", ["", "a", "/", "//a", "/a/", "/a/../b", "/./a", "/a\0b"])
def test_paths_have_one_spelling(path: str) -> None:
    with pytest.raises(RequestError):
        carry_out(Vfs(), FileChanges(written=[FileEntry(path=path)]))
