"""wasi-libc as a client of the filesystem: a C program that checks what POSIX promises, compiled like our own guests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.engine.memory import GuestMemory
from sandbox.engine.wasmtime import Call, Engine, Instance, Prepared
from sandbox.filesystem.descriptors import DescriptorTable
from sandbox.filesystem.vfs import Vfs
from sandbox.wasi.wasi import SIGNATURES, GuestExit, Wasi
from tests.sandbox.wasi_client import FakeHost

_SOURCE = Path(__file__).with_name("libc_client.c")
_IMPORTS = tuple(("wasi_snapshot_preview1", name, *kinds) for name, kinds in SIGNATURES.items())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("client")
    wasm, code = folder / "client.wasm", folder / "client.cwasm"
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi", "-Wall", "-Wextra", "-Werror", "-O2", "-s"]
    subprocess.run([*compiler, "-o", wasm, _SOURCE], check=True)
    engine = Engine(metered=False)
    code.write_bytes(engine.compile(wasm.read_bytes()))
    return Prepared(engine.load(code), _IMPORTS)


def run(prepared: Prepared, vfs: Vfs, colour: bytes) -> tuple[int, str]:
    """The program's exit code and what it printed."""
    host = FakeHost()
    host.args, host.environ = [b"client", b"argument"], [b"COLOUR=" + colour]
    wasi = Wasi(None, vfs, DescriptorTable.standard(vfs), host)  # type: ignore[arg-type]  # the memory exists only after the instance
    instance = Instance(prepared, Call([getattr(wasi, name) for name in SIGNATURES], lambda: None))
    wasi.memory = GuestMemory(instance)
    instance.watch()
    code = 0
    try:
        instance.call("_start")
    except GuestExit as ended:
        code = ended.code
    return code, host.written[1].decode()


def test_a_c_program_finds_everything_posix_promises(prepared: Prepared) -> None:
    vfs = Vfs()
    vfs.write_file("fixed", b"fixed", readonly=True)
    assert run(prepared, vfs, b"green") == (0, "")
    assert set(vfs.opens) == {1}


def test_the_c_program_would_tell(prepared: Prepared) -> None:
    vfs = Vfs()
    vfs.write_file("fixed", b"fixed", readonly=True)
    code, output = run(prepared, vfs, b"red")
    assert code == 1 and 'strcmp(getenv("COLOUR"), "green")' in output
