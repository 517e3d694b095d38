"""Rates: never more than so many calls in any window."""

from __future__ import annotations

import random

import pytest

from gateway.errors import TooMany
from gateway.policies.rates import Rates


class Clock:
    def __init__(self) -> None:
        self.now_ns = 10**12

    def __call__(self) -> int:
        return self.now_ns


def test_calls_beyond_the_rate_are_refused_until_the_window_has_passed() -> None:
    clock = Clock()
    rates = Rates(clock)
    for _ in range(3):
        rates.take([(("run",), 3, 60)])
    with pytest.raises(TooMany) as refused:
        rates.take([(("run",), 3, 60)])
    assert refused.value.code == "RATE_EXCEEDED"
    clock.now_ns += 62 * 10**9
    rates.take([(("run",), 3, 60)])


def test_keys_are_counted_apart() -> None:
    rates = Rates(Clock())
    rates.take([(("a",), 1, 60)])
    rates.take([(("b",), 1, 60)])


def test_a_call_refused_by_one_rate_counts_under_none() -> None:
    rates = Rates(Clock())
    rates.take([(("narrow",), 1, 60)])
    for _ in range(5):
        with pytest.raises(TooMany):
            rates.take([(("wide",), 2, 60), (("narrow",), 1, 60)])
    rates.take([(("wide",), 2, 60)])
    rates.take([(("wide",), 2, 60)])


def test_no_window_anywhere_holds_more_calls_than_allowed() -> None:
    clock, chance = Clock(), random.Random(7)
    rates, taken = Rates(clock), []
    for _ in range(3000):
        clock.now_ns += chance.randrange(0, 400_000_000)
        try:
            rates.take([(("run",), 10, 6)])
            taken.append(clock.now_ns)
        except TooMany:
            pass
    most = max(sum(1 for other in taken if start <= other < start + 6 * 10**9) for start in taken)
    assert most == 10
    assert len(taken) > 500


def test_idle_counters_are_dropped() -> None:
    clock = Clock()
    rates = Rates(clock)
    for number in range(5000):
        rates.take([((number,), 1, 1)])
        clock.now_ns += 10_000_000
    assert len(rates._counters) < 4500


def test_two_rates_of_one_count_and_different_windows_are_both_kept_to() -> None:
    now = [0]
    rates = Rates(lambda: now[0])
    both = [(("refund",), 2, 60.0), (("refund",), 2, 3600.0)]
    rates.take(both)
    rates.take(both)
    with pytest.raises(TooMany):
        rates.take(both)
    now[0] = int(120e9)
    with pytest.raises(TooMany):
        rates.take(both)


def test_what_was_not_made_after_all_is_given_back_and_only_once() -> None:
    rates = Rates(lambda: 0)
    taken = rates.take([(("refund",), 1, 60.0)])
    taken.give_back()
    taken.give_back()
    rates.take([(("refund",), 1, 60.0)])
    with pytest.raises(TooMany):
        rates.take([(("refund",), 1, 60.0)])


@pytest.mark.parametrize(("most", "window_s"), [(1, 60), (3, 60), (2, 3600), (1, 1)])
def test_who_waits_as_long_as_was_said_is_let_in_and_hardly_a_moment_before(most: int, window_s: int) -> None:
    clock, chance = Clock(), random.Random(most)
    rates = Rates(clock)
    for _ in range(most):
        clock.now_ns += chance.randrange(0, window_s * 10**9 // 100)
        rates.take([(("run",), most, window_s)])
    with pytest.raises(TooMany) as refused:
        rates.take([(("run",), most, window_s)])
    assert refused.value.retry_after_ms is not None
    begun = clock.now_ns
    clock.now_ns = begun + (refused.value.retry_after_ms - 2) * 10**6
    with pytest.raises(TooMany):
        rates.take([(("run",), most, window_s)])
    clock.now_ns = begun + refused.value.retry_after_ms * 10**6
    rates.take([(("run",), most, window_s)])
