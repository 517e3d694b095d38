"""CPython as a client of the filesystem: what its users do with files, through the real interpreter and the real WASI calls.

Each program runs in a fresh interpreter on a fresh filesystem and asserts its own findings; it has passed when its last line is
`done`.
"""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Sequence

import pytest

from sandbox.engine.memory import GuestMemory
from sandbox.engine.wasmtime import Call, Instance
from sandbox.filesystem.descriptors import DescriptorTable
from sandbox.filesystem.vfs import Vfs, VfsLimits
from sandbox.guests.images import Image, images
from sandbox.wasi.wasi import SIGNATURES, Wasi

_PROLOGUE = """
import errno, os, shutil
os.chdir("/workspace")
def refused(act, *args, **options):
    try:
        act(*args, **options)
    except OSError as error:
        return errno.errorcode[error.errno], type(error).__name__
    raise AssertionError("not refused")
"""


class Machine:
    """The world of a test guest: real clocks and randomness, output kept."""

    args: Sequence[bytes] = (b"python",)
    environ: Sequence[bytes] = ()

    def __init__(self) -> None:
        self.output = bytearray()

    def now_realtime_ns(self) -> int:
        return time.time_ns()

    def now_monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def cpu_time_ns(self) -> int:
        return time.thread_time_ns()

    def random(self, n: int, /) -> bytes:
        return os.urandom(n)

    def wait_until(self, monotonic_ns: int, /) -> None:
        pass

    def stdout(self, data: bytes, /) -> None:
        self.output += data

    stderr = stdout

    def stdin_read(self, n: int, /) -> bytes:
        return b""


def run_in(image: Image, vfs: Vfs, source: str) -> str:
    """What a program prints, in an interpreter of its own."""
    host = Machine()
    wasi = Wasi(None, vfs, DescriptorTable.standard(vfs), host)  # type: ignore[arg-type]  # the memory exists only after the instance
    wasi.table.keeps_preopens = True
    functions: list[Callable[..., int]] = [lambda *_: -1, *(getattr(wasi, name) for name in SIGNATURES)]
    instance = Instance(image.prepared, Call(functions, lambda: None))
    wasi.memory = memory = GuestMemory(instance)
    instance.watch()
    program = (_PROLOGUE + textwrap.dedent(source)).encode()
    address = instance.call("host_alloc", len(program))
    memory.write(address, program)
    instance.call("turn", address, len(program))
    wasi.table.close_all(vfs)
    return host.output.decode()


@pytest.fixture(scope="module")
def image() -> Image:
    return images.get("python")


@pytest.fixture
def vfs() -> Vfs:
    return Vfs.at(images.files(), VfsLimits())


def passes(image: Image, vfs: Vfs, source: str) -> None:
    output = run_in(image, vfs, textwrap.dedent(source) + "\nprint('done')")
    assert output.splitlines()[-1:] == ["done"], output


def test_open_modes_mean_what_python_says(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        with open("m", "x") as f: f.write("abc")
        assert refused(open, "m", "x") == ("EEXIST", "FileExistsError")
        with open("m", "a") as f:
            assert f.tell() == 3
            f.write("def")
        with open("m", "r+") as f:
            f.seek(1); f.write("X"); f.seek(0, 2)
            assert f.tell() == 6
        assert open("m").read() == "aXcdef"
        with open("m", "w+") as f:
            f.write("q"); f.seek(0)
            assert f.read() == "q"
        with open("m", "w") as f: f.seek(5); f.write("z")
        assert open("m", "rb").read() == bytes(5) + b"z"
        with open("m", "r+b") as f:
            f.truncate(2); assert f.read() == bytes(2)
            f.truncate(10); f.seek(0); assert f.read() == bytes(10)
        os.truncate("m", 3); assert os.path.getsize("m") == 3
        assert open("m", "rb", buffering=0).readinto(bytearray(10)) == 3
        """,
    )


def test_low_level_calls_move_or_keep_the_offset(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        fd = os.open("p", os.O_RDWR | os.O_CREAT)
        os.pwrite(fd, b"hello", 3)
        assert os.pread(fd, 4, 2) == b"\\0hel" and os.lseek(fd, 0, os.SEEK_CUR) == 0
        os.fsync(fd); os.fdatasync(fd)
        if hasattr(os, "writev"): assert os.writev(fd, [b"ab", b"cd"]) == 4
        os.close(fd)
        assert refused(os.close, fd) == ("EBADF", "OSError")
        fd = os.open("p", os.O_RDONLY)
        assert refused(os.write, fd, b"x") == ("EBADF", "OSError"); os.close(fd)
        fd = os.open("p", os.O_WRONLY)
        assert refused(os.read, fd, 1) == ("EBADF", "OSError"); os.close(fd)
        """,
    )


