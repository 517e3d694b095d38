"""Every kind of worker, the same behaviour: runs that wait to be answered, and go on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sandbox.errors import RequestError
from sandbox.wire import DEFAULT_LIMITS, CallStatus, ErrorObject, Language, RunStatus
from sandbox.workers.interface import CallReply, Worker
from tests.sandbox.workers.scenes import Play, opening, run, value


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


@pytest.mark.parametrize(("most", "code"), [(3, None), (2, "EXTERNAL_CALLS_EXCEEDED")])
def test_every_call_of_a_run_that_waits_counts_once(play: Play, most: int, code: str | None) -> None:
    program = "tools.act('one')\ntools.act('two')\ntools.look('three')"

    async def scene(worker: Worker) -> None:
        limits, tools = msgspec.structs.replace(DEFAULT_LIMITS, max_external_calls=most), ["look", "act"]
        await worker.open(opening(limits=limits, tools=tools))
        answer, made = await _ask(worker, program, set())
        outcome = await run(worker, program, on_call=answer)
        for _ in range(2):
            assert outcome.recording is not None, outcome.result
            outcome = await worker.resume(
                opening(limits=limits, tools=tools), outcome.recording, CallReply(value=1), on_call=answer
            )
        assert (outcome.result.error.code if outcome.result.error else None) == code
        assert made == ([] if code else ["look three"])
        assert [call.name for call in outcome.result.external_calls] == ["act", "act", "look"][:most]
        assert outcome.result.metrics.external_calls_count == most

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
        assert outcome.result.ok and "too much to be suspended" in outcome.result.result

    play(scene)
