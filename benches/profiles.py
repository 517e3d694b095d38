"""Profiles: where the time of a hot path goes. `hatchway bench --profile NAME`.

How: a path is run until it is warm, then many times under cProfile; what it took without the profiler is measured beside it,
because cProfile slows Python calls and not native code, so shares are read as shares. cProfile sees the thread that asks. What
other threads do meanwhile (workers, the store) is waiting there; it is sampled in a second pass, by looking at their frames a
few thousand times a second.

Rules: paths are the same functions that the benches time. Nothing is written; the text goes to stdout.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import cProfile
import pstats
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_TOP = 14
_SAMPLE_SECONDS = 0.0003
_SEEN_LEAST = 50
_IDLE = frozenset(
    {"wait", "_worker", "select", "get", "_wait_for_tstate_lock", "accept", "recv", "read", "sleep", "_serve", "_tick"}
)
"""Functions in which a thread that has nothing to do is found."""
_ROOT = Path(__file__).resolve().parent.parent
_GUEST = "the engine: the guest itself, and making and freeing instances"
_MEMORY = "memory: mapping, scanning and copying pages"
_STORE = "the store: SQLite and its flush to disk"
_WAITING = "waiting for threads, disk or other processes"
_HOST = "Python of the host, and its library calls"
_PLACES = {"sandbox/native.py": _GUEST, "sandbox/memory.py": _MEMORY, "sandbox/memories.py": _MEMORY, "stores/sqlite.py": _STORE}
_NAMES = {"fcntl.ioctl": _MEMORY, "mmap": _MEMORY, "epoll": _WAITING, "select": _WAITING, "acquire": _WAITING, ".wait": _WAITING}
"""Which of the four a function's own time belongs to, by file and by part of its name. Calls through ctypes count as own time
of the function that makes them, so the file that owns the engine's calls has the time inside of it."""


@contextlib.contextmanager
def _fork() -> Iterator[Callable[[], object]]:
    import hatchway
    from benches.sessions import open_box, run

    box = open_box(limits={"cpu_ms": 60_000, "wall_ms": 60_000})
    run(box, "import pandas as pd")
    state = box._session.freeze().solidify()
    yield lambda: hatchway.Sandbox._around(box._session.fork(state), None).close()
    box.close()


@contextlib.contextmanager
def _warm_run() -> Iterator[Callable[[], object]]:
    from benches.sessions import first_result, run

    box = first_result("python")
    yield lambda: run(box, "1+1", expect=2)
    box.close()


@contextlib.contextmanager
def _hook() -> Iterator[Callable[[], object]]:
    from benches.scenarios.hook_firing import _Firing
    from sandbox.workers.local import LocalWorkers

    with asyncio.Runner() as runner:
        firing = _Firing(runner.get_loop(), LocalWorkers())
        yield firing.once
        firing.close()


@contextlib.contextmanager
def _decision() -> Iterator[Callable[[], object]]:
    from benches.policy import workload
    from policy import compile_policy

    policy = compile_policy(workload.hatch_text(1000, 10), catalog=workload.catalog(100))
    event, attributes = workload.request(1000, 10)

    def decide() -> None:
        for _ in range(1000):
            policy.decide(event, attributes)

    yield decide


@contextlib.contextmanager
def _gateway_run() -> Iterator[Callable[[], object]]:
    from benches.scenarios.durable_sessions import create, opened, run

    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        service, who = runner.run(stack.enter_async_context(opened(Path(folder))))
        try:
            session = runner.run(create(service, who))
            yield lambda: runner.run(run(service, who, session, "1+1", 2))
        finally:
            runner.run(stack.aclose())


PATHS: dict[str, tuple[str, Callable[[], contextlib.AbstractContextManager[Callable[[], object]]], int]] = {
    "fork": ("a fork of a template (Python with pandas) made and closed", _fork, 200),
    "warm_run": ("1+1 in a live Python session", _warm_run, 2000),
    "hook": ("one shell hook on a fresh fork, through a worker of this process", _hook, 300),
    "decision": ("1,000 decisions among 1,000 rules", _decision, 100),
    "http_run": ("1+1 through the gateway: policy, hooks, worker, store, audit (all but HTTP itself)", _gateway_run, 200),
}


