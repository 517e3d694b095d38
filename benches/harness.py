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
have settled (their interval is within `SETTLED` of them), or when the part's share of the time is used.

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

Role = Literal["ours", "native", "peer", "limit"]
"""Whose number a row is. `limit` is what physics allows: the least this machine could need for the same thing."""
Better = Literal["lower", "higher"]
SETTLED, SETTLED_QUICK = 0.02, 0.05
"""A median has settled when its 95 % interval reaches no further than that to either side, as a share of it."""
_TURNS_LEAST = 3
_WARMUP_SHARE = 6
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
    the same, for a native program or a peer that is to be compared with it. One that is slow takes only the last turn of `every`
    so many, and the last of those that warm up.
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
    ) -> None:
        self.quick = quick
        self.peers = peers
        self.rows: dict[str, Row] = {}
        self.absent: dict[str, str] = {}
        self.notes: list[str] = []
        self._progress = progress or (lambda what, done: None)
        self._until_s = time.monotonic() + seconds
        self._parts = parts

    @property
    def left_s(self) -> float:
        return max(0.0, self._until_s - time.monotonic())

    def turns(self, full: int, quick: int) -> Iterator[int]:
        """For a scenario that takes its samples itself: so many turns, fewer when there is no time for one more."""
        longest_s = 0.0
        for number in range(self.count(full, quick)):
            if number and self.left_s < longest_s:
                return
            started_s = time.monotonic()
            yield number
            longest_s = max(longest_s, time.monotonic() - started_s)

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
        started_s, share_s, last_s = time.monotonic(), self._share_s(), 0.0
        one = -warmup
        while one < repetitions and left:
            used_s = time.monotonic() - started_s
            if one >= _TURNS_LEAST and (used_s + last_s > share_s or (_is_looked_at(one) and self._are_settled(left))):
                break
            if one < -1 and used_s > share_s / _WARMUP_SHARE:
                one = -1
            self._progress(", ".join(c.label for c in left)[:60], max(0.0, one / repetitions, min(1.0, used_s / share_s)))
            self._turn(left, one)
            last_s = time.monotonic() - started_s - used_s if one >= 0 else 0.0
            one += 1
        self._catch_up(left)
        self._progress("", 1.0)

    def _catch_up(self, left: Iterable[Contender]) -> None:
        """Slow ones whose turn did not come take one now."""
        for contender in [one for one in left if one.every > 1 and one.label not in self.rows]:
            if self.left_s <= 0:
                self.missing(contender.label, "the scenario's time was used before its turn")
            elif (sample := self._take(contender)) is not None:
                self.record(contender.label, (sample,), contender.unit, contender.role, contender.beside)

    def _share_s(self) -> float:
        self._parts -= 1
        return max(1e-3, self.left_s / (self._parts + 1 if self._parts >= 0 else 2))

    def _turn(self, left: list[Contender], one: int) -> None:
        turn = one % len(left)
        for contender in left[turn:] + left[:turn]:
            if contender.every > 1 and one != -1 and (one < 0 or (one + 1) % contender.every):
                continue
            sample = self._take(contender)
            if sample is None:
                left.remove(contender)
            elif one >= 0:
                self.record(contender.label, (sample,), contender.unit, contender.role, contender.beside)

    def _are_settled(self, contenders: Iterable[Contender]) -> bool:
        """Those that take fewer turns for being slow do not keep the others."""
        within = SETTLED_QUICK if self.quick else SETTLED
        return all(is_settled(self.rows[one.label].samples, within) for one in contenders if one.every == 1)

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
