"""Profiling: where the time of a call goes, by layer of the system and by function.

How: the call is made until it is warm, then many times under cProfile. What it took without the profiler is measured before and
after, because cProfile slows Python calls and not native code: shares are read as shares. Own time of built-in functions belongs
to the layer that called them. cProfile sees the thread that asks; what other threads of this process do meanwhile is sampled in a
second pass, by looking at their frames, and other processes are told apart by the CPU time the kernel counts for them.

Does not know: which calls there are.
"""

from __future__ import annotations

import collections
import contextlib
import cProfile
import os
import pstats
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TOP = 14
_SAMPLE_SECONDS = 0.0003
_SEEN_LEAST = 50
_IDLE = frozenset(
    {"wait", "ask", "_worker", "select", "get", "_wait_for_tstate_lock", "accept", "recv", "read", "sleep", "_serve", "_tick"}
)
"""Functions in which a thread that has nothing to do is found."""
_ROOT = Path(__file__).resolve().parent.parent
WAITING = "waiting: for other threads, other processes, the disk"
_OTHER = "Python's own library"
_LAYERS = (
    ("sandbox/engine/wasmtime.py", "the engine: the guest itself, making and freeing instances"),
    ("sandbox/engine/memory.py", "pages: mapping, scanning, copying"),
    ("sandbox/snapshots/memory_pages.py", "pages: mapping, scanning, copying"),
    ("sandbox/workers/", "the way to a worker and back: frames, sockets, threads"),
    ("sandbox/", "the sandbox's Python"),
    ("policy/", "policy: the decision"),
    ("gateway/stores/", "the store: statements, SQLite, the flush to disk"),
    ("sqlalchemy/", "the store: statements, SQLite, the flush to disk"),
    ("gateway/http/", "our HTTP frame: token, rate, checks, headers, log"),
    ("hypercorn/", "the HTTP library: reading and writing requests"),
    ("h11/", "the HTTP library: reading and writing requests"),
    ("starlette/", "the HTTP library: reading and writing requests"),
    ("gateway/hooks/", "hooks: matching, payload, answer"),
    ("gateway/", "the gateway: session, scheduling, audit, record"),
    ("hatchway/", "the sandbox's Python"),
    ("benches/", "the bench itself"),
    ("asyncio/", "the event loop"),
    ("selectors.py", "the event loop"),
)
_WAITS = ("epoll", "'select'", "acquire", "sleep", ".wait", "'poll'")


@dataclass(frozen=True, slots=True)
class Hot:
    """A call to be profiled: it makes this number of `operations`, and these other `processes` work for it."""

    call: Callable[[], object]
    operations: int = 1
    processes: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Share:
    """One function: how often it was called, and its own time by the layer that time belongs to."""

    calls: int
    own_s: float
    layers: dict[str, float]


