"""A child that answers, and whose priority counts against ours."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from sandbox.confinement.child import Child, ChildDied
from sandbox.confinement.privileges import LOW_PRIORITY


def answer(request: bytes) -> bytes:
    """In the child."""
    if request == b"die":
        os.kill(os.getpid(), signal.SIGKILL)
    return b"%d %d %d" % (os.getpid(), os.getsid(0), os.getpriority(os.PRIO_PROCESS, 0))


def test_tm_lim_starve_a_child_has_a_low_priority_in_our_own_session() -> None:
    with contextlib.closing(Child(f"{__name__}:answer", {})) as child:
        pid, session, priority = map(int, child.ask(b"", 60).split())
    assert pid != os.getpid() and session == os.getsid(0)
    assert priority == max(LOW_PRIORITY, os.getpriority(os.PRIO_PROCESS, 0))


def test_a_child_that_died_is_replaced_at_the_next_request() -> None:
    with contextlib.closing(Child(f"{__name__}:answer", {})) as child:
        first = child.ask(b"", 60)
        with pytest.raises(ChildDied):
            child.ask(b"die", 60)
        assert child.ask(b"", 60) != first
