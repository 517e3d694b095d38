"""Locks on ranges of files: what excludes what, and between which guests."""

from __future__ import annotations

import pytest

from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.file_locks import EXCLUSIVE, FREE, LOCKS_MAX, SHARED, FileLock, FileLocks

FAR = 1 << 30


def lock(kind: int, start: int = 0, length: int = 1) -> FileLock:
    return FileLock(kind, FAR + start, FAR + start + length)


@pytest.mark.parametrize(
    ("held", "wanted", "is_refused"),
    [
        (lock(SHARED), lock(SHARED), False),
        (lock(SHARED), lock(EXCLUSIVE), True),
        (lock(EXCLUSIVE), lock(SHARED), True),
        (lock(EXCLUSIVE, 0, 10), lock(EXCLUSIVE, 10, 5), False),
        (lock(EXCLUSIVE, 0, 10), lock(SHARED, 9, 5), True),
        (FileLock(SHARED, 128, 129), FileLock(SHARED, 128, 129), True),
    ],
)
def test_another_guests_lock_excludes_what_it_must(held: FileLock, wanted: FileLock, is_refused: bool) -> None:
    first, second = FileLocks(), FileLocks()
    first.put(7, held)
    second.others = (first,)
    assert (second.find_excluding(7, wanted) == held) is is_refused
    assert second.find_excluding(8, wanted) is None, "another file"
    assert first.find_excluding(7, wanted) is None, "a guest never excludes itself"


def test_a_range_is_cut_out_of_what_was_there() -> None:
    locks = FileLocks()
    locks.put(7, lock(SHARED, 0, 10))
    locks.put(7, lock(EXCLUSIVE, 4, 2))
    assert sorted(locks.held[7], key=lambda one: one.start) == [lock(SHARED, 0, 4), lock(EXCLUSIVE, 4, 2), lock(SHARED, 6, 4)]
    locks.put(7, lock(FREE, 0, 100))
    assert locks.held == {}


def test_a_clone_goes_its_own_way() -> None:
    locks = FileLocks()
    locks.put(7, lock(SHARED))
    clone = locks.clone()
    locks.put(7, lock(FREE))
    assert clone.held == {7: (lock(SHARED),)}


def test_locks_are_capped() -> None:
    locks = FileLocks()
    for number in range(LOCKS_MAX):
        locks.put(7, lock(SHARED, 2 * number))
    with pytest.raises(VfsError, match="too many locks"):
        locks.put(7, lock(SHARED, 2 * LOCKS_MAX))
    assert len(locks.held[7]) == LOCKS_MAX