def profile(title: str, hot: Hot, times: int) -> str:
    """What `times` calls show, as text."""
    for _ in range(max(5, times // 10)):
        hot.call()
    before_ms = _timed(hot, times)
    cpu = _CpuOf(hot.processes)
    plain_ms = min(before_ms, _timed(hot, times))
    used_ms = cpu.since_ms(times * hot.operations)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(times):
        hot.call()
    profiler.disable()
    with _watching_others() as seen:
        _timed(hot, times)
    text = _text(title, pstats.Stats(profiler), times * hot.operations, plain_ms)
    return text + _text_of_cpu(used_ms if hot.processes else {}) + _text_of_others(seen)


def _timed(hot: Hot, times: int) -> float:
    started = time.perf_counter_ns()
    for _ in range(times):
        hot.call()
    return (time.perf_counter_ns() - started) / 1e6 / times / hot.operations


class _CpuOf:
    """CPU time of this thread, of the others here, and of other processes, from now on."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = processes
        self._before = self._read()

    def _read(self) -> dict[str, float]:
        here = time.thread_time() * 1e3
        read = {"this thread": here, "other threads of this process": time.process_time() * 1e3 - here}
        tick_ms = 1000 / os.sysconf("SC_CLK_TCK")
        for name, pid in self._processes.items():
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
            read[name] = (int(fields[11]) + int(fields[12])) * tick_ms
        return read

    def since_ms(self, operations: int) -> dict[str, float]:
        return {name: (value - self._before[name]) / operations for name, value in self._read().items()}


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


def _text(title: str, stats: Any, operations: int, plain_ms: float) -> str:
    shares = {(place, name): _share(place, name, entry) for (place, _, name), entry in stats.stats.items()}
    total = sum(one.own_s for one in shares.values()) or 1.0
    layers: collections.defaultdict[str, float] = collections.defaultdict(float)
    for one in shares.values():
        for layer, own_s in one.layers.items():
            layers[layer] += own_s
    told = f"{plain_ms:.4f} ms each without the profiler, {total * 1e3 / operations:.4f} ms with it"
    lines = [title, f"  {told}", "", "  where the asking thread is:", ""]
    lines += [
        f"  {share / total:6.1%}  {what}" for what, share in sorted(layers.items(), key=_by_share) if share / total >= 0.001
    ]
    lines += ["", f"  {'own time':>9} {'calls':>9}  function"]
    for (place, name), one in sorted(shares.items(), key=lambda item: -item[1].own_s)[:_TOP]:
        lines.append(f"  {one.own_s / total:9.1%} {one.calls / operations:9.1f}  {_where(place, name)}")
    return "\n".join(lines) + "\n"


def _by_share(item: tuple[str, float]) -> float:
    return -item[1]


def _share(place: str, name: str, entry: tuple[int, int, float, float, dict[Any, Any]]) -> _Share:
    """Built-in functions have no file: their time is their callers', unless it is waiting."""
    _, calls, own_s, _, callers = entry
    if place != "~":
        return _Share(calls, own_s, {_layer(place): own_s})
    if any(part in name for part in _WAITS):
        return _Share(calls, own_s, {WAITING: own_s})
    layers: collections.defaultdict[str, float] = collections.defaultdict(float)
    for (caller, _, _), (_, _, own_there_s, _) in callers.items():
        layers[_layer(caller)] += own_there_s
    layers[_OTHER] += max(0.0, own_s - sum(layers.values()))
    return _Share(calls, own_s, dict(layers))


def _text_of_cpu(used_ms: Mapping[str, float]) -> str:
    if not used_ms:
        return ""
    total = sum(used_ms.values())
    lines = ["", f"  CPU time of one, by who used it ({total:.3f} ms in all)", ""]
    lines += [f"  {value / total:6.1%}  {value:8.3f} ms  {name}" for name, value in used_ms.items()]
    return "\n".join(lines) + "\n"


def _text_of_others(seen: collections.Counter[tuple[str, str]]) -> str:
    busy = {place: count for place, count in seen.items() if place[1] not in _IDLE}
    total = sum(busy.values())
    if total < _SEEN_LEAST:
        return ""
    layers: collections.Counter[str] = collections.Counter()
    for (place, _), count in busy.items():
        layers[_layer(place)] += count
    lines = ["", f"  where other threads of this process are when they are not idle ({total} samples):", ""]
    lines += [f"  {count / total:6.1%}  {what}" for what, count in layers.most_common()]
    lines += ["", f"  {'seen':>9}  function"]
    for (place, name), count in sorted(busy.items(), key=lambda one: -one[1])[:_TOP]:
        lines.append(f"  {count / total:9.1%}  {_where(place, name)}")
    return "\n".join(lines) + "\n"


def _layer(place: str) -> str:
    """By the first of the layers whose path fits. Generated policies have a name of their own for a file."""
    if place.startswith("<policy"):
        return "policy: the decision"
    inside = place.removeprefix(f"{_ROOT}/") if place.startswith(f"{_ROOT}/") and ".venv" not in place else place
    for part, layer in _LAYERS:
        if inside.startswith(part) or (f"/{part}" in inside and inside.startswith("/")):
            return layer
    return _OTHER


def _where(place: str, name: str) -> str:
    if place == "~":
        return name
    path = Path(place)
    with contextlib.suppress(ValueError):
        return f"{path.relative_to(_ROOT)}: {name}"
    return f"{path.parent.name}/{path.name}: {name}"
