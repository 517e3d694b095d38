"""Snapshots: saving a session, restoring it to its first result, and how large it is; and what recording a run costs.

A session is saved after it ran something, so that its changed pages are found and copied every time. One that was saved before
hashes and compares only the pages that changed since; `first save` is of one that never was. Sizes are of the sealed bytes, in kB
of a thousand bytes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario
from benches.natives import spawn_python
from benches.sessions import ROOMY, TITLES, open_box, ready, run

if TYPE_CHECKING:
    from hatchway import Sandbox
    from sandbox.encoding.sealing import Keys

_SPAWN = "python3 -c 1+1"
_INTEGERS = "Python, json, re and 100,000 integers"
_SESSIONS = {
    _INTEGERS: ("python", "import json, re\nx = list(range(100_000))", "y = 1", "len(x)", 100_000),
    "Python, empty": ("python", "1+1", "y = 1", "1+1", 2),
    "JavaScript": ("javascript", "var x = [1, 2, 3]; function f() { return 6 }", "var y = 1", "f()", 6),
    "shell": ("shell", "x=1; f() { echo $x; }", "y=1", "f", None),
}
_LOOP = "def loop():\n    total = 0\n    for i in range(1_000_000):\n        total += i * i % 7\n    return total\nloop()"


class _Saving:
    def __init__(self, box: Sandbox, language: str, disturbance: str, keys: Keys) -> None:
        self.box, self.language, self.disturbance, self.keys = box, language, disturbance, keys
        self.blob = b""

    def disturb(self) -> None:
        run(self.box, self.disturbance, self.language)

    def run(self) -> None:
        self.blob = self.box.snapshot(keys=self.keys)


class _FirstSaving:
    """Saves sessions that were never saved, each once."""

    def __init__(self, language: str, setup: str, keys: Keys) -> None:
        self.language, self.setup, self.keys = language, setup, keys

    def open(self) -> None:
        self.box = open_box(language=self.language)
        run(self.box, self.setup, self.language)

    def run(self) -> None:
        self.box.snapshot(keys=self.keys)

    def close(self) -> None:
        self.box.close()


class _Restoring:
    def __init__(self, saving: _Saving, code: str, expected: object) -> None:
        self.saving, self.code, self.expected = saving, code, expected

    def run(self) -> None:
        import hatchway

        self.box = hatchway.Sandbox.restore(self.saving.blob, keys=self.saving.keys)
        run(self.box, self.code, self.saving.language, self.expected)

    def close(self) -> None:
        self.box.close()


def measure(bench: Bench) -> None:
    from sandbox.encoding.sealing import Keys

    keys = Keys.of(os.urandom(32))
    contenders = [Contender(_SPAWN, spawn_python, role="native")]
    savings: dict[str, _Saving] = {}
    for label, (language, setup, disturbance, code, expected) in _SESSIONS.items():
        why = ready(language)
        if why:
            bench.missing(f"{label}, save", why)
            continue
        box = open_box(language=language)
        run(box, setup, language)
        saving = savings[label] = _Saving(box, language, disturbance, keys)
        saving.run()
        restoring = _Restoring(saving, code, expected)
        contenders.append(Contender(f"{label}, save", saving.run, before=saving.disturb))
        contenders.append(Contender(f"{label}, restore to first result", restoring.run, after=restoring.close))
        first = _FirstSaving(language, setup, keys)
        contenders.append(Contender(f"{label}, first save", first.run, before=first.open, after=first.close))
    bench.interleave(*contenders, repetitions=bench.count(60, 15))
    for label, saving in savings.items():
        bench.record(f"{label}, size", [len(saving.blob) / 1e3], "kB")
    if _INTEGERS in savings:
        _measure_in_worker(bench)
    if bench.peers is not None and _INTEGERS in savings:
        saving = savings[_INTEGERS]
        restoring = _Restoring(saving, "len(x)", 100_000)
        save = Contender(f"{_INTEGERS}, save (beside peers)", saving.run, before=saving.disturb)
        restore = Contender(f"{_INTEGERS}, restore to first result (beside peers)", restoring.run, after=restoring.close)
        bench.peers.interleave(
            bench,
            "save_integers",
            save,
            title="save",
            language="python",
            ours={"python": save.label},
            repetitions=bench.count(15, 4),
        )
        bench.peers.interleave(
            bench,
            "restore_integers",
            restore,
            title="restore to first result",
            language="python",
            ours={"python": restore.label},
            repetitions=bench.count(15, 4),
        )
        _small_beside(bench, savings)
    bench.note("save: of a session that was saved before and ran something since; first save has a row of its own")
    bench.note(
        "pyeryx pickles variables: functions, classes and generators are lost; pydantic-monty keeps its own subset's values"
    )


def _measure_in_worker(bench: Bench) -> None:
    """A restore as the service makes it: what a worker keeps of each snapshot is the memory it changed."""
    import asyncio

    from sandbox.wire import DEFAULT_LIMITS, Language, RunRequest
    from sandbox.workers.interface import Opening
    from sandbox.workers.local.worker import LocalWorker
    from sandbox.workers.process_pool import measure_own_memory

    language, setup, *_ = _SESSIONS[_INTEGERS]
    with asyncio.Runner() as loop:
        worker, restored = LocalWorker(), 0

        def open_session(name: str, **origin: Any) -> None:
            opening = Opening(session_id=name, language=Language(language), limits=DEFAULT_LIMITS, **origin)
            loop.run(worker.open(opening))

        def restore() -> None:
            nonlocal restored
            restored += 1
            open_session("restored", template=f"snapshot-{restored}", packs=[pack])

        open_session("saved")
        request = RunRequest(
            session_id="saved", language=Language(language), code=setup, inputs={}, return_snapshot=False, validate_only=False
        )
        loop.run(worker.run(request))
        pack = loop.run(worker.freeze("saved")).pack
        restore()
        before = measure_own_memory(os.getpid())
        for _ in range(8):
            restore()
        bench.record(f"{_INTEGERS}, memory of a restore in a worker", [(measure_own_memory(os.getpid()) - before) / 8e6], "MB")
        bench.interleave(Contender(f"{_INTEGERS}, restore in a worker", restore), repetitions=bench.count(40, 10))
        loop.run(worker.aclose())


def _small_beside(bench: Bench, savings: dict[str, _Saving]) -> None:
    """Small sessions of each language, beside the peers of it."""
    for label in ("Python, empty", "JavaScript", "shell"):
        if label not in savings:
            continue
        saving, (language, _, _, code, expected) = savings[label], _SESSIONS[label]
        restoring = _Restoring(saving, code, expected)
        save = Contender(f"{label}, save (beside peers)", saving.run, before=saving.disturb)
        restore = Contender(f"{label}, restore to first result (beside peers)", restoring.run, after=restoring.close)
        for op, title, own in (("save_small", "save", save), ("restore_small", "restore to first result", restore)):
            bench.peers.interleave(
                bench, op, own, title=f"small session, {title}", language=language, ours={language: own.label},
                repetitions=bench.count(15, 4),
            )  # fmt: skip


def measure_recording(bench: Bench) -> None:
    """The same CPU-bound program, recorded and not."""
    if why := ready("python"):
        bench.missing("CPU-bound run, recorded", why)
        return
    plain, recorded = open_box(limits=ROOMY), open_box(limits=ROOMY, record=True)
    contenders = [
        Contender("CPU-bound run", lambda: run(plain, _LOOP)),
        Contender("CPU-bound run, recorded", lambda: run(recorded, _LOOP)),
    ]
    bench.interleave(*contenders, repetitions=bench.count(30, 8))


SCENARIOS = [
    Scenario(
        "snapshots",
        "saving a session and restoring it to its first result",
        measure,
        (
            Promise("save: Python with 100,000 integers", 15, "ms", of=f"{_INTEGERS}, save", issue=4),
            Promise("first save: Python with 100,000 integers", 15, "ms", of=f"{_INTEGERS}, first save", issue=4),
            Promise("size: Python with 100,000 integers", 1000, "kB", of=f"{_INTEGERS}, size", issue=4),
            Promise(
                "restore to first result: Python with 100,000 integers",
                10,
                "ms",
                of=f"{_INTEGERS}, restore to first result",
                issue=4,
            ),
            Promise("save: empty Python session", 2, "ms", of="Python, empty, save", issue=4),
            Promise(
                "restore to first result: empty Python session", 3, "ms", of="Python, empty, restore to first result", issue=4
            ),
            Promise("size: empty Python session", 150, "kB", of="Python, empty, size", issue=4),
            *(
                Promise(f"{verb}: {title} session", 2, "ms", of=f"{title}, {row}", issue=4)
                for title in (TITLES["javascript"], TITLES["shell"])
                for verb, row in (("save", "save"), ("restore to first result", "restore to first result"))
            ),
        ),
    ),
    Scenario(
        "recording",
        "what recording costs a CPU-bound run",
        measure_recording,
        (Promise("a recorded CPU-bound run", 1.05, "×", of="CPU-bound run, recorded", over="CPU-bound run", issue=4),),
    ),
]
