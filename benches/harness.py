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

A round has a time (`benches.plan`). `repetitions` are the most samples that are taken: turns end before that when the medians
have settled (their interval is within `SETTLED` of them), or when the part's share of the time is used (`benches.pace`).

Does not know: processes, reports, peers.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from benches.estimates import is_settled
from benches.pace import Clock, Pace

Role = Literal["ours", "native", "peer", "limit"]
"""Whose number a row is. `limit` is what physics allows: the least this machine could need for the same thing."""
Better = Literal["lower", "higher"]
SETTLED, SETTLED_QUICK = 0.02, 0.05
"""A median has settled when its 95 % interval reaches no further than that to either side, as a share of it."""
NO_TURN, THE_REST = "the scenario's time was used before its turn", "the rest"
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
    the same, for a native program or a peer that is to be compared with it.
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

    `quick` asks for fewer samples; `peers` asks other projects (see `benches.peers`) and is None when they are not wanted;
    `seconds` is the time of the round, of which each `interleave` takes its share: one of `parts` that are left, where the
    scenario says how many there are, else half of what is left.
    """

    def __init__(
        self,
        *,
        quick: bool = False,
        peers: Any = None,
        progress: Callable[[str, float], None] | None = None,
        seconds: float = math.inf,
        parts: int = 0,
        clock: Clock = time.monotonic,
    ) -> None:
        self.quick = quick
        self.peers = peers
        self.rows: dict[str, Row] = {}
        self.absent: dict[str, str] = {}
        self.notes: list[str] = []
        self._progress = progress or (lambda what, done: None)
        self._clock = clock
        self._until_s = clock() + seconds
        self._parts = parts
        self._waiting: list[str] = []

    @property
    def left_s(self) -> float:
        return max(0.0, self._until_s - self._clock())

    def turns(self, full: int, quick: int) -> Iterator[int]:
        """For a scenario that takes its samples itself: how many turns, fewer when there is no time for one more."""
        longest_s = 0.0
        for number in range(self.count(full, quick)):
            if number and self.left_s < longest_s:
                return
            started_s = self._clock()
            yield number
            longest_s = max(longest_s, self._clock() - started_s)

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
        left, pace = list(contenders), Pace((one.label for one in contenders), self._share_s(), self._clock)
        self._waiting = [one.label for one in contenders]
        one = -warmup
        while one < repetitions and left:
            if not pace.has_time_for(one) or (_is_looked_at(one) and self._are_settled(left)):
                break
            if one < -1 and pace.is_warm():
                one = -1
            self._progress(", ".join(c.label for c in left)[:60], max(0.0, one / repetitions, pace.used_share))
            self._turn(left, one, pace)
            one += 1
        self._waiting = []
        self._progress("", 1.0)

    def cut(self, why: str) -> None:
        """The round was ended in the middle: contenders that had no turn yet are named, and that there may be more is said."""
        for label in self._waiting:
            if label not in self.rows and label not in self.absent:
                self.missing(label, NO_TURN)
        self.missing(THE_REST, why)

    def _share_s(self) -> float:
        self._parts -= 1
        return max(1e-3, self.left_s / (self._parts + 1 if self._parts >= 0 else 2))

    def _turn(self, left: list[Contender], one: int, pace: Pace) -> None:
        pace.begin()
        turn = one % len(left)
        for contender in left[turn:] + left[:turn]:
            if pace.sits_out(contender.label, one):
                continue
            started_s = self._clock()
            sample = self._take(contender)
            pace.note(contender.label, self._clock() - started_s)
            if sample is None:
                left.remove(contender)
            elif one >= 0:
                self.record(contender.label, (sample,), contender.unit, contender.role, contender.beside)
        pace.end()

    def _are_settled(self, contenders: Iterable[Contender]) -> bool:
        """Those that sit out turns for being slow do not keep the others."""
        within = SETTLED_QUICK if self.quick else SETTLED
        rows = [self.rows[one.label].samples for one in contenders]
        most = max(map(len, rows))
        return all(is_settled(samples, within) for samples in rows if 2 * len(samples) > most)

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


def _is_looked_at(turn: int) -> bool:
    """Whether samples are looked at before this turn: at 20, 30, 40 … Looking costs, and looking always finds a lucky moment."""
    return turn >= 20 and turn % 10 == 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing that is measured. `about` says in a sentence what and why; `rounds` is how many processes measure it. Rows of
    `curves` are lines in a drawing, the others bars. `parts` is how many times it interleaves beside peers, if that is known."""

    name: str
    about: str
    measure: Callable[[Bench], None]
    promises: tuple[Promise, ...] = ()
    rounds: int = 3
    curves: tuple[Curve, ...] = ()
    parts: int = 0
