"""The host's view of a session's filesystem: quotas, read-only files, mounts, checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.inodes import File, MountedFile
from sandbox.filesystem.vfs import HostFile, Vfs, VfsLimits


def refused(act: Callable[..., object], *args: object, **options: object) -> str:
    with pytest.raises(VfsError) as caught:
        act(*args, **options)
    return caught.value.name


def test_a_relative_path_means_the_workspace() -> None:
    vfs = Vfs()
    vfs.write_file("a/b.txt", b"one")
    assert vfs.read_file("/workspace/a/b.txt") == b"one"
    assert vfs.list_dir() == ["a"] and vfs.list_dir("/workspace/a") == ["b.txt"]
    assert vfs.stat("a").kind == "directory" and vfs.stat("a/b.txt").size_bytes == 3
    assert [path for path, _ in vfs.walk()] == ["a", "a/b.txt"]


def test_the_standard_tree_is_there_and_closed() -> None:
    vfs = Vfs()
    assert vfs.list_dir("/") == ["dev", "tmp", "workspace"]
    assert {"null", "zero", "random", "urandom", "stdin", "stdout", "stderr"} <= set(vfs.list_dir("/dev"))
    for path in ("/x", "/dev/x"):
        assert refused(vfs.write_file, path, b"") == "EROFS"
        assert refused(vfs.mkdir, path) == "EROFS"
    assert refused(vfs.remove, "/dev", recursive=True) == "EROFS"
    assert refused(vfs.remove, "/workspace", recursive=True) == "EBUSY"
    assert refused(vfs.remove, "/", recursive=True) == "EBUSY"
    assert refused(vfs.rename, "/tmp", "/workspace/t") == "EROFS"
    assert vfs.used_bytes == vfs.used_entries == 0


def test_writing_refuses_what_is_not_a_file() -> None:
    vfs = Vfs()
    vfs.write_file("f", b"x")
    vfs.mkdir("d")
    assert refused(vfs.write_file, "d", b"") == "EISDIR"
    assert refused(vfs.write_file, "f/g", b"") == "ENOTDIR"
    assert refused(vfs.write_file, "no/g", b"", parents=False) == "ENOENT"
    entries = vfs.used_entries
    assert refused(vfs.write_file, "x/" * 200 + "y", b"") is not None
    assert (vfs.exists("x"), vfs.used_entries) == (False, entries)
    assert refused(vfs.write_file, "g/", b"") == "EISDIR"
    assert refused(vfs.write_file, "", b"") == "ENOENT"
    assert refused(vfs.write_file, "a\0b", b"") == "EINVAL"
    assert refused(vfs.read_file, "d") == "EISDIR"
    assert refused(vfs.read_file, "/dev/zero") == "EINVAL"
    assert refused(vfs.list_dir, "f") == "ENOTDIR"
    assert refused(vfs.mkdir, "f", exist_ok=True) == "ENOTDIR"
    vfs.mkdir("x/y/../z", parents=True)
    assert vfs.list_dir("x") == ["y", "z"]


def test_a_read_only_file_is_overwritten_only_by_force() -> None:
    vfs = Vfs()
    vfs.write_file("ro", b"1", readonly=True)
    assert vfs.stat("ro").readonly
    assert refused(vfs.write_file, "ro", b"2") == "EACCES"
    assert refused(vfs.remove, "ro") == "EPERM"
    assert refused(vfs.rename, "ro", "rw") == "EPERM"
    vfs.write_file("rw", b"")
    assert refused(vfs.rename, "rw", "ro") == "EPERM"
    vfs.write_file("ro", b"3", force=True)
    assert vfs.read_file("ro") == b"3" and not vfs.stat("ro").readonly


def test_tm_iso_readonly_recursive_removal_leaves_everything_if_a_read_only_file_is_below() -> None:
    vfs = Vfs()
    vfs.write_file("d/a", b"1")
    vfs.write_file("d/e/ro", b"12345", readonly=True)
    vfs.symlink("e", "d/l")
    assert refused(vfs.remove, "d") == "ENOTEMPTY"
    assert refused(vfs.remove, "d", recursive=True) == "EPERM"
    assert vfs.read_file("d/a") == b"1" and vfs.read_file("d/l/ro") == b"12345"
    with vfs.permit_everything():
        vfs.remove("d", recursive=True)
    assert not vfs.exists("d")
    assert vfs.used_bytes == 0 and vfs.used_entries == 0


def test_permissions_decide_what_the_user_may_do() -> None:
    vfs = Vfs()
    vfs.write_file("f", b"1")
    vfs.write_file("run.sh", b"", mode=0o755)
    assert (vfs.stat("f").mode, vfs.stat("run.sh").mode, vfs.stat("").mode, vfs.stat("/tmp").mode) == (
        0o644,
        0o755,
        0o755,
        0o1777,
    )
    assert (vfs.stat("f").uid, vfs.stat("/dev").uid) == (1000, 0)
    vfs.chmod("f", 0o200)
    assert refused(vfs.read_file, "f") == "EACCES"
    vfs.write_file("f", b"2")
    vfs.chmod("f", 0o444)
    assert refused(vfs.write_file, "f", b"3") == "EACCES" and vfs.read_file("f") == b"2"
    vfs.write_file("f", b"3", force=True)
    assert vfs.stat("f").mode == 0o444, "writing leaves the permissions"


def test_permissions_of_a_directory_decide_about_its_names() -> None:
    vfs = Vfs()
    vfs.write_file("d/f", b"1")
    vfs.chmod("d", 0o500)
    assert refused(vfs.write_file, "d/new", b"") == refused(vfs.remove, "d/f") == refused(vfs.rename, "d/f", "g") == "EACCES"
    assert refused(vfs.mkdir, "d/sub") == refused(vfs.symlink, "x", "d/l") == "EACCES"
    assert refused(vfs.remove, "d", recursive=True) == "EACCES"
    vfs.write_file("g", b"2")
    assert refused(vfs.rename, "g", "d/g") == refused(vfs.rename, "g", "d/f") == "EACCES"
    vfs.chmod("d", 0o300)
    assert refused(vfs.list_dir, "d") == "EACCES" and vfs.read_file("d/f") == b"1"
    vfs.chmod("d", 0o600)
    assert vfs.list_dir("d") == ["f"] and refused(vfs.read_file, "d/f") == refused(vfs.stat, "d/f") == "EACCES"
    with vfs.permit_everything():
        assert vfs.read_file("d/f") == b"1"


def test_what_is_the_hosts_keeps_its_permissions() -> None:
    vfs = Vfs()
    vfs.write_file("ro", b"", readonly=True)
    vfs.symlink("nowhere", "l")
    assert (vfs.stat("ro").mode, vfs.stat("ro").uid) == (0o444, 0)
    assert refused(vfs.chmod, "ro", 0o644) == "EPERM"
    assert refused(vfs.chmod, "/dev/null", 0o600) == refused(vfs.chmod, "/", 0o777) == "EROFS"
    assert refused(vfs.set_mode, vfs.stat("l", follow=False).ino, 0o600) == "ENOTSUP"
    vfs.set_readonly("ro", False)
    assert (vfs.stat("ro").mode, vfs.stat("ro").uid) == (0o644, 1000)


def test_the_byte_quota_is_exact_and_a_refused_write_changes_nothing() -> None:
    vfs = Vfs(VfsLimits(total_bytes=10, file_bytes=8))
    vfs.write_file("a", b"12345678")
    assert refused(vfs.write_file, "b", b"123") == "ENOSPC"
    assert not vfs.exists("b") and vfs.used_bytes == 8 and vfs.used_entries == 1
    vfs.write_file("b", b"12")
    assert refused(vfs.write_file, "b", b"123") == "ENOSPC"
    assert refused(vfs.write_file, "a", b"123456789") == "EFBIG"
    assert refused(vfs.symlink, "x", "l") == "ENOSPC"
    vfs.remove("a")
    vfs.symlink("x", "l")
    assert vfs.used_bytes == 3


def test_a_write_far_beyond_the_end_is_refused_before_anything_is_allocated() -> None:
    vfs = Vfs()
    vfs.write_file("f", b"")
    ino = vfs.stat("f").ino
    assert refused(vfs.write, ino, 1 << 60, b"x") == "EFBIG"
    assert refused(vfs.truncate, ino, 1 << 60) == "EFBIG"
    assert vfs.stat("f").size_bytes == 0 and vfs.used_bytes == 0


def test_names_are_counted_and_hard_links_are_names() -> None:
    vfs = Vfs(VfsLimits(entries_max=3))
    vfs.write_file("d/f", b"")
    vfs.link(2, "d/f", False, 2, "l1")
    assert refused(vfs.link, 2, "d/f", False, 2, "l2") == "ENOSPC"
    assert refused(vfs.mkdir, "e") == "ENOSPC"
    assert refused(vfs.write_file, "e", b"") == "ENOSPC"
    vfs.rename("l1", "l2")
    vfs.remove("l2")
    vfs.mkdir("e")


def test_depth_is_capped_also_for_a_tree_that_is_moved() -> None:
    vfs = Vfs(VfsLimits(depth_max=5))
    vfs.mkdir("a/b/c/d", parents=True)
    assert refused(vfs.mkdir, "a/b/c/d/e") == "ENAMETOOLONG"
    assert refused(vfs.write_file, "a/b/c/d/e", b"") == "ENAMETOOLONG"
    vfs.mkdir("x/y", parents=True)
    assert refused(vfs.rename, "a", "x/y/a") == "ENAMETOOLONG"
    assert refused(vfs.rename, "a/b", "x/y/b") == "ENAMETOOLONG"
    vfs.rename("a/b/c", "x/y/c")
    assert vfs.exists("x/y/c/d")


def test_names_are_at_most_255_bytes() -> None:
    vfs = Vfs()
    vfs.write_file("n" * 255, b"")
    vfs.write_file("é" * 127, b"")
    assert refused(vfs.write_file, "n" * 256, b"") == "ENAMETOOLONG"
    assert refused(vfs.write_file, "é" * 128, b"") == "ENAMETOOLONG"
    assert refused(vfs.stat, "n" * 256) == "ENAMETOOLONG"
    assert refused(vfs.stat, "/".join(["d"] * 3000)) == "ENAMETOOLONG"


def test_symbolic_links_stay_inside_and_end() -> None:
    vfs = Vfs()
    vfs.write_file("f", b"x")
    vfs.symlink("/workspace/f", "absolute")
    vfs.symlink("../../../../../../workspace/f", "up")
    assert vfs.read_file("absolute") == vfs.read_file("up") == b"x"
    vfs.symlink("loop", "loop")
    assert refused(vfs.read_file, "loop") == "ELOOP"
    vfs.symlink("/etc/passwd", "escape")
    assert refused(vfs.read_file, "escape") == "ENOENT"
    for hop in range(41):
        vfs.symlink("f" if hop == 0 else f"hop{hop - 1}", f"hop{hop}")
    assert vfs.read_file("hop39") == b"x"
    assert refused(vfs.read_file, "hop40") == "ELOOP"


def test_tm_lim_links_full_of_components_cannot_keep_the_host_busy() -> None:
    vfs = Vfs()
    vfs.symlink("./" * 2000, "l0")
    for hop in range(1, 10):
        vfs.symlink("./" * 1900 + f"l{hop - 1}", f"l{hop}")
    assert vfs.lookup(2, "l0") == 2
    assert refused(vfs.lookup, 2, "l9") == "ELOOP"


def test_dot_dot_after_a_link_is_physical() -> None:
    vfs = Vfs()
    vfs.write_file("real/deep/f", b"")
    vfs.write_file("real/mark", b"here")
    vfs.symlink("real/deep", "short")
    assert vfs.read_file("short/../mark") == b"here"


def test_a_mounted_host_file_is_shared_read_only_and_free(tmp_path: Path) -> None:
    source = tmp_path / "library.zip"
    source.write_bytes(b"z" * 5000)
    file = HostFile.open(source)
    first, second = Vfs(VfsLimits(total_bytes=10)), Vfs(VfsLimits(total_bytes=10))
    for vfs in (first, second):
        vfs.mount_file("/usr/local/lib/library.zip", file)
        assert vfs.used_bytes == 0 and vfs.used_entries == 0
        assert vfs.stat("/usr/local/lib/library.zip").readonly
        assert vfs.read_file("/usr/local/lib/library.zip") == b"z" * 5000
        assert refused(vfs.write_file, "/usr/local/lib/library.zip", b"") == "EROFS"
        assert refused(vfs.remove, "/usr/local/lib/library.zip") == "EROFS"
        assert refused(vfs.rename, "/usr/local/lib/library.zip", "x") == "EROFS"
        assert refused(vfs.link, 2, "/usr/local/lib/library.zip", False, 2, "x") == "EXDEV"
        assert refused(vfs.mount_file, "/usr/local/lib/library.zip", file) == "EEXIST"
        assert refused(vfs.mount_file, "/workspace/x", file) == "EEXIST"
    shown = [vfs.nodes[vfs.lookup(1, "/usr/local/lib/library.zip")] for vfs in (first, second)]
    assert all(isinstance(node, MountedFile) and node.host is file for node in shown)


def test_an_empty_host_file_can_be_mounted(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    vfs = Vfs()
    vfs.mount_file("/etc/empty", HostFile.open(tmp_path / "empty"))
    assert vfs.read_file("/etc/empty") == b""


def test_a_rollback_restores_contents_names_and_accounts() -> None:
    vfs = Vfs()
    vfs.write_file("keep", b"old")
    before = vfs.checkpoint()
    vfs.write_file("keep", b"newer")
    vfs.write_file("more/file", b"x")
    vfs.rename("keep", "moved")
    vfs.rollback(before)
    assert vfs.list_dir() == ["keep"] and vfs.read_file("keep") == b"old"
    assert (vfs.used_bytes, vfs.used_entries) == (3, 1)
    vfs.write_file("again", b"")
    vfs.rollback(before)
    assert vfs.list_dir() == ["keep"]


def test_inode_numbers_repeat_after_a_rollback() -> None:
    vfs = Vfs()
    before = vfs.checkpoint()
    vfs.write_file("a", b"")
    number = vfs.stat("a").ino
    vfs.rollback(before)
    vfs.write_file("b", b"")
    assert vfs.stat("b").ino == number


def test_forks_are_independent_in_both_directions() -> None:
    vfs = Vfs()
    vfs.write_file("f", b"common")
    child = vfs.fork()
    ino = vfs.stat("f").ino
    vfs.write(ino, 0, b"PARENT")
    child.write(ino, 6, b" child")
    assert vfs.read_file("f") == b"PARENT" and child.read_file("f") == b"common child"
    vfs.remove("f")
    assert child.exists("f") and (child.used_bytes, vfs.used_bytes) == (12, 0)


def test_a_checkpoint_copies_nothing_until_something_changes() -> None:
    vfs = Vfs()
    vfs.write_file("big", b"x" * 1_000_000)
    vfs.write_file("small", b"y")
    point = vfs.checkpoint()
    assert point.nodes is vfs.nodes
    vfs.write(vfs.stat("small").ino, 0, b"z")
    assert point.nodes is not vfs.nodes
    big = vfs.stat("big").ino
    assert point.nodes[big] is vfs.nodes[big]
    vfs.set_times(big, 1, 1)
    kept, changed = point.nodes[big], vfs.nodes[big]
    assert isinstance(kept, File) and isinstance(changed, File) and kept is not changed
    assert [id(block) for block in kept.data.blocks] == [id(block) for block in changed.data.blocks]


def test_an_unlinked_file_lives_as_long_as_it_is_open_and_is_charged() -> None:
    vfs = Vfs()
    vfs.write_file("f", b"12345")
    ino = vfs.stat("f").ino
    vfs.retain(ino)
    vfs.remove("f")
    assert vfs.used_bytes == 5 and vfs.used_entries == 0
    point = vfs.checkpoint()
    vfs.release(ino)
    assert vfs.used_bytes == 0 and ino not in vfs.nodes
    vfs.rollback(point)
    assert vfs.used_bytes == 5
    child = vfs.fork()
    child.release(ino)
    assert child.used_bytes == 0 and vfs.used_bytes == 5


def test_times_come_from_the_clock_that_was_given() -> None:
    now = iter(range(100, 200))
    vfs = Vfs(clock=lambda: next(now))
    vfs.write_file("f", b"")
    first = vfs.stat("f").mtime_ns
    vfs.write(vfs.stat("f").ino, 0, b"x")
    assert 100 <= first < vfs.stat("f").mtime_ns < 200


def test_tm_iso_readonly_directory_above_a_read_only_file_is_not_moved() -> None:
    vfs = Vfs()
    vfs.write_file("policy/deep/allow.txt", b"fixed", readonly=True)
    vfs.mkdir("other")
    for old, new in (("policy", "p2"), ("policy", "other/policy"), ("policy/deep", "deep"), ("policy/deep", "/tmp/deep")):
        with pytest.raises(VfsError, match="EPERM"):
            vfs.rename(old, new)
    assert vfs.read_file("policy/deep/allow.txt") == b"fixed"
    vfs.set_readonly("policy/deep/allow.txt", False)
    vfs.rename("policy", "p2")
    assert vfs.read_file("p2/deep/allow.txt") == b"fixed"
