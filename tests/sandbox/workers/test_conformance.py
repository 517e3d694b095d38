"""Every kind of worker, the same behaviour: sessions, files, calls, waits, heaps."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest

from sandbox.errors import RequestError
from sandbox.wire import DEFAULT_LIMITS, CallStatus, ErrorObject, Language, RunStatus
from sandbox.workers.interface import Aside, CallReply, FileChanges, FileEntry, FileName, Worker, Workers
from sandbox.workers.local import LocalWorkers
from sandbox.workers.remote import ProcessWorkers
from tests.sandbox.workers.scenes import Shelf, code_of, compile_hello, opening, request, run, value

Scene = Callable[[Worker], Awaitable[None]]
Play = Callable[[Scene], None]


@pytest.fixture(scope="module", params=["local", "process"])
def stage(request: pytest.FixtureRequest) -> Iterator[tuple[asyncio.Runner, Workers]]:
    """Workers of one kind, and the event loop they are used on."""
    with asyncio.Runner() as runner:
        workers: Workers = LocalWorkers(cores=2) if request.param == "local" else ProcessWorkers()
        yield runner, workers
        runner.run(workers.aclose())


@pytest.fixture
def play(stage: tuple[asyncio.Runner, Workers], request: pytest.FixtureRequest) -> Play:
    """Plays a scene with a worker of a tenant that nobody else is."""
    runner, workers = stage

    def played(scene: Scene) -> None:
        async def main() -> None:
            await asyncio.wait_for(scene(await workers.of(request.node.name)), 60)

        runner.run(main())

    return played


def test_a_session_keeps_its_variables(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = 20")
        assert await value(worker, "x + 1") == 21
        assert await worker.is_open("s") and not await worker.is_open("other")

    play(scene)


def test_results_come_back_as_they_are(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        made = "{'a': [1, 2.5, None, True, 'ü'], 'big': 2**70, 'empty': {}}"
        assert await value(worker, made) == {"a": [1, 2.5, None, True, "ü"], "big": 2**70, "empty": {}}

    play(scene)


def test_a_program_that_fails_is_a_result(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        outcome = await run(worker, "1/0")
        assert outcome.result.status is RunStatus.RUNTIME_ERROR and not outcome.changes

    play(scene)


def test_what_is_not_open_is_refused(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        refused: list[Awaitable[Any]] = [
            run(worker, "1"),
            worker.freeze("s"),
            worker.fork("s", "t"),
            worker.apply("s", FileChanges()),
            worker.sync("s", [], Shelf({}).fetch),
        ]
        for one in refused:
            with pytest.raises(RequestError) as caught:
                await one
            assert caught.value.error.code == "SESSION_NOT_FOUND"
        assert not await worker.close("s") and not await worker.cancel("s")

    play(scene)


def test_a_closed_session_is_gone(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        assert await worker.close("s")
        assert not await worker.is_open("s")

    play(scene)


def test_opening_again_starts_anew(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = 1")
        await worker.open(opening())
        assert await value(worker, "'x' in globals()") is False

    play(scene)


def test_output_is_shown_as_it_comes_and_in_order(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["wait"]))
        shown: list[tuple[int, bytes]] = []
        before: list[bytes] = []

        async def wait(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            while b"first" not in b"".join(data for _, data in shown):
                await asyncio.sleep(0)
            before.extend(data for _, data in shown)
            return CallReply()

        code = "import sys\nprint('first', flush=True)\ntools.wait()\nprint('second')\nprint('oops', file=sys.stderr)"
        outcome = await run(worker, code, on_output=lambda stream, data: shown.append((stream, data)), on_call=wait)
        assert b"".join(before) == b"first\n"
        assert b"".join(data for stream, data in shown if stream == 0) == b"first\nsecond\n" == outcome.result.stdout.encode()
        assert b"".join(data for stream, data in shown if stream == 1) == b"oops\n"

    play(scene)


def test_two_runs_of_one_session_never_interleave(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "seen = []")
        await asyncio.gather(*(value(worker, f"seen.append({n}); sum(range(10000)); seen.append({n})") for n in range(6)))
        seen = await value(worker, "seen")
        assert seen[::2] == seen[1::2] and sorted(seen[::2]) == list(range(6))

    play(scene)


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
        await worker.sync("s", shelf.tree, shelf.fetch)
        assert await value(worker, "open('a.txt').read() + open('/workspace/d/b.txt').read()") == "onetwo"
        assert not (await run(worker, "1")).changes

    play(scene)


def test_only_what_is_missing_is_fetched(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "open('mine', 'w').write('one')\nopen('old', 'w').write('x')")
        shelf = Shelf({"/a.txt": b"one", "/b.txt": b"two"})
        await worker.sync("s", shelf.tree, shelf.fetch)
        assert shelf.fetched == [b"two"] or sorted(shelf.fetched) == [b"one", b"two"]
        assert await value(worker, "import os; sorted(os.listdir())") == ["a.txt", "b.txt"]
        shelf.fetched.clear()
        await worker.sync("s", shelf.tree, shelf.fetch)
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


def test_tm_iso_worker_calls_are_decided_by_whoever_runs(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["double", "fail"]))
        asked: list[Any] = []

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            asked.append((name, args, kwargs))
            if name == "fail":
                return CallReply(error=ErrorObject(code="PERMISSION_DENIED", message="no"))
            return CallReply(value=args[0] * 2)

        outcome = await run(worker, "tools.double(21, name='x')", on_call=answer)
        assert outcome.result.result == 42 and asked == [("double", [21], {"name": "x"})]
        failed = await run(worker, "tools.fail()", on_call=answer)
        assert [call.status for call in failed.result.external_calls] == [CallStatus.DENIED]
        assert not (await run(worker, "tools.double(1)")).result.ok

    play(scene)


def test_an_answer_that_fails_tells_the_guest_nothing(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["broken"]))

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            raise ValueError("the password is hunter2")

        outcome = await run(worker, "tools.broken()", on_call=answer)
        assert not outcome.result.ok and "hunter2" not in str(outcome.result)

    play(scene)


def test_a_run_that_waits_for_a_call_holds_no_slot(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        release = asyncio.Event()
        waiting = 0

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            nonlocal waiting
            waiting += 1
            await release.wait()
            return CallReply(value=1)

        for n in range(8):
            await worker.open(opening(f"s{n}", tools=["wait"]))
        runs = [asyncio.create_task(run(worker, "tools.wait()", f"s{n}", on_call=answer)) for n in range(8)]
        while waiting < 8:
            await asyncio.sleep(0)
        await worker.open(opening("free"))
        assert await value(worker, "1 + 1", "free") == 2
        release.set()
        assert [(await one).result.result for one in runs] == [1] * 8

    play(scene)


def test_sleeping_runs_hold_no_slot(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        for n in range(6):
            await worker.open(opening(f"s{n}"))
        shown: set[int] = set()
        code = "import time\nprint('asleep', flush=True)\ntime.sleep(4)"
        runs = [asyncio.create_task(run(worker, code, f"s{n}", on_output=lambda _, __, n=n: shown.add(n))) for n in range(6)]
        while len(shown) < 6:
            await asyncio.sleep(0.001)
        assert not any(one.done() for one in runs)
        for n in range(6):
            assert await worker.cancel(f"s{n}")
        assert {(await one).result.status for one in runs} == {RunStatus.CANCELLED}

    play(scene)


def test_a_cancelled_run_leaves_its_session_as_before(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = 1")
        begun = asyncio.Event()
        code = "x = 2\nopen('f', 'w').close()\nprint(1, flush=True)\nwhile True: pass"
        task = asyncio.create_task(run(worker, code, on_output=lambda _, __: begun.set()))
        await begun.wait()
        assert (await worker.status()).running == ["s"]
        assert await worker.cancel("s")
        outcome = await task
        assert outcome.result.status is RunStatus.CANCELLED and not outcome.changes
        assert await value(worker, "x") == 1

    play(scene)


def test_cancelling_the_task_cancels_the_run(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(limits=msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=60_000, cpu_ms=60_000)))
        begun = asyncio.Event()
        task = asyncio.create_task(run(worker, "print(1, flush=True)\nwhile True: pass", on_output=lambda _, __: begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await value(worker, "1") == 1

    play(scene)


def test_a_heap_goes_on_elsewhere(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = iter(range(10)); [next(x), next(x)]")
        frozen = await worker.freeze("s", label="here")
        assert frozen.base is None
        await worker.open(opening("t", packs=[frozen.pack]))
        assert await value(worker, "next(x)", "t") == 2
        assert await value(worker, "next(x)", "s") == 2

    play(scene)


def test_a_chain_of_differences_is_a_heap(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        packs = []
        base = None
        for n in range(3):
            code = f"x{n} = '{n}' * 100000\nopen('f{n}', 'w').write('{n}' * 5000)"
            frozen = (await run(worker, code, freeze=True, base=base)).frozen
            assert frozen is not None and frozen.base == base
            packs.append(frozen.pack)
            base = frozen.id
        assert len(packs[2]) < len(packs[0])
        await worker.open(opening("t", packs=packs))
        assert await value(worker, "[x0[0], x1[0], x2[0], open('f1').read(1)]", "t") == ["0", "1", "2", "1"]
        with pytest.raises(RequestError) as caught:
            await worker.open(opening("u", packs=packs[1:]))
        assert caught.value.error.code == "SNAPSHOT_CORRUPT"

    play(scene)


def test_an_unknown_base_gives_a_whole_pack(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        assert (await worker.freeze("s", base="0" * 64)).base is None

    play(scene)


def test_packs_that_are_damaged_open_nothing(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        for packs in ([b""], [b"garbage"], [b"\x00" * 1000]):
            with pytest.raises(RequestError):
                await worker.open(opening(packs=packs))
        assert not await worker.is_open("s")

    play(scene)


def test_a_template_is_sent_once(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening("maker"))
        await value(worker, "warm = [1, 2, 3]", "maker")
        pack = (await worker.freeze("maker")).pack
        assert not await worker.is_known("warm")
        await worker.open(opening("a", template="warm", packs=[pack]))
        assert await worker.is_known("warm")
        await worker.open(opening("b", template="warm"))
        await value(worker, "warm.append(4)", "a")
        assert await value(worker, "warm", "b") == [1, 2, 3]
        with pytest.raises(RequestError):
            await worker.open(opening("c", template="unheard-of"))

    play(scene)


def test_the_memory_of_a_template_is_not_charged_after_a_pause(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        large, small = (msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=mb, wall_ms=20_000, cpu_ms=20_000) for mb in (64, 8))
        await worker.open(opening("maker", large))
        await value(worker, "data = bytearray(24 << 20); data[::4096] = b'x' * len(data[::4096])", "maker")
        await worker.open(opening("a", small, template="big", packs=[(await worker.freeze("maker")).pack]))
        frozen = (await run(worker, "y = 5", "a", freeze=True)).frozen
        assert frozen is not None and frozen.free_bytes > 20 << 20
        with pytest.raises(RequestError):
            await worker.open(opening("b", small, packs=[frozen.pack]))
        await worker.open(opening("b", small, packs=[frozen.pack], free_bytes=frozen.free_bytes))
        assert await value(worker, "y + len(data)", "b") == 5 + (24 << 20)
        await worker.fork("b", "c")
        assert await value(worker, "y", "c") == 5
        assert code_of((await run(worker, "more = bytearray(16 << 20)", "c")).result) == "MEMORY_EXCEEDED"

    play(scene)


def test_a_fork_is_independent(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "x = 1\nopen('f', 'w').write('1')")
        await worker.fork("s", "t")
        await run(worker, "x = 2\nopen('f', 'w').write('2')", "t")
        assert await value(worker, "[x, open('f').read()]", "s") == [1, "1"]
        assert await value(worker, "[x, open('f').read()]", "t") == [2, "2"]
        first = await run(worker, "import random; random.random()", "s")
        other = await run(worker, "import random; random.random()", "t")
        assert first.result.result != other.result.result

    play(scene)


def test_languages_share_the_files(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "open('a.txt', 'w').write('hi')")
        shell = await run(worker, "cat a.txt; echo more > b.txt", language=Language.SHELL)
        assert shell.result.stdout == "hi" and [one.path for one in shell.changes.written] == ["/b.txt"]
        script = await run(worker, "const x: number = 2; x * 21", language=Language.TYPESCRIPT)
        assert script.result.result == 42

    play(scene)


def test_a_long_typescript_source_is_run(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        code = "\n".join(f"const value{n}: number = {n};" for n in range(200)) + "\nvalue199 + 1"
        result = (await run(worker, code, language=Language.TYPESCRIPT)).result
        assert result.result == 200, result

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


def test_an_aside_sees_the_files_and_changes_nothing(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "open('a', 'w').write('one')\nimport builtins\nbuiltins.open = None")
        code = "import os, sys; open('b', 'w').write(open('a').read() + sys.stdin.read() + os.environ['E'] + open('f').read())"
        aside = Aside(
            language=Language.PYTHON,
            code=code,
            stdin=b"-in",
            env={"E": "-env"},
            files=[FileEntry(path="/f", data=b"-file")],
            changes=[FileChanges(written=[FileEntry(path="/earlier", data=b"1")])],
            limits=DEFAULT_LIMITS,
        )
        outcome = await worker.aside("s", aside)
        assert outcome.result.ok, outcome
        assert [(one.path, one.data) for one in outcome.changes.written] == [("/b", b"one-in-env-file")]
        assert await value(worker, "import os; os.listdir()") == ["a"]
        failed = await worker.aside("s", msgspec.structs.replace(aside, code="open('c', 'w').close(); 1/0"))
        assert not failed.result.ok and not failed.changes

    play(scene)


def test_an_aside_runs_while_a_call_waits_and_may_call_too(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["check"]))
        seen: list[Any] = []

        async def inner(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            return CallReply(value=f"inner {args[0]}")

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            aside = Aside(
                language=Language.PYTHON,
                code="tools.ask(open('half').read())",
                limits=DEFAULT_LIMITS,
                tools=opening(tools=["ask"]).tools,
            )
            outcome = await worker.aside("s", aside, inner)
            seen.append(outcome.result.result)
            return CallReply(value=1)

        outcome = await run(worker, "open('half', 'w').write('done')\ntools.check()", on_call=answer)
        assert outcome.result.result == 1 and seen == ["inner done"]

    play(scene)


def test_an_aside_may_be_a_wasm_module(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        aside = Aside(module=compile_hello(), filename="hello", limits=DEFAULT_LIMITS)
        outcome = await worker.aside("s", aside)
        assert outcome.result.stdout == "hello\n" and outcome.result.exit_code == 3, outcome

    play(scene)


def test_asides_are_fresh_every_time_and_each_has_its_own_environment(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        for number in range(5):
            aside = Aside(
                language=Language.SHELL, code='echo "$N ${x:-fresh}"; x=1; ls', env={"N": str(number)}, limits=DEFAULT_LIMITS
            )
            assert (await worker.aside("s", aside)).result.stdout == f"{number} fresh\n"

    play(scene)


@pytest.mark.parametrize("code", ["yes", "yes >&2", "echo 12345 >&2; echo 12345"])
def test_tm_hook_003_an_aside_that_prints_too_much_is_ended(play: Play, code: str) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        limits = msgspec.structs.replace(DEFAULT_LIMITS, max_stdout_bytes=11)
        aside = Aside(language=Language.SHELL, code=f"echo 1 > f; {code}", limits=limits)
        outcome = await worker.aside("s", aside)
        assert outcome.is_cut and not outcome.changes
        whole = await worker.aside("s", msgspec.structs.replace(aside, code="echo 1234567890; echo 1 > f"))
        assert whole.result.ok and not whole.is_cut and len(whole.changes.written) == 1

    play(scene)


def test_an_aside_whose_time_was_spent_waiting_does_not_begin(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        long, short = (msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=wall_ms) for wall_ms in (200, 1))
        endless = Aside(language=Language.SHELL, code="while :; do :; done", limits=long)
        busy = [asyncio.create_task(worker.aside("s", endless)) for _ in range(max(2, os.cpu_count() or 1))]
        await asyncio.sleep(0)
        outcome = await worker.aside("s", Aside(language=Language.SHELL, code="echo begun", limits=short))
        assert outcome.result.status is RunStatus.TIMEOUT and outcome.result.stdout == ""
        assert {one.result.status for one in await asyncio.gather(*busy)} == {RunStatus.TIMEOUT}

    play(scene)


async def _ask(worker: Worker, code: str, approved: set[str]) -> tuple[Any, list[str]]:
    """A run with two kinds of calls: `look` is answered at once, `act` waits until it is approved."""
    made: list[str] = []

    async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
        if name == "act" and args[0] not in approved:
            return CallReply(suspended=True)
        made.append(f"{name} {args[0]}")
        return CallReply(value=f"did {args[0]}")

    return answer, made


def test_a_run_that_waits_goes_on_when_it_is_answered(play: Play) -> None:
    code = (
        "import random, time\nn = random.random()\nprint('before', n, time.time(), flush=True)\n"
        "tools.look('one')\nfirst = tools.act('two')\nopen('done', 'w').write(first)\nprint('after', n)\nfirst"
    )

    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["look", "act"]))
        await value(worker, "kept = 7")
        answer, made = await _ask(worker, code, set())
        waiting = await run(worker, code, on_call=answer, freeze=True)
        assert waiting.result.status is RunStatus.WAITING_FOR_APPROVAL and waiting.recording is not None
        assert waiting.frozen is None and not waiting.changes and made == ["look one"]
        assert await value(worker, "'first' in globals()") is False
        shown: list[bytes] = []
        done = await worker.resume(
            opening(tools=["look", "act"]),
            waiting.recording,
            CallReply(value="approved"),
            on_output=lambda _, data: shown.append(data),
            on_call=answer,
            freeze=True,
        )
        result = done.result
        assert result.ok and result.result == "approved" and made == ["look one"]
        assert result.stdout.startswith(waiting.result.stdout)
        assert b"".join(shown) == result.stdout.encode()[len(waiting.result.stdout) :]
        assert [(one.path, one.data) for one in done.changes.written] == [("/done", b"approved")]
        assert [(call.name, call.status) for call in result.external_calls] == [("look", CallStatus.OK), ("act", CallStatus.OK)]
        assert done.frozen is not None
        assert await value(worker, "[kept, first, open('done').read()]") == [7, "approved", "approved"]

    play(scene)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        (Language.JAVASCRIPT, "console.log((await tools.act('x')) + '!')"),
        (Language.TYPESCRIPT, "const said: string = await tools.act('x'); console.log(said + '!')"),
        (Language.SHELL, "act x | tr -d '\"' | sed 's/$/!/'"),
    ],
)
def test_a_run_waits_in_any_language(play: Play, language: Language, code: str) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["act"]))
        answer, _ = await _ask(worker, code, set())
        waiting = await run(worker, code, language=language, on_call=answer)
        assert waiting.recording is not None, waiting.result
        done = await worker.resume(opening(tools=["act"]), waiting.recording, CallReply(value="yes"), on_call=answer)
        assert done.result.ok and done.result.stdout == "yes!\n", done.result

    play(scene)


def test_a_run_may_wait_twice_and_calls_are_made_once(play: Play) -> None:
    code = "a = tools.act('one')\nb = tools.look('two')\nc = tools.act('three')\n[a, b, c]"

    async def scene(worker: Worker) -> None:
        tools = ["look", "act"]
        await worker.open(opening(tools=tools))
        approved: set[str] = set()
        answer, made = await _ask(worker, code, approved)
        outcome = await run(worker, code, on_call=answer)
        for step in ("one", "three"):
            assert outcome.result.status is RunStatus.WAITING_FOR_APPROVAL and outcome.recording is not None
            approved.add(step)
            outcome = await worker.resume(opening(tools=tools), outcome.recording, None, on_call=answer)
        assert outcome.result.result == ["did one", "did two", "did three"]
        assert made == ["act one", "look two", "act three"]
        assert [call.name for call in outcome.result.external_calls] == ["act", "look", "act"]

    play(scene)


def test_a_refused_wait_is_an_error_in_the_program(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["act"]))
        code = "try:\n    tools.act(1)\nexcept Exception as error:\n    said = str(error)\nsaid"
        answer, _ = await _ask(worker, code, set())
        waiting = await run(worker, code, on_call=answer)
        assert waiting.recording is not None
        no = CallReply(error=ErrorObject(code="PERMISSION_DENIED", message="the approver said no"))
        done = await worker.resume(opening(tools=["act"]), waiting.recording, no, on_call=answer)
        assert "the approver said no" in done.result.result

    play(scene)


def test_a_recording_that_is_damaged_or_anothers_is_refused(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["act"]))
        answer, _ = await _ask(worker, "", set())
        waiting = await run(worker, "tools.act(1)", on_call=answer)
        assert waiting.recording is not None
        for data in (b"", b"garbage", waiting.recording[:-1], waiting.recording + b"x"):
            with pytest.raises(RequestError):
                await worker.resume(opening(tools=["act"]), data, None, on_call=answer)
        with pytest.raises(RequestError):
            await worker.resume(opening("other", tools=["act"]), waiting.recording, None, on_call=answer)
        assert await worker.is_open("s")

    play(scene)


def test_a_run_with_a_full_journal_goes_on_but_cannot_wait(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        limits = msgspec.structs.replace(DEFAULT_LIMITS, cpu_ms=60_000, wall_ms=60_000)
        await worker.open(opening(limits=limits, tools=["act"]))
        answer, _ = await _ask(worker, "", set())
        fill = "import os\nfor _ in range(33): os.urandom(1 << 20)\n"
        code = fill + "try: why = tools.act(1)\nexcept Exception as error: why = str(error)\nwhy"
        outcome = await run(worker, code, on_call=answer)
        assert outcome.result.ok and "too much to be put away" in outcome.result.result

    play(scene)


def test_status_tells_memory_of_sessions(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = bytearray(8 << 20); x[::4096] = b'x' * len(x[::4096])")
        assert (await worker.status()).memory_bytes["s"] > 8 << 20

    play(scene)


def test_tools_of_one_run_take_the_place_of_the_sessions(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["one"]))

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            return CallReply(value=name)

        other = opening(tools=["two"]).tools
        outcome = await worker.run(request("tools.two()"), on_call=answer, tools=other)
        assert outcome.result.result == "two"

    play(scene)
