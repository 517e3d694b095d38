"""Idempotency keys: a call that must not happen twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import hatchway
from hatchway import Capability, CapabilityLimits
from sandbox.capabilities import call_threads
from sandbox.capabilities.idempotency import ANSWERS_MAX, Answers, KeyRefused
from tests.conftest import NewBox


class Clock:
    ns = 0

    def __call__(self) -> int:
        return self.ns


def keyed(new_box: NewBox, function: Callable[..., Any]) -> hatchway.Sandbox:
    box = new_box()
    box.registry.register(Capability(name="pay", idempotent=False), function)
    return box


def test_call_with_an_idempotency_key_happens_once(new_box: NewBox) -> None:
    paid: list[int] = []
    box = keyed(new_box, lambda amount: paid.append(amount) or len(paid))
    twice = "[pay(5, idempotency_key='a'), pay(5, idempotency_key='a'), pay(5, idempotency_key='b'), pay(5), pay(5)]"
    assert box.run(twice).result == [1, 1, 2, 3, 4] and paid == [5, 5, 5, 5]
    other = box.run("pay(6, idempotency_key='a')")
    assert other.error is not None and other.error.code == "INVALID_ARGUMENT" and len(paid) == 4


def test_failed_call_may_be_made_again_with_its_key(new_box: NewBox) -> None:
    outcomes = iter([ValueError("no"), 7])

    def pay() -> int:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    box = keyed(new_box, pay)
    assert not box.run("pay(idempotency_key='a')").ok
    assert box.run("[pay(idempotency_key='a'), pay(idempotency_key='a')]").result == [7, 7]


def test_key_of_a_call_that_was_left_behind_is_taken_until_it_ends_and_then_has_its_answer(new_box: NewBox) -> None:
    release, ended = threading.Event(), threading.Event()
    box = new_box()

    def pay() -> str:
        release.wait(30)
        ended.set()
        return "paid"

    box.registry.register(Capability(name="pay", idempotent=False, limits=CapabilityLimits(timeout_ms=20)), pay)
    assert box.run("pay(idempotency_key='a')").error.code == "TIMEOUT_TOOL"  # type: ignore[union-attr]
    still = box.run("pay(idempotency_key='a')")
    assert still.error is not None and "still under way" in still.error.message
    release.set()
    assert ended.wait(30)
    while not (result := box.run("pay(idempotency_key='a')")).ok:
        assert result.error is not None and "still under way" in result.error.message
    assert result.result == "paid"


def test_key_reaches_a_function_that_asks_for_it_or_is_idempotent(new_box: NewBox) -> None:
    box = new_box(tools={"f": lambda **given: given})
    schema = {"type": "object", "properties": {"idempotency_key": {"type": "string"}}}
    box.registry.register(Capability(name="g", idempotent=False, input_schema=schema), lambda **given: given)
    assert box.run("[f(idempotency_key='a'), g('b')]").result == [{"idempotency_key": "a"}, {"idempotency_key": "b"}]


@pytest.mark.parametrize("key", ["", "x" * 201, 5, ["a"]])
def test_key_that_is_no_short_text_is_refused(key: Any) -> None:
    with pytest.raises(KeyRefused):
        Answers().begin(key, "digest")


def test_kept_answers_are_bounded_in_number_and_time() -> None:
    clock = Clock()
    answers = Answers(clock)
    for number in range(ANSWERS_MAX + 10):
        assert answers.begin(str(number), "d") is None
        answers.end(str(number), b"x")
    assert len(answers._answers) <= ANSWERS_MAX
    assert answers.begin("0", "d") is None and answers.begin(str(ANSWERS_MAX), "d") == b"x"
    clock.ns += 25 * 3600 * 1_000_000_000
    assert answers.begin(str(ANSWERS_MAX), "d") is None


def test_answer_that_its_schema_does_not_allow_is_not_kept(new_box: NewBox) -> None:
    values = iter(["wrong", 7])
    box = new_box()
    box.registry.register(Capability(name="pay", idempotent=False, output_schema={"type": "integer"}), lambda: next(values))
    assert not box.run("pay(idempotency_key='a')").ok
    assert box.run("[pay(idempotency_key='a'), pay(idempotency_key='a')]").result == [7, 7]


def test_call_that_could_not_be_begun_leaves_its_key_free(new_box: NewBox, monkeypatch: pytest.MonkeyPatch) -> None:
    box = keyed(new_box, lambda: 7)
    with monkeypatch.context() as patch:
        patch.setattr(call_threads, "THREADS_MAX", 0)
        patch.setattr(call_threads._threads, "_idle", [])
        assert not box.run("pay(idempotency_key='a')").ok
    assert box.run("pay(idempotency_key='a')").result == 7
