"""Every kind of worker, the same behaviour: programs beside a session."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import msgspec
import pytest

from sandbox.wire import DEFAULT_LIMITS, Language, RunStatus
from sandbox.workers.interface import Aside, CallReply, FileChanges, FileEntry, Worker
from tests.sandbox.workers.scenes import Play, compile_hello, opening, run, value


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


@pytest.mark.parametrize(
    ("code", "said", "written"),
    [
        ("echo *", "a f", []),
        ("cat f", "-file", []),
        ("[ -e f ] && echo there", "there", []),
        ("for one in f; do echo $one; done; echo new > b", "f", [("/b", b"new\n")]),
        ("mv f g && cat g", "-file", [("/g", b"-file")]),
        ("echo nothing", "nothing", []),
    ],
)
def test_an_asides_files_are_there_however_it_looks(play: Play, code: str, said: str, written: list[tuple[str, bytes]]) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "open('a', 'w').close()")
        files = [FileEntry(path="/f", data=b"-file")]
        outcome = await worker.aside("s", Aside(language=Language.SHELL, code=code, files=files, limits=DEFAULT_LIMITS))
        assert outcome.result.stdout.strip() == said, outcome
        assert [(one.path, one.data) for one in outcome.changes.written] == written

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
            outcome = await worker.aside("s", aside, on_call=inner)
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
