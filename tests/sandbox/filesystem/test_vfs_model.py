"""The filesystem against two oracles: a real directory of this machine, and deep copies of itself.

The first machine does the same random operations through WASI and through the operating system, and wants the same answers, the
same errors and the same tree. The second takes checkpoints, forks and rolls back at random, and wants every one of them to stay
what it was.
"""

from __future__ import annotations

import errno as host_errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.inode_table import Checkpoint
from sandbox.filesystem.inodes import Directory, File, Symlink
from sandbox.filesystem.namespace import ROOT
from sandbox.filesystem.vfs import Vfs, VfsLimits
from tests.sandbox.wasi_client import APPEND, CREATE, DIRECTORY, EXCLUSIVE, READ, TRUNCATE, WRITE, Client, Refused

# Both trees hang thirty levels deep, so that `..` meets the same directories on either side.
NEST = "/".join(["n"] * 30)
NAMES = st.sampled_from(["a", "b", "c", "dir", "ü"])
PATHS = st.builds(
    lambda parts, tail: "/".join(parts) + tail,
    st.lists(st.one_of(NAMES, NAMES, NAMES, st.sampled_from([".", ".."])), min_size=1, max_size=4),
    st.sampled_from(["", "", "", "", "/"]),
)
BYTES = st.binary(max_size=40)
SIZES = st.integers(0, 60)
HOST_FLAGS = {CREATE: os.O_CREAT, DIRECTORY: os.O_DIRECTORY, EXCLUSIVE: os.O_EXCL, TRUNCATE: os.O_TRUNC}
OPEN_FLAGS = st.sets(st.sampled_from([CREATE, CREATE, EXCLUSIVE, TRUNCATE, DIRECTORY]), max_size=3).map(sum)


def outcome(act: Callable[[], Any]) -> Any:
    """What an operation gave, or the name of its error."""
    try:
        return act()
    except Refused as refused:
        return refused.name
    except OSError as error:
        return host_errno.errorcode[error.errno or 0]


