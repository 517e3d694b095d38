"""A real PostgreSQL server for tests: from the `pgserver` package, or the machine's own.

Rules: it listens on a Unix socket in a folder of its own and on no port. PostgreSQL refuses to run as root; then it runs as
another user. `durable=False` turns fsync off: for tests of behaviour, never for tests of crashes. It lives as long as somebody
holds it: every user keeps a pipe open (`hold`), and when the last one closed it or died, however it died, the server is
stopped and its folder removed.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

_WAIT_S = 60


def find_binaries() -> Path | None:
    """Where `initdb` and `postgres` are, if anywhere that another user may read too."""
    package = importlib.util.find_spec("pgserver")
    found = [Path(package.origin).parent / "pginstall" / "bin"] if package is not None and package.origin else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    which = shutil.which("postgres")
    found += [Path(which).parent] if which else []
    return next((path for path in found if (path / "postgres").exists() and _readable(path)), None)


def _user() -> str | None:
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


def _readable(path: Path) -> bool:
    return _user() is None or all(parent.stat().st_mode & 0o005 == 0o005 for parent in (path, *path.parents))


_WATCHER = """
(
    cat "$1/holders" >/dev/null
    pid=$(head -n 1 "$1/data/postmaster.pid")
    if grep -q "$1" "/proc/$pid/cmdline"; then kill -QUIT "$pid"; fi
    while [ -e "$1/data/postmaster.pid" ] && grep -q "$1" "/proc/$pid/cmdline"; do sleep 0.05; done
    rm -rf "$1"
) >/dev/null 2>&1 &
"""


def hold(folder: Path) -> int:
    """A descriptor: the server runs at least until it is closed."""
    return os.open(folder / "holders", os.O_WRONLY | os.O_CLOEXEC)


class Server:
    def __init__(self, *, durable: bool = False) -> None:
        binaries = find_binaries()
        if binaries is None:
            raise RuntimeError("no PostgreSQL here: pip install pgserver, or apt install postgresql")
        self._binaries = binaries
        self._user = _user()
        self.folder = Path(tempfile.mkdtemp(prefix="hatchway-pg-"))
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        options = [] if durable else ["-c", "fsync=off", "-c", "full_page_writes=off"]
        self._options = [*options, "-c", "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=32MB"]
        self._run("initdb", "-D", str(self.data), "-U", "hatchway", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self.pid = 0
        os.mkfifo(self.folder / "holders", 0o600)
        with_shell = ["sh", "-c", _WATCHER, "sh", str(self.folder)]
        subprocess.run(with_shell, check=True, start_new_session=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.held = hold(self.folder)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        return f"postgresql://hatchway@/{database}?host={self.folder}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        done = subprocess.run(command, user=self._user, cwd=self.folder, capture_output=True, timeout=_WAIT_S, check=False)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace')[-2000:]}")

    def start(self) -> None:
        """Start it as nobody's child: whoever stops it need not be who started it."""
        command = [str(self._binaries / "postgres"), "-D", str(self.data), "-k", str(self.folder), *self._options]
        script = 'log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!'
        started = subprocess.run(
            ["sh", "-c", script, "sh", str(self.folder / "log"), *command],
            user=self._user, cwd=self.folder, stdout=subprocess.PIPE, start_new_session=True, check=True,
        )  # fmt: skip
        self.pid = int(started.stdout)
        deadline = time.monotonic() + _WAIT_S
        while subprocess.run(
            [str(self._binaries / "pg_isready"), "-U", "hatchway", "-h", str(self.folder)], capture_output=True
        ).returncode:
            if not is_alive(self.pid) or time.monotonic() > deadline:
                raise RuntimeError(f"postgres does not start: {(self.folder / 'log').read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """As a crash would: every process of the server dies at once."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        for pid in (self.pid, *map(int, children)):
            _signal(pid, signal.SIGKILL)
        for pid in (self.pid, *map(int, children)):
            _wait(pid)
        # Where nobody collects the dead their numbers stay taken, and the next server would believe this one to be alive.
        for left in (self.data / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):
            left.unlink(missing_ok=True)

    def stop(self) -> None:
        os.close(self.held)
        if self.pid:
            _wait(self.pid)


def is_alive(pid: int) -> bool:
    """Running, and not merely waiting to be noticed by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _wait(pid: int) -> None:
    deadline = time.monotonic() + _WAIT_S
    while is_alive(pid):
        if time.monotonic() > deadline:
            raise RuntimeError("postgres does not stop")
        time.sleep(0.01)
