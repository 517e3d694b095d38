"""Open descriptors: numbers, rights, times, directories, and what is read and written through them."""

from __future__ import annotations

import struct

import pytest

from sandbox.filesystem.descriptors import (
    DESCRIPTORS_MAX,
    Right,
)
from sandbox.filesystem.vfs import Vfs, VfsLimits
from tests.sandbox.wasi_client import (
    APPEND,
    CREATE,
    DIRECTORY,
    READ,
    ROOT_FD,
    TRUNCATE,
    WRITE,
    Client,
    Refused,
    furnished,
    refused,
)

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


def test_the_preopened_root_can_be_closed_unless_it_is_kept(guest: Client) -> None:
    guest.call("fd_prestat_get", ROOT_FD, OUT)
    assert (guest.memory.u32(OUT), guest.memory.u32(OUT + 4)) == (0, 1)
    guest.call("fd_prestat_dir_name", ROOT_FD, OUT, 1)
    assert guest.memory.read(OUT, 1) == b"/"
    assert refused(guest, "fd_prestat_dir_name", ROOT_FD, OUT, 0) == "ENAMETOOLONG"
    assert refused(guest, "fd_prestat_get", 4, OUT) == "EBADF"
    fd = guest.open("workspace/f")
    guest.wasi.table.keeps_preopens = True
    assert refused(guest, "fd_close", ROOT_FD) == "ENOTSUP"
    assert refused(guest, "fd_renumber", ROOT_FD, fd) == "ENOTSUP"
    assert refused(guest, "fd_renumber", fd, ROOT_FD) == "ENOTSUP"
    guest.wasi.table.keeps_preopens = False
    guest.call("fd_renumber", fd, ROOT_FD)
    assert guest.read(ROOT_FD, 2) == b"01" and refused(guest, "fd_prestat_get", ROOT_FD, OUT) == "EBADF"
    guest.close(ROOT_FD)
    assert refused(guest, "fd_fdstat_get", ROOT_FD, OUT) == "EBADF" and set(guest.vfs.opens) == set()


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


def ask_for_lock(guest: Client, fd: int, command: int, kind: int, start: int = 1 << 30) -> None:
    guest.memory.write(BUFFER, struct.pack("<I4xh6xqq", BUFFER + 8, kind, start, 1))
    guest.memory.write(OUT, struct.pack("<II", command, BUFFER))
    guest.call("fd_read", fd, OUT, 1, OUT + 8)


def test_a_read_into_the_number_of_a_command_is_a_lock(guest: Client) -> None:
    waiting = Client(guest.vfs)
    guest.wasi.table.locks.others = (waiting.wasi.table.locks,)
    theirs, fd = waiting.open("workspace/f"), guest.open("workspace/f")
    ask_for_lock(waiting, theirs, 8, 1)
    with pytest.raises(Refused, match="EAGAIN"):
        ask_for_lock(guest, fd, 8, 0)
    ask_for_lock(guest, fd, 7, 0)
    assert struct.unpack("<h", guest.memory.read(BUFFER + 8, 2)) == (1,), "what stands in the way is told"
    waiting.close(theirs)
    ask_for_lock(guest, fd, 8, 0)
    for command, kind, start in ((8, 9, 0), (8, 0, -1)):
        with pytest.raises(Refused, match="EINVAL"):
            ask_for_lock(guest, fd, command, kind, start)
    ask_for_lock(guest, fd, 1, 9)  # of other commands there is nothing to do


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


def test_streams_go_to_the_host(guest: Client) -> None:
    assert guest.write(1, b"out") == 3 and guest.write(2, b"err") == 3
    assert guest.host.written == {1: b"out", 2: b"err"}
    guest.host.input = b"typed"
    assert guest.read(0, 3) == b"typ" and guest.read(0) == b"ed" and guest.read(0) == b""
    assert refused(guest, "fd_read", 1, OUT, 0, OUT) == "EBADF"
    assert refused(guest, "fd_write", 0, OUT, 0, OUT) == "EBADF"
    assert refused(guest, "fd_seek", 1, 0, 0, OUT) == "ESPIPE"
    assert refused(guest, "fd_pread", 0, OUT, 0, 0, OUT) == "ESPIPE"


def test_streams_are_no_terminals(guest: Client) -> None:
    for fd in range(3):
        guest.call("fd_fdstat_get", fd, OUT)
        assert guest.memory.read(OUT, 1) == b"\0"
        assert guest.fstat(fd)["kind"] == 0