class DiskComparison(RuleBasedStateMachine):
    """Every rule does one thing twice."""

    files = Bundle("files")

    def __init__(self) -> None:
        super().__init__()
        self.top = tempfile.mkdtemp()
        self.disk = f"{self.top}/{NEST}"
        os.makedirs(self.disk)
        self.disk_fd = os.open(self.disk, os.O_RDONLY)
        self.client = Client(Vfs(clock=lambda: 1))
        self.client.vfs.mkdir(NEST, parents=True)
        self.open_disk: list[int] = []

    def teardown(self) -> None:
        for fd in [self.disk_fd, *self.open_disk]:
            os.close(fd)
        shutil.rmtree(self.top)

    def at(self, path: str) -> str:
        return f"workspace/{NEST}/{path}"

    def same(self, ours: Callable[[], Any], theirs: Callable[[], Any]) -> Any:
        mine, other = outcome(ours), outcome(theirs)
        assert mine == other, f"ours {mine!r}, the machine's {other!r}"
        return mine

    @rule(path=PATHS)
    def mkdir(self, path: str) -> None:
        self.same(lambda: self.client.mkdir(self.at(path)), lambda: os.mkdir(f"{self.disk}/{path}"))

    @rule(path=PATHS)
    def rmdir(self, path: str) -> None:
        self.same(lambda: self.client.rmdir(self.at(path)), lambda: os.rmdir(f"{self.disk}/{path}"))

    @rule(path=PATHS)
    def unlink(self, path: str) -> None:
        self.same(lambda: self.client.unlink(self.at(path)), lambda: os.unlink(f"{self.disk}/{path}"))

    @rule(old=PATHS, new=PATHS)
    def rename(self, old: str, new: str) -> None:
        self.same(
            lambda: self.client.rename(self.at(old), self.at(new)), lambda: os.rename(f"{self.disk}/{old}", f"{self.disk}/{new}")
        )

    @rule(to=PATHS, path=PATHS)
    def symlink(self, to: str, path: str) -> None:
        self.same(lambda: self.client.symlink(to, self.at(path)), lambda: os.symlink(to, f"{self.disk}/{path}"))

    @rule(old=PATHS, new=PATHS, follow=st.booleans())
    def link(self, old: str, new: str, follow: bool) -> None:
        # Python follows links in os.link only when a directory descriptor makes it call linkat.
        theirs = (old, f"{self.disk}/{new}")
        self.same(
            lambda: self.client.link(self.at(old), self.at(new), follow),
            lambda: os.link(*theirs, src_dir_fd=self.disk_fd, follow_symlinks=follow),
        )

    @rule(path=PATHS)
    def readlink(self, path: str) -> None:
        self.same(lambda: self.client.readlink(self.at(path)), lambda: os.readlink(f"{self.disk}/{path}"))

    @rule(path=PATHS, follow=st.booleans())
    def stat(self, path: str, follow: bool) -> None:
        def ours() -> tuple[int, int]:
            found = self.client.stat(self.at(path), follow)
            return found["kind"], found["size"] if found["kind"] != 3 else 0

        def theirs() -> tuple[int, int]:
            found = os.stat(f"{self.disk}/{path}", follow_symlinks=follow)
            kind = {0o040000: 3, 0o100000: 4, 0o120000: 7}[found.st_mode & 0o170000]
            return kind, found.st_size if kind != 3 else 0

        self.same(ours, theirs)

    @rule(path=PATHS)
    def listdir(self, path: str) -> None:
        self.same(lambda: sorted(self.client.listdir(self.at(path), 64)), lambda: sorted(os.listdir(f"{self.disk}/{path}")))

    @rule(
        target=files,
        path=PATHS,
        oflags=OPEN_FLAGS,
        rights=st.sampled_from([READ, WRITE, READ | WRITE]),
        append=st.booleans(),
        follow=st.booleans(),
    )
    def open(self, path: str, oflags: int, rights: int, append: bool, follow: bool) -> tuple[int, int]:
        # EXCL without CREAT is undefined, and O_DIRECTORY with writing is WASI's own business.
        if oflags & DIRECTORY or (oflags & EXCLUSIVE and not oflags & CREATE):
            oflags &= ~(DIRECTORY | EXCLUSIVE)
        flags = sum(flag for bit, flag in HOST_FLAGS.items() if oflags & bit)
        flags |= {READ: os.O_RDONLY, WRITE: os.O_WRONLY}.get(rights, os.O_RDWR)
        flags |= (os.O_APPEND if append else 0) | (0 if follow else os.O_NOFOLLOW)
        opened: list[int] = []

        def ours() -> str:
            opened.append(self.client.open(self.at(path), oflags, rights, APPEND if append else 0, follow))
            return "opened"

        def theirs() -> str:
            opened.append(os.open(f"{self.disk}/{path}", flags, 0o600))
            self.open_disk.append(opened[-1])
            return "opened"

        if self.same(ours, theirs) != "opened":
            return (-1, -1)
        return (opened[0], opened[1])

    @rule(file=consumes(files))
    def close(self, file: tuple[int, int]) -> None:
        if file[0] >= 0:
            self.open_disk.remove(file[1])
            self.same(lambda: self.client.close(file[0]), lambda: os.close(file[1]))

    @rule(file=files, data=BYTES)
    def write(self, file: tuple[int, int], data: bytes) -> None:
        self.same(lambda: self.client.write(file[0], data), lambda: os.write(file[1], data))

    @rule(file=files, data=BYTES, offset=SIZES)
    def pwrite(self, file: tuple[int, int], data: bytes, offset: int) -> None:
        # Linux appends in pwrite when O_APPEND is set; POSIX and WASI write where they are told.
        descriptor = self.client.wasi.table.entries.get(file[0])
        if descriptor is not None and not descriptor.flags & APPEND:
            self.same(lambda: self.client.pwrite(file[0], data, offset), lambda: os.pwrite(file[1], data, offset))

    @rule(file=files, length=SIZES)
    def read(self, file: tuple[int, int], length: int) -> None:
        self.same(lambda: self.client.read(file[0], length), lambda: os.read(file[1], length))

    @rule(file=files, length=SIZES, offset=SIZES)
    def pread(self, file: tuple[int, int], length: int, offset: int) -> None:
        self.same(lambda: self.client.pread(file[0], length, offset), lambda: os.pread(file[1], length, offset))

    @rule(file=files, offset=st.integers(-30, 60), whence=st.sampled_from([0, 1, 2]))
    def seek(self, file: tuple[int, int], offset: int, whence: int) -> None:
        descriptor = self.client.wasi.table.entries.get(file[0])
        if descriptor is not None and descriptor.kind == 1:
            self.same(lambda: self.client.seek(file[0], offset, whence), lambda: os.lseek(file[1], offset, whence))

    @rule(file=files, size=SIZES)
    def truncate(self, file: tuple[int, int], size: int) -> None:
        descriptor = self.client.wasi.table.entries.get(file[0])
        if descriptor is not None and descriptor.kind == 1:
            self.same(lambda: self.client.truncate(file[0], size), lambda: os.ftruncate(file[1], size))

    @rule(file=files)
    def fstat(self, file: tuple[int, int]) -> None:
        def ours() -> tuple[int, int] | None:
            found = self.client.fstat(file[0])
            return (found["nlink"], found["size"]) if found["kind"] != 3 else None

        def theirs() -> tuple[int, int] | None:
            found = os.fstat(file[1])
            return (found.st_nlink, found.st_size) if found.st_mode & 0o170000 != 0o040000 else None

        self.same(ours, theirs)

    @invariant()
    def trees_are_the_same(self) -> None:
        ours = {}
        for path, found in self.client.vfs.walk(NEST):
            full = f"/workspace/{NEST}/{path}"
            if found.kind == "file":
                ours[path] = (found.kind, found.nlink, self.client.vfs.read_file(full))
            elif found.kind == "symlink":
                ours[path] = (found.kind, found.nlink, self.client.vfs.read_link(full).encode())
            else:
                ours[path] = (found.kind, 0, b"")
        theirs = {}
        for folder, directories, files in os.walk(self.disk):
            for name in directories + files:
                full = f"{folder}/{name}"
                path = full[len(self.disk) + 1 :]
                if os.path.islink(full):
                    theirs[path] = ("symlink", os.lstat(full).st_nlink, os.readlink(full).encode())
                elif os.path.isdir(full):
                    theirs[path] = ("directory", 0, b"")
                else:
                    with open(full, "rb") as file:
                        theirs[path] = ("file", os.stat(full).st_nlink, file.read())
        assert ours == theirs

    @invariant()
    def accounting_is_exact(self) -> None:
        check_accounting(self.client.vfs)


