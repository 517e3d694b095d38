"""The plan of a run: its rounds in order, how long each may take, and when the whole must be over.

Every scenario has seconds for one round; within them it takes samples until they settle (`Bench.interleave`). The sum is the
estimate that is printed first, and it fits the limit of the run: everything is over in half an hour, with the installing and
compiling that a fresh machine needs first, and three minutes is a first look.

Rules: every scenario's first round comes before any second one, and short ones come first, so that a slow machine leaves few
unmeasured. When preparing or rounds took longer than planned, those ahead get less each, and where that would be less than half,
second and third rounds are left out; first rounds only when the limit is over by a tenth. A round that ignores its time is ended
at its `hard_limit_s`, with what it has recorded by then kept. Nothing is left out silently.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benches.harness import Scenario

FULL_MINUTES, QUICK_MINUTES, QUICK_PEERS_MINUTES = 25.0, 2.75, 5.75
FULL_PREPARED_MINUTES = 29.0
"""A full run with all that comes before it on a fresh machine."""
_SECONDS = 5.0
_SECONDS_OF = {
    "cancelling": 10, "capability_calls": 22, "cold_start": 26, "cpu_loop": 16, "deadlines": 26, "deadlines_beside": 75,
    "fleet": 15,
    "fork_density": 20, "forks": 18, "gateway_latency": 40, "gateway_memory": 90, "gateway_overload": 20, "gateway_startup": 24,
    "hook_firing": 10, "http_frame": 16, "idle_memory": 17, "instantiate": 3, "json_1mb": 14, "memory_limit": 18,
    "neighbours": 60, "new_session": 20, "policy_decisions": 4, "policy_lookups": 2, "policy_tools": 3, "rates": 22,
    "session_density": 40, "shell_loops": 22, "snapshots": 20, "two_cores": 8, "warm_call": 14, "workers": 8,
}  # fmt: skip
_QUICK_SECONDS = 2.0
_QUICK_SECONDS_OF = {
    "cancelling": 4, "capability_calls": 4, "cold_start": 4, "deadlines": 14, "deadlines_beside": 6, "fleet": 10,
    "fork_density": 5, "gateway_latency": 12, "gateway_memory": 12, "gateway_overload": 9, "gateway_startup": 10,
    "hook_firing": 4, "http_frame": 6,
    "memory_limit": 6, "policy_lookups": 1, "session_density": 6, "shell_loops": 4, "stores": 5, "workers": 5,
}  # fmt: skip
ASKS_PEERS = frozenset({
    "capability_calls", "cold_start", "cpu_loop", "deadlines_beside", "forks", "gateway_latency", "idle_memory", "json_1mb",
    "memory_limit", "new_session", "rates", "shell_loops", "snapshots", "warm_call",
})  # fmt: skip
"""Where a quick run beside peers has half of a full round's time: most of it goes into starting them."""
_PEERS_START_S = 10.0
_LEFT_OUT_UNDER = 0.5
_LEAST_SHARE = 0.25
_OVER = 1.1


@dataclass(frozen=True, slots=True)
class Step:
    """One round of one scenario, in every checkout that is measured."""

    scenario: str
    number: int
    rounds: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """`most` is how many times its seconds a step may have, where the run was given more time than usual. `whole_s` is the
    limit with everything that comes before the first step."""

    steps: tuple[Step, ...]
    limit_s: float
    most: float = 1.0
    whole_s: float = math.inf

    def after(self, prepared_s: float) -> Plan:
        """What is left of it when so much time went before the first step. Half at least: numbers are what it is for."""
        left_s = max(self.limit_s / 2, self.whole_s - prepared_s)
        return replace(self, limit_s=min(self.limit_s, left_s))

    @property
    def planned_s(self) -> float:
        return min(self.limit_s, self.most * sum(step.seconds for step in self.steps))

    def left_s(self, place: int, elapsed_s: float) -> float:
        """How long it will still take, as far as the plan knows."""
        ahead_s = self.most * sum(step.seconds for step in self.steps[place:])
        return min(ahead_s, max(0.0, self.limit_s - elapsed_s))

    def seconds_for(self, place: int, elapsed_s: float) -> float:
        """What the step at `place` may take now; nought: leave it out."""
        step, ahead_s = self.steps[place], sum(one.seconds for one in self.steps[place:])
        share = min(self.most, (self.limit_s - elapsed_s) / ahead_s)
        is_short = step.number and share < min(1.0, self.most) * _LEFT_OUT_UNDER
        if is_short or elapsed_s > self.limit_s * _OVER:
            return 0.0
        return step.seconds * max(share, _LEAST_SHARE)


def hard_limit_s(seconds: float, *, peers: bool = False) -> float:
    """When a round is ended that goes on beyond its time: set-up, the start of peers and the last sample are allowed for."""
    return 1.5 * seconds + 5.0 + (_PEERS_START_S if peers else 0.0)


def make(
    scenarios: Mapping[str, Scenario],
    rounds: Mapping[str, int],
    *,
    quick: bool,
    peers: bool,
    trees: int = 1,
    minutes: float = 0.0,
) -> Plan:
    """Without `minutes` the limits above hold. Two checkouts are compared to the end: rounds left out would be no answer."""
    chosen = {name: seconds_of(name, quick=quick, peers=peers) * trees for name in scenarios}
    names = sorted(scenarios, key=chosen.__getitem__)
    order = [(number, name) for number in range(max(rounds.values())) for name in names if number < rounds[name]]
    steps = tuple(Step(name, number, rounds[name], chosen[name]) for number, name in order)
    if minutes:
        return Plan(steps, 60 * minutes, 60 * minutes / sum(step.seconds for step in steps))
    if trees > 1:
        return Plan(steps, math.inf)
    if quick:
        return Plan(steps, 60 * (QUICK_PEERS_MINUTES if peers else QUICK_MINUTES))
    return Plan(steps, 60 * FULL_MINUTES, whole_s=60 * FULL_PREPARED_MINUTES)


def seconds_of(name: str, *, quick: bool, peers: bool) -> float:
    if not quick:
        return float(_SECONDS_OF.get(name, _SECONDS))
    least = _QUICK_SECONDS_OF.get(name, _QUICK_SECONDS)
    return max(least, _SECONDS_OF[name] / 2) if peers and name in ASKS_PEERS else float(least)
