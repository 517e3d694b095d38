"""Programs beside sessions, on whichever thread asks."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec
import pytest

from sandbox.capabilities.registry import Registry
from sandbox.engine.limits import Cancel
from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.sessions.session import Session
from sandbox.wire import DEFAULT_LIMITS, Language, RunRequest, RunStatus
from sandbox.workers.interface import Aside, AsideOutcome, FileEntry
from sandbox.workers.local.side_programs import Asides, Spares
from tests.sandbox.workers.scenes import code_of


def beside(session: Session, aside: Aside, asked_ns: int | None = None, quotas: VfsLimits | None = None) -> AsideOutcome:
    asides = Asides()
    asked_ns = time.monotonic_ns() if asked_ns is None else asked_ns
    try:
        return asides.run(aside, session.vfs.checkpoint(), quotas or session.vfs.limits, Registry(), Cancel(), asked_ns)
    finally:
        asides.close()


@pytest.fixture
def session() -> Session:
    made = Session("s", language=Language.SHELL)
    made.vfs.write_file("/workspace/a", b"one")
    return made


def test_tm_hook_002_what_an_aside_does_is_told_and_not_done(session: Session) -> None:
    aside = Aside(language=Language.SHELL, code="rm a; echo two > b; mkdir -p d/e", limits=DEFAULT_LIMITS)
    changes = beside(session, aside).changes
    assert (changes.removed, [one.path for one in changes.written]) == (["/a"], ["/b", "/d", "/d/e"])
    assert session.vfs.list_dir("/workspace") == ["a"] and session.vfs.read_file("/workspace/a") == b"one"


def test_files_that_are_given_are_no_change_and_a_full_disk_costs_nothing_else(session: Session) -> None:
    given = [FileEntry(path="/deep/er/f", data=b"x" * 100), FileEntry(path="/g", data=b"y")]
    aside = Aside(language=Language.SHELL, code="cat deep/er/f g", files=given, limits=DEFAULT_LIMITS)
    outcome = beside(session, aside)
    assert outcome.result.stdout == "x" * 100 + "y" and not outcome.changes
    narrow = VfsLimits(total_bytes=session.vfs.used_bytes + 1)
    full = beside(session, msgspec.structs.replace(aside, code="cat g; test -e deep/er/f || echo none"), quotas=narrow)
    assert full.result.stdout == "ynone\n"


def test_time_spent_before_it_begins_is_the_programs(session: Session) -> None:
    aside = Aside(language=Language.SHELL, code="echo begun; while :; do :; done", limits=DEFAULT_LIMITS)
    spent_ns = (DEFAULT_LIMITS.wall_ms - 50) * 1_000_000
    late = beside(session, aside, time.monotonic_ns() - spent_ns)
    assert late.result.status is RunStatus.TIMEOUT and late.result.stdout in ("", "begun\n")
    assert code_of(late.result) == "TIMEOUT_WALL", "with all of its time the CPU limit would have ended it"
    never = beside(session, aside, time.monotonic_ns() - 2 * spent_ns)
    assert never.result.status is RunStatus.TIMEOUT and never.result.stdout == ""


def test_limits_that_cannot_be_held_to_are_refused(session: Session) -> None:
    limits = msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=0)
    with pytest.raises(RequestError, match="memory_mb"):
        beside(session, Aside(language=Language.SHELL, code=":", limits=limits))


@pytest.fixture
def spares() -> Iterator[Spares]:
    made = Spares()
    yield made
    made.close()


def request(code: str) -> RunRequest:
    return RunRequest(
        session_id="aside", language=Language.SHELL, code=code, inputs={}, return_snapshot=False, validate_only=False
    )


def test_a_spare_waits_for_a_language_that_was_used(spares: Spares) -> None:
    first = spares.take(Language.SHELL)
    spares.discard(first)
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
        spares.discard(fork)
        spares.tidy()
        assert fork.run(request("echo")).error is not None, "it was taken down"
    assert seen == ["fresh\n"] * 3


def test_what_is_closed_keeps_no_spare(spares: Spares) -> None:
    fork = spares.take(Language.SHELL)
    spares.close()
    spares.discard(fork)
    spares.tidy()
    assert not spares._waiting and fork.run(request("echo")).error is not None


def test_a_spare_that_cannot_be_made_is_no_loss(spares: Spares, monkeypatch: pytest.MonkeyPatch) -> None:
    spares.discard(spares.take(Language.SHELL))
    monkeypatch.setattr("sandbox.workers.local.side_programs.Fork.warm", lambda fork: fork._images.get("none"))
    spares.tidy()
    assert not spares._waiting
    assert spares.take(Language.SHELL).run(request("echo here")).stdout == "here\n"
