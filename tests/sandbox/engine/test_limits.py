"""Limits: combining them, refusing senseless ones, and the account of a run."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.engine import limits
from sandbox.engine.limits import MOST, Run, lower
from sandbox.errors import RequestError, Stop
from sandbox.sessions.request_checks import check_limits
from sandbox.wire import DEFAULT_LIMITS, RunStatus, SessionLimits

FIELDS = SessionLimits.__struct_fields__
any_limits = st.builds(SessionLimits, **{name: st.integers(0, getattr(MOST, name)) for name in FIELDS})
A_YEAR = 365 * 24 * 3600 * 10**9


def with_limits(**changes: int) -> SessionLimits:
    return msgspec.structs.replace(DEFAULT_LIMITS, **changes)


@given(any_limits, st.none() | any_limits, st.none() | st.integers(1, 10**10))
def test_lower_never_raises_a_limit(ceiling: SessionLimits, asked: SessionLimits | None, timeout_ms: int | None) -> None:
    lowered = lower(ceiling, asked, timeout_ms)
    for name in FIELDS:
        assert getattr(lowered, name) <= getattr(ceiling, name)


@given(any_limits, any_limits)
def test_lower_gives_what_was_asked_where_it_is_under_the_ceiling(ceiling: SessionLimits, asked: SessionLimits) -> None:
    lowered = lower(ceiling, asked)
    for name in FIELDS:
        assert getattr(lowered, name) == min(getattr(ceiling, name), getattr(asked, name))


@given(any_limits, any_limits, st.integers(1, 10**10))
def test_timeout_takes_the_place_of_the_wall_limit_under_the_same_ceiling(
    ceiling: SessionLimits, asked: SessionLimits, timeout_ms: int
) -> None:
    assert lower(ceiling, asked, timeout_ms).wall_ms == min(ceiling.wall_ms, timeout_ms)


def test_lower_without_wishes_is_the_ceiling() -> None:
    assert lower(DEFAULT_LIMITS, None) == DEFAULT_LIMITS


@pytest.mark.parametrize("name", FIELDS)
def test_check_takes_every_limit_from_its_least_to_its_most_and_nothing_else(name: str) -> None:
    least = 0 if name in ("max_stdout_bytes", "max_external_calls") else 1
    most = getattr(MOST, name)
    for good in (least, most):
        assert getattr(check_limits(with_limits(**{name: good})), name) == good
    for bad in (least - 1, most + 1, -(2**63), 2**64, True, 1.0, "1", None, float("nan")):
        with pytest.raises(RequestError) as refused:
            check_limits(with_limits(**{name: bad}))  # type: ignore[arg-type]
        assert refused.value.error.code == "INVALID_ARGUMENT" and f"limits.{name}" in refused.value.error.message


class Clocks:
    """Time that passes only when told."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.wall_ns = self.cpu_ns = 10**9
        patch.setattr(limits.time, "monotonic_ns", lambda: self.wall_ns)
        patch.setattr(limits.time, "thread_time_ns", lambda: self.cpu_ns)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def test_run_is_overdrawn_exactly_at_its_wall_limit(clocks: Clocks) -> None:
    run = Run(with_limits(wall_ms=50))
    clocks.wall_ns += 50 * 10**6 - 1
    assert run.find_overrun() is None and run.measure()[0] == 50 * 10**6 - 1
    clocks.wall_ns += 1
    stop = run.find_overrun()
    assert stop is not None and (stop.status, stop.error.code) == (RunStatus.TIMEOUT, "TIMEOUT_WALL")


def test_run_is_overdrawn_exactly_at_its_cpu_limit(clocks: Clocks) -> None:
    run = Run(with_limits(cpu_ms=50))
    clocks.cpu_ns += 50 * 10**6 - 1
    assert run.find_overrun() is None and run.measure()[1] == 50 * 10**6 - 1
    clocks.cpu_ns += 1
    stop = run.find_overrun()
    assert stop is not None and (stop.status, stop.error.code) == (RunStatus.TIMEOUT, "TIMEOUT_CPU")