def test_errors_have_the_types_programs_catch(image: Image, vfs: Vfs) -> None:
    vfs.write_file("ro", b"fixed", readonly=True)
    vfs.write_file("f", b"")
    passes(
        image,
        vfs,
        """
        os.mkdir("d"); os.mkdir("d/e")
        assert refused(open, "no") == ("ENOENT", "FileNotFoundError")
        assert refused(open, "no/x", "w") == ("ENOENT", "FileNotFoundError")
        assert refused(open, "d") == ("EISDIR", "IsADirectoryError")
        assert refused(open, "d", "w") == ("EISDIR", "IsADirectoryError")
        assert refused(open, "f/x") == ("ENOTDIR", "NotADirectoryError")
        assert refused(os.listdir, "f") == ("ENOTDIR", "NotADirectoryError")
        assert refused(os.mkdir, "d") == ("EEXIST", "FileExistsError")
        assert refused(os.rmdir, "d") == ("ENOTEMPTY", "OSError")
        assert refused(os.rmdir, "f") == ("ENOTDIR", "NotADirectoryError")
        assert refused(os.unlink, "d") == ("EISDIR", "IsADirectoryError")
        assert refused(open, "ro", "w")[1] == refused(open, "ro", "a")[1] == refused(os.unlink, "ro")[1] == "PermissionError"
        assert refused(os.rename, "f", "ro")[1] == refused(os.truncate, "ro", 0)[1] == "PermissionError"
        assert open("ro").read() == "fixed"
        assert refused(open, "/x", "w") == ("EROFS", "OSError")
        assert refused(open, "/usr/local/lib/python315.zip", "r+b") == ("EROFS", "OSError")
        assert refused(os.rename, "/workspace", "/w")[0] == "EROFS"
        """,
    )


def test_trees_are_walked_copied_and_removed(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        os.makedirs("d/e/f"); open("d/x", "w").close(); os.symlink("x", "d/l"); os.link("d/x", "d/h")
        assert os.stat("d/x").st_nlink == 2 and os.path.samefile("d/x", "d/h")
        assert [(top, sorted(dirs), sorted(files)) for top, dirs, files in os.walk("d")] == [
            ("d", ["e"], ["h", "l", "x"]), ("d/e", ["f"], []), ("d/e/f", [], [])]
        shutil.copytree("d", "c", symlinks=True)
        assert os.readlink("c/l") == "x" and os.path.islink("c/l")
        shutil.move("c", "moved"); shutil.rmtree("moved")
        assert sorted(os.listdir()) == ["d"]
        with os.scandir("d") as entries:
            kinds = {e.name: (e.is_dir(), e.is_file(), e.is_symlink()) for e in entries}
        assert kinds["l"] == (False, True, True) and kinds["e"] == (True, False, False)
        """,
    )


def test_a_directory_of_many_files_is_listed_whole(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        os.mkdir("many")
        for i in range(1500): open(f"many/file{i:05}", "w").close()
        assert sorted(os.listdir("many")) == [f"file{i:05}" for i in range(1500)]
        assert len({e.inode() for e in os.scandir("many")}) == 1500
        shutil.rmtree("many")
        """,
    )


