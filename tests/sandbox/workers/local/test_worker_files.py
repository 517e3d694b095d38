"""Every kind of worker, the same behaviour: files of runs and of the store."""

from __future__ import annotations

import pytest

from sandbox.errors import RequestError
from sandbox.workers.interface import FileChanges, FileEntry, FileName, Worker
from tests.sandbox.workers.scenes import Play, Shelf, code_of, opening, run, value


def test_files_of_a_run_are_told_once(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        code = (
            "import os\nos.makedirs('d/e')\nopen('d/e/f.txt', 'w').write('hi')\nos.symlink('d', 'l')\n"
            "os.link('d/e/f.txt', 'hard')\nopen('/tmp/not-mine', 'w').write('x')"
        )
        changes = (await run(worker, code)).changes
        assert {(one.path, one.kind, one.data) for one in changes.written} == {
            ("/d", "directory", b""),
            ("/d/e", "directory", b""),
            ("/d/e/f.txt", "file", b"hi"),
            ("/hard", "file", b"hi"),
            ("/l", "symlink", b"d"),
        }
        assert not (await run(worker, "open('d/e/f.txt').read()")).changes
        both = (await run(worker, "open('hard', 'a').write('!')")).changes
        assert {(one.path, one.data) for one in both.written} == {("/hard", b"hi!"), ("/d/e/f.txt", b"hi!")}
        gone = (await run(worker, "import shutil\nshutil.rmtree('d')\nos.remove('l')")).changes
        assert sorted(gone.removed) == ["/d", "/l"] and not gone.written

    play(scene)


def test_a_file_in_place_of_a_directory_is_both_removed_and_written(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "import os\nos.mkdir('a')\nopen('a/x', 'w').close()")
        changes = (await run(worker, "os.remove('a/x')\nos.rmdir('a')\nopen('a', 'w').write('file')")).changes
        assert changes.removed == ["/a"]
        assert [(one.path, one.kind) for one in changes.written] == [("/a", "file")]

    play(scene)


def test_a_moved_directory_is_told_with_its_contents(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "import os\nos.makedirs('a/b')\nopen('a/b/x', 'w').write('1')\nopen('keep', 'w').write('2')")
        changes = (await run(worker, "os.rename('a', 'z')")).changes
        assert changes.removed == ["/a"]
        assert [one.path for one in changes.written] == ["/z", "/z/b", "/z/b/x"]

    play(scene)


def test_files_of_the_store_are_there(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        shelf = Shelf({"/a.txt": b"one", "/d/b.txt": b"two"})
        shelf.tree.append(FileName(path="/d", kind="directory"))
        await worker.sync("s", shelf.tree, fetch=shelf.fetch)
        assert await value(worker, "open('a.txt').read() + open('/workspace/d/b.txt').read()") == "onetwo"
        assert not (await run(worker, "1")).changes

    play(scene)


def test_only_what_is_missing_is_fetched(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "open('mine', 'w').write('one')\nopen('old', 'w').write('x')")
        shelf = Shelf({"/a.txt": b"one", "/b.txt": b"two"})
        await worker.sync("s", shelf.tree, fetch=shelf.fetch)
        assert shelf.fetched == [b"two"] or sorted(shelf.fetched) == [b"one", b"two"]
        assert await value(worker, "import os; sorted(os.listdir())") == ["a.txt", "b.txt"]
        shelf.fetched.clear()
        await worker.sync("s", shelf.tree, fetch=shelf.fetch)
        assert shelf.fetched == []

    play(scene)


def test_readonly_files_of_the_store_stay_so(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await worker.apply("s", FileChanges(written=[FileEntry(path="/a/r.txt", data=b"fixed", readonly=True)]))
        assert code_of((await run(worker, "open('a/r.txt', 'w')")).result) == "RUNTIME_ERROR"
        await worker.apply("s", FileChanges(removed=["/a/r.txt"]))
        assert not await value(worker, "import os; os.path.exists('a/r.txt')")

    play(scene)


def test_changes_that_do_not_fit_change_nothing(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(total_bytes=1000))
        await worker.apply("s", FileChanges(written=[FileEntry(path="/a", data=b"a")]))
        with pytest.raises(RequestError):
            await worker.apply("s", FileChanges(removed=["/a"], written=[FileEntry(path="/b", data=bytes(2000))]))
        with pytest.raises(RequestError):
            await worker.apply("s", FileChanges(written=[FileEntry(path="/../etc/x", data=b"")]))
        assert await value(worker, "import os; os.listdir()") == ["a"]

    play(scene)


def test_the_whole_tree_is_told_when_asked_for(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening("maker"))
        await run(worker, "import os\nos.mkdir('d')\nopen('d/x', 'w').write('1')", "maker")
        await worker.open(opening(packs=[(await worker.freeze("maker")).pack]))
        tree = await worker.tree("s")
        assert not tree.removed and [(one.path, one.data) for one in tree.written] == [("/d", b""), ("/d/x", b"1")]
        assert not (await run(worker, "1")).changes

    play(scene)
