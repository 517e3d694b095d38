"""Open descriptors: their numbers, rights, times, and directories that are read through them."""

from __future__ import annotations

import pytest

from sandbox.filesystem.descriptors import DESCRIPTORS_MAX
from tests.sandbox.wasi_client import CREATE, DIRECTORY, READ, ROOT_FD, WRITE, Client, Refused, furnished, refused

OUT, BUFFER = 64, 65536


@pytest.fixture
def guest() -> Client:
    return furnished()


def test_times_are_set_exactly(guest: Client) -> None:
    fd = guest.open("workspace/f")
    guest.call("fd_filestat_set_times", fd, 5, 7, 1 | 4)
    found = guest.fstat(fd)
    assert (found["atime"], found["mtime"]) == (5, 7)
    guest.call("path_filestat_set_times", ROOT_FD, 1, *guest.put("workspace/f"), 9, 11, 4)
    found = guest.fstat(fd)
    assert (found["atime"], found["mtime"]) == (5, 11)
    for flags in (3, 12, 16):
        assert refused(guest, "fd_filestat_set_times", fd, 0, 0, flags) == "EINVAL"


def test_descriptors_are_numbered_from_the_lowest_free(guest: Client) -> None:
    first, second = guest.open("workspace/f"), guest.open("workspace/f")
    assert (first, second) == (4, 5)
    guest.close(first)
    assert guest.open("workspace/f") == 4
    guest.close(0)
    assert guest.open("workspace/f") == 0
    assert refused(guest, "fd_close", 77) == "EBADF"
    assert refused(guest, "fd_close", -1) == "EBADF"


def test_a_standard_number_may_come_to_mean_a_file(guest: Client) -> None:
    assert guest.wasi.table.is_stream(1) and not guest.wasi.table.is_stream(ROOT_FD) and not guest.wasi.table.is_stream(99)
    guest.close(1)
    assert guest.open("workspace/f", 0, WRITE) == 1
    assert not guest.wasi.table.is_stream(1)
    guest.write(1, b"file")
    assert guest.host.written[1] == b"" and guest.read_file("workspace/f") == b"file456789"


def test_the_preopened_root_cannot_be_closed(guest: Client) -> None:
    guest.call("fd_prestat_get", ROOT_FD, OUT)
    assert (guest.memory.u32(OUT), guest.memory.u32(OUT + 4)) == (0, 1)
    guest.call("fd_prestat_dir_name", ROOT_FD, OUT, 1)
    assert guest.memory.read(OUT, 1) == b"/"
    assert refused(guest, "fd_prestat_dir_name", ROOT_FD, OUT, 0) == "ENAMETOOLONG"
    assert refused(guest, "fd_prestat_get", 4, OUT) == "EBADF"
    assert refused(guest, "fd_close", ROOT_FD) == "ENOTSUP"
    fd = guest.open("workspace/f")
    assert refused(guest, "fd_renumber", ROOT_FD, fd) == "ENOTSUP"
    assert refused(guest, "fd_renumber", fd, ROOT_FD) == "ENOTSUP"


def test_renumbering_moves_a_descriptor_and_closes_the_other(guest: Client) -> None:
    first = guest.open("workspace/f")
    guest.read(first, 3)
    guest.call("fd_renumber", first, 1)
    assert guest.read(1, 2) == b"34"
    assert refused(guest, "fd_tell", first, OUT) == "EBADF"
    assert guest.open("workspace/f") == first
    assert refused(guest, "fd_renumber", 1, 99) == "EBADF"


def test_open_descriptors_are_capped(guest: Client) -> None:
    for _ in range(4, DESCRIPTORS_MAX):
        guest.open("workspace/f")
    assert len(guest.wasi.table.entries) == DESCRIPTORS_MAX
    with pytest.raises(Refused, match="EMFILE"):
        guest.open("workspace/new", CREATE, WRITE)
    assert not guest.vfs.exists("new")


def test_rights_can_be_given_up_but_not_regained(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, READ | WRITE)
    guest.call("fd_fdstat_get", fd, OUT)
    rights = guest.memory.u64(OUT + 8)
    assert guest.memory.read(OUT, 1) == b"\x04" and rights & READ and rights & WRITE
    guest.call("fd_fdstat_set_rights", fd, rights & ~WRITE, 0)
    assert refused(guest, "fd_write", fd, OUT, 0, OUT) == "EBADF"
    assert refused(guest, "fd_fdstat_set_rights", fd, rights, 0) == "ENOTCAPABLE"


def test_sync_and_advice_are_accepted(guest: Client) -> None:
    fd = guest.open("workspace/f")
    for name, *args in (("fd_sync", fd), ("fd_datasync", fd), ("fd_advise", fd, 0, 0, 5)):
        guest.call(str(name), *args)
    assert refused(guest, "fd_advise", fd, 0, 0, 6) == "EINVAL"
    assert refused(guest, "fd_advise", fd, -1, 0, 0) == "EINVAL"
    assert refused(guest, "fd_advise", 1, 0, 0, 0) == "ESPIPE"
    assert refused(guest, "fd_sync", 99) == "EBADF"


def test_cloned_descriptors_go_with_a_forked_filesystem(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, READ | WRITE)
    guest.read(fd, 2)
    guest.unlink("workspace/f")
    child = Client(guest.vfs.fork())
    child.vfs.recount_opens([])
    child.vfs.rollback(guest.vfs.checkpoint())
    child.wasi.table = guest.wasi.table.clone()
    guest.write(fd, b"XX")
    assert child.read(fd) == b"23456789" and guest.pread(fd, 10, 0) == b"01XX456789"
    child.close(fd)
    assert child.vfs.used_bytes == 0 and guest.vfs.used_bytes == 10
    guest.close(fd)
    assert guest.vfs.used_bytes == 0


def test_a_vanished_guest_gives_back_what_it_had_open(guest: Client) -> None:
    guest.open("workspace/f")
    guest.unlink("workspace/f")
    guest.wasi.table.close_all(guest.vfs)
    assert guest.vfs.used_bytes == 0 and guest.vfs.opens == {}


def test_a_directory_is_read_in_buffers_of_any_size(guest: Client) -> None:
    names = [f"file-{number:04}" for number in range(1200)]
    for name in names:
        guest.write_file(f"workspace/d/{name}", b"")
    for size in (40, 64, 4096, 1 << 20):
        assert guest.listdir("workspace/d", size) == names


def test_removing_while_reading_a_directory_skips_nothing(guest: Client) -> None:
    for number in range(300):
        guest.write_file(f"workspace/d/{number}", b"")
    fd = guest.open("workspace/d", DIRECTORY)
    seen = []
    for name, _, _ in guest.entries(fd, 100):
        if name not in (".", ".."):
            seen.append(name)
            guest.unlink(f"workspace/d/{name}")
    assert len(seen) == 300
    guest.rmdir("workspace/d")


def test_directory_entries_have_the_numbers_and_kinds_that_stat_gives(guest: Client) -> None:
    guest.symlink("f", "workspace/l")
    fd = guest.open("workspace", DIRECTORY)
    for name, ino, kind in guest.entries(fd):
        found = guest.stat(f"workspace/{name}", False)
        assert (found["ino"], found["kind"]) == (ino, kind)
    assert refused(guest, "fd_readdir", guest.open("workspace/f"), BUFFER, 100, 0, OUT) == "ENOTDIR"
