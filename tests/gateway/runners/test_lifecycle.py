"""The lifecycle campaign, short: every provider keeps its word over a stop, kills, a kill during a write, and starts."""

from __future__ import annotations

import pytest

from sandbox.guests.images import images
from tests.gateway.runners.lifecycle_campaign import PROVIDERS, Thread, campaign


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nothing_acknowledged_is_lost_nothing_crosses_threads_and_nothing_is_left(provider: str) -> None:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")
    assert campaign(provider, kills=2, seed=1) > 0


def test_a_thread_knows_what_it_may_find() -> None:
    thread = Thread("t1")
    assert thread.expected("file") == {""}
    thread.begin(["file"], 1)
    assert thread.expected("file") == {"", "t1:1"}
    thread.end(["file"], 1)
    thread.begin(["file"], 2)
    assert thread.expected("file") == {"t1:1", "t1:2"}
