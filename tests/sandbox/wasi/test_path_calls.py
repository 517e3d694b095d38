"""Paths: what is opened through them, and what is refused."""

from __future__ import annotations

import pytest

from tests.sandbox.wasi_client import (
    CREATE,
    DIRECTORY,
    EXCLUSIVE,
    READ,
    ROOT_FD,
    TRUNCATE,
    WRITE,
    Client,
    Refused,
    furnished,
    refused,
)

OUT = 64


@pytest.fixture
def guest() -> Client:
    return furnished()


def test_a_file_that_cannot_be_reported_is_not_opened(guest: Client) -> None:
    before = len(guest.wasi.table.entries)
    assert refused(guest, "path_open", ROOT_FD, 1, *guest.put("workspace/new"), CREATE, READ, 0, 0, -4) == "EFAULT"
    assert len(guest.wasi.table.entries) == before and not guest.vfs.exists("new")


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


def test_a_directory_is_opened_for_reading_only(guest: Client) -> None:
    fd = guest.open("workspace/d", DIRECTORY, READ)
    assert refused(guest, "fd_write", fd, OUT, 0, OUT) == "EBADF"
    assert refused(guest, "fd_read", fd, OUT, 0, OUT) == "EISDIR"
    for rights in (WRITE, READ | WRITE, -1):
        with pytest.raises(Refused, match="EISDIR"):
            guest.open("workspace/d", DIRECTORY, rights)


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
