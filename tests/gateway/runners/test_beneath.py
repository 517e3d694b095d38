"""Files below a directory, while somebody else changes it under our hands."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.runners import beneath

_libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A root, and something outside of it with a secret."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "file").write_bytes(b"secret")
    return root, outside


@contextlib.contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """A thread that exchanges two names, atomically, as fast as it can."""
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            _libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def attempt(action: Callable[[], bytes | None]) -> str:
    try:
        return f"got {action()!r}"
    except beneath.Refused as refused:
        return refused.kind


def collect(action: Callable[[], bytes | None], wanted: set[str], seconds: float = 60) -> set[str]:
    """Everything that happens, until all that must happen has."""
    seen: set[str] = set()
    deadline = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < deadline and (not wanted <= seen or rounds < 500):
        seen.add(attempt(action))
        rounds += 1
    return seen


def plain_read(path: Path) -> bytes:
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


def test_tm_run_link_a_directory_swapped_for_a_link_during_reads_never_shows_what_is_outside(
    folders: tuple[Path, Path],
) -> None:
    root, outside = folders
    (root / "d").mkdir()
    (root / "d/file").write_bytes(b"inside")
    (root / "link").symlink_to(outside)
    top = beneath.open_root(str(root))
    with swapping(root / "d", root / "link"):
        leaked = collect(lambda: plain_read(root / "d/file"), {"got b'secret'"})
        assert "got b'secret'" in leaked, "the race is not one: a plain read was never led outside"
        seen = collect(lambda: beneath.read(top, "d/file", 100), {"got b'inside'", "outside"})
    os.close(top)
    assert {"got b'inside'", "outside"} <= seen
    assert "got b'secret'" not in seen


def test_a_directory_swapped_for_a_link_during_writes_never_changes_what_is_outside(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    (root / "d").mkdir()
    (root / "link").symlink_to(outside)
    top = beneath.open_root(str(root))
    with swapping(root / "d", root / "link"):
        seen = collect(lambda: beneath.write(top, "d/file", b"mine"), {"got None", "outside"})
    os.close(top)
    assert {"got None", "outside"} <= seen
    assert sorted(p.name for p in outside.iterdir()) == ["file"]
    assert (outside / "file").read_bytes() == b"secret"


def test_a_file_swapped_for_a_hard_link_is_neither_read_nor_written_through(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    (root / "f").write_bytes(b"inside")
    os.link(outside / "file", root / "hard")
    top = beneath.open_root(str(root))
    with swapping(root / "f", root / "hard"):
        seen = collect(lambda: beneath.read(top, "f", 100), {"got b'inside'", "links"})
        assert {"got b'inside'", "links"} <= seen
        assert "got b'secret'" not in seen
        for _ in range(200):
            attempt(lambda: beneath.write(top, "f", b"inside"))
    os.close(top)
    assert (outside / "file").read_bytes() == b"secret"


def test_a_name_swapped_for_a_link_during_writes_is_written_inside_or_not_at_all(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    (root / "f").write_bytes(b"x")
    (root / "l").symlink_to(outside / "file")
    (root / "m").symlink_to("../outside/new")
    top = beneath.open_root(str(root))
    with swapping(root / "f", root / "l"), swapping(root / "f", root / "m"):
        for _ in range(500):
            attempt(lambda: beneath.write(top, "f", b"mine"))
    os.close(top)
    assert sorted(p.name for p in outside.iterdir()) == ["file"]
    assert (outside / "file").read_bytes() == b"secret"


def test_devices_fifos_and_sockets_are_never_opened(folders: tuple[Path, Path]) -> None:
    root, _ = folders
    os.mkfifo(root / "fifo")
    (root / "folder").mkdir()
    names = ["fifo", "folder"]
    if os.geteuid() == 0:
        os.mknod(root / "zero", 0o600 | 0o020000, os.makedev(1, 5))
        names.append("zero")
    top = beneath.open_root(str(root))
    for name in names:
        assert attempt(lambda name=name: beneath.read(top, name, 100)) == "kind"  # type: ignore[misc]
        assert attempt(lambda name=name: beneath.write(top, name, b"x")) == "kind"  # type: ignore[misc]
    assert list(beneath.files(top)) == []
    os.close(top)


def test_a_file_larger_than_allowed_is_refused_without_being_read_whole(folders: tuple[Path, Path]) -> None:
    root, _ = folders
    with (root / "huge").open("wb") as file:
        file.truncate(1 << 40)
    top = beneath.open_root(str(root))
    assert attempt(lambda: beneath.read(top, "huge", 1 << 20)) == "large"
    os.close(top)


def test_without_openat2_every_link_and_every_step_up_is_refused(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outside = folders
    (root / "d").mkdir()
    (root / "d/file").write_bytes(b"inside")
    (root / "link").symlink_to(outside)
    (root / "own").symlink_to("d")
    monkeypatch.setattr(beneath, "OPENAT2", 10_000)  # a number no kernel has
    top = beneath.open_root(str(root))
    assert beneath.read(top, "d/file", 100) == b"inside"
    for path in ("link/file", "own/file", "../outside/file", "/etc/passwd", "d/../d/file"):
        assert attempt(lambda path=path: beneath.read(top, path, 100)) == "outside", path  # type: ignore[misc]
    beneath.write(top, "new/deep/file", b"written")
    assert (root / "new/deep/file").read_bytes() == b"written"
    os.close(top)


def test_the_root_itself_may_be_replaced_without_effect(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    (root / "file").write_bytes(b"inside")
    top = beneath.open_root(str(root))
    root.rename(root.with_name("moved"))
    root.symlink_to(outside)
    assert beneath.read(top, "file", 100) == b"inside"
    os.close(top)


def test_writing_keeps_the_mode_of_a_file_and_makes_no_leftovers(folders: tuple[Path, Path]) -> None:
    root, _ = folders
    (root / "run.sh").write_bytes(b"old")
    (root / "run.sh").chmod(0o755)
    top = beneath.open_root(str(root))
    beneath.write(top, "run.sh", b"new")
    os.close(top)
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o755
    assert sorted(p.name for p in root.iterdir()) == ["run.sh"]


def make_deep(root: Path, depth: int) -> None:
    """Folder in folder, with a file in some, and one that its owner has shut."""
    place = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(depth):
        os.mkdir("d", dir_fd=place)
        if number % 100 == 0:
            os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=place))
            os.mkdir("shut", 0, dir_fd=place)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)


def test_tm_run_deep_a_tree_deeper_than_any_stack_is_removed(folders: tuple[Path, Path], deep_path: Path) -> None:
    root, outside = deep_path / "root", folders[1]
    root.mkdir()
    make_deep(root, 5000)
    (root / "d" / "link").symlink_to(outside)
    (root / "d" / "other").symlink_to(outside / "file")
    beneath.delete(beneath.open_root(str(root)), "d", recursive=True)
    assert sorted(os.listdir(root)) == ["f", "shut"]
    (root / "f").unlink()
    (root / "shut").rmdir()
    make_deep(root, 3000)
    beneath.remove_tree(str(root))
    assert not root.exists() and (outside / "file").read_bytes() == b"secret"


def test_tm_run_deep_what_is_not_removed_in_time_is_given_up(folders: tuple[Path, Path]) -> None:
    root, _ = folders
    make_deep(root, 3)
    with pytest.raises(TimeoutError):
        beneath.remove_tree(str(root), seconds=-1)


def test_tm_run_link_what_is_swapped_for_a_link_while_it_is_removed_loses_nothing_outside(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    inner, link, removed = root / "tree" / "inner", root / "link", 0
    with swapping(inner, link):
        for _ in range(300):
            with contextlib.suppress(OSError):
                inner.mkdir(parents=True)
                (inner / "x").write_bytes(b"x")
            with contextlib.suppress(OSError):
                link.symlink_to(outside)
            with contextlib.suppress(OSError):
                beneath.remove_tree(str(root / "tree"))
                removed += 1
            with contextlib.suppress(OSError):
                beneath.remove_tree(str(link))
            assert (outside / "file").read_bytes() == b"secret"
    assert removed > 10


def test_tm_run_output_a_folder_of_very_many_names_is_not_listed_whole(folders: tuple[Path, Path]) -> None:
    root, _ = folders
    for number in range(300):
        (root / str(number)).touch()
    seen: list[str] = []
    scandir = os.scandir

    class Counting:
        def __init__(self, place: int) -> None:
            self.entries = scandir(place)

        def __iter__(self) -> Iterator[os.DirEntry[str]]:
            for entry in self.entries:
                seen.append(entry.name)
                yield entry

        def __enter__(self) -> Counting:
            return self

        def __exit__(self, *_: object) -> None:
            self.entries.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", Counting)
        assert attempt(lambda: list(beneath.list_entries(beneath.open_root(str(root)), most=100))) == "large"
    assert len(seen) == 101


def test_disk_is_measured_however_deep_and_no_further_than_asked(tmp_path: Path) -> None:
    home = os.getcwd()
    os.chdir(tmp_path)
    try:
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        Path("deep").write_bytes(bytes(1 << 20))
    finally:
        os.chdir(home)
    Path(tmp_path, "wide").write_bytes(bytes(1 << 20))
    Path(tmp_path, "link").symlink_to("/usr")
    top = beneath.open_root(str(tmp_path))
    whole = beneath.measure(top, 1 << 40)
    assert (2 << 20) + 1500 * 4096 <= whole <= (3 << 20) + 1500 * 4096
    assert 0 < beneath.measure(top, 1 << 16) < whole
    os.close(top)
    for name in ("d",):
        beneath.remove_tree(str(tmp_path / name))
