"""A real OpenSSH server for tests: on a free port, with keys of its own, for the user who runs the tests.

Where there is no `sshd`, it is installed (Debian's `openssh-server`, if tests run as root), and otherwise the tests that need it
are skipped, saying so.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

_ATTEMPTS = 5
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Server:
    port: int
    username: str
    host_key: str
    identity: bytes


def find_sshd() -> str:
    found = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(
            ["apt-get", "-o", "DPkg::Lock::Timeout=120", "install", "-y", "--no-install-recommends", "openssh-server"],
            check=False,
            **quiet,
        )  # type: ignore[call-overload]
        found = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("there is no OpenSSH server on this machine: install openssh-server")
    return str(found)


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[Server]:
    program = find_sshd()
    host, user = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
    host.write_private_key(str(folder / "host"))
    (folder / "host").chmod(0o600)
    (folder / "authorized").write_bytes(user.export_public_key())
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    process, port = _started(program, folder)
    try:
        host_key = host.export_public_key().decode().strip()
        yield Server(port, getpass.getuser(), host_key, user.export_private_key())
    finally:
        process.terminate()
        process.wait()


def _started(program: str, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """It cannot choose its port itself: if somebody else was faster, another one is tried."""
    for _ in range(_ATTEMPTS):
        process, port = _start(program, folder)
        if _answers(port, process):
            return process, port
    raise AssertionError(f"sshd does not answer: {(folder / 'log').read_text()}")


def _start(program: str, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nMaxSessions 64\n"
        "AllowTcpForwarding yes\nX11Forwarding no\n"
        "SetEnv SHLVL=2\n"  # a login shell then reads no start-up files of the user, which can be slow
    )
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([program, "-D", "-e", "-f", str(folder / "config")], stdout=log, stderr=log), port


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    """False if it has ended."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:
            if client.recv(4) == b"SSH-":
                return True
        time.sleep(0.01)
    process.kill()
    process.wait()
    return False
