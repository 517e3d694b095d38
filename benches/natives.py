"""What stands beside us without any sandbox: native processes, and workers that time themselves.

Rules: `python3` is the interpreter itself in an empty environment. A version manager's shim in front of it, or the
start-up hooks of whatever is installed beside it, would flatter us by tens of milliseconds. A `Worker` is a process
that reads one line of JSON per request and answers one; it takes its own time, so that pipes are not in the sample.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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


class Worker:
    """A process that answers requests, one line of JSON each way."""

    def __init__(self, command: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        environ = {**os.environ, **(env or {})}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environ,
            text=True,
            encoding="utf-8",
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None and self._process.stderr is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self._process.kill()
            raise RuntimeError(self._process.stderr.read().strip()[-300:] or "the worker died")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(str(answer["error"])[:300])
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def node_worker() -> Worker:
    path = node()
    if path is None:
        raise RuntimeError("node is not installed")
    return Worker([path, "-e", NODE_WORKER])
