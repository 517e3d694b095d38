"""Turns: threads that run short programs one after another and long ones beside each other.

Purpose: two threads that both run programs of half a millisecond spend more time handing the interpreter's lock and the
process's memory map to each other than working: together they are slower than one. So a thread waits for its turn; but never
long: whoever has waited a few milliseconds takes the turn over from a program that computes, which needs neither.

Does not know: what is run.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final

_PATIENCE_SECONDS: Final = 0.004
_IDLE_SECONDS: Final = 0.0005


class Turns:
    """`with turns.next(): …` in any thread."""

    def __init__(self) -> None:
        self._free = threading.Condition(threading.Lock())
        self._owner: Turn | None = None

    def next(self) -> Turn:
        return Turn(self)

    def take(self, turn: Turn) -> None:
        with self._free:
            if self._owner is not None:
                self._free.wait_for(lambda: self._owner is None, _PATIENCE_SECONDS)
            self._owner = turn

    def give_back(self, turn: Turn) -> None:
        """Nothing, if somebody has taken it over."""
        with self._free:
            if self._owner is turn:
                self._owner = None
                self._free.notify()


class Turn:
    __slots__ = ("_turns",)

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def __enter__(self) -> None:
        self._turns.take(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._turns.give_back(self)


class Threads:
    """A few threads that do what they are handed, in order. Handing over costs a tenth of what an executor's does.

    Tidying up after works waits until a thread has been idle for a moment: whoever waits for the answer gets the interpreter
    first.
    """

    def __init__(self, count: int, name: str, is_untidy: Callable[[], bool], tidy: Callable[[], None]) -> None:
        self._works: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._count = count
        self._name = name
        self._is_untidy = is_untidy
        self._tidy = tidy
        self._threads: list[threading.Thread] = []

    def do(self, work: Callable[[], None]) -> None:
        """`work` must not raise."""
        if not self._threads:
            self._threads = [threading.Thread(target=self._serve, name=self._name, daemon=True) for _ in range(self._count)]
            for thread in self._threads:
                thread.start()
        self._works.put(work)

    def _serve(self) -> None:
        while True:
            try:
                work = self._works.get(timeout=_IDLE_SECONDS if self._is_untidy() else None)
            except queue.Empty:
                self._tidy()
                continue
            if work is None:
                return
            work()

    def close(self) -> None:
        """Ends the threads when all that was handed over is done."""
        for _ in self._threads:
            self._works.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []
