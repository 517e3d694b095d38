"""Runs that are let go on: tried again while what is in the way may pass, and taken up again for what was decided meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from gateway.errors import Conflict, GatewayError, StoreFailed, TooMany, Unavailable
from gateway.policies.in_force import PolicyGone
from gateway.records import Principal
from gateway.runs import resumption
from gateway.runs.resumption import Resumption


class Runs:
    """Runs that are resumed: each time the next of `ends` is raised, or called."""

    def __init__(self, *ends: GatewayError | Callable[[], None]) -> None:
        self.ends = list(ends)
        self.asked: list[str] = []
        self.rested: list[str] = []

    async def close_feed(self, tenant: str, run_id: str) -> None:
        self.rested.append(f"{tenant} {run_id}")

    async def resume(self, principal: Principal, run_id: str) -> None:
        self.asked.append(f"{principal.name} {run_id}")
        end = self.ends.pop(0) if self.ends else Conflict("RUN_NOT_WAITING", "the run is finished")
        if isinstance(end, GatewayError):
            raise end
        end()


class Waking(Resumption):
    """Resumes the runs of above."""

    def __init__(self, runs: Runs) -> None:
        nothing_else: Any = None
        suspension: Any = runs
        super().__init__(*[nothing_else] * 6, suspension, *[nothing_else] * 3)
        self._resumed = runs

    async def resume(self, principal: Principal, run_id: str) -> Any:
        await self._resumed.resume(principal, run_id)


def nothing() -> None: ...


PASSING = [
    PolicyGone(),
    StoreFailed("STORE_FULL", "the disk is full"),
    Unavailable("WORKER_LOST", "no worker"),
    TooMany("BUSY", "try again"),
]


@pytest.mark.parametrize("error", PASSING, ids=lambda one: one.code)
def test_what_may_pass_is_tried_again_and_said_once(
    error: GatewayError, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resumption, "_FIRST_PAUSE_SECONDS", 0.001)
    runs = Runs(error, error, error, nothing)

    async def main() -> None:
        going = Waking(runs)
        going.schedule("acme", "r1", "ann")
        await going.settle()

    with caplog.at_level(logging.WARNING, "hatchway.service"):
        asyncio.run(main())
    assert runs.asked == ["ann r1"] * 4
    assert [one.getMessage() for one in caplog.records] == [f"the run r1 cannot be resumed yet: {error}"]


@pytest.mark.parametrize("code", ["RUN_NOT_WAITING", "RUN_NOT_FOUND"])
def test_what_does_not_pass_is_not_tried_again(code: str) -> None:
    runs = Runs((Conflict if code == "RUN_NOT_WAITING" else GatewayError)(code, "no"), nothing)

    async def main() -> None:
        going = Waking(runs)
        going.schedule("acme", "r1", "ann")
        await going.settle()

    asyncio.run(main())
    assert len(runs.asked) == 1 and runs.rested == ["acme r1"], "whoever watches it is told"


def test_a_run_about_which_something_is_decided_while_it_goes_on_is_taken_up_again() -> None:
    async def main() -> None:
        runs = Runs()
        going = Waking(runs)
        runs.ends = [lambda: going.schedule("acme", "r1", "ann"), nothing]
        going.schedule("acme", "r1", "ann")
        going.schedule("acme", "r2", "bob")
        await going.settle()
        assert sorted(runs.asked) == ["ann r1", "ann r1", "bob r2"]

    asyncio.run(main())


def test_a_decision_ends_the_pause_before_the_next_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumption, "_FIRST_PAUSE_SECONDS", 3600.0)

    async def main() -> None:
        runs = Runs(PolicyGone(), nothing)
        going = Waking(runs)
        going.schedule("acme", "r1", "ann")
        while not runs.asked:
            await asyncio.sleep(0)
        going.schedule("acme", "r1", "ann")
        await going.settle()
        assert len(runs.asked) == 2

    asyncio.run(main())
