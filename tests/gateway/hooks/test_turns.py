"""Threads that take turns."""

from __future__ import annotations

import threading

import pytest

from gateway.hooks.turns import Threads, Turns

SECONDS = 20


def test_works_are_done_and_tidying_happens_when_nothing_is_left() -> None:
    done: list[int] = []
    tidied = threading.Event()
    threads = Threads(2, "test", lambda: bool(done) and not tidied.is_set(), tidied.set)
    for number in range(100):
        threads.do(lambda number=number: done.append(number))  # type: ignore[misc]
    assert tidied.wait(SECONDS)
    threads.close()
    assert sorted(done) == list(range(100))


def test_short_turns_never_overlap() -> None:
    turns, inside, most = Turns(), [0], [0]

    def work() -> None:
        for _ in range(200):
            with turns.next():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(SECONDS)
    assert most == [1] and inside == [0]


def test_a_long_turn_is_taken_over_and_the_next_ones_are_not_kept_waiting() -> None:
    turns, end, begun = Turns(), threading.Event(), threading.Event()

    def long() -> None:
        with turns.next():
            begun.set()
            end.wait(SECONDS)

    worker = threading.Thread(target=long)
    worker.start()
    assert begun.wait(SECONDS)
    for _ in range(3):
        with turns.next():
            assert worker.is_alive()
    end.set()
    worker.join(SECONDS)
    with turns.next():
        pass


def test_turns_survive_many_threads_that_take_over_from_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.hooks.turns._PATIENCE_SECONDS", 0.00001)
    turns, done = Turns(), []

    def work() -> None:
        for _ in range(300):
            with turns.next():
                sum(range(200))
        done.append(True)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(SECONDS)
    assert len(done) == 8
