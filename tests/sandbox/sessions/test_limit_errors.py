"""What a run says of the limit that ended it, in every language."""

from __future__ import annotations

import msgspec
import pytest

from hatchway import Sandbox
from sandbox.limits import DEFAULT_LIMITS, MOST
from sandbox.sessions.limit_errors import KEPT, LIMIT_LOWERED, UNDONE, explain_end, tell_lowered
from sandbox.wire import ErrorObject, RunResult, Severity

LONG = {"wall_ms": 20_000, "cpu_ms": 20_000}
OF_SESSION = "a run cannot raise it: open the session with larger limits."
ENDLESS = {"python": "while True: pass", "javascript": "for (;;);", "typescript": "for (;;);", "shell": "while :; do :; done"}
DEEP = {
    "python": "def f(): return f()\nf()",
    "javascript": "function f() { return f() }; f()",
    "typescript": "function f(): number { return f() }; f()",
    "shell": "f() { f; }; f",
}
GREEDY = {
    "python": "x = []\nwhile True: x.append('x' * 1_000_000)",
    "javascript": "x = []; for (;;) x.push(new Array(10000).fill(x.length))",
    "typescript": "var x: unknown[] = []; for (;;) x.push(new Array(10000).fill(x.length))",
    "shell": "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done",
}


def told(result: RunResult) -> tuple[str, str, str]:
    assert result.error is not None and result.diagnostics[0].message == result.error.message
    return result.error.code, result.error.message, result.error.hint or ""


@pytest.mark.parametrize("language", ENDLESS)
def test_a_run_out_of_time_names_the_limit_its_value_and_who_raises_it(language: str) -> None:
    with Sandbox(language=language, limits=LONG) as box:
        code, message, hint = told(box.run(ENDLESS[language], timeout_ms=50))
        assert code == "TIMEOUT_WALL" and "(limits.wall_ms is 50)" in message and UNDONE in message
        assert hint == "the run asked for less than it may have: raise its limits.wall_ms or timeout_ms, to at most 20000"
        code, message, hint = told(box.run(ENDLESS[language], limits={"cpu_ms": 30}))
        assert code == "TIMEOUT_CPU" and "(limits.cpu_ms is 30)" in message and UNDONE in message


@pytest.mark.parametrize("language", DEEP)
def test_a_run_that_recursed_too_deeply_names_the_limit(language: str) -> None:
    with Sandbox(language=language, limits=LONG) as box:
        code, message, hint = told(box.run(DEEP[language]))
        assert code == "STACK_OVERFLOW" and "(limits.max_stack_depth is 1000)" in message and UNDONE in message
        assert hint.startswith(OF_SESSION + "max_stack_depth")


@pytest.mark.parametrize("language", GREEDY)
def test_a_run_out_of_memory_names_the_limit(language: str) -> None:
    with Sandbox(language=language, limits={**LONG, "memory_mb": 32}) as box:
        code, message, hint = told(box.run(GREEDY[language]))
        assert code == "MEMORY_EXCEEDED" and "(limits.memory_mb is 32)" in message and UNDONE in message
        assert hint.startswith(OF_SESSION + "memory_mb")


def test_files_of_earlier_runs_are_named_where_they_take_memory() -> None:
    with Sandbox(limits={**LONG, "memory_mb": 32}) as box:
        box.run("open('a', 'wb').write(bytes(10 << 20))").check()
        assert "(limits.memory_mb is 32, of which files that runs wrote take 10)" in told(box.run(GREEDY["python"]))[1]


def test_calls_that_cannot_be_undone_are_counted() -> None:
    with Sandbox(tools={"send": lambda: None}, limits={"max_external_calls": 3}) as box:
        result = box.run("while True: tools.send()")
        assert told(result)[0] == "EXTERNAL_CALLS_EXCEEDED" and "(limits.max_external_calls is 3)" in told(result)[1]
        assert told(result)[1].endswith("what its 3 capability calls did outside is not undone")
        assert result.metrics.external_calls_count == len(result.external_calls) == 3


def test_an_error_of_no_limit_names_none() -> None:
    error = ErrorObject(code="RUNTIME_ERROR", message="the guest broke off", hint="h")
    ended = explain_end(error, DEFAULT_LIMITS, None, UNDONE, 0, 0)
    assert (ended.message, ended.hint) == (f"the guest broke off; {UNDONE}", "h")
    native = ErrorObject(code="STACK_OVERFLOW", message="too deep", hint="nest calls less deeply")
    assert explain_end(native, DEFAULT_LIMITS, None, KEPT, 2, 0).message == f"too deep; {KEPT}"


def test_a_limit_that_was_lowered_is_told_at_once() -> None:
    with Sandbox() as box:
        result = box.run("1", limits={"memory_mb": 256}, timeout_ms=60_000)
        assert result.ok and [(one.code, one.severity) for one in result.diagnostics] == [(LIMIT_LOWERED, Severity.WARNING)] * 2
        assert result.diagnostics[0].message == "limits.memory_mb is 64 for this run, not 256: the session allows no more"
        assert box.run("1", limits={"memory_mb": 32}, timeout_ms=100).diagnostics == []
        assert LIMIT_LOWERED in [one.code for one in box.run("1 / 0", timeout_ms=60_000).diagnostics]


def test_a_policy_that_lowers_a_limit_is_named() -> None:
    most = msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=32)
    assert tell_lowered(None, None, DEFAULT_LIMITS, most) == []
    asked = msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=128)
    for found in (tell_lowered(None, None, asked, most), tell_lowered(asked, None, MOST, most)):
        assert [one.message for one in found if "memory_mb" in one.message] == [
            "limits.memory_mb is 32 for this run, not 128: the policy allows no more"
        ]
