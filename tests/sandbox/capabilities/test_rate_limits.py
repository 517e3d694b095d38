"""Places and rates of capabilities."""

from __future__ import annotations

import threading

import pytest

from hatchway import Capability, CapabilityLimits, RequestError
from sandbox.capabilities.rate_limits import Admission, RateExceeded
from sandbox.capabilities.registry import Registry
from sandbox.wire import RunResult
from tests.conftest import NewBox
from tests.sandbox.capabilities.test_registry import record_of


class Clock:
    ns = 0

    def __call__(self) -> int:
        return self.ns


@pytest.mark.parametrize("field", ["timeout_ms", "max_request_bytes", "max_response_bytes", "concurrency", "rate_per_min"])
def test_limit_that_is_no_number_above_zero_is_refused(field: str) -> None:
    for value in (0, -1, 1.5, "1", True):
        with pytest.raises(RequestError):
            Registry().register(Capability(name="f", limits=CapabilityLimits(**{field: value})), print)  # type: ignore[arg-type]


def test_calls_beyond_the_concurrency_wait_for_a_place(new_box: NewBox) -> None:
    entered, release, most, now = threading.Semaphore(0), threading.Event(), [0], [0]
    lock = threading.Lock()

    def work() -> int:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        entered.release()
        release.wait(30)
        with lock:
            now[0] -= 1
        return 1

    registry = Registry()
    registry.register(Capability(name="work", limits=CapabilityLimits(concurrency=2)), work)
    results: list[RunResult] = []
    boxes = [new_box(tools=registry) for _ in range(4)]
    threads = [threading.Thread(target=lambda box=box: results.append(box.run("work()"))) for box in boxes]
    for thread in threads:
        thread.start()
    assert entered.acquire(timeout=30) and entered.acquire(timeout=30)
    entry = registry.entry("work")
    assert entry is not None and entry.admission.under_way == 2
    release.set()
    for thread in threads:
        thread.join()
    assert [result.result for result in results] == [1] * 4 and most[0] == 2


def test_call_that_finds_no_place_in_its_time_fails_and_one_that_was_left_behind_keeps_its_place(new_box: NewBox) -> None:
    release = threading.Event()
    box = new_box()
    limits = CapabilityLimits(concurrency=1, timeout_ms=20)
    box.registry.register(Capability(name="slow", limits=limits), lambda: release.wait(30))
    try:
        for _ in range(2):
            assert record_of(box.run("slow()")) == ("slow", "timeout", "TIMEOUT_TOOL")
        entry = box.registry.entry("slow")
        assert entry is not None and entry.admission.under_way == 1
    finally:
        release.set()


def test_rate_counts_calls_of_all_forks_and_refuses_one_too_many(new_box: NewBox) -> None:
    box = new_box()
    box.registry.register(Capability(name="f", limits=CapabilityLimits(rate_per_min=3)), lambda: 1)
    assert box.run("[f(), f()]").result == [1, 1]
    with box.fork() as child:
        result = child.run("f()\ntry: f()\nexcept ToolError as e: said = e.code\nsaid")
    assert result.result == "RATE_LIMITED"
    assert box.run("f()").error.code == "RATE_LIMITED"  # type: ignore[union-attr]


def test_rate_counts_calls_under_way_however_old_they_are() -> None:
    clock = Clock()
    admission = Admission(10, 2, clock)
    old, short = admission.enter(), admission.enter()
    assert old is not None and short is not None
    short()
    with pytest.raises(RateExceeded) as refused:
        admission.enter()
    assert refused.value.retry_after_ms == 60_000
    clock.ns += 60_000_000_000
    new = admission.enter()  # the short one is past; the old one still counts
    assert new is not None
    with pytest.raises(RateExceeded):
        admission.enter()
    old()
    assert admission.enter() is not None and admission.under_way == 2
