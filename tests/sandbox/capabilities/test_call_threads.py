"""Where capabilities run: threads that can be left behind, event loops, the program's own thread."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time

import pytest

from hatchway import Capability, CapabilityLimits
from sandbox.capabilities import call_threads
from sandbox.wire import RunResult
from tests.conftest import NewBox
from tests.sandbox.capabilities.test_registry import record_of

PATIENT = {"max_external_calls": 1000, "wall_ms": 120_000, "cpu_ms": 60_000}


def test_tm_cap_threads_functions_that_never_end_take_no_more_threads_than_allowed(
    new_box: NewBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    box = new_box(limits={"max_external_calls": 100})
    box.registry.register(Capability(name="stuck", limits=CapabilityLimits(timeout_ms=1)), lambda: release.wait(30))
    monkeypatch.setattr(call_threads, "THREADS_MAX", call_threads._threads._count + 3)
    try:
        codes = box.run(
            "said = []\nfor _ in range(15):\n    try: stuck()\n    except ToolError as e: said.append(str(e))\nsaid"
        ).result
        assert any("cannot be run now" in message for message in codes)
    finally:
        release.set()


def test_async_function_runs_on_the_loop_it_was_registered_with(new_box: NewBox) -> None:
    box = new_box()

    async def main() -> RunResult:
        loop = asyncio.get_running_loop()

        async def where(n: int) -> bool:
            await asyncio.sleep(0)
            return asyncio.get_running_loop() is loop and n == 1

        box.registry.register(Capability(name="where"), where, loop=loop)
        return await asyncio.to_thread(box.run, "[where(1), await tools.where(n=1)]")

    assert asyncio.run(main()).result == [True, True]


@pytest.mark.parametrize("on_loop", [True, False])
def test_async_function_is_cancelled_when_its_call_is_left(new_box: NewBox, on_loop: bool) -> None:
    box, cancelled = new_box(), threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def main() -> RunResult:
        loop = asyncio.get_running_loop() if on_loop else None
        box.registry.register(Capability(name="hang", limits=CapabilityLimits(timeout_ms=20)), hang, loop=loop)
        result = await asyncio.to_thread(box.run, "hang()")
        assert await asyncio.to_thread(cancelled.wait, 30)
        return result

    assert record_of(asyncio.run(main())) == ("hang", "timeout", "TIMEOUT_TOOL")


def test_call_to_a_loop_that_has_closed_fails_and_gives_its_place_back(new_box: NewBox) -> None:
    box, loop = new_box(), asyncio.new_event_loop()
    loop.close()

    async def f() -> None: ...

    box.registry.register(Capability(name="f"), f, loop=loop)
    assert record_of(box.run("f()")) == ("f", "error", "TOOL_ERROR")
    entry = box.registry.entry("f")
    assert entry is not None and entry.admission.under_way == 0


def test_task_that_an_async_function_leaves_behind_ends_with_it(new_box: NewBox) -> None:
    ended = threading.Event()

    async def background() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def f() -> int:
        task = asyncio.create_task(background())
        await asyncio.sleep(0)
        return id(task) and 1

    assert new_box(tools={"f": f}).run("[f(), f()]").result == [1, 1] and ended.wait(30)


def test_inline_function_runs_on_the_programs_own_thread(new_box: NewBox) -> None:
    box = new_box()
    box.registry.register(Capability(name="here"), lambda: threading.get_ident(), inline=True)
    box.registry.register(Capability(name="away"), lambda: threading.get_ident())
    here, away = box.run("[here(), away()]").result
    assert here == threading.get_ident() != away
    box.registry.register(Capability(name="fails"), lambda: 1 / 0, inline=True)
    assert record_of(box.run("fails()")) == ("fails", "error", "TOOL_ERROR")


def test_function_that_never_ends_does_not_keep_the_process() -> None:
    code = (
        "import hatchway, threading\n"
        "from hatchway import Capability, CapabilityLimits\n"
        "box = hatchway.Sandbox()\n"
        "box.registry.register(Capability(name='f', limits=CapabilityLimits(timeout_ms=20)), threading.Event().wait)\n"
        "print(box.run('f()').error.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("TIMEOUT_TOOL\n", 0), done.stderr


def test_many_programs_call_short_and_long_functions_at_once_and_each_gets_its_own_answer(new_box: NewBox) -> None:
    pause = threading.Event()

    def short(n: int) -> int:
        return n

    def long(n: int) -> int:
        pause.wait(0.003)  # longer than a call is waited for by the semaphore
        return n

    async def later(n: int) -> int:
        await asyncio.sleep(0.003 if n % 2 else 0)
        return n

    code = "[[short(base + i), long(base + i), later(base + i)] == [base + i] * 3 for i in range(60)].count(True)"
    boxes = [new_box(tools={"short": short, "long": long, "later": later}, limits=PATIENT) for _ in range(6)]
    results: list[RunResult] = []

    def run(number: int) -> None:
        results.append(boxes[number].run(code, inputs={"base": number * 1000}))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(boxes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.result for result in results] == [60] * len(boxes), results


def test_forked_process_has_threads_of_its_own() -> None:
    code = (
        "import hatchway, os, sys\n"
        "box = hatchway.Sandbox(tools={'f': lambda: os.getpid()})\n"
        "assert box.run('f()').result == os.getpid()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if box.run('f()').result == os.getpid() else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def _see_affinity() -> list[list[int]]:
    """Of the function's thread, a thread and a process that it starts."""
    seen = [sorted(os.sched_getaffinity(0))]
    thread = threading.Thread(target=lambda: seen.append(sorted(os.sched_getaffinity(0))))
    thread.start()
    thread.join()
    told = subprocess.run([sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"], capture_output=True, check=True)
    return [*seen, sorted(map(int, told.stdout.split()))]


@pytest.fixture
def binding(monkeypatch: pytest.MonkeyPatch) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    monkeypatch.setattr(call_threads._placement, "choose", lambda: True)


@pytest.mark.usefixtures("binding")
def test_function_and_what_it_starts_run_anywhere_and_only_waiting_threads_are_bound(new_box: NewBox) -> None:
    box, free, ids = new_box(), sorted(os.sched_getaffinity(0)), set()

    async def see_later() -> list[list[int]]:
        return _see_affinity()

    def quick() -> list[int]:
        ids.add(threading.get_native_id())
        return sorted(os.sched_getaffinity(0))

    box.registry.register(Capability(name="see"), _see_affinity)
    box.registry.register(Capability(name="see_later"), see_later)
    box.registry.register(Capability(name="quick"), quick)
    assert box.run("[quick() for _ in range(9)] + see() + see_later() + [quick() for _ in range(9)]").result == [free] * 24
    assert sorted(os.sched_getaffinity(0)) == free
    assert all(len(os.sched_getaffinity(id_)) == 1 for id_ in ids), "waking another processor costs several times the call"


@pytest.mark.usefixtures("binding")
def test_caller_of_a_long_function_is_not_bound_while_it_waits(new_box: NewBox) -> None:
    box, caller, free = new_box(), threading.get_native_id(), os.sched_getaffinity(0)

    def see_caller() -> bool:
        deadline = time.monotonic() + 20
        while os.sched_getaffinity(caller) != free and time.monotonic() < deadline:
            time.sleep(0.001)
        return os.sched_getaffinity(caller) == free

    box.registry.register(Capability(name="see_caller"), see_caller)
    assert box.run("see_caller()", limits={"wall_ms": 60_000}).result is True


def test_threads_are_bound_while_they_are_woken_late_and_tried_unbound_now_and_then() -> None:
    placement, late, soon = call_threads._Placement(), 70_000, 4_000
    for woken_ns in (late, late, soon, late, late):
        assert not placement.choose()
        placement.learn(woken_ns)
    assert not placement.choose()
    placement.learn(late)
    chosen = [placement.choose() for _ in range(call_threads._BOUND_CALLS + 1)]
    assert all(chosen[:-2])
    assert not any(chosen[-2:])


@pytest.mark.usefixtures("binding")
def test_call_thread_that_was_bound_is_free_when_binding_no_longer_pays(new_box: NewBox, monkeypatch: pytest.MonkeyPatch) -> None:
    box, ids = new_box(), set[int]()
    box.registry.register(Capability(name="note"), lambda: ids.add(threading.get_native_id()))
    box.run("note()")
    monkeypatch.setattr(call_threads._placement, "choose", lambda: False)
    box.run("note()")
    assert len(ids) == 1
    assert all(os.sched_getaffinity(one) == os.sched_getaffinity(0) for one in ids)
