"""A new session to its first result, beside starting a native interpreter and beside a bare instance of the same module.

Does not measure: loading images (see cold_start) and closing sessions.
"""

from __future__ import annotations

from benches.harness import Bench, Contender, Promise, Scenario
from benches.natives import spawn_python
from benches.scenarios.instantiate import bare_instance
from benches.sessions import LANGUAGES, TITLES, first_result, ready

_SPAWN = "python3 -c 1+1"


class _Opening:
    """Opens a session when timed, closes it afterwards."""

    def __init__(self, language: str) -> None:
        self.language = language

    def run(self) -> None:
        self.box = first_result(self.language)

    def close(self) -> None:
        self.box.close()


def measure(bench: Bench) -> None:
    contenders = [Contender(_SPAWN, spawn_python, role="native", beside="Python, new session")]
    for language in LANGUAGES:
        title = TITLES[language]
        why = ready(language)
        if why:
            bench.missing(f"{title}, new session", why)
            continue
        opening = _Opening(language)
        contenders.append(Contender(f"{title}, new session", opening.run, after=opening.close))
        contenders.append(Contender(f"{title}, bare instance", bare_instance(language), role="limit"))
    bench.interleave(*contenders, repetitions=bench.count(100, 25))
    opening = _Opening("python")
    alone = Contender("Python, new session, nothing between", opening.run, after=opening.close)
    bench.interleave(alone, repetitions=bench.count(200, 50))
    bench.note("interleaved with process starts, caches are cold; 'nothing between' is the same with warm caches")
    if bench.peers is not None:
        ours = {language: f"{TITLES[language]}, new session (beside peers)" for language in LANGUAGES if not ready(language)}
        beside = []
        for language, label in ours.items():
            opening = _Opening(language)
            beside.append(Contender(label, opening.run, after=opening.close))
        bench.peers.interleave(bench, "new_session", *beside, ours=ours)


SCENARIOS = [
    Scenario(
        "new_session",
        "a new session to its first result, against starting a native interpreter",
        measure,
        (
            Promise("new Python session to first result, of python3 -c", 0.2, "×", of="Python, new session", over=_SPAWN),
            Promise("new JavaScript session to first result", 1.0, "ms", of="JavaScript, new session"),
            Promise("new shell session to echo hi", 0.3, "ms", of="shell, new session", issue=3),
        ),
        parts=3,
    )
]
