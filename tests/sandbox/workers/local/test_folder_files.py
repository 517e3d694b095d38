"""Operations on a folder's files: what leads out is refused, whatever links say; what is read-only stays."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sandbox.errors import RequestError
from sandbox.filesystem.vfs import Vfs
from sandbox.workers.interface import Operation
from sandbox.workers.local.folder_files import FILE_BYTES_MAX, FolderFiles


def do(files: FolderFiles, verb: str, path: str, **more: Any) -> bytes:
    asked: dict[str, Any] = {"verb": verb, "path": path, **more}
    return files.perform(Operation(**asked))


@pytest.fixture
def files() -> FolderFiles:
    vfs = Vfs()
    for path in ("/workspace/in/a", "/workspace/out", "/workspace/roots/r", "/tmp/t"):
        vfs.write_file(path, path.encode())
    for name, target in (("up", ".."), ("far", "/tmp"), ("round", "round"), ("root", "../roots")):
        vfs.symlink(target, f"/workspace/in/{name}")
    return FolderFiles(vfs, "/workspace/in", ["/workspace/roots"])


VERBS = ("read", "list", "stat", "write", "seed", "link", "mkdir", "delete", "drop", "directory", "move")
WAYS_OUT = ("../out", "/workspace/out", "up/out", "far/t", "/tmp/t", "round", "/etc/passwd", "up/../out", "/workspace/in/../out")


@pytest.mark.parametrize("path", WAYS_OUT)
@pytest.mark.parametrize(
    "verb", ["read", "list", "stat", "write", "seed", "link", "mkdir", "delete", "drop", "directory", "move"]
)
def test_tm_run_link_no_operation_leaves_the_folder(files: FolderFiles, verb: str, path: str) -> None:
    if verb == "stat" and path == "round":
        return  # the link itself is there
    before = files.vfs.checkpoint()
    with pytest.raises(RequestError) as refused:
        do(files, verb, path, contents=b"x", target="b")
    assert refused.value.error.code in ("PATH_OUTSIDE_WORKSPACE", "PATH_NOT_FOUND"), refused.value
    assert files.vfs.read_file("/workspace/out") == b"/workspace/out" and files.vfs.read_file("/tmp/t") == b"/tmp/t"
    assert files.vfs.checkpoint().used_entries == before.used_entries


def test_a_file_is_not_moved_out_and_read_roots_are_not_written(files: FolderFiles) -> None:
    for target in ("../b", "far/b", "root/b", "/workspace/roots/b"):
        with pytest.raises(RequestError, match="outside workspace /workspace/in"):
            do(files, "move", "a", target=target)
    assert do(files, "read", "/workspace/roots/r") == do(files, "read", "root/r") == b"/workspace/roots/r"
    for verb in ("write", "seed", "delete", "directory"):
        with pytest.raises(RequestError):
            do(files, verb, "root/r")


def test_what_is_read_only_is_changed_by_seeds_alone(files: FolderFiles) -> None:
    do(files, "seed", "d/s", contents=b"1", readonly=True)
    for verb, path in (("write", "d/s"), ("delete", "d/s"), ("delete", "d"), ("move", "d")):
        with pytest.raises(RequestError, match="read-only"):
            do(files, verb, path, contents=b"2", recursive=True, target="e")
    do(files, "seed", "d/s", contents=b"2", readonly=True)
    assert do(files, "survey", "d") == msgspec.msgpack.encode({"s": b"2"})
    do(files, "drop", "d/s")
    assert not files.vfs.exists("/workspace/in/d/s")


def test_a_survey_says_what_it_cannot_read_and_where_nothing_is(files: FolderFiles) -> None:
    files.vfs.write_file("/workspace/in/d/large", bytes(FILE_BYTES_MAX + 1))
    files.vfs.symlink("a", "/workspace/in/d/l")
    assert msgspec.msgpack.decode(do(files, "survey", "d")) == {"l": None, "large": None}
    assert do(files, "survey", "none") == do(files, "survey", "../out") == msgspec.msgpack.encode(None)
    with pytest.raises(RequestError, match=f"more than {FILE_BYTES_MAX} bytes"):
        do(files, "read", "d/large")


def test_messages_show_no_control_characters_and_end(files: FolderFiles) -> None:
    with pytest.raises(RequestError) as refused:
        do(files, "read", "\x1b[31m{top}" + "x" * 500)
    assert "\x1b" not in refused.value.error.message and "{top}" in refused.value.error.message
    assert len(refused.value.error.message) < 300