def test_a_huge_write_to_a_stream_is_taken_in_pieces(guest: Client) -> None:
    guest.memory.write(OUT + 16, struct.pack("<IIII", 0, 1 << 20, 0, 1 << 20))
    guest.call("fd_write", 1, OUT + 16, 2, OUT)
    assert guest.memory.u32(OUT) == len(guest.host.written[1]) == 1 << 18


def test_what_a_stream_raises_passes_through(guest: Client) -> None:
    class Full(Exception):
        pass

    def stop(data: bytes) -> None:
        raise Full

    guest.host.stdout = stop  # type: ignore[method-assign]
    with pytest.raises(Full):
        guest.write(1, b"x")


def test_vectors_are_gathered_and_scattered(guest: Client) -> None:
    fd = guest.open("workspace/v", CREATE, READ | WRITE)
    guest.memory.write(2000, b"abcdef")
    guest.memory.write(OUT + 16, struct.pack("<IIIIII", 2000, 2, 0, 0, 2002, 4))
    guest.call("fd_write", fd, OUT + 16, 3, OUT)
    assert guest.memory.u32(OUT) == 6
    guest.seek(fd, 1)
    guest.memory.write(OUT + 16, struct.pack("<IIII", 3000, 2, 3100, 9))
    guest.call("fd_read", fd, OUT + 16, 2, OUT)
    assert guest.memory.u32(OUT) == 5
    assert guest.memory.read(3000, 2) + guest.memory.read(3100, 3) == b"bcdef"
    assert guest.seek(fd, 0, 1) == 6


def test_too_many_vectors_are_refused(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, READ | WRITE)
    for name in ("fd_read", "fd_write"):
        assert refused(guest, name, fd, 0, 1025, OUT) == "EINVAL"
        assert refused(guest, name, fd, 0, -1, OUT) == "EINVAL"


def test_a_huge_transfer_is_made_in_pieces(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, READ | WRITE)
    guest.memory.write(1000, struct.pack("<II", 0, 1 << 20) * 1024)
    for position in (4 << 20, 8 << 20):
        guest.call("fd_write", fd, 1000, 1024, OUT)
        assert guest.memory.u32(OUT) == 4 << 20 and guest.seek(fd, 0, 1) == position
    guest.seek(fd, 0)
    guest.memory.write(1000, struct.pack("<II", BUFFER, 1 << 20) * 1024)
    guest.call("fd_read", fd, 1000, 1024, OUT)
    assert guest.memory.u32(OUT) == 4 << 20


def test_an_empty_buffer_before_a_full_one_is_no_end_of_input(guest: Client) -> None:
    guest.host.input = b"typed"
    guest.memory.write(1000, struct.pack("<IIII", BUFFER, 0, BUFFER, 3))
    guest.call("fd_read", 0, 1000, 2, OUT)
    assert guest.memory.u32(OUT) == 3 and guest.memory.read(BUFFER, 3) == b"typ"


def test_overwriting_and_extending_in_one_write_keeps_the_rest(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, READ | WRITE)
    guest.pwrite(fd, b"ABC", 8)
    guest.pwrite(fd, b"-", 0)
    guest.pwrite(fd, b"z", 13)
    assert guest.pread(fd, 50, 0) == b"-1234567ABC\0\0z"


def test_seeking_knows_its_bounds(guest: Client) -> None:
    fd = guest.open("workspace/f")
    assert guest.seek(fd, 4) == 4 and guest.seek(fd, -1, 1) == 3 and guest.seek(fd, -10, 2) == 0 and guest.seek(fd, 5, 2) == 15
    assert guest.read(fd) == b""
    assert refused(guest, "fd_seek", fd, -11, 2, OUT) == "EINVAL"
    assert refused(guest, "fd_seek", fd, (1 << 63) - 1, 1, OUT) == "EINVAL"
    assert refused(guest, "fd_seek", fd, 0, 3, OUT) == "EINVAL"
    guest.call("fd_tell", fd, OUT)
    assert guest.memory.u64(OUT) == 15
    assert refused(guest, "fd_seek", ROOT_FD, 0, 0, OUT) == "EBADF"


def test_positioned_reads_and_writes_leave_the_offset(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, READ | WRITE)
    assert guest.pwrite(fd, b"XY", 8) == 2 and guest.pread(fd, 5, 7) == b"7XY"
    assert guest.seek(fd, 0, 1) == 0
    assert refused(guest, "fd_pwrite", fd, OUT, 0, -1, OUT) == "EINVAL"
    assert refused(guest, "fd_pread", ROOT_FD, OUT, 0, 0, OUT) == "EISDIR"


