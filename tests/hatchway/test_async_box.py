"""`AsyncSandbox` has every verb that `Sandbox` has, and they do the same."""

from __future__ import annotations

import asyncio
import inspect
import pydoc
from pathlib import Path

import pytest

from hatchway import AsyncSandbox, History, Keys, RequestError, RunStatus, Sandbox
from sandbox.engine.limits import Cancel
from sandbox.errors import Suspend

KEYS = Keys.of(bytes(range(32)))


def test_every_public_name_of_a_sandbox_is_there() -> None:
    public = {name for name in [*dir(Sandbox), *Sandbox.__annotations__] if not name.startswith("_")}
    assert public <= set(dir(AsyncSandbox))


def test_verbs_keep_the_signatures_that_they_have_in_a_sandbox() -> None:
    for name in ("run", "snapshot", "save", "close"):
        verb = getattr(AsyncSandbox, name)
        assert inspect.iscoroutinefunction(verb)
        assert inspect.signature(verb) == inspect.signature(getattr(Sandbox, name))


def test_what_is_shared_is_read_from_the_sandbox_inside_and_the_rest_is_not_set() -> None:
    assert "record" in pydoc.render_doc(AsyncSandbox)
    box = AsyncSandbox(language="shell")
    box.record = True
    assert box.record and box._box.record
    with pytest.raises(AttributeError):
        box.id = "other"
    asyncio.run(box.close())


def test_a_sandbox_is_forked_many_times() -> None:
    async def scene() -> list[str]:
        async with AsyncSandbox(language="shell", session_id="mine") as box:
            await box.run("x=1")
            children = await box.fork(3)
            assert [child.id for child in children] == ["mine"] * 3
            for number, child in enumerate(children):
                await child.run(f"x=$((x + {number}))")
            said = [(await one.run("echo $x")).stdout for one in (box, *children)]
            for child in children:
                await child.close()
            with pytest.raises(RequestError, match="number of forks"):
                await box.fork(-1)
            return said

    assert asyncio.run(scene()) == ["1\n", "1\n", "2\n", "3\n"]


def test_a_sandbox_is_saved_in_its_history(tmp_path: Path) -> None:
    async def scene() -> None:
        history = History(tmp_path / "history.db", KEYS)
        async with AsyncSandbox(language="shell", history=history) as box:
            assert box.history is history
            saved = await box.save("first")
            assert box.snapshot_id == saved == history.find("first")
        history.close()

    asyncio.run(scene())


def test_a_run_that_waits_is_recorded_and_resumed() -> None:
    def ask() -> None:
        raise Suspend("who says yes?")

    async def scene() -> object:
        async with AsyncSandbox(tools={"ask": ask}, record=True) as box:
            waiting = await box.run("ask()")
            assert waiting.status is RunStatus.WAITING_FOR_APPROVAL
            assert box.record and box.recording is not None
            sealed = box.recording.seal(KEYS)
        resumed, result = await AsyncSandbox.resume(sealed, keys=KEYS, answer="yes")
        async with resumed:
            return result.result

    assert asyncio.run(scene()) == "yes"


def test_a_run_may_bring_its_own_cancel() -> None:
    async def scene() -> RunStatus:
        cancel = Cancel()
        cancel.ask()
        async with AsyncSandbox(language="shell") as box:
            return (await box.run("echo 1", cancel=cancel)).status

    assert asyncio.run(scene()) is RunStatus.CANCELLED
