"""The WASI calls that are about the process: arguments, clocks, randomness, waiting; and all of them with nonsense."""

from __future__ import annotations

import inspect
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.filesystem.errnos import EFAULT, NAMES
from sandbox.filesystem.vfs import Vfs, VfsLimits
from sandbox.wasi.wasi import SIGNATURES, GuestExit, Wasi
from tests.sandbox.wasi_client import ROOT_FD, Client, Refused, furnished, refused

OUT = 64


@pytest.fixture
def guest() -> Client:
    return furnished()


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


@settings(max_examples=120)
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
