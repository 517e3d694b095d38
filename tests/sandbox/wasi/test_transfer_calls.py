"""Reading and writing: streams, vectors of buffers, offsets, quotas, devices."""

from __future__ import annotations

import struct

import pytest

from sandbox.filesystem.vfs import Vfs, VfsLimits
from tests.sandbox.wasi_client import APPEND, CREATE, READ, ROOT_FD, TRUNCATE, WRITE, Client, Refused, furnished, refused

OUT, BUFFER = 64, 65536


@pytest.fixture
def guest() -> Client:
    return furnished()


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
