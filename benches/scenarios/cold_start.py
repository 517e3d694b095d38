"""A cold process to its first result: what a person waits for at the command line.

Images are compiled beforehand (once per machine), and so are our modules to bytecode, as installing a package does. Files are in
the page cache, as on any machine that is in use.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benches.harness import Bench, Contender, Promise, Scenario
from benches.natives import Worker, native_python, node, spawn, spawn_python
from benches.sessions import FIRST_PROGRAMS, LANGUAGES, TITLES, ready

_ROOT = Path(__file__).resolve().parent.parent.parent
_OURS = "hatchway run -c 1+1"


def _command() -> list[str] | None:
    installed = Path(sys.executable).with_name("hatchway")
    return [str(installed), "run", "-c", "1+1"] if installed.exists() else None


def measure(bench: Bench) -> None:
    why = ready("python")
    if why:
        bench.missing(_OURS, why)
        return
    env = {**os.environ, "PYTHONPATH": str(_ROOT)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    library = "import hatchway\nwith hatchway.Sandbox() as box: assert box.run('1+1').result == 2"
    contenders = [
        Contender("python3 -c 1+1", spawn_python, role="native"),
        Contender("import hatchway, run 1+1", lambda: spawn([sys.executable, "-c", library], env)),
        Contender("import hatchway", lambda: spawn([sys.executable, "-c", "import hatchway"], env)),
    ]
    command = _command()
    if command is None:
        bench.missing(_OURS, "the hatchway command is not installed in this environment")
    else:
        contenders.append(Contender(_OURS, lambda: spawn(command, env)))
    found = node()
    if found is not None:
        contenders.append(Contender("node -e 1+1", lambda: spawn([found, "-e", "1+1"]), role="native"))
    bench.interleave(*contenders, repetitions=bench.count(30, 8))
    if bench.peers is not None:
        _beside(bench, env)


def _beside(bench: Bench, env: dict[str, str]) -> None:
    """The same way for all: a process is started and asked through a pipe; its end is not waited for."""
    ours = {language: f"import hatchway, run {TITLES[language]} (beside peers)" for language in LANGUAGES}
    bare = "input()\nassert eval('1+1') == 2\nprint('{}', flush=True)"
    native = Contender("python3, 1+1", _answering([native_python(), "-c", bare]), "native", reads=True, beside=ours["python"])
    beside = [native]
    for language, label in ours.items():
        code, answer = FIRST_PROGRAMS[language]
        opening = f"import hatchway\ninput()\nbox = hatchway.Sandbox(language={language!r})\n"
        program = f"{opening}assert box.run({code!r}).result == {answer!r}\nprint('{{}}', flush=True)"
        beside.append(Contender(label, _answering([sys.executable, "-c", program], env), reads=True))
    bench.peers.interleave_cold(bench, *beside, ours=ours)


def _answering(command: list[str], env: dict[str, str] | None = None) -> Callable[[], float]:
    """Milliseconds from starting a worker to its first answer."""

    def start() -> float:
        started = time.perf_counter()
        worker = Worker(command, env=env)
        try:
            worker.ask(op="new_session")
            return (time.perf_counter() - started) * 1e3
        finally:
            worker.close()

    return start


SCENARIOS = [
    Scenario(
        "cold_start",
        "a cold process to its first result",
        measure,
        (Promise("hatchway run -c 1+1 from a cold process", 250, "ms", of=_OURS),),
        parts=2,
    )
]
