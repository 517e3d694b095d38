"""Contenders take turns within a time: until they settle, a few at least, and nobody goes unmeasured because another is slow."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from benches.estimates import is_settled
from benches.harness import NO_TURN, Bench, Contender
from tests.benches.test_harness import samples


def test_samples_end_when_the_median_has_settled() -> None:
    numbers = itertools.cycle((10.0, 10.1))
    bench = Bench()
    bench.interleave(Contender("steady", lambda: next(numbers), reads=True), repetitions=500)
    assert len(bench.rows["steady"].samples) == 20


def test_samples_go_on_while_they_differ_widely() -> None:
    numbers = itertools.cycle((1.0, 50.0, 7.0, 300.0, 20.0))
    bench = Bench()
    bench.interleave(Contender("wild", lambda: next(numbers), reads=True), repetitions=100)
    assert len(bench.rows["wild"].samples) == 100


def test_a_median_settles_only_with_enough_samples_close_to_it() -> None:
    (close,) = samples(10, 0.1, rounds=1, count=100)
    (wide,) = samples(10, 3, rounds=1, count=100)
    assert is_settled(close, 0.02) and not is_settled(wide, 0.02) and not is_settled(close[:19], 0.02)


class Clock:
    """Time passes when somebody takes it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def taking(self, *seconds: float) -> Callable[[], float]:
        """Something that takes so long, call by call, and then as long as the last time."""
        left = list(seconds)

        def take() -> float:
            took_s = left.pop(0) if len(left) > 1 else left[0]
            self.now_s += took_s
            return took_s

        return take


def interleaved(clock: Clock, contenders: dict[str, Callable[[], float]], *, seconds: float, warmup: int = 1) -> Bench:
    bench = Bench(seconds=seconds, parts=1, clock=clock)
    turns = [Contender(label, run, reads=True) for label, run in contenders.items()]
    bench.interleave(*turns, repetitions=25, warmup=warmup)
    return bench


def test_an_interleave_takes_its_share_of_the_time_and_at_least_three_turns() -> None:
    clock = Clock()
    assert len(interleaved(clock, {"a": clock.taking(1, 2, 1, 2, 1, 2, 1)}, seconds=9).rows["a"].samples) == 5
    assert len(interleaved(clock, {"a": clock.taking(1)}, seconds=0).rows["a"].samples) == 3


def test_a_slow_contender_has_its_turn_first_and_the_others_have_the_rest_of_the_time() -> None:
    clock = Clock()
    contenders = {"ours": clock.taking(0.1, 0.2), "peer": clock.taking(0.2, 0.1), "slow": clock.taking(4.0)}
    done = interleaved(clock, contenders, seconds=10)
    assert len(done.rows["slow"].samples) == 1 and not done.absent
    assert len(done.rows["ours"].samples) == len(done.rows["peer"].samples) > 3
    assert clock.now_s <= 10


def test_a_contender_that_was_only_slow_to_start_takes_all_turns() -> None:
    clock = Clock()
    done = interleaved(clock, {"ours": clock.taking(0.1, 0.2), "peer": clock.taking(4.0, 0.2, 0.1)}, seconds=10)
    assert len(done.rows["peer"].samples) == len(done.rows["ours"].samples) > 12


def test_a_slow_contender_is_warmed_up_once_before_it_is_measured() -> None:
    clock = Clock()
    slow = clock.taking(900.0, 9.0, 9.5)
    done = interleaved(clock, {"a": clock.taking(0.1), "slow": slow}, seconds=40, warmup=3)
    assert done.rows["slow"].samples == [9.0]


def test_contenders_that_are_all_slow_take_three_turns_each() -> None:
    clock = Clock()
    done = interleaved(clock, {"a": clock.taking(5.0), "b": clock.taking(6.0)}, seconds=1)
    assert [len(row.samples) for row in done.rows.values()] == [3, 3]


def test_a_round_that_is_cut_names_those_that_had_no_turn() -> None:
    class Cut(BaseException):
        pass

    def cut() -> None:
        raise Cut

    bench = Bench()
    with pytest.raises(Cut):
        bench.interleave(Contender("a", lambda: None), Contender("b", cut), Contender("c", lambda: None), repetitions=3, warmup=0)
    bench.cut("its time was over")
    assert bench.absent == {"b": NO_TURN, "c": NO_TURN, "the rest": "its time was over"} and "a" in bench.rows


def test_turns_of_a_scenario_end_when_there_is_no_time_for_one_more() -> None:
    assert list(Bench().turns(4, 1)) == [0, 1, 2, 3] and list(Bench(quick=True).turns(4, 1)) == [0]
    clock = Clock()
    take, taken = clock.taking(3.0), []
    for turn in Bench(seconds=8, clock=clock).turns(1000, 1):
        take()
        taken.append(turn)
    assert taken == [0, 1]
