"""What stands beside us without any sandbox: native processes, and workers that time themselves.

Rules: `python3` is the interpreter itself in an empty environment. A version manager's shim in front of it, or the
start-up hooks of whatever is installed beside it, would flatter us by tens of milliseconds. A `Worker` is a process
that reads one line of JSON per request and answers one; it takes its own time, so that pipes are not in the sample. One that
does not answer in time is ended, with all it started.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ANSWER_SECONDS_MAX = 60.0
_LEAVE_SECONDS = 3.0
NODE_WORKER = """
const lines = require('readline').createInterface({input: process.stdin});
lines.on('line', line => {
  const ask = JSON.parse(line), run = new Function(ask.code), started = process.hrtime.bigint();
  const value = run();
  console.log(JSON.stringify({ms: Number(process.hrtime.bigint() - started) / 1e6, value}));
});
"""


def harness_folder() -> Path:
    """Where environments are kept: HATCHWAY_BENCH_DIR, or `hatchway-bench` in the user's cache folder."""
    chosen = os.environ.get("HATCHWAY_BENCH_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(chosen) if chosen else Path(base) / "hatchway-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@functools.cache
def native_python() -> str:
    """The interpreter this harness runs on, in an environment with nothing installed."""
    base = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    folder = harness_folder() / f"bare-{hashlib.sha256(f'{base} {sys.version}'.encode()).hexdigest()[:12]}"
    if not folder.exists():
        fresh = Path(tempfile.mkdtemp(dir=harness_folder()))
        spawn([str(base), "-m", "venv", "--without-pip", str(fresh)])
        with contextlib.suppress(OSError):  # another process may have made it meanwhile
            fresh.rename(folder)
        shutil.rmtree(fresh, ignore_errors=True)
    return str(folder / "bin" / "python3")


@functools.cache
def node() -> str | None:
    return shutil.which("node")


def spawn(command: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
    """Start a process and wait until it has ended well."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, cwd=cwd, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"{command[0]} ended with status {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()[-200:]}"
        )


def spawn_python() -> None:
    """The baseline of every start-up time."""
    spawn([native_python(), "-c", "1+1"])


_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """A worker may be deep in a loop when its round is killed: nothing else would end it."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """A process that answers requests, one line of JSON each way."""

    def __init__(self, command: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            text=True,
            encoding="utf-8",
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, *, within_s: float = _ANSWER_SECONDS_MAX, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None and self._process.stderr is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._end()

        watchdog = threading.Timer(within_s, give_up)
        watchdog.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            self._end()
            why = f"no answer within {within_s:.0f} s" if late.is_set() else "the worker died"
            raise RuntimeError(self._process.stderr.read().strip()[-300:] or why)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(str(answer["error"])[:300])
        return answer

    def close(self) -> None:
        """Let it go by itself, so that it can end what it started; then end whatever is left."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_SECONDS)
        self._end()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _end(self) -> None:
        """It and its group. The group is its own: a worker starts in a session of its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def node_worker() -> Worker:
    path = node()
    if path is None:
        raise RuntimeError("node is not installed")
    return Worker([path, "-e", NODE_WORKER])