def check_accounting(vfs: Vfs) -> None:
    """`used_bytes`, `used_entries`, link counts and parents, counted again from nothing."""
    charged = [node for node in vfs.nodes.values() if isinstance(node, (File, Symlink))]
    assert vfs.used_bytes == sum(node.size() for node in charged)
    names: dict[int, int] = {}
    entries = 0
    for ino, node in vfs.nodes.items():
        if isinstance(node, Directory):
            entries += 0 if node.sealed else len(node.entries)
            for child in node.entries.values():
                names[child] = names.get(child, 0) + 1
                found = vfs.nodes[child]
                assert not isinstance(found, Directory) or found.parent == ino
    assert vfs.used_entries == entries
    for ino, node in vfs.nodes.items():
        assert node.nlink == names.get(ino, 1 if ino == ROOT else 0)
        assert node.nlink > 0 or ino in vfs.opens


def picture(vfs: Vfs) -> dict[int, tuple[Any, ...]]:
    """A deep copy of everything a filesystem holds."""
    seen: dict[int, tuple[Any, ...]] = {}
    for ino, node in vfs.nodes.items():
        content: Any = None
        if isinstance(node, File):
            content = (bytes(node.data), node.mode)
        elif isinstance(node, Directory):
            content = (tuple(node.entries.items()), node.parent)
        elif isinstance(node, Symlink):
            content = node.target
        seen[ino] = (node.kind, node.nlink, node.mtime_ns, node.atime_ns, content)
    seen[0] = (vfs.used_bytes, vfs.used_entries, vfs.next_ino, dict(vfs.opens))
    return seen


