"""Scenarios, promises and samples: the vocabulary every file of `benches/` uses.

A scenario is a name, a sentence, a list of promises and a function that takes samples:

    def measure(bench: Bench) -> None:
        bench.interleave(
            Contender("ours", run_ours),
            Contender("python3 -c", spawn_python, role="native"),
            repetitions=40,
        )

    SCENARIOS = [Scenario("warm_call", "a call into a live session", measure, (Promise("Python 1+1", 0.1, "ms", of="ours"),))]

Rules: contenders take turns (ours, baseline, ours, baseline, …), and who goes first changes every time, so that a
slow minute of the machine meets them all. A sample is wall time of one call in milliseconds unless the contender
reads something itself. Whatever cannot be measured here is said with `missing`; a scenario that raises is reported as
failed. Modules of scenarios import what they measure inside of functions: listing must cost nothing.

Does not know: processes, reports, peers.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["ours", "native", "peer", "limit"]
"""Whose number a row is. `limit` is what physics allows: the least this machine could need for the same thing."""
Better = Literal["lower", "higher"]
_PER_MS = {"ns": 1e6, "µs": 1e3, "ms": 1.0, "s": 1e-3}


@dataclass(frozen=True, slots=True)
class Promise:
    """A number we hold to: `statistic` of the row `of`, divided by that of the row `over` if there is one, is not past `limit`.

    `of` defaults to the promise's own name. `unit` is "×" for ratios. `issue` is where the number was promised.
    """

    name: str
    limit: float
    unit: str
    better: Better = "lower"
    of: str = ""
    over: str = ""
    statistic: str = "median"
    issue: int = 2

    @property
    def row(self) -> str:
        return self.of or self.name

    def holds(self, value: float) -> bool:
        return value <= self.limit if self.better == "lower" else value >= self.limit


@dataclass(frozen=True, slots=True)
class Curve:
    """Rows of a scenario that are drawn as one line: `rows` is an expression that matches their labels, and its one group the
    number each stands over; `over` says what is counted there."""

    title: str
    rows: str
    over: str


@dataclass(frozen=True, slots=True)
class Contender:
    """Something that is measured: `run` is timed; with `reads` its answer is the sample. `before` and `after` are not timed.

    `calls` is how many operations one `run` makes, and the sample is divided by it. `beside` is the label of our row that does
    the same, for a native program or a peer that is to be compared with it. One that is slow takes only one turn in `every`.
    """

    label: str
    run: Callable[[], Any]
    role: Role = "ours"
    unit: str = "ms"
    reads: bool = False
    calls: int = 1
    before: Callable[[], Any] | None = None
    after: Callable[[], Any] | None = None
    beside: str = ""
    every: int = 1

    def sample(self) -> float:
        if self.before is not None:
            self.before()
        try:
            if self.reads:
                return float(self.run())
            started = time.perf_counter_ns()
            self.run()
            taken_ms = (time.perf_counter_ns() - started) / 1e6
            return taken_ms * _PER_MS[self.unit] / self.calls
        finally:
            if self.after is not None:
                self.after()


@dataclass(slots=True)
class Row:
    """The samples of one contender in one process."""

    label: str
    unit: str
    role: Role
    beside: str = ""
    samples: list[float] = field(default_factory=list)


class Bench:
    """What a scenario is given: it collects rows and what is missing.

    `quick` asks for fewer samples; `peers` asks other projects (see `benches.peers`) and is None when they are not wanted.
    """

    def __init__(self, *, quick: bool = False, peers: Any = None, progress: Callable[[str, float], None] | None = None) -> None:
        self.quick = quick
        self.peers = peers
        self.rows: dict[str, Row] = {}
        self.absent: dict[str, str] = {}
        self.notes: list[str] = []
        self._progress = progress or (lambda what, done: None)

    def count(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def missing(self, label: str, why: str) -> None:
        """Say that something could not be measured here; it appears in every report."""
        self.absent[label] = why

    def note(self, text: str) -> None:
        """A sentence a reader of the numbers must know."""
        self.notes.append(text)

    def show(self, what: str, done: float) -> None:
        """Progress of a scenario that takes its samples itself."""
        self._progress(what, done)

    def record(self, label: str, samples: Iterable[float], unit: str = "ms", role: Role = "ours", beside: str = "") -> Row:
        """Add samples that were taken by other means."""
        row = self.rows.setdefault(label, Row(label, unit, role, beside))
        row.samples.extend(float(sample) for sample in samples)
        return row

    def interleave(self, *contenders: Contender, repetitions: int, warmup: int = 2) -> None:
        """Let the contenders take turns. One that raises is reported as missing and drops out; the others go on."""
        left = list(contenders)
        for one in range(-warmup, repetitions):
            self._progress(", ".join(c.label for c in left)[:60], max(0, one) / repetitions)
            if not left:
                break
            turn = one % len(left)
            for contender in left[turn:] + left[:turn]:
                if contender.every > 1 and (one < 0 or one % contender.every):
                    continue
                sample = self._take(contender)
                if sample is None:
                    left.remove(contender)
                elif one >= 0:
                    self.record(contender.label, (sample,), contender.unit, contender.role, contender.beside)
        self._progress("", 1.0)

    def _take(self, contender: Contender) -> float | None:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return contender.sample()
        except Exception as error:
            self.rows.pop(contender.label, None)
            self.missing(contender.label, f"{type(error).__name__}: {error}"[:300])
            return None
        finally:
            if collecting:
                gc.enable()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing that is measured. `about` says in a sentence what and why; `rounds` is how many processes measure it. Rows of
    `curves` are lines in a drawing, the others bars."""

    name: str
    about: str
    measure: Callable[[Bench], None]
    promises: tuple[Promise, ...] = ()
    rounds: int = 3
    curves: tuple[Curve, ...] = ()
