"""Rounds: a scenario measured in a process of its own, several times.

Why processes: an interpreter's memory layout, its caches and what ran before it move a number by some per cent from
one start to the next. Rounds in fresh processes show that part of the noise, and no scenario sees what another left
behind.

Rules: the child answers in lines of JSON on a descriptor of its own; whatever a scenario prints goes to stderr. A
child that fails, dies or takes too long is a failure of its scenario with its last words, not of the run. It is told its time
and interrupts itself when that is long over: what it has recorded by then is kept. One that does not even do that is killed,
and so is everything it started: a round has a process group of its own.

    python -m benches.rounds NAME [--quick] [--peers] [--seconds N]        one round, as the harness starts it
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from benches.plan import hard_limit_s

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("benches", "gateway", "hatchway", "policy", "sandbox", "wasm_modules")
_ROUNDS = "benches/rounds.py"
_WHERE = """
import importlib.util, json, sys
found = {name: importlib.util.find_spec(name) for name in sys.argv[1:]}
print(json.dumps({name: spec.origin or list(spec.submodule_search_locations)[0] for name, spec in found.items()}))
"""
_CLEAN_UP_S = 20.0
_SHOWN_AGAIN_S = 0.2
Progress = Callable[[str, float], None]


class NoCheckout(ValueError):
    """A folder that cannot be measured: it is no checkout, or other code would answer for it."""


class OutOfTime(BaseException):
    """The round's time is long over. No `Exception`: a scenario that takes one for a contender's failure would go on."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A checkout to measure, and the interpreter that has its dependencies."""

    root: Path
    python: str

    @classmethod
    def here(cls) -> Tree:
        return cls(ROOT, sys.executable)

    @classmethod
    def at(cls, root: Path) -> Tree:
        """Another checkout. Raises `NoCheckout` unless its own code would be measured there: where a package is missing, the
        one that is installed would answer in its place."""
        missing = [name for name in PACKAGES if not (root / name / "__init__.py").is_file()]
        if missing or not (root / _ROUNDS).is_file():
            raise NoCheckout(f"{root} is not a checkout of Hatchway: there is no {missing[0] if missing else _ROUNDS}")
        own = root / ".venv" / "bin" / "python"
        tree = cls(root, str(own) if own.exists() else sys.executable)
        for name, place in tree.imported().items():
            if not place.is_relative_to(root):
                raise NoCheckout(f"{name} of {root} cannot be measured: its Python takes it from {place}")
        return tree

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.root)}

    def imported(self) -> dict[str, Path]:
        """Where a round takes each of our packages from."""
        asked = subprocess.run(
            [self.python, "-c", _WHERE, *PACKAGES], cwd=self.root, env=self.environ, capture_output=True, text=True, check=False
        )
        if asked.returncode:
            raise NoCheckout(f"{self.python} does not start in {self.root}: {asked.stderr.strip()[-500:]}")
        return {name: Path(place).resolve() for name, place in json.loads(asked.stdout).items()}

    def compile_guests(self) -> bool:
        """Have the images that rounds map made, if they are not there: a round's time is no time to compile CPython in. The
        command says how far it is and what it cannot do; scenarios say what they miss then."""
        command = [self.python, "-m", "hatchway.cli", "images", "build"]
        done = subprocess.run(command, cwd=self.root, env=self.environ, stdin=subprocess.DEVNULL, check=False)
        return done.returncode == 0


def run_round(
    tree: Tree, name: str, *, quick: bool, peers: bool, progress: Progress, seconds: float = math.inf
) -> dict[str, Any]:
    """Measure one scenario once, in a new process. Always answers; `failure` says what went wrong."""
    command = [tree.python, "-m", "benches.rounds", name, *(["--quick"] if quick else []), *(["--peers"] if peers else [])]
    command += ["--seconds", f"{seconds:.1f}"] if seconds < math.inf else []
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command,
            cwd=tree.root,
            env=tree.environ,
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        watchdog = threading.Timer(min(hard_limit_s(seconds, peers=peers) + _CLEAN_UP_S, threading.TIMEOUT_MAX), _end, [child])
        watchdog.daemon = True
        watchdog.start()
        try:
            answer = _read_answer(child, progress)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_CLEAN_UP_S)
        finally:
            watchdog.cancel()
            _end(child)
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
        if answer is None:
            errors.seek(0)
            last = errors.read().decode("utf-8", "replace").strip()[-1500:]
            answer = {"failure": f"the process ended with status {child.returncode}: {last}"}
    return answer


def _end(child: subprocess.Popen[bytes]) -> None:
    """It and its group, which is its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _read_answer(child: subprocess.Popen[bytes], progress: Progress) -> dict[str, Any] | None:
    assert child.stdout is not None
    for line in child.stdout:
        message: dict[str, Any] = json.loads(line)
        if "progress" not in message:
            return message
        progress(message["what"], message["progress"])
    return None


@contextlib.contextmanager
def _interrupted_after(limit_s: float) -> Iterator[None]:
    """Raise `OutOfTime` in this thread; again after a while, in case it was raised where nothing heard it."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    if limit_s < math.inf:
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, limit_s, _CLEAN_UP_S / 2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main(arguments: list[str]) -> int:
    from benches.discovery import find
    from benches.harness import Bench

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, flags = arguments[0], arguments[1:]
    seconds = float(flags[flags.index("--seconds") + 1]) if "--seconds" in flags else math.inf

    def send(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    scenario = find().scenarios.get(name)
    if scenario is None:
        send({"failure": f"there is no scenario {name!r} in this checkout"})
        return 1
    peers = None
    if "--peers" in flags:
        from benches.peers import Peers

        peers = Peers()

    shown_s = -math.inf

    def show(what: str, done: float) -> None:
        nonlocal shown_s
        if time.monotonic() - shown_s >= _SHOWN_AGAIN_S:  # its reader takes a core, and caches, from what is measured
            shown_s = time.monotonic()
            send({"what": what, "progress": done})

    bench = Bench(quick="--quick" in flags, peers=peers, progress=show, seconds=seconds, parts=scenario.parts)
    failure = ""
    try:
        with _interrupted_after(hard_limit_s(seconds, peers=peers is not None)):
            scenario.measure(bench)
    except OutOfTime:
        bench.cut(f"its time of {seconds:.0f} s was long over")
    except Exception:
        failure = traceback.format_exc(limit=-4)
    finally:
        if peers is not None:
            peers.close()
    rows = {
        label: {"unit": row.unit, "role": row.role, "beside": row.beside, "samples": row.samples}
        for label, row in bench.rows.items()
        if row.samples
    }
    send({"rows": rows, "missing": bench.absent, "notes": bench.notes, "failure": failure})
    answers.close()
    sys.stderr.flush()
    os._exit(0)  # what a scenario left open (threads, loops, thousands of sessions) is not waited for


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