class Generations(RuleBasedStateMachine):
    """Random work on a family of filesystems that share their past."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0
        first = Vfs(VfsLimits(total_bytes=300, file_bytes=120, entries_max=12), self.clock)
        self.family: list[Vfs] = [first]
        self.expected: dict[int, dict[int, tuple[Any, ...]]] = {0: picture(first)}
        self.taken: list[tuple[Checkpoint, dict[int, tuple[Any, ...]]]] = []

    def clock(self) -> int:
        self.time += 1
        return self.time

    def work(self, index: int, act: Callable[[Vfs], object]) -> None:
        """Changes one filesystem; the pictures of all others must stay true."""
        vfs = self.family[index % len(self.family)]
        try:
            act(vfs)
        except VfsError:
            assert picture(vfs) == self.expected[index % len(self.family)]
        self.expected[index % len(self.family)] = picture(vfs)

    @rule(index=st.integers(0, 7), path=PATHS, data=BYTES, readonly=st.booleans())
    def write_file(self, index: int, path: str, data: bytes, readonly: bool) -> None:
        self.work(index, lambda vfs: vfs.write_file(path, data, readonly=readonly, parents=False))

    @rule(index=st.integers(0, 7), path=PATHS, data=BYTES, offset=st.integers(0, 130))
    def write(self, index: int, path: str, data: bytes, offset: int) -> None:
        def act(vfs: Vfs) -> None:
            ino = vfs.lookup(2, path)
            vfs.check_writable(ino)
            vfs.write(ino, offset, data)

        self.work(index, act)

    @rule(index=st.integers(0, 7), path=PATHS, size=st.integers(0, 130))
    def truncate(self, index: int, path: str, size: int) -> None:
        def act(vfs: Vfs) -> None:
            ino = vfs.lookup(2, path)
            vfs.check_writable(ino)
            vfs.truncate(ino, size)

        self.work(index, act)

    @rule(index=st.integers(0, 7), path=PATHS)
    def mkdir(self, index: int, path: str) -> None:
        self.work(index, lambda vfs: vfs.mkdir(path))

    @rule(index=st.integers(0, 7), path=PATHS, recursive=st.booleans())
    def remove(self, index: int, path: str, recursive: bool) -> None:
        self.work(index, lambda vfs: vfs.remove(path, recursive))

    @rule(index=st.integers(0, 7), old=PATHS, new=PATHS)
    def rename(self, index: int, old: str, new: str) -> None:
        self.work(index, lambda vfs: vfs.rename(old, new))

    @rule(index=st.integers(0, 7), old=PATHS, new=PATHS)
    def link(self, index: int, old: str, new: str) -> None:
        self.work(index, lambda vfs: vfs.link(2, old, False, 2, new))

    @rule(index=st.integers(0, 7), to=PATHS, path=PATHS)
    def symlink(self, index: int, to: str, path: str) -> None:
        self.work(index, lambda vfs: vfs.symlink(to, path))

    @rule(index=st.integers(0, 7), path=PATHS)
    def open(self, index: int, path: str) -> None:
        self.work(index, lambda vfs: vfs.retain(vfs.lookup(2, path)))

    @rule(index=st.integers(0, 7), which=st.integers(0, 7))
    def close(self, index: int, which: int) -> None:
        def act(vfs: Vfs) -> None:
            if vfs.opens:
                vfs.release(sorted(vfs.opens)[which % len(vfs.opens)])

        self.work(index, act)

    @rule(index=st.integers(0, 7), path=PATHS)
    def set_times(self, index: int, path: str) -> None:
        self.work(index, lambda vfs: vfs.set_times(vfs.lookup(2, path), 5, None))

    @rule(index=st.integers(0, 7))
    def checkpoint(self, index: int) -> None:
        vfs = self.family[index % len(self.family)]
        self.taken.append((vfs.checkpoint(), picture(vfs)))

    @rule(index=st.integers(0, 7), which=st.integers(0, 20))
    def rollback(self, index: int, which: int) -> None:
        if self.taken:
            point, seen = self.taken[which % len(self.taken)]
            self.family[index % len(self.family)].rollback(point)
            self.expected[index % len(self.family)] = seen

    @rule(index=st.integers(0, 7))
    def fork(self, index: int) -> None:
        if len(self.family) < 6:
            parent = index % len(self.family)
            self.family.append(self.family[parent].fork())
            self.expected[len(self.family) - 1] = self.expected[parent]

    @invariant()
    def nobody_sees_what_another_did(self) -> None:
        for index, vfs in enumerate(self.family):
            assert picture(vfs) == self.expected[index]
            check_accounting(vfs)

    @invariant()
    def checkpoints_stay_what_they_were(self) -> None:
        for point, seen in self.taken:
            assert picture(Vfs.at(point)) == seen


_FEW = settings(derandomize=True, max_examples=30, stateful_step_count=40, suppress_health_check=list(HealthCheck))
if sys.platform == "linux":  # elsewhere the same mistakes have other names
    TestDiskComparison = DiskComparison.TestCase
    TestDiskComparison.settings = _FEW
TestGenerations = Generations.TestCase
TestGenerations.settings = _FEW
