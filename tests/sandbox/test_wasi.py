"""The WASI calls one by one, at their edges."""

from __future__ import annotations

import inspect
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.descriptors import DESCRIPTORS_MAX
from sandbox.errnos import EFAULT, NAMES
from sandbox.vfs import Vfs, VfsLimits
from sandbox.wasi import SIGNATURES, GuestExit, Wasi
from tests.sandbox.wasi_client import APPEND, CREATE, DIRECTORY, EXCLUSIVE, READ, ROOT_FD, TRUNCATE, WRITE, Client, Refused

OUT, BUFFER = 64, 65536


@pytest.fixture
def guest() -> Client:
    client = Client()
    client.write_file("workspace/f", b"0123456789")
    client.mkdir("workspace/d")
    return client


def refused(client: Client, name: str, *args: int) -> str:
    with pytest.raises(Refused) as caught:
        client.call(name, *args)
    return caught.value.name


def test_every_function_of_preview_1_is_there_with_its_signature() -> None:
    assert len(SIGNATURES) == 46
    for name, (parameters, results) in SIGNATURES.items():
        arguments = list(inspect.signature(getattr(Wasi, name)).parameters)[1:]
        assert len(arguments) == len(parameters), name
        assert results == ("" if name == "proc_exit" else "i")


def test_arguments_and_environment_are_laid_out_as_c_strings(guest: Client) -> None:
    guest.call("args_sizes_get", OUT, OUT + 4)
    assert (guest.memory.u32(OUT), guest.memory.u32(OUT + 4)) == (2, 13)
    guest.call("args_get", OUT, 1024)
    assert (guest.memory.u32(OUT), guest.memory.u32(OUT + 4)) == (1024, 1030)
    assert guest.memory.read(1024, 13) == b"guest\0--flag\0"
    guest.call("environ_sizes_get", OUT, OUT + 4)
    assert (guest.memory.u32(OUT), guest.memory.u32(OUT + 4)) == (1, 16)
    guest.call("environ_get", OUT, 1024)
    assert guest.memory.read(1024, 16) == b"HOME=/workspace\0"


def test_clocks_come_from_the_host(guest: Client) -> None:
    for clock, expected in ((0, guest.host.realtime_ns), (1, guest.host.monotonic_ns), (2, 77), (3, 77)):
        guest.call("clock_time_get", clock, 0, OUT)
        assert guest.memory.u64(OUT) == expected
        guest.call("clock_res_get", clock, OUT)
        assert guest.memory.u64(OUT) > 0
    assert refused(guest, "clock_time_get", 4, 0, OUT) == "EINVAL"
    assert refused(guest, "clock_res_get", -1, OUT) == "EINVAL"


def test_random_bytes_fill_exactly_what_was_asked_for(guest: Client) -> None:
    guest.call("random_get", 1000, 3)
    assert guest.memory.read(999, 5) == b"\0\xab\xab\xab\0"
    guest.call("random_get", 100_000, 70_000)
    assert guest.memory.read(100_000, 70_001) == b"\xab" * 70_000 + b"\0"
    assert refused(guest, "random_get", 0, -1) == "EFAULT"


def test_tm_lim_hostcall_a_long_random_fill_lets_the_host_stop_the_guest(guest: Client) -> None:
    guest.call("random_get", 0, 2 << 20)
    assert guest.host.waits


def test_proc_exit_ends_the_guest_with_its_code(guest: Client) -> None:
    with pytest.raises(GuestExit) as ended:
        guest.call("proc_exit", 7)
    assert ended.value.code == 7
    assert refused(guest, "proc_raise", 6) == "ENOTSUP"
    guest.call("sched_yield")


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


def test_addresses_outside_of_memory_are_faults_in_every_call() -> None:
    for name, (parameters, _) in SIGNATURES.items():
        if name in ("proc_exit", "proc_raise", "sched_yield") or name.startswith("sock_"):
            continue
        guest = Client()
        arguments = [-8 if kind == "i" else 0 for kind in parameters]
        if name.startswith(("fd_", "path_")):
            arguments[0] = ROOT_FD if name not in ("fd_write", "fd_read") else 1 if name == "fd_write" else 0
        errno = getattr(guest.wasi, name)(*arguments)
        assert errno == 0 or errno in NAMES, name
    guest = Client()
    assert guest.wasi.fd_write(1, -8, 1, OUT) == EFAULT
    assert guest.wasi.fd_read(0, -8, 1, OUT) == EFAULT
    assert guest.wasi.path_open(3, 0, -8, 4, 0, 0, 0, 0, OUT) == EFAULT
    assert guest.wasi.path_filestat_get(3, 0, 0, 0xFFFF_FFFF, OUT) == 37
    assert guest.wasi.clock_time_get(0, 0, -8) == EFAULT
    assert guest.wasi.poll_oneoff(-100, 0, 1, OUT) == EFAULT