def test_renaming_replaces_atomically_or_says_why_not(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        open("a", "w").write("1"); open("b", "w").write("2"); os.mkdir("d"); os.mkdir("e"); open("e/x", "w").close()
        os.rename("a", "b"); assert open("b").read() == "1" and not os.path.exists("a")
        assert refused(os.rename, "b", "d") == ("EISDIR", "IsADirectoryError")
        assert refused(os.rename, "d", "b") == ("ENOTDIR", "NotADirectoryError")
        assert refused(os.rename, "d", "e") == ("ENOTEMPTY", "OSError")
        assert refused(os.rename, "d", "d/x") == ("EINVAL", "OSError")
        assert refused(os.rename, "no", "x") == ("ENOENT", "FileNotFoundError")
        os.replace("e", "d"); assert os.listdir("d") == ["x"]
        """,
    )


def test_symbolic_links_resolve_inside_the_filesystem(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        os.symlink("loop", "loop")
        assert refused(open, "loop")[0] == "ELOOP" and refused(os.stat, "loop")[0] == "ELOOP"
        os.lstat("loop")
        os.symlink("/workspace/made", "dangling"); open("dangling", "w").write("x"); assert open("made").read() == "x"
        assert refused(os.open, "dangling", os.O_RDONLY | os.O_NOFOLLOW)[0] == "ELOOP"
        assert refused(os.symlink, "a", "dangling")[0] == "EEXIST" and refused(os.readlink, "made")[0] == "EINVAL"
        os.symlink("/", "root"); assert os.path.realpath("root/workspace/made") == "/workspace/made"
        os.symlink("../" * 20 + "etc/shadow", "escape"); assert refused(open, "escape")[0] == "ENOENT"
        """,
    )


def test_times_temporary_files_and_unlinked_open_files_work(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        import tempfile, time
        open("t", "w").close(); os.utime("t", (1, 2)); found = os.stat("t")
        assert (found.st_atime, found.st_mtime) == (1, 2)
        os.utime("t", ns=(5, 7)); assert os.stat("t").st_mtime_ns == 7
        os.utime("t"); assert abs(os.stat("t").st_mtime - time.time()) < 60
        with tempfile.TemporaryDirectory() as folder:
            assert folder.startswith("/tmp/")
            with tempfile.NamedTemporaryFile(dir=folder) as f: f.write(b"x"); f.flush(); assert os.path.getsize(f.name) == 1
        assert not os.path.exists(folder)
        with tempfile.TemporaryFile() as f: f.write(b"abc"); f.seek(0); assert f.read() == b"abc"
        with tempfile.SpooledTemporaryFile(max_size=10) as f: f.write(b"x" * 100); f.seek(0); assert len(f.read()) == 100
        f = open("gone", "w+"); os.unlink("gone"); f.write("still"); f.seek(0)
        assert f.read() == "still" and os.fstat(f.fileno()).st_nlink == 0
        """,
    )
    assert vfs.opens == {} and vfs.used_bytes == 0


def test_sqlite_keeps_a_database_in_a_file(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        import sqlite3
        for mode in ("delete", "truncate", "persist", "memory", "off"):
            db = sqlite3.connect("base.sqlite"); db.execute(f"pragma journal_mode={mode}")
            db.execute("create table if not exists t(a, b)")
            db.executemany("insert into t values(?, ?)", [(i, "x" * 100) for i in range(600)]); db.commit()
            db.execute("delete from t where a % 3 = 0"); db.commit()
            db.execute("insert into t values(1, 1)"); db.rollback()
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
            db.execute("vacuum"); db.close()
        assert sqlite3.connect("base.sqlite").execute("select count(*) from t").fetchone() == (2000,)
        """,
    )


