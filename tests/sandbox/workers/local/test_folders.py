"""Folders: commands over files without a session, in a worker of each kind; what changed is told once, with all names."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from sandbox.errors import RequestError
from sandbox.wire import DEFAULT_LIMITS, Language, RunStatus
from sandbox.workers.interface import Command, FileChanges, FileEntry, Folder, Operation, Worker
from tests.sandbox.workers.scenes import Play


def shell(code: str, **more: Any) -> Command:
    return Command(**{"language": Language.SHELL, "code": code, "limits": DEFAULT_LIMITS, **more})


async def do(worker: Worker, verb: str, path: str, folder: str = "f", **more: Any) -> bytes:
    asked: dict[str, Any] = {"verb": verb, "path": path, **more}
    return (await worker.perform(folder, Operation(**asked))).data


async def start(worker: Worker, *entries: FileEntry, folder: str = "f", **more: Any) -> None:
    await worker.open_folder(Folder(id=folder, **more), FileChanges(written=list(entries)))


def test_a_command_changes_the_folder_and_tells_what(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        shown: list[tuple[int, bytes]] = []
        await start(worker, FileEntry(path="/d/e/a", data=b"1"), FileEntry(path="/b", data=b"2"))
        done = await worker.command("f", shell("cat b; rm -r d; echo 3 > c"), on_output=lambda *told: shown.append(told))
        assert (done.result.exit_code, shown) == (0, [(0, b"2")])
        assert sorted(done.changes.removed) == ["/d", "/d/e", "/d/e/a"]
        assert [(one.path, one.data) for one in done.changes.written] == [("/c", b"3\n")]
        assert not (await worker.command("f", shell("cat c"))).changes
        assert await do(worker, "read", "c") == b"3\n"

    play(scene)


def test_tm_snap_bomb_large_changes_are_told_when_they_are_asked_for(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await start(worker, FileEntry(path="/gone"))
        done = await worker.command("f", shell("head -c 2000000 /dev/zero > large; rm gone"))
        assert done.has_more and not done.changes
        again = await worker.command("f", shell("echo 1 > small"))
        assert again.has_more and not again.changes
        told = (await worker.tell_folder("f")).changes
        assert told.removed == ["/gone"] and [len(one.data) for one in told.written] == [2_000_000, 2]
        assert not (await worker.tell_folder("f")).changes
        last = await worker.command("f", shell("echo 2 > small"))
        assert not last.has_more and [one.path for one in last.changes.written] == ["/small"]

    play(scene)


def test_a_command_begins_with_nothing_but_the_files_and_its_preparation(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await start(worker)
        shown = bytearray()
        for code in ("X=1; cd /tmp", 'echo "[$X]" $PWD'):
            await worker.command("f", shell(code), on_output=lambda _, data: shown.extend(data))
        prepared = shell("echo $X $PWD", preparation="export X=2; cd /tmp")
        await worker.command("f", prepared, on_output=lambda _, data: shown.extend(data))
        assert shown == b"[] /workspace\n2 /tmp\n"
        failed = await worker.command(
            "f", shell("echo never", preparation="exit 3"), on_output=lambda _, data: shown.extend(data)
        )
        assert failed.result.exit_code == 3 or failed.result.error is not None
        assert b"never" not in shown

    play(scene)


def test_what_a_limit_or_a_cancel_ended_leaves_no_trace(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await start(worker, FileEntry(path="/a", data=b"1"))
        limits = msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=200)
        done = await worker.command("f", shell("echo 2 > a; while true; do true; done", limits=limits))
        assert done.result.status is RunStatus.TIMEOUT and not done.changes
        running = asyncio.ensure_future(worker.command("f", shell("echo 2 > a; sleep 60")))
        while not await worker.cancel_command("f"):
            await asyncio.sleep(0.01)
        assert (await running).result.status is RunStatus.CANCELLED
        assert await do(worker, "read", "a") == b"1"
        assert not await worker.cancel_command("f")

    play(scene)


def test_reading_waits_for_no_command_and_writing_does(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await start(worker, FileEntry(path="/a", data=b"1"))
        begun = asyncio.Event()
        code = shell("echo begun; sleep 0.5; cat a; echo 2 > b")
        running = asyncio.ensure_future(worker.command("f", code, on_output=lambda *_: begun.set()))
        await begun.wait()
        writing = asyncio.ensure_future(worker.perform("f", Operation(verb="write", path="a", contents=b"3")))
        assert await do(worker, "read", "a") == b"1" and not running.done()
        assert [one.path for one in (await running).changes.written] == ["/b"]
        assert [one.path for one in (await writing).changes.written] == ["/a"]

    play(scene)


def test_a_folder_takes_the_files_of_a_pack_or_of_another_but_for_what_is_kept(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await start(worker, FileEntry(path="/a", data=b"1"), FileEntry(path="/m/x", data=b"theirs"))
        packed = await worker.pack_folder("f")
        mine = FileEntry(path="/m/y", data=b"mine", readonly=True)
        for pack, source in ((packed.pack, None), (b"", "f")):
            await start(worker, mine, FileEntry(path="/b"), folder="g")
            done = await worker.replace_folder("g", pack, source, ["m"])
            assert (sorted(done.changes.removed), [one.path for one in done.changes.written]) == (["/b"], ["/a"])
            assert await do(worker, "read", "a", folder="g") == b"1"
            entries = msgspec.json.decode(await do(worker, "list", "m", folder="g", recursive=True))
            assert [(one["path"], one["mode"]) for one in entries] == [("y", 0o444)]

    play(scene)


def test_tm_iso_tenant_a_folder_is_no_session_and_a_session_no_folder(play: Play) -> None:
    """A caller chooses the ids of sessions: one must not reach a runner's files, which other rules may govern."""

    async def scene(worker: Worker) -> None:
        await start(worker, FileEntry(path="/a", data=b"1"))
        for verb in ("freeze", "tree"):
            with pytest.raises(RequestError):
                await getattr(worker, verb)("f")
        assert not await worker.is_open("f") and not await worker.close("f")
        assert await do(worker, "read", "a") == b"1"
        await worker.close_folder("f")
        with pytest.raises(RequestError, match="not open"):
            await do(worker, "read", "a")

    play(scene)
