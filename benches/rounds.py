"""Rounds: a scenario measured in a process of its own, several times.

Why processes: an interpreter's memory layout, its caches and what ran before it move a number by some per cent from
one start to the next. Rounds in fresh processes show that part of the noise, and no scenario sees what another left
behind.

Rules: the child answers in lines of JSON on a descriptor of its own; whatever a scenario prints goes to stderr. A
child that fails, dies or takes too long is a failure of its scenario with its last words, not of the run.

    python -m benches.rounds NAME [--quick] [--peers]        one round, as the harness starts it
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROUND_SECONDS_MAX = 900
Progress = Callable[[str, float], None]


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
        own = root / ".venv" / "bin" / "python"
        return cls(root, str(own) if own.exists() else sys.executable)


def run_round(tree: Tree, name: str, *, quick: bool, peers: bool, progress: Progress) -> dict[str, Any]:
    """Measure one scenario once, in a new process. Always answers; `failure` says what went wrong."""
    command = [tree.python, "-m", "benches.rounds", name, *(["--quick"] if quick else []), *(["--peers"] if peers else [])]
    environ = {**os.environ, "PYTHONPATH": str(tree.root)}
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command, cwd=tree.root, env=environ, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL
        )
        watchdog = threading.Timer(ROUND_SECONDS_MAX, child.kill)
        watchdog.start()
        try:
            answer = _read_answer(child, progress)
        except BaseException:
            child.kill()
            raise
        finally:
            watchdog.cancel()
            child.wait()
        if answer is None:
            errors.seek(0)
            last = errors.read().decode("utf-8", "replace").strip()[-1500:]
            answer = {"failure": f"the process ended with status {child.returncode}: {last}"}
    return answer


def _read_answer(child: subprocess.Popen[bytes], progress: Progress) -> dict[str, Any] | None:
    assert child.stdout is not None
    for line in child.stdout:
        message: dict[str, Any] = json.loads(line)
        if "progress" not in message:
            return message
        progress(message["what"], message["progress"])
    return None


def main(arguments: list[str]) -> int:
    from benches.discovery import find
    from benches.harness import Bench

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, flags = arguments[0], set(arguments[1:])

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
    bench = Bench(quick="--quick" in flags, peers=peers, progress=lambda what, done: send({"what": what, "progress": done}))
    failure = ""
    try:
        scenario.measure(bench)
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
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
