"""A real Docker engine for tests: `dockerd` in a folder of its own, with one image, made of a few of this machine's programs.

Nothing is shared with an engine that runs already: sockets, images and containers are this one's, it makes no network device
and no firewall rule, and all of it is gone when it ends. It needs root and Debian's `docker.io` (or Docker's own packages);
without them the tests use a fake (`tests.gateway.runners.engine`) and say so in their names.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import http.client
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

IMAGE = "rust:latest"
PROGRAMS = (
    "sh",
    "bash",
    "base64",
    "stty",
    "cat",
    "wc",
    "head",
    "tr",
    "sleep",
    "ln",
    "mkdir",
    "mknod",
    "mv",
    "rm",
    "chmod",
    "ls",
    "id",
    "stat",
    "touch",
    "mount",
    "mkfifo",
    "pwd",
)
_START_SECONDS = 60


@dataclass(frozen=True)
class Daemon:
    socket_path: str


@functools.cache
def is_usable() -> bool:
    """Is it installed, and may we mount? A container without privileges has root, but no such rights."""
    if os.geteuid() != 0 or shutil.which("dockerd", path=_path()) is None:
        return False
    tried = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return shutil.which("unshare") is not None and subprocess.run(tried, capture_output=True, check=False).returncode == 0


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


@contextlib.contextmanager
def serve() -> Iterator[Daemon]:
    """Skips the test if the engine does not start here, with the last that it said."""
    folder = Path(tempfile.mkdtemp(prefix="hatchway-dockerd-"))  # short: the path of a socket has at most 107 bytes
    command = [
        "dockerd", "--host", f"unix://{folder}/docker.sock", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
        "--pidfile", f"{folder}/pid", "--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "PATH": _path()}, preexec_fn=_end_with_us)
    try:
        if not _is_up(process, folder / "docker.sock"):
            said = (folder / "log").read_text("utf-8", "replace").strip().splitlines()
            pytest.skip(f"dockerd does not start on this machine: {said[-1][-300:] if said else 'it said nothing'}")
        status, said_of_image = ask(f"{folder}/docker.sock", "POST", _import_path(), _image())
        assert status == 200, said_of_image
        yield Daemon(f"{folder}/docker.sock")
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _end_with_us() -> None:
    """In the child: a test process that is killed takes its engine along."""
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _is_up(process: subprocess.Popen[bytes], path: Path) -> bool:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if ask(str(path), "GET", "/_ping")[0] == 200:
                return True
        time.sleep(0.05)
    return False


def ask(path: str, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
    """One call of the engine's API."""
    connection = http.client.HTTPConnection("docker", timeout=60)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(60)
    try:
        connection.sock.connect(path)
        connection.request(method, target, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _import_path() -> str:
    repository, _, tag = IMAGE.partition(":")
    return f"/images/create?fromSrc=-&repo={repository}&tag={tag}"


def _image() -> bytes:
    """Programs with the libraries they need, as a root file system."""
    wanted: set[str] = set()
    for name in PROGRAMS:
        found = shutil.which(name, path="/usr/bin:/bin")
        assert found, f"there is no {name} on this machine"
        said = subprocess.run(["ldd", found], capture_output=True, text=True, check=False).stdout
        wanted |= {found, *re.findall(r"(/\S+) \(0x", said)}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, mode in (("tmp", 0o1777), ("workspace", 0o755), ("run", 0o755)):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, mode
            archive.addfile(folder)
        _add_text(archive, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
        for path in sorted(wanted):
            member = archive.gettarinfo(os.path.realpath(path), path.lstrip("/"))
            with open(os.path.realpath(path), "rb") as file:
                archive.addfile(member, file)
        if "/usr/bin/sh" in wanted:
            _add_text(archive, "bin/sh", Path("/usr/bin/sh").read_bytes(), 0o755)
    return buffer.getvalue()


def _add_text(archive: tarfile.TarFile, name: str, contents: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(contents), mode
    archive.addfile(member, io.BytesIO(contents))
