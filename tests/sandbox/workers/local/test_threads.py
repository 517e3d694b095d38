"""Threads that compute for an event loop."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import time

import pytest

from sandbox.confinement.privileges import LOW_PRIORITY
from sandbox.workers.local.threads import Load, Threads

SECONDS = 20


def test_what_is_computed_comes_back_or_is_raised() -> None:
    async def main() -> None:
        threads = Threads(2, "test")
        assert await threads.compute(lambda: 6 * 7) == 42
        with pytest.raises(ZeroDivisionError):
            await threads.compute(lambda: 1 // 0)
        assert await threads.compute(threading.get_ident) != threading.get_ident()
        threads.close()

    asyncio.run(main())


def test_there_are_as_many_threads_as_works_at_once_and_no_more_than_the_most() -> None:
    async def main() -> None:
        threads, seen, everybody = Threads(3, "test"), set[int](), threading.Barrier(3)

        def meet() -> None:
            seen.add(threading.get_ident())
            everybody.wait(SECONDS)

        for _ in range(5):
            await threads.compute(lambda: seen.add(threading.get_ident()))
            while not threads._idle:  # it answers first and then waits for more
                await asyncio.sleep(0.001)
        assert len(seen) == 1, "one after another needs one thread"
        await asyncio.gather(*(threads.compute(meet) for _ in range(6)))
        assert len(seen) == 3
        threads.close()

    asyncio.run(main())


def test_work_goes_to_the_thread_that_has_just_been_used_and_wakes_no_other() -> None:
    async def main() -> None:
        threads, everybody = Threads(3, "test"), threading.Barrier(3)
        await asyncio.gather(*(threads.compute(lambda: everybody.wait(SECONDS)) for _ in range(3)))
        seen = set[int]()
        for _ in range(20):
            while len(threads._idle) < 3:
                await asyncio.sleep(0.001)
            sleeping = threads._idle[:-1]
            await threads.compute(lambda: seen.add(threading.get_ident()))
            assert all(one.bell.locked() and one in threads._idle for one in sleeping)
        assert len(seen) == 1
        threads.close()

    asyncio.run(main())


def test_works_that_found_no_thread_are_done_in_their_order() -> None:
    threads, begin, ended, done = Threads(1, "test"), threading.Event(), threading.Event(), list[int]()
    threads.do(lambda: begin.wait(SECONDS))
    for number in range(10):
        threads.do(functools.partial(done.append, number))
    threads.do(ended.set)
    begin.set()
    assert ended.wait(SECONDS)
    threads.close()
    assert done == list(range(10))


def test_tidying_waits_until_nothing_is_left_to_do() -> None:
    threads, done, tidied = Threads(1, "test"), list[str](), threading.Event()
    begin = threading.Event()

    def tidy() -> None:
        done.append("tidied")
        tidied.set()

    threads.do(lambda: begin.wait(SECONDS))
    for number in range(3):
        threads.do(lambda number=number: done.append(str(number)), tidy)  # type: ignore[misc]
    begin.set()
    assert tidied.wait(SECONDS)
    threads.close()
    assert done == ["0", "1", "2", "tidied"]


def test_a_thread_that_is_never_idle_tidies_up_too() -> None:
    threads, begin, ended = Threads(1, "test"), threading.Event(), threading.Event()
    done: list[str] = []

    def tidy() -> None:
        done.append("tidied")

    threads.do(lambda: begin.wait(SECONDS))
    for _ in range(50):
        threads.do(lambda: done.append("work"), tidy)
    threads.do(ended.set)
    begin.set()
    assert ended.wait(SECONDS)
    threads.close()
    assert done.count("work") == 50
    assert "tidied" in done[:49]


def test_a_cancelled_task_stops_its_work_and_waits_for_its_end() -> None:
    async def main() -> None:
        threads, begun, stop, ended = Threads(1, "test"), threading.Event(), threading.Event(), list[bool]()

        def work() -> None:
            begun.set()
            ended.append(stop.wait(SECONDS))

        task = asyncio.create_task(threads.compute(work, stop.set))
        await asyncio.to_thread(begun.wait, SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [True]
        threads.close()

    asyncio.run(main())


def test_a_task_that_is_cancelled_when_its_work_has_just_ended_is_cancelled() -> None:
    async def main() -> None:
        loop, threads, told = asyncio.get_running_loop(), Threads(1, "test"), threading.Event()

        def work() -> None:
            loop.call_soon_threadsafe(told.wait, SECONDS)  # the loop takes the answer and the cancellation in one go
            raise ValueError

        task = asyncio.create_task(threads.compute(work))
        await asyncio.sleep(0)

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)
            told.set()

        threads.do(cancel)
        with pytest.raises((asyncio.CancelledError, ValueError)):
            await task
        threads.close()

    asyncio.run(main())


def test_threads_that_have_been_ended_take_no_more_work() -> None:
    threads = Threads(1, "test")
    done = threading.Event()
    threads.do(done.set)
    threads.close()
    assert done.wait(SECONDS), "what was handed over before is done"
    with pytest.raises(RuntimeError, match="ended"):
        threads.do(done.clear)


def read_priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def burn(seconds: float) -> int:
    """The thread's priority after so much CPU time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    return read_priority()


def test_tm_lim_starve_what_computes_for_long_has_a_lower_priority_and_others_have_not() -> None:
    async def main() -> None:
        threads, greedy, modest = Threads(8, "test"), Load(), Load()
        usual = await threads.compute(read_priority, load=greedy)
        seen: list[int] = []
        async with asyncio.timeout(SECONDS):
            while not seen or seen[-1] == usual:  # it is lowered by the loop, when that gets the interpreter
                seen.append(await threads.compute(functools.partial(burn, 0.1), load=greedy))
        assert seen[-1] == LOW_PRIORITY
        assert await threads.compute(read_priority, load=greedy) == LOW_PRIORITY, "it has just computed for long"
        assert await threads.compute(read_priority, load=modest) == usual
        threads.close()

    asyncio.run(main())


def test_what_sleeps_keeps_its_priority() -> None:
    async def main() -> None:
        threads, load = Threads(8, "test"), Load()
        usual = await threads.compute(read_priority, load=load)
        slept = threading.Event()
        assert await threads.compute(lambda: (slept.wait(0.05), read_priority())[1], load=load) == usual
        threads.close()

    asyncio.run(main())