def test_a_file_that_cannot_be_reported_is_not_opened(guest: Client) -> None:
    before = len(guest.wasi.table.entries)
    assert refused(guest, "path_open", ROOT_FD, 1, *guest.put("workspace/new"), CREATE, READ, 0, 0, -4) == "EFAULT"
    assert len(guest.wasi.table.entries) == before and not guest.vfs.exists("new")


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


@pytest.mark.parametrize(
    ("path", "oflags", "rights", "name"),
    [
        ("workspace/no", 0, READ, "ENOENT"),
        ("workspace/no/x", CREATE, WRITE, "ENOENT"),
        ("", 0, READ, "ENOENT"),
        ("workspace/f/x", 0, READ, "ENOTDIR"),
        ("workspace/f/", 0, READ, "ENOTDIR"),
        ("workspace/f", DIRECTORY, READ, "ENOTDIR"),
        ("workspace/f", CREATE | EXCLUSIVE, WRITE, "EEXIST"),
        ("workspace/d", 0, WRITE, "EISDIR"),
        ("workspace/d", CREATE, READ, "EISDIR"),
        ("workspace/d", TRUNCATE, READ, "EISDIR"),
        ("workspace/new/", CREATE, WRITE, "EISDIR"),
        ("workspace/x", CREATE | DIRECTORY, READ, "EINVAL"),
        ("new", CREATE, WRITE, "EROFS"),
        ("dev/new", CREATE, WRITE, "EROFS"),
        ("n" * 256, 0, READ, "ENAMETOOLONG"),
        ("x" * 4097, 0, READ, "ENAMETOOLONG"),
        ("a\0b", 0, READ, "EINVAL"),
        (b"\xff", 0, READ, "EILSEQ"),
    ],
)
def test_opening_is_refused(guest: Client, path: str | bytes, oflags: int, rights: int, name: str) -> None:
    with pytest.raises(Refused, match=name):
        guest.open(path, oflags, rights)


def test_a_directory_may_be_opened_with_every_right_when_asked_for_as_one(guest: Client) -> None:
    fd = guest.open("workspace/d", DIRECTORY, -1)
    assert refused(guest, "fd_write", fd, OUT, 0, OUT) == "EBADF"
    assert refused(guest, "fd_read", fd, OUT, 0, OUT) == "EISDIR"


def test_a_read_only_file_refuses_every_way_to_change_it() -> None:
    guest = Client()
    guest.vfs.write_file("ro", b"fixed", readonly=True)
    guest.vfs.write_file("rw", b"")
    for oflags, rights in ((0, WRITE), (0, READ | WRITE), (TRUNCATE, READ), (CREATE | TRUNCATE, WRITE)):
        with pytest.raises(Refused, match="EACCES"):
            guest.open("workspace/ro", oflags, rights)
    with pytest.raises(Refused, match="EPERM"):
        guest.unlink("workspace/ro")
    with pytest.raises(Refused, match="EPERM"):
        guest.rename("workspace/ro", "workspace/x")
    with pytest.raises(Refused, match="EPERM"):
        guest.rename("workspace/rw", "workspace/ro")
    with pytest.raises(Refused, match="EPERM"):
        guest.link("workspace/ro", "workspace/x")
    assert refused(guest, "path_filestat_set_times", ROOT_FD, 0, *guest.put("workspace/ro"), 0, 0, 5) == "EPERM"
    assert guest.read_file("workspace/ro") == b"fixed"


def test_links_are_followed_when_asked(guest: Client) -> None:
    guest.symlink("f", "workspace/l")
    assert guest.stat("workspace/l")["kind"] == 4 and guest.stat("workspace/l", False)["kind"] == 7
    assert guest.readlink("workspace/l") == "f" and guest.readlink("workspace/l", 0) == ""
    with pytest.raises(Refused, match="ELOOP"):
        guest.open("workspace/l", follow=False)
    with pytest.raises(Refused, match="EINVAL"):
        guest.readlink("workspace/f")
    guest.symlink("made", "workspace/dangling")
    guest.write_file("workspace/dangling", b"through")
    assert guest.read_file("workspace/made") == b"through"
    with pytest.raises(Refused, match="EEXIST"):
        guest.open("workspace/dangling", CREATE | EXCLUSIVE, WRITE)


def test_paths_are_relative_to_an_open_directory(guest: Client) -> None:
    fd = guest.open("workspace/d", DIRECTORY)
    assert guest.read(guest.open("../f", at=fd)) == b"0123456789"
    assert guest.read(guest.open("/workspace/f", at=fd)) == b"0123456789"
    with pytest.raises(Refused, match="ENOTDIR"):
        guest.open("x", at=guest.open("workspace/f"))
    with pytest.raises(Refused, match="EBADF"):
        guest.open("x", at=99)


def test_a_removed_directory_that_is_open_takes_nothing_more(guest: Client) -> None:
    fd = guest.open("workspace/d", DIRECTORY)
    guest.rmdir("workspace/d")
    with pytest.raises(Refused, match="ENOENT"):
        guest.open("x", CREATE, WRITE, at=fd)
    assert [name for name, _, _ in guest.entries(fd)][:1] == ["."]
    guest.close(fd)


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


def test_sync_and_advice_are_accepted(guest: Client) -> None:
    fd = guest.open("workspace/f")
    for name, *args in (("fd_sync", fd), ("fd_datasync", fd), ("fd_advise", fd, 0, 0, 5)):
        guest.call(str(name), *args)
    assert refused(guest, "fd_advise", fd, 0, 0, 6) == "EINVAL"
    assert refused(guest, "fd_advise", fd, -1, 0, 0) == "EINVAL"
    assert refused(guest, "fd_advise", 1, 0, 0, 0) == "ESPIPE"
    assert refused(guest, "fd_sync", 99) == "EBADF"


def test_there_are_no_sockets(guest: Client) -> None:
    for name in ("sock_accept", "sock_recv", "sock_send", "sock_shutdown"):
        count = len(SIGNATURES[name][0])
        assert refused(guest, name, 1, *[0] * (count - 1)) == "ENOTSOCK"
        assert refused(guest, name, 50, *[0] * (count - 1)) == "EBADF"


def clock(userdata: int, clock_id: int, timeout_ns: int, absolute: bool = False) -> bytes:
    return struct.pack("<QB7xI4xQQH6x", userdata, 0, clock_id, timeout_ns, 0, int(absolute))


def readiness(userdata: int, tag: int, fd: int) -> bytes:
    return struct.pack("<QB7xI4xQQH6x", userdata, tag, fd, 0, 0, 0)


def poll(guest: Client, *subscriptions: bytes) -> list[tuple[int, int, int, int]]:
    guest.memory.write(4096, b"".join(subscriptions))
    guest.call("poll_oneoff", 4096, 8192, len(subscriptions), OUT)
    return [struct.unpack("<QHB5xQH6x", guest.memory.read(8192 + 32 * index, 32))[:4] for index in range(guest.memory.u32(OUT))]


def test_sleeping_waits_for_the_earliest_clock(guest: Client) -> None:
    start = guest.host.monotonic_ns
    assert poll(guest, clock(1, 1, 500), clock(2, 0, 300), clock(3, 1, 300)) == [(2, 0, 0, 0), (3, 0, 0, 0)]
    assert guest.host.waits == [start + 300]


def test_absolute_times_are_met_on_either_clock(guest: Client) -> None:
    start = guest.host.monotonic_ns
    poll(guest, clock(1, 0, guest.host.realtime_ns + 50, True))
    assert guest.host.waits == [start + 50]
    poll(guest, clock(1, 1, start + 90, True))
    assert guest.host.waits == [start + 50, start + 90]
    poll(guest, clock(1, 0, 1, True))
    assert guest.host.waits[-1] == guest.host.monotonic_ns


def test_a_ready_descriptor_needs_no_waiting(guest: Client) -> None:
    fd = guest.open("workspace/f")
    events = poll(guest, clock(1, 1, 1 << 62), readiness(2, 1, fd), readiness(3, 2, 1), readiness(4, 1, 99), clock(5, 1, 0))
    assert events == [(2, 0, 1, 10), (3, 0, 2, 1), (4, 8, 1, 0), (5, 0, 0, 0)]
    assert guest.host.waits == []


def test_polling_nothing_or_nonsense_is_refused(guest: Client) -> None:
    assert refused(guest, "poll_oneoff", 4096, 8192, 0, OUT) == "EINVAL"
    assert refused(guest, "poll_oneoff", 4096, 8192, 1025, OUT) == "EINVAL"
    with pytest.raises(Refused, match="EINVAL"):
        poll(guest, readiness(1, 9, 0))
    assert poll(guest, clock(1, 2, 5), clock(2, 77, 5)) == [(1, 58, 0, 0), (2, 28, 0, 0)]


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


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_arguments_whatsoever_raise(data: st.DataObject) -> None:
    guest = Client(Vfs(VfsLimits(total_bytes=1000, file_bytes=500, entries_max=20)))
    guest.memory.write(0, bytes(range(256)) * 16)
    small = st.integers(-2, 70)
    ints = st.one_of(small, small, st.integers(-(1 << 31), (1 << 31) - 1))
    longs = st.one_of(small, st.integers(-(1 << 63), (1 << 63) - 1))
    for _ in range(12):
        name = data.draw(st.sampled_from(sorted(set(SIGNATURES) - {"proc_exit"})))
        errno = getattr(guest.wasi, name)(*[data.draw(ints if kind == "i" else longs) for kind in SIGNATURES[name][0]])
        assert errno == 0 or errno in NAMES
