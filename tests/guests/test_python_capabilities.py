"""Capabilities as Python programs call them: plainly, awaited, and handed to asyncio."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import hatchway
from sandbox.wire import RunResult
from tests.sandbox.outcomes import warning_of

PATIENT = {"wall_ms": 60_000, "cpu_ms": 20_000}


def slow(n: int) -> Any:
    return {"n": n} if n > 5 else n


def refuse() -> None:
    raise ValueError("not today")


@pytest.fixture
def box() -> Iterator[hatchway.Sandbox]:
    with hatchway.Sandbox(tools={"slow": slow, "refuse": refuse}, limits=PATIENT) as box:
        yield box


def value_of(result: RunResult) -> Any:
    assert result.error is None, result.error
    return result.result


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("tools.slow(1) + 1", 2),
        ("slow(7)['n']", 7),
        ("await tools.slow(7)", {"n": 7}),
        ("await slow(2)", 2),
        ("f = tools.slow\nawait f(7)", {"n": 7}),
        ("value = tools.slow(7)\nawait value", {"n": 7}),
        ("await asyncio.gather(tools.slow(1), slow(7))", [1, {"n": 7}]),
        ("await asyncio.gather(*[tools.slow(n) for n in (5, 6)], asyncio.sleep(0, 'slept'))", [5, {"n": 6}, "slept"]),
        ("values = [tools.slow(n) for n in (1, 1, 6)]\nawait asyncio.gather(*values)", [1, 1, {"n": 6}]),
        ("await asyncio.create_task(tools.slow(7))", {"n": 7}),
        ("slow(1)\nawait asyncio.wait_for(tools.slow(7), 1)", {"n": 7}),
        ("await asyncio.shield(tools.slow(7))", {"n": 7}),
        ("async with asyncio.TaskGroup() as group: task = group.create_task(tools.slow(7))\ntask.result()", {"n": 7}),
        ("sorted([await one for one in asyncio.as_completed([slow(2), slow(1)])])", [1, 2]),
        ("async def main(): return await asyncio.gather(slow(1), tools.slow(2))\nasyncio.run(main())", [1, 2]),
        ("asyncio.run(tools.slow(7))", {"n": 7}),
    ],
)
def test_capability_call_is_a_value_and_may_be_awaited(box: hatchway.Sandbox, program: str, expected: object) -> None:
    assert value_of(box.run(f"import asyncio\n{program}")) == expected


def test_module_of_the_program_may_await_capabilities(box: hatchway.Sandbox) -> None:
    box.files.write_file("/workspace/helper.py", b"async def fetch(n):\n    return await tools.slow(n)\n")
    assert value_of(box.run("from helper import fetch\nawait fetch(7)")) == {"n": 7}


def test_what_no_capability_answered_cannot_be_awaited(box: hatchway.Sandbox) -> None:
    for program in ("await 77777", "await asyncio.gather(77777)", "await asyncio.create_task({'n': 7})"):
        result = box.run(f"import asyncio\nslow(7)\n{program}")
        assert result.error is not None and result.error.message.startswith("TypeError")


def test_failure_of_a_call_goes_to_whoever_awaits_it(box: hatchway.Sandbox) -> None:
    gathered = box.run(
        "import asyncio\n"
        "answers = await asyncio.gather(tools.refuse(), slow(3), return_exceptions=True)\n"
        "[answers[0].code, answers[1]]"
    )
    assert value_of(gathered) == ["TOOL_ERROR", 3]
    task = box.run("task = asyncio.create_task(tools.refuse())\ntry: await task\nexcept ToolError as error: print(error)\n")
    assert task.stdout == "ValueError: not today\n"


def test_functions_that_are_no_capabilities_are_called_as_ever(box: hatchway.Sandbox) -> None:
    program = "import asyncio\ndef slow(n): return asyncio.sleep(0, -n)\nawait asyncio.gather(slow(7), asyncio.sleep(0, 1))"
    result = box.run(program)
    assert value_of(result) == [-7, 1] and result.metrics.external_calls_count == 0


def test_looking_at_tools_calls_none(box: hatchway.Sandbox) -> None:
    looked = box.run("[hasattr(tools, name) for name in ('slow', 'zzz', '_repr_mimebundle_')]")
    assert value_of(looked) == [True, False, False]
    shown = box.run("tools")
    assert warning_of(shown).code == "RESULT_NOT_SERIALIZABLE"
    assert looked.metrics.external_calls_count == shown.metrics.external_calls_count == 0


def test_capability_that_is_missing_is_no_call(box: hatchway.Sandbox) -> None:
    result = box.run("tools.slwo(1)")
    assert result.error is not None and (result.error.code, result.metrics.external_calls_count) == ("UNKNOWN_TOOL", 0)
    assert result.error.message == "there is no capability 'slwo'; did you mean 'slow'?"
    assert box.run("try: tools.slwo(1)\nexcept ToolError as error: print(error.code)").stdout == "UNKNOWN_TOOL\n"


def test_answers_that_the_program_dropped_take_no_memory() -> None:
    limits = PATIENT | {"memory_mb": 64, "max_external_calls": 500}
    with hatchway.Sandbox(tools={"slow": slow, "page": lambda: "x" * 1_000_000}, limits=limits) as box:
        assert value_of(box.run("kept = [slow(n) for n in range(300)]\nfor _ in range(150): page()\nlen(kept)")) == 300