def test_a_write_at_an_absurd_offset_is_refused_at_once(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, WRITE)
    guest.seek(fd, 1 << 60)
    with pytest.raises(Refused, match="EFBIG"):
        guest.write(fd, b"x")
    assert refused(guest, "fd_filestat_set_size", fd, 1 << 60) == "EFBIG"
    assert refused(guest, "fd_filestat_set_size", fd, -1) == "EINVAL"
    assert refused(guest, "fd_allocate", fd, 1 << 40, 1) == "EFBIG"


def test_quota_errors_reach_the_guest_and_leave_the_file_alone() -> None:
    guest = Client(Vfs(VfsLimits(total_bytes=8)))
    fd = guest.open("workspace/f", CREATE, READ | WRITE)
    assert guest.write(fd, b"123456") == 6
    with pytest.raises(Refused, match="ENOSPC"):
        guest.write(fd, b"789")
    assert guest.fstat(fd)["size"] == 6 and guest.seek(fd, 0, 1) == 6
    assert guest.write(fd, b"78") == 2


def test_appending_goes_to_the_end_whatever_the_offset(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, READ | WRITE, APPEND)
    guest.seek(fd, 2)
    guest.write(fd, b"A")
    assert guest.seek(fd, 0, 1) == 11
    guest.call("fd_fdstat_set_flags", fd, 0)
    guest.seek(fd, 0)
    guest.write(fd, b"B")
    assert guest.read_file("workspace/f") == b"B123456789A"
    assert refused(guest, "fd_fdstat_set_flags", fd, 64) == "EINVAL"


def test_allocating_extends_but_never_shrinks(guest: Client) -> None:
    fd = guest.open("workspace/f", 0, WRITE)
    guest.call("fd_allocate", fd, 0, 4)
    assert guest.fstat(fd)["size"] == 10
    guest.call("fd_allocate", fd, 10, 5)
    assert guest.read_file("workspace/f") == b"0123456789" + bytes(5)
    assert refused(guest, "fd_allocate", fd, 0, 0) == "EINVAL"


def test_devices_behave_like_their_namesakes(guest: Client) -> None:
    null = guest.open("dev/null", 0, READ | WRITE)
    assert guest.write(null, b"gone") == 4 and guest.read(null) == b"" and guest.seek(null, 5) == 0
    assert guest.read(guest.open("dev/zero"), 10) == bytes(10)
    assert guest.read(guest.open("dev/urandom"), 4) == b"\xab" * 4
    with pytest.raises(Refused, match="ENOSPC"):
        guest.write(guest.open("dev/full", 0, WRITE), b"x")
    guest.write(guest.open("dev/stderr", CREATE | TRUNCATE, WRITE), b"oops")
    assert guest.host.written[2] == b"oops"
    assert guest.stat("dev/null")["kind"] == 2


def test_an_endless_device_gives_a_bounded_piece(guest: Client) -> None:
    fd = guest.open("dev/zero")
    guest.memory.write(1000, struct.pack("<II", BUFFER, 1 << 20) * 4)
    guest.call("fd_read", fd, 1000, 4, OUT)
    assert guest.memory.u32(OUT) == 65536


def _path_calls(guest: Client) -> dict[int, tuple[str, tuple[int, ...]]]:
    """A call for each right of a directory; all would succeed."""
    link, f, new, folder = (guest.put(name, 1024 + 64 * n) for n, name in enumerate(("link", "f", "new", "d")))
    at = FOLDER_FD
    return {
        Right.CREATE_DIRECTORY: ("path_create_directory", (at, *new)),
        Right.CREATE_FILE: ("path_open", (at, 0, *new, CREATE, READ, 0, 0, OUT)),
        Right.LINK_SOURCE: ("path_link", (at, 0, *f, ROOT_FD, *guest.put("workspace/g", 3072))),
        Right.LINK_TARGET: ("path_link", (ROOT_FD, 0, *guest.put("workspace/f", 2048), at, *new)),
        Right.OPEN: ("path_open", (at, 0, *f, 0, READ, 0, 0, OUT)),
        Right.READDIR: ("fd_readdir", (at, BUFFER, 64, 0, OUT)),
        Right.READLINK: ("path_readlink", (at, *link, BUFFER, 64, OUT)),
        Right.RENAME_SOURCE: ("path_rename", (at, *f, ROOT_FD, *guest.put("workspace/g", 3072))),
        Right.RENAME_TARGET: ("path_rename", (ROOT_FD, *guest.put("workspace/f", 2048), at, *new)),
        Right.PATH_FILESTAT_GET: ("path_filestat_get", (at, 0, *f, OUT)),
        Right.PATH_SET_SIZE: ("path_open", (at, 0, *f, TRUNCATE, READ, 0, 0, OUT)),
        Right.PATH_SET_TIMES: ("path_filestat_set_times", (at, 0, *f, 1, 1, 5)),
        Right.SYMLINK: ("path_symlink", (*f, at, *new)),
        Right.REMOVE_DIRECTORY: ("path_remove_directory", (at, *folder)),
        Right.UNLINK_FILE: ("path_unlink_file", (at, *f)),
    }


