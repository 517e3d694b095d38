"""Output of a command: capped, passed on, and settled by the last word of a place that streams and then tells all of it."""

from __future__ import annotations

from gateway.runners.command_output import STDERR, STDOUT, Output


def listening(limit_bytes: int) -> tuple[Output, list[tuple[int, bytes]]]:
    told: list[tuple[int, bytes]] = []
    return Output(limit_bytes, lambda *one: told.append(one)), told


def test_what_came_already_is_not_told_twice() -> None:
    output, told = listening(100)
    output.write(STDOUT, b"one ")
    output.settle(STDOUT, b"one two")
    output.settle(STDERR, b"all of it")
    assert told == [(STDOUT, b"one "), (STDOUT, b"two"), (STDERR, b"all of it")]
    assert (output.text(STDOUT), output.dropped_bytes) == ("one two", 0)


def test_the_last_word_counts_where_it_is_another() -> None:
    output, told = listening(100)
    output.write(STDOUT, b"card 4711")
    output.settle(STDOUT, b"card ****")
    assert output.text(STDOUT) == "card ****" and told == [(STDOUT, b"card 4711")]
    output.write(STDERR, b"more")
    assert told[-1] == (STDERR, b"more"), "whoever listens is told of what comes after"


def test_what_is_over_the_cap_is_counted_once() -> None:
    output, _ = listening(10)
    output.write(STDOUT, b"0123456789abc")
    assert output.dropped_bytes == 3
    output.settle(STDOUT, b"0123456789abcdef")
    output.settle(STDERR, b"xx")
    assert (output.text(STDOUT), output.text(STDERR), output.dropped_bytes) == ("0123456789", "", 8)
