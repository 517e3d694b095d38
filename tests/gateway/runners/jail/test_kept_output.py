"""What kept commands write: whole frames, up to a cap, read by one gateway after another."""

from __future__ import annotations

import fcntl
import os

from gateway.runners.jail.kept_output import Reader, Writer


def a_file() -> int:
    return os.memfd_create("kept", os.MFD_ALLOW_SEALING)


def a_reader(file: int) -> Reader:
    return Reader(os.open(f"/proc/self/fd/{file}", os.O_RDONLY))


def test_every_reader_finds_the_same_frames_and_the_end_after_the_last() -> None:
    file = a_file()
    writer, first = Writer(os.dup(file), 100), a_reader(file)
    writer.write(0, b"out")
    assert (list(first.read()), first.end) == ([(0, b"out")], None)
    writer.write(1, b"err")
    writer.end(7)
    assert (list(first.read()), first.end) == ([(1, b"err")], {"code": 7, "dropped": 0})
    second = a_reader(file)
    assert (list(second.read()), second.end) == ([(0, b"out"), (1, b"err")], first.end)
    os.close(file)


def test_a_frame_that_is_not_whole_yet_is_read_when_it_is() -> None:
    whole, part = a_file(), a_file()
    Writer(whole, 100).write(0, b"hello")
    data, reader = os.pread(whole, 100, 0), a_reader(part)
    os.write(part, data[:7])
    assert list(reader.read()) == []
    os.write(part, data[7:])
    assert list(reader.read()) == [(0, b"hello")]


def test_tm_run_output_what_is_over_the_cap_is_counted_and_not_kept() -> None:
    file = a_file()
    writer = Writer(os.dup(file), 4)
    writer.write(0, b"123")
    assert not writer.is_full
    writer.write(1, b"4567")
    writer.write(0, b"89")
    assert writer.is_full
    writer.end(0)
    reader = a_reader(file)
    assert list(reader.read()) == [(0, b"123"), (1, b"4")]
    assert reader.end == {"code": 0, "dropped": 5}


def test_what_a_full_disk_cuts_off_is_counted_and_what_was_there_stays_readable() -> None:
    file = a_file()
    writer = Writer(os.dup(file), 1000)
    writer.write(0, b"fits")
    os.ftruncate(file, 4096)  # and no further
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    os.ftruncate(file, 9)
    writer.write(0, b"does not")
    writer.end(0)
    reader = a_reader(file)
    assert (list(reader.read()), reader.end) == ([(0, b"fits")], None)