_FILE_CALLS: dict[int, tuple[str, tuple[int, ...]]] = {
    Right.DATASYNC: ("fd_datasync", ()),
    READ: ("fd_read", (OUT, 0, OUT)),
    Right.SEEK: ("fd_seek", (1, 0, OUT)),
    Right.SET_FLAGS: ("fd_fdstat_set_flags", (APPEND,)),
    Right.SYNC: ("fd_sync", ()),
    Right.SEEK | Right.TELL: ("fd_tell", (OUT,)),
    WRITE: ("fd_write", (OUT, 0, OUT)),
    Right.ADVISE: ("fd_advise", (0, 0, 0)),
    Right.ALLOCATE: ("fd_allocate", (0, 20)),
    Right.FILESTAT_GET: ("fd_filestat_get", (OUT,)),
    Right.SET_SIZE: ("fd_filestat_set_size", (3,)),
    Right.SET_TIMES: ("fd_filestat_set_times", (1, 1, 5)),
}
FOLDER_FD = 4


def _give_up(guest: Client, fd: int, right: int) -> None:
    descriptor = guest.wasi.table.entries[fd]
    guest.call("fd_fdstat_set_rights", fd, descriptor.rights & ~right, descriptor.inheriting)


@pytest.mark.parametrize("right", _path_calls(furnished()))
def test_tm_iso_rights_right_on_a_directory_that_was_given_up_is_gone(right: int) -> None:
    for given_up in (False, True):
        guest = furnished()
        guest.vfs.mkdir("d/d")
        guest.vfs.write_file("d/f", b"0123")
        guest.vfs.symlink("f", "d/link")
        assert guest.open("workspace/d", DIRECTORY) == FOLDER_FD
        name, args = _path_calls(guest)[right]
        if given_up:
            _give_up(guest, FOLDER_FD, right)
            assert refused(guest, name, *args) == "ENOTCAPABLE"
        else:
            guest.call(name, *args)


@pytest.mark.parametrize("right", _FILE_CALLS)
def test_tm_iso_rights_right_on_a_file_that_was_given_up_is_gone(guest: Client, right: int) -> None:
    name, args = _FILE_CALLS[right]
    fd = guest.open("workspace/f", 0, READ | WRITE)
    guest.call(name, fd, *args)
    _give_up(guest, fd, right)
    posix = {READ: "EBADF", WRITE: "EBADF", Right.ALLOCATE: "EBADF", Right.SET_SIZE: "EINVAL"}
    assert refused(guest, name, fd, *args) == posix.get(right, "ENOTCAPABLE")


def test_tm_iso_rights_file_cannot_be_polled_without_the_right(guest: Client) -> None:
    fd = guest.open("workspace/f")
    guest.memory.write(BUFFER, struct.pack("<QB7xI28x", 7, 1, fd))
    for given_up in (False, True):
        if given_up:
            _give_up(guest, fd, Right.POLL)
        guest.call("poll_oneoff", BUFFER, BUFFER + 64, 1, OUT)
        assert struct.unpack("<QH", guest.memory.read(BUFFER + 64, 10)) == (7, 76 if given_up else 0)


def test_tm_iso_rights_what_is_opened_has_no_right_that_its_directory_does_not_pass_on(guest: Client) -> None:
    folder = guest.open("workspace/d", DIRECTORY)
    descriptor = guest.wasi.table.entries[folder]
    guest.call("fd_fdstat_set_rights", folder, descriptor.rights, descriptor.inheriting & ~(WRITE | Right.SEEK))
    guest.vfs.write_file("d/f", b"0123")
    with pytest.raises(Refused, match="ENOTCAPABLE"):
        guest.open("f", 0, READ | WRITE, at=folder)
    fd = guest.open("f", 0, READ, at=folder)
    assert guest.read(fd) == b"0123" and refused(guest, "fd_seek", fd, 1, 0, OUT) == "ENOTCAPABLE"
