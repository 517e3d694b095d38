"""Work on tenants' data in children: what comes back, what is bounded, and what a caller that leaves ends."""

from __future__ import annotations

import asyncio
import os
import select
from pathlib import Path

import msgspec
import pytest

from gateway import children
from gateway.children import Overrun, run_in_child
from gateway.errors import TooLarge


class Point(msgspec.Struct, frozen=True):
    x: int
    data: bytes


def make_points(count: int, data: bytes) -> list[Point]:
    if count > 3:
        raise TooLarge("TOO_MANY_POINTS", f"{count} points", "ask for fewer")
    return [Point(x, data) for x in range(count)]


def take_memory() -> int:
    return len(bytearray(2 << 30))


def name_itself(path: str) -> None:
    """Say which process this is, and do not end."""
    with open(path, "w") as pipe:
        pipe.write(str(os.getpid()))
    select.select([], [], [])


def test_a_function_answers_and_refuses_as_it_would_here() -> None:
    async def main() -> None:
        assert await run_in_child("t1", make_points, 2, b"\0\xff") == [Point(0, b"\0\xff"), Point(1, b"\0\xff")]
        with pytest.raises(TooLarge) as refused:
            await run_in_child("t1", make_points, 4, b"")
        assert (refused.value.code, refused.value.error.hint) == ("TOO_MANY_POINTS", "ask for fewer")

    asyncio.run(main())


def test_tm_lim_starve_work_that_takes_too_much_costs_its_child_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(Overrun):
            await run_in_child("t1", take_memory)
        monkeypatch.setattr(children.of_tenant_data, "seconds", 0.001)
        with pytest.raises(Overrun):
            await run_in_child("t1", name_itself, str(tmp_path / "pid"))
        monkeypatch.setattr(children.of_tenant_data, "seconds", 20.0)
        assert len(await run_in_child("t1", make_points, 3, b"")) == 3

    asyncio.run(main())


def test_tm_lim_starve_a_caller_that_leaves_ends_what_was_computed_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def main() -> None:
        work = asyncio.ensure_future(run_in_child("t1", name_itself, str(pipe)))
        child = os.pidfd_open(int(await asyncio.to_thread(pipe.read_text)))
        try:
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            ended, _, _ = await asyncio.to_thread(select.select, [child], [], [], 30)
            assert ended, "the child goes on"
        finally:
            os.close(child)
        assert len(await run_in_child("t1", make_points, 1, b"")) == 1

    asyncio.run(main())
