"""What a session persists of itself: whole, its own, and gone with it; in memory and in a real store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.runners.session_state import PIECE_BYTES, MemoryStates, SessionStates, StoredStates
from tests.gateway.runners.places import go
from tests.gateway.runners.test_stored_runners import a_store


@pytest.mark.parametrize("kind", ["memory", "store"])
def test_values_are_replaced_removed_and_dropped_each_sessions_own(kind: str) -> None:
    async def main() -> None:
        store = await a_store()
        make: Callable[[], SessionStates] = lambda: StoredStates(store, "acme", lambda: 1)  # noqa: E731
        states: SessionStates = MemoryStates() if kind == "memory" else make()
        large = bytes(range(256)) * (PIECE_BYTES * 3 // 256 + 1)
        await states.save("one", {"file:/a": large, "file:/b": b"", "ports": b"\xff"})
        await states.save("one-more", {"file:/a": b"other"})
        assert await states.load("one") == {"file:/a": large, "file:/b": b"", "ports": b"\xff"}
        states = states if kind == "memory" else make()  # as after a restart
        assert len((await states.load("one"))["file:/a"]) == len(large)
        await states.save("one", {"file:/a": b"small"}, removed=["file:/b", "never"])
        assert await states.load("one") == {"file:/a": b"small", "ports": b"\xff"}
        await states.save("one", {"file:/a": b"again"}, removed=["file:/a"])
        for _ in range(2):
            await states.drop("one")
        assert (await states.load("one"), await states.load("one-more")) == ({}, {"file:/a": b"other"})
        if kind == "store":
            assert (await store.entries("acme", "runner.state/one")).items == []
            assert await StoredStates(store, "globex", lambda: 1).load("one-more") == {}

    go(main())