def test_calendar_clock_does_not_matter(clocks: Clocks, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(with_limits(wall_ms=50))
    for jump in (10 * A_YEAR, -10 * A_YEAR):
        monkeypatch.setattr(limits.time, "time_ns", lambda jump=jump: jump)
        assert run.find_overrun() is None


def test_cancel_comes_before_every_limit(clocks: Clocks) -> None:
    run = Run(with_limits(wall_ms=50, cpu_ms=50))
    clocks.wall_ns += A_YEAR
    run.cancel()
    with pytest.raises(Stop) as stopped:
        run.check()
    assert (stopped.value.status, stopped.value.error.code) == (RunStatus.CANCELLED, "CANCELLED")


def test_output_is_kept_up_to_the_limit_of_both_streams_together_and_the_rest_is_counted() -> None:
    heard: list[tuple[int, bytes]] = []
    run = Run(with_limits(max_stdout_bytes=10), on_output=lambda stream, data: heard.append((stream, data)))
    run.write(0, b"abcd")
    run.write(1, b"efgh")
    run.write(0, b"ijkl")
    run.write(1, b"mnop")
    assert (bytes(run.output[0]), bytes(run.output[1])) == (b"abcdij", b"efgh")
    assert run.output_dropped_bytes == 6
    assert heard == [(0, b"abcd"), (1, b"efgh"), (0, b"ij")]


@given(st.lists(st.tuples(st.integers(0, 1), st.binary(max_size=20))), st.integers(0, 50))
def test_kept_and_dropped_output_is_all_of_it(writes: list[tuple[int, bytes]], most: int) -> None:
    run = Run(with_limits(max_stdout_bytes=most))
    for stream, data in writes:
        run.write(stream, data)
    kept = sum(map(len, run.output))
    assert kept == min(most, sum(len(data) for _, data in writes))
    assert kept + run.output_dropped_bytes == sum(len(data) for _, data in writes)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_one_call_more_than_allowed_ends_the_run(most: int) -> None:
    run = Run(with_limits(max_external_calls=most))
    for _ in range(most):
        run.start_call()
    with pytest.raises(Stop) as stopped:
        run.start_call()
    assert (stopped.value.status, stopped.value.error.code) == (RunStatus.RESOURCE_EXHAUSTED, "EXTERNAL_CALLS_EXCEEDED")
    assert run.calls_started == most + 1


def test_sleep_that_ends_before_the_deadline_returns() -> None:
    run = Run(DEFAULT_LIMITS)
    run.wait_until(0)
    run.wait_until(time.monotonic_ns() + 10**6)


def test_sleep_past_the_deadline_ends_at_the_deadline() -> None:
    run = Run(with_limits(wall_ms=20))
    with pytest.raises(Stop) as stopped:
        run.wait_until(time.monotonic_ns() + A_YEAR)
    assert stopped.value.error.code == "TIMEOUT_WALL"


class Sleeping(Run):
    """A run that says when it starts to wait."""

    def __init__(self, **changes: int) -> None:
        super().__init__(with_limits(**changes))
        self.waits = 0
        self.asleep = threading.Event()

    def _sleep(self, at_most_ns: int) -> None:
        self.waits += 1
        self.asleep.set()
        super()._sleep(at_most_ns)


def test_cancel_from_another_thread_ends_a_sleep() -> None:
    run = Sleeping(wall_ms=3_600_000)
    canceller = threading.Thread(target=lambda: run.asleep.wait(30) and run.cancel())
    canceller.start()
    with pytest.raises(Stop) as stopped:
        run.wait_until(time.monotonic_ns() + A_YEAR)
    canceller.join()
    assert stopped.value.error.code == "CANCELLED"


def test_wake_left_over_from_a_late_capability_does_not_turn_a_sleep_into_a_busy_loop() -> None:
    run = Sleeping(wall_ms=3_600_000)
    assert not run.wait_for(lambda: False, timeout_ms=1)
    run.wake()
    run.wait_until(time.monotonic_ns() + 20 * 10**6)
    assert run.waits <= 5


def test_waiting_for_something_ends_when_it_is_done_or_late() -> None:
    run = Sleeping(wall_ms=3_600_000)
    done = threading.Event()

    def finish() -> None:
        run.asleep.wait(30)
        done.set()
        run.wake()

    helper = threading.Thread(target=finish)
    helper.start()
    assert run.wait_for(done.is_set, timeout_ms=3_600_000)
    helper.join()
    assert not run.wait_for(lambda: False, timeout_ms=1)


def test_wall_limit_ends_a_wait_before_its_own_timeout() -> None:
    run = Run(with_limits(wall_ms=10))
    with pytest.raises(Stop) as stopped:
        run.wait_for(lambda: False, timeout_ms=3_600_000)
    assert stopped.value.error.code == "TIMEOUT_WALL"


class Clock:
    """An engine that counts its ticks, with a ticker of its own."""

    def __init__(self) -> None:
        self.ticks = 0
        self.ticked = threading.Event()
        self.ticker = limits.Ticker()
        self.ticker.add(self)  # type: ignore[arg-type]
        self.started: list[Run] = []

    def tick(self) -> None:
        self.ticks += 1
        self.ticked.set()

    def ticks_again(self) -> bool:
        self.ticked.clear()
        return self.ticked.wait(30)

    def rests(self) -> bool:
        self.ticked.clear()
        return not self.ticked.wait(0.1)

    def start(self, run: Run) -> None:
        self.started.append(run)
        self.ticker.start(run)

    def stop(self) -> None:
        for run in self.started:
            self.ticker.stop(run)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(limits, "ticker", made.ticker)
    yield made
    made.stop()


@pytest.fixture
def long_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest far from its end is not asked for an hour."""
    monkeypatch.setattr(limits, "_NAP_NS", 3_600 * 10**9)


@pytest.mark.parametrize("changes", [{"wall_ms": 3}, {"cpu_ms": 3}, {}], ids=["wall", "cpu", "neither"])
def test_guest_is_due_when_a_clock_of_its_may_have_run_out_and_after_a_nap_otherwise(changes: dict[str, int]) -> None:
    before_ns = time.monotonic_ns()
    run = Run(with_limits(**{"wall_ms": 60_000, "cpu_ms": 60_000, **changes}))
    after_ns, left_ns = time.monotonic_ns(), (3 if changes else 10) * 10**6
    assert before_ns + left_ns <= run.due_ns <= after_ns + left_ns


def test_guest_that_asked_is_due_a_nap_later() -> None:
    run = Run(with_limits(wall_ms=60_000, cpu_ms=60_000))
    first_ns = run.due_ns
    assert _comes_true(lambda: time.monotonic_ns() > first_ns)
    assert run.find_overrun() is None and run.due_ns > first_ns


def test_guest_is_due_no_later_than_its_deadline(clocks: Clocks) -> None:
    run = Run(with_limits(wall_ms=60_000))
    end_ns = clocks.wall_ns + 60_000 * 10**6
    clocks.wall_ns = end_ns - 2 * 10**6
    assert run.find_overrun() is None and run.due_ns <= end_ns


def test_epochs_advance_while_a_guest_computes_and_rest_while_none_does(clock: Clock) -> None:
    clock.start(Run(MOST))
    assert clock.ticks_again() and clock.ticks_again()
    clock.stop()
    assert any(clock.rests() for _ in range(100))
    clock.start(Run(MOST))
    assert clock.ticks_again()


@pytest.mark.usefixtures("long_naps")
def test_guest_with_a_short_deadline_wakes_a_ticker_that_sleeps_for_another_one(clock: Clock) -> None:
    clock.start(Run(MOST))
    assert any(clock.rests() for _ in range(100))
    clock.start(Run(with_limits(wall_ms=1)))
    assert clock.ticks_again()


@pytest.mark.usefixtures("long_naps")
def test_guest_that_does_not_answer_is_asked_again_and_again(clock: Clock) -> None:
    clock.start(Run(with_limits(wall_ms=1)))
    assert clock.ticks_again() and clock.ticks_again() and clock.ticks_again()


def test_guest_that_waits_in_the_host_needs_no_tick_before_its_deadline() -> None:
    run = Sleeping(wall_ms=3_600_000)
    waiting = threading.Thread(target=lambda: run.wait_for(lambda: run.is_cancelled, timeout_ms=3_600_000))
    waiting.start()
    assert run.asleep.wait(30)
    assert _comes_true(lambda: run.due_ns > time.monotonic_ns() + 3_000_000 * 10**6)
    run.cancel()
    waiting.join()
    assert run.due_ns == 0


def _comes_true(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until and not condition():
        time.sleep(0.001)
    return condition()


def test_ticker_outlives_runs_that_come_and_go_while_garbage_is_collected(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the collector frees may let another thread go on, in the middle of whatever allocated."""

    class Freed:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            time.sleep(0)

    monkeypatch.setattr(limits, "_NAP_NS", 1000)
    monkeypatch.setattr(limits, "_AGAIN_SECONDS", 0)
    before = gc.get_threshold()
    clock.start(Run(MOST))
    gc.set_threshold(1)
    try:
        for _ in range(3000):
            Freed()
            run = Run(MOST)
            clock.ticker.start(run)
            clock.ticker.stop(run)
    finally:
        gc.set_threshold(*before)
    assert clock.ticks_again()


@pytest.mark.usefixtures("long_naps")
def test_cancel_lets_every_guest_be_asked_at_once_however_far_it_is_from_its_end(clock: Clock) -> None:
    run = Run(MOST)
    clock.start(run)
    seen = clock.ticks
    run.cancel()
    assert clock.ticks > seen and clock.ticks_again()
