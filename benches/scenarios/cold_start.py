"""A cold process to its first result: what a person waits for at the command line.

Images are compiled beforehand (once per machine), and so are our modules to bytecode, as installing a package does. Files are in
the page cache, as on any machine that is in use.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benches.harness import Bench, Contender, Promise, Scenario
from benches.natives import node, spawn, spawn_python
from benches.sessions import FIRST_PROGRAMS, TITLES, ready

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
        ours = "import hatchway, run 1+1 (beside peers)"
        beside = [
            Contender("python3 -c 1+1 (beside peers)", spawn_python, role="native", beside=ours),
            Contender(ours, lambda: spawn([sys.executable, "-c", library], env)),
        ]
        for language in ("javascript", "shell"):
            program, answer = FIRST_PROGRAMS[language]
            opening = f"import hatchway\nwith hatchway.Sandbox(language={language!r}) as box: "
            own = f"{opening}assert box.run({program!r}).result == {answer!r}"
            label = f"import hatchway, run {TITLES[language]} (beside peers)"
            beside.append(Contender(label, lambda own=own: spawn([sys.executable, "-c", own], env)))  # type: ignore[misc]
        against = {"python": ours} | {
            language: f"import hatchway, run {TITLES[language]} (beside peers)" for language in ("javascript", "shell")
        }
        bench.peers.interleave_cold(bench, *beside, ours=against)


SCENARIOS = [
    Scenario(
        "cold_start",
        "a cold process to its first result",
        measure,
        (Promise("hatchway run -c 1+1 from a cold process", 250, "ms", of=_OURS),),
    )
]