def test_archives_and_pathlib_work(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        import pathlib, tarfile, zipfile
        os.mkdir("d"); open("d/x", "w").write("hello")
        with zipfile.ZipFile("z.zip", "w") as z: z.write("d/x")
        assert zipfile.ZipFile("z.zip").read("d/x") == b"hello"
        with tarfile.open("t.tar.gz", "w:gz") as t: t.add("d")
        with tarfile.open("t.tar.gz") as t: t.extractall("out", filter="data")
        assert open("out/d/x").read() == "hello"
        p = pathlib.Path("deep/er"); p.mkdir(parents=True); (p / "f.txt").write_text("x")
        assert [q.name for q in pathlib.Path().rglob("*.txt")] == ["f.txt"]
        (p / "f.txt").unlink(); p.rmdir(); p.parent.touch(); assert p.parent.resolve() == pathlib.Path("/workspace/deep")
        """,
    )


def test_devices_and_streams_are_usable(image: Image, vfs: Vfs) -> None:
    output = run_in(
        image,
        vfs,
        """
        open("/dev/null", "w").write("x"); assert open("/dev/null", "rb").read() == b""
        assert open("/dev/zero", "rb").read(100) == bytes(100) and len(open("/dev/urandom", "rb").read(1000)) == 1000
        assert not os.isatty(1) and not open("/dev/null").isatty()
        assert refused(os.lseek, 1, 0, 0)[0] == "ESPIPE"
        f = open("/dev/full", "wb", buffering=0); assert refused(f.write, b"x")[0] == "ENOSPC"
        os.write(1, b"raw\\n"); _ = open("/dev/stdout", "w").write("by name\\n")
        """,
    )
    assert output == "raw\nby name\n"


def test_quotas_are_errors_a_program_can_handle(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        assert refused(open, "n" * 256, "w")[0] == "ENAMETOOLONG" and refused(os.stat, "x/" * 3000)[0] == "ENAMETOOLONG"
        fd = os.open("big", os.O_RDWR | os.O_CREAT)
        assert refused(os.ftruncate, fd, 1 << 40)[0] == "EFBIG" and refused(os.pwrite, fd, b"x", 1 << 60)[0] == "EFBIG"
        os.ftruncate(fd, 60 << 20); os.close(fd)
        open("more", "w").close(); os.truncate("more", 30 << 20)
        assert refused(os.truncate, "more", 50 << 20)[0] == "ENOSPC"
        os.unlink("big"); os.truncate("more", 50 << 20); os.unlink("more")
        opened = []
        assert refused(lambda: [opened.append(open("/dev/null")) for _ in range(1000)])[0] == "EMFILE"
        assert len(opened) == 252
        for f in opened: f.close()
        def dig():
            path = "deep"
            while True: os.mkdir(path); path += "/d"
        assert refused(dig)[0] == "ENAMETOOLONG"; shutil.rmtree("deep")
        """,
    )
    assert vfs.used_bytes == 0


def test_a_flood_of_files_ends_in_an_error_and_can_be_cleared(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        os.mkdir("flood")
        def flood():
            for i in range(20_000): os.close(os.open(f"flood/{i}", os.O_CREAT | os.O_WRONLY))
        assert refused(flood)[0] == "ENOSPC"
        assert len(os.listdir("flood")) == 9_999
        shutil.rmtree("flood"); open("again", "w").close()
        """,
    )


def test_directory_descriptors_anchor_relative_paths(image: Image, vfs: Vfs) -> None:
    passes(
        image,
        vfs,
        """
        open("m", "w").write("abc")
        folder = os.open("/workspace", os.O_RDONLY | os.O_DIRECTORY)
        assert os.stat("m", dir_fd=folder).st_size == 3
        os.close(os.open("../tmp", os.O_RDONLY, dir_fd=folder)); os.close(folder)
        assert refused(os.open, "m", os.O_DIRECTORY | os.O_RDONLY)[0] == "ENOTDIR"
        os.closerange(3, 300); assert os.path.exists("m")
        """,
    )