def show(name: str) -> str:
    """The profile of a path as text."""
    about, opening, times = PATHS[name]
    with opening() as call:
        for _ in range(max(5, times // 10)):
            call()
        plain_ms = _timed(call, times)
        profiler = cProfile.Profile()
        profiler.enable()
        for _ in range(times):
            call()
        profiler.disable()
        after_ms = _timed(call, times)
        with _watching_others() as seen:
            _timed(call, times)
    return _text(name, about, pstats.Stats(profiler), times, min(plain_ms, after_ms)) + _text_of_others(seen)


@contextlib.contextmanager
def _watching_others() -> Iterator[collections.Counter[tuple[str, str]]]:
    """What the other threads were doing, by innermost function, as often as it was seen."""
    seen: collections.Counter[tuple[str, str]] = collections.Counter()
    asking, over, interval = threading.get_ident(), threading.Event(), sys.getswitchinterval()

    def watch() -> None:
        own = threading.get_ident()
        while not over.wait(_SAMPLE_SECONDS):
            for thread, frame in sys._current_frames().items():
                if thread not in (own, asking):
                    seen[frame.f_code.co_filename, frame.f_code.co_name] += 1

    sys.setswitchinterval(_SAMPLE_SECONDS / 2)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()
        sys.setswitchinterval(interval)


def _text_of_others(seen: collections.Counter[tuple[str, str]]) -> str:
    busy = {place: count for place, count in seen.items() if place[1] not in _IDLE}
    total = sum(busy.values())
    if total < _SEEN_LEAST:
        return ""
    shares: collections.Counter[str] = collections.Counter()
    for (place, function), count in busy.items():
        shares[_kind(place, function)] += count
    lines = ["", f"  other threads, sampled while they were not idle ({total} samples)", ""]
    lines += [f"  {count / total:6.1%}  {what}" for what, count in shares.most_common()]
    lines += ["", f"  {'seen':>9}  function"]
    for (place, function), count in sorted(busy.items(), key=lambda one: -one[1])[:_TOP]:
        lines.append(f"  {count / total:9.1%}  {_where(place, function)}")
    return "\n".join(lines) + "\n"


def _timed(call: Callable[[], object], times: int) -> float:
    started = time.perf_counter_ns()
    for _ in range(times):
        call()
    return (time.perf_counter_ns() - started) / 1e6 / times


def _text(name: str, about: str, stats: Any, times: int, plain_ms: float) -> str:
    rows = [(place, function, calls, own) for (place, _, function), (_, calls, own, _, _) in stats.stats.items()]
    total = sum(own for *_, own in rows) or 1.0
    shares = dict.fromkeys((_GUEST, _MEMORY, _STORE, _WAITING, _HOST), 0.0)
    for place, function, _, own in rows:
        shares[_kind(place, function)] += own
    lines = [f"{name}: {about}", f"  {plain_ms:.4f} ms each without the profiler, {total * 1e3 / times:.4f} ms with it", ""]
    lines += [f"  {share / total:6.1%}  {what}" for what, share in sorted(shares.items(), key=lambda one: -one[1])]
    lines += ["", f"  {'own time':>9} {'a turn':>9}  function"]
    for place, function, calls, own in sorted(rows, key=lambda one: -one[3])[:_TOP]:
        lines.append(f"  {own / total:9.1%} {calls / times:9.1f}  {_where(place, function)}")
    return "\n".join(lines) + "\n"


def _kind(place: str, function: str) -> str:
    for ending, kind in _PLACES.items():
        if place.endswith(ending):
            return kind
    if place == "~":
        return next((kind for part, kind in _NAMES.items() if part in function), _HOST)
    return _HOST


def _where(place: str, function: str) -> str:
    if place == "~":
        return function
    path = Path(place)
    with contextlib.suppress(ValueError):
        return f"{path.relative_to(_ROOT)}: {function}"
    return f"{path.parent.name}/{path.name}: {function}"
