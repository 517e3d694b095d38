"""Sandboxes that are started ahead of time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.guests.images import images
from sandbox.wire import Language, RunRequest
from sandbox.workers.local.spare_sessions import Spares


@pytest.fixture
def spares() -> Iterator[Spares]:
    made = Spares(images)
    yield made
    made.close()


def request(code: str) -> RunRequest:
    return RunRequest(
        session_id="aside", language=Language.SHELL, code=code, inputs={}, return_snapshot=False, validate_only=False
    )


def test_a_spare_waits_for_a_language_that_was_used(spares: Spares) -> None:
    first = spares.take(Language.SHELL)
    spares.put_away(first)
    assert list(spares._waiting) == []
    spares.tidy()
    waiting = spares._waiting[Language.SHELL]
    assert list(waiting._guests) == ["shell"], "its interpreter has started"
    assert spares.take(Language.SHELL) is waiting
    assert spares.take(Language.SHELL) is not waiting


def test_tm_hook_001_a_spare_is_used_once_and_is_fresh(spares: Spares) -> None:
    seen = []
    for _ in range(3):
        fork = spares.take(Language.SHELL)
        seen.append(fork.run(request('echo "${x:-fresh}"; ls; x=used; echo 1 > f')).stdout)
        spares.put_away(fork)
        spares.tidy()
        assert fork.run(request("echo")).error is not None, "it was taken down"
    assert seen == ["fresh\n"] * 3


def test_what_is_closed_keeps_no_spare(spares: Spares) -> None:
    fork = spares.take(Language.SHELL)
    spares.close()
    spares.put_away(fork)
    spares.tidy()
    assert not spares._waiting and fork.run(request("echo")).error is not None


def test_a_spare_that_cannot_be_made_is_no_loss(spares: Spares, monkeypatch: pytest.MonkeyPatch) -> None:
    spares.put_away(spares.take(Language.SHELL))
    monkeypatch.setattr("sandbox.workers.local.spare_sessions.Fork.warm", lambda fork: fork._images.get("none"))
    spares.tidy()
    assert not spares._waiting
    assert spares.take(Language.SHELL).run(request("echo here")).stdout == "here\n"
