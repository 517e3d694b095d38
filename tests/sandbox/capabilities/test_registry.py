"""Capabilities: calling, awaiting, failing, records with digests, sizes, times, and functions that misbehave."""

from __future__ import annotations

import contextvars
import datetime
import hashlib
import sys
import threading
from typing import Any

import pytest

import hatchway
from hatchway import Capability, CapabilityLimits, RequestError, ToolError
from sandbox.capabilities.registry import Registry, declaration_digest, digest_bytes, digest_json, stand_in
from sandbox.errors import Suspend
from sandbox.wire import RunResult
from tests.conftest import NewBox


def sha3(text: str) -> str:
    return hashlib.sha3_256(text.encode()).hexdigest()


def record_of(result: RunResult) -> tuple[str, str, str | None]:
    (record,) = result.external_calls
    return record.name, record.status.value, record.error.code if record.error else None


@pytest.fixture
def adder(new_box: NewBox) -> hatchway.Sandbox:
    async def later(a: int, b: int = 0) -> int:
        return a + b

    return new_box(tools={"add": lambda a, b=0: a + b, "later": later})


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "tools.add(2, b=3)"),
        ("python", "await tools.add(2, b=3)"),
        ("python", "add(2, b=3)"),
        ("python", "tools.later(2, 3)"),
        ("python", "await tools.later(2, b=3)"),
        ("python", "async def f():\n    return await tools.add(2, 3)\nawait f()"),
        ("python", "import asyncio\nasync def f(): return tools.add(2, 3)\n(await asyncio.gather(f()))[0]"),
        ("javascript", "await tools.add(2, 3)"),
        ("javascript", "await tools.later(2, 3)"),
        ("type_script", "const n: number = await tools.add(2, 3); n"),
    ],
)
def test_capability_is_called_as_people_write_it(adder: hatchway.Sandbox, language: str, code: str) -> None:
    result = adder.run(code, language=language)
    assert (result.result, result.error) == (5, None)
    assert result.metrics.external_calls_count == 1 and len(result.external_calls) == 1


def test_capability_is_called_from_the_shell_as_a_command(new_box: NewBox) -> None:
    box = new_box(language="shell", tools={"greet": lambda name: f"hello {name}"})
    assert "hello ann" in box.run("greet ann").stdout


@pytest.mark.parametrize("value", [None, True, 0, -1, 2**53, 1.5, "", "é\u2028\0", [], {}, [[1], {"a": [None]}], {"é": {"b": 1}}])
def test_values_come_and_go_unchanged(new_box: NewBox, value: Any) -> None:
    box = new_box(tools={"echo": lambda v: v})
    assert box.run("tools.echo(v)", inputs={"v": value}).result == value
    assert box.run("await tools.echo([v])", language="javascript", inputs={"v": value}).result == [
        value
    ]  # one object alone means names


def test_record_has_the_digests_of_request_and_response(adder: hatchway.Sandbox) -> None:
    (record,) = adder.run("tools.add(2, b=3)").external_calls
    assert record.request_digest == sha3('{"args":[2],"kwargs":{"b":3},"name":"add"}')
    assert record.response_digest == sha3("5")
    assert (record.status.value, record.side_effect.value, record.error) == ("ok", "none", None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": {"d": [1, 2.5, None], "c": "é"}}, '{"a":{"c":"é","d":[1,2.5,null]},"b":1}'),
        ([], "[]"),
        ("", '""'),
        (1e16, "1e16"),
        (True, "true"),
        ('"\n\\', '"\\"\\n\\\\"'),
    ],
)
def test_digest_is_sha3_256_of_compact_json_with_sorted_keys(value: Any, text: str) -> None:
    assert digest_json(value) == sha3(text)


def test_hash_is_the_one_of_the_standard() -> None:
    assert digest_json(None) == sha3("null")
    assert sha3("") == "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"


def refuse(code: str) -> Any:
    def function() -> None:
        raise ToolError(code, "no")

    return function


@pytest.mark.parametrize(
    ("function", "code", "call_status", "status"),
    [
        (refuse("PERMISSION_DENIED"), "PERMISSION_DENIED", "denied", "permission_denied"),
        (refuse("QUOTA"), "QUOTA", "error", "runtime_error"),
        (refuse("TOOL_ERROR"), "TOOL_ERROR", "error", "runtime_error"),
        (lambda: 1 / 0, "TOOL_ERROR", "error", "runtime_error"),
        (lambda: object(), "TOOL_ERROR", "error", "runtime_error"),
        (lambda: sys.exit(3), "TOOL_ERROR", "error", "runtime_error"),
        (lambda missing: 0, "TOOL_ERROR", "error", "runtime_error"),
        (lambda: "x" * 200, "TOOL_ERROR", "error", "runtime_error"),
        (lambda: "\ud800", "TOOL_ERROR", "error", "runtime_error"),
    ],
)
def test_failure_of_a_capability_reaches_program_record_and_result(
    new_box: NewBox, function: Any, code: str, call_status: str, status: str
) -> None:
    box = new_box()
    box.registry.register(Capability(name="fail", limits=CapabilityLimits(max_response_bytes=100)), function)
    for language, call in (("python", "tools.fail()"), ("javascript", "await tools.fail()")):
        result = box.run(call, language=language)
        assert result.error is not None and (result.error.code, result.status.value) == (code, status)
        assert record_of(result) == ("fail", call_status, code)
        assert result.external_calls[0].response_digest is None
    caught = box.run("try: tools.fail()\nexcept ToolError as error: said = error.code\nsaid")
    assert caught.result == code
    assert box.run("try { await tools.fail() } catch (e) { e.code }", language="javascript").result == code


def test_values_json_does_not_know_are_written_as_json_can(new_box: NewBox) -> None:
    when = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    box = new_box(tools={"now": lambda: {"when": when, "set": {1}, "big": 2**70}})
    result = box.run("tools.now()")
    assert result.result == {"when": "2026-01-02T00:00:00Z", "set": [1], "big": 2**70}
    assert record_of(result) == ("now", "ok", None)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (float("nan"), "nan is not a number that JSON has"),
        ({"rows": [[1.0, float("inf")]]}, "inf is not a number that JSON has"),
        ([0.5] * 1000 + [float("nan")], "nan is not a number that JSON has"),
        ([b"ab"], "it has bytes, which are not text"),
        ({1: 2}, "a key must be text, not int"),
        ({"deep": ({2.5: 2},)}, "a key must be text, not float"),
        ({"deep": {None: 2}}, "a key must be text"),
        ([10**5000], "it has a number with too many digits"),
    ],
)
def test_an_answer_that_json_would_change_is_refused_with_the_reason(new_box: NewBox, answer: Any, why: str) -> None:
    box = new_box(tools={"look": lambda: answer})
    result = box.run("tools.look()")
    assert result.error is not None and result.error.code == "TOOL_ERROR"
    assert result.error.message.endswith(f"look gave an answer that is not plain JSON: {why}")
    assert record_of(result) == ("look", "error", "TOOL_ERROR")


def test_request_over_its_size_is_refused_without_calling(new_box: NewBox) -> None:
    called = []
    box = new_box()
    box.registry.register(Capability(name="f", limits=CapabilityLimits(max_request_bytes=100)), called.append)
    result = box.run("tools.f('x' * 200)")
    assert record_of(result) == ("f", "error", "INVALID_ARGUMENT") and not called
    assert box.run("tools.f('x')").ok and called == ["x"]


def test_slow_capability_times_out_and_the_program_can_go_on(new_box: NewBox) -> None:
    release = threading.Event()
    box = new_box()
    box.registry.register(Capability(name="slow", limits=CapabilityLimits(timeout_ms=20)), lambda: release.wait(30))
    try:
        result = box.run("tools.slow()")
        assert result.error is not None and (result.error.code, result.status.value) == ("TIMEOUT_TOOL", "timeout")
        assert record_of(result) == ("slow", "timeout", "TIMEOUT_TOOL")
        assert box.run("try: tools.slow()\nexcept ToolError as e: said = e.code\nsaid").result == "TIMEOUT_TOOL"
    finally:
        release.set()


def test_wall_limit_ends_a_run_inside_a_capability_and_the_call_is_on_record(new_box: NewBox) -> None:
    release = threading.Event()
    box = new_box(tools={"slow": lambda: release.wait(30)})
    try:
        result = box.run("kept = 1\ntools.slow()", timeout_ms=50)
    finally:
        release.set()
    assert result.error is not None and result.error.code == "TIMEOUT_WALL"
    assert record_of(result) == ("slow", "timeout", "TIMEOUT_WALL")
    assert box.run("'kept' in globals()").result is False


@pytest.mark.parametrize("most", [0, 1, 3])
def test_started_calls_are_counted_and_one_too_many_ends_the_run(adder: hatchway.Sandbox, most: int) -> None:
    limits = {"max_external_calls": most}
    within = adder.run(f"for _ in range({most}): add(1)", limits=limits)
    assert within.ok and within.metrics.external_calls_count == most
    over = adder.run(f"for _ in range({most + 1}): add(1)", limits=limits)
    assert over.error is not None and over.error.code == "EXTERNAL_CALLS_EXCEEDED"
    assert over.metrics.external_calls_count == len(over.external_calls) == most


def test_unknown_capability_is_told_with_the_nearest_name(adder: hatchway.Sandbox) -> None:
    result = adder.run("tools.ad(1)")
    assert result.error is not None and (result.error.code, result.status.value) == ("UNKNOWN_TOOL", "runtime_error")
    assert "'add'" in result.error.message
    assert adder.run("addd(1)").error.code == "NAME_ERROR"  # type: ignore[union-attr]


@pytest.mark.parametrize("argument", ["object()", "{1, 2}", "float('nan')", "b'x'", "'\\ud800'"])
def test_arguments_that_are_not_json_fail_before_the_call(adder: hatchway.Sandbox, argument: str) -> None:
    result = adder.run(f"tools.add({argument})")
    assert result.error is not None and result.error.code in ("INVALID_ARGUMENT", "RUNTIME_ERROR")
    assert result.external_calls == [] and adder.run("1").ok


def test_deeply_nested_arguments_are_refused_or_passed_but_never_break_the_host(adder: hatchway.Sandbox) -> None:
    for depth in (50, 150, 5000, 100_000):
        result = adder.run(
            'import _host\nhead = b\'C{"name":"add","kwargs":{},"args":[\'\n'
            f"_host.call(head + b'[' * {depth} + b']' * {depth} + b']}}')\n1"
        )
        assert result.result == 1, result


@pytest.mark.parametrize(
    "message",
    [
        "b'C'",
        "b'C{}'",
        "b'C[]'",
        "b'C\\xff'",
        'b\'C{"name":1,"args":[],"kwargs":{}}\'',
        'b\'C{"name":"add","args":{},"kwargs":[]}\'',
        'b\'C{"name":"\\xff","args":[],"kwargs":{}}\'',
        'b\'C{"name":"add","args":[1e999],"kwargs":{}}\'',
        "b'E'",
        "b'E\\xff'",
        "b'E{}'",
        'b\'E{"path":1,"source":[]}\'',
        "b'N' + bytes(1000)",
    ],
)
def test_malformed_message_is_answered_with_an_error_and_nothing_else(adder: hatchway.Sandbox, message: str) -> None:
    result = adder.run(f"import _host\nanswer = _host.call({message})\n(b'error' in answer) or answer.decode()")
    assert result.result is True or result.result == '["add","later"]'


def test_registry_lists_by_name_replaces_and_refuses_names_that_are_no_identifiers(new_box: NewBox) -> None:
    registry = Registry()
    for name in ("b", "a", "_x", "class", "b"):
        registry.register(Capability(name=name, description=name), print)
    assert [c.name for c in registry] == ["_x", "a", "b", "class"] == list(registry.names())
    for bad in ("", "1a", "a-b", "a b", "é", "a.b", "a\n"):
        with pytest.raises(RequestError) as refused:
            registry.register(Capability(name=bad), print)
        assert refused.value.error.code == "INVALID_TOOL_NAME"


def test_decorator_takes_name_and_docstring(box: hatchway.Sandbox) -> None:
    @box.registry.tool
    def double(n: int) -> int:
        """Twice as much."""
        return 2 * n

    (capability,) = box.registry
    assert (capability.name, capability.description) == ("double", "Twice as much.")
    assert box.run("[double(4), dir(tools)]").result == [8, ["double"]]


def test_capability_registered_or_replaced_later_is_there_in_the_next_run(box: hatchway.Sandbox) -> None:
    assert box.run("dir(tools)").result == []
    box.registry.register(Capability(name="f"), lambda: 1)
    assert box.run("[f(), tools.f(), dir(tools)]").result == [1, 1, ["f"]]
    box.registry.register(Capability(name="f"), lambda: 2)
    assert box.run("f()").result == 2


def test_capability_name_never_hides_what_the_language_has(new_box: NewBox) -> None:
    box = new_box(tools={"len": lambda *a: "theirs", "print": lambda *a: "theirs"})
    assert box.run("[len([1, 2]), tools.len([1])]").result == [2, "theirs"]


def test_capability_may_run_another_sandbox(new_box: NewBox) -> None:
    inner = new_box()
    inner.run("count = 0")

    def run(code: str) -> Any:
        return inner.run(code).result

    outer = new_box(tools={"run": run})
    assert outer.run("[run('count += 1\\ncount') for _ in range(3)]").result == [1, 2, 3]
    assert outer.run("await tools.run('6 * 7')", language="javascript").result == 42


def test_capability_that_runs_its_own_session_is_refused_and_not_deadlocked(new_box: NewBox) -> None:
    answers: list[RunResult] = []
    box = new_box(tools={"again": lambda: answers.append(box.run("1"))})
    assert box.run("again()").ok
    assert answers[0].error is not None and answers[0].error.code == "INVALID_ARGUMENT"
    assert box.run("1").result == 1


def test_output_callback_that_runs_its_own_session_is_refused_and_not_deadlocked(box: hatchway.Sandbox) -> None:
    answers: list[RunResult] = []
    assert box.run("print('x')", on_output=lambda stream, data: answers.append(box.run("1"))).ok
    assert answers[0].error is not None and answers[0].error.code == "INVALID_ARGUMENT"
    assert box.run("1").result == 1


def test_capability_sees_the_callers_context(new_box: NewBox) -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    box = new_box(tools={"who": tenant.get})
    token = tenant.set("ann")
    try:
        assert box.run("who()").result == "ann"
    finally:
        tenant.reset(token)


def test_runs_of_different_sessions_go_on_at_the_same_time(new_box: NewBox) -> None:
    meet = threading.Barrier(2, timeout=30)
    boxes = [new_box(tools={"meet": meet.wait}) for _ in range(2)]
    results: list[RunResult] = []
    threads = [threading.Thread(target=lambda box=box: results.append(box.run("meet()\nmeet()\n1"))) for box in boxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.result for result in results] == [1, 1]


@pytest.mark.parametrize("error", [ValueError("\ud800"), ToolError("X", "\ud800"), ValueError("x" * 100_000)])
def test_message_of_a_failure_is_cut_and_made_text(new_box: NewBox, error: Exception) -> None:
    def fail() -> None:
        raise error

    result = new_box(tools={"fail": fail}).run("fail()")
    assert result.error is not None and len(result.error.message) < 5000


def test_suspension_passes_through_a_function_on_any_thread(new_box: NewBox) -> None:
    def ask() -> None:
        raise Suspend()

    box = new_box(record=True)
    for inline in (True, False):
        box.registry.register(Capability(name="ask"), ask, inline=inline)
        result = box.run("ask()")
        assert result.status.value == "waiting_for_approval" and record_of(result)[1] == "approval_pending"


def test_declaration_digest_tells_schemas_and_effects_apart_and_not_words() -> None:
    one = Capability(name="f")
    assert declaration_digest(one) == declaration_digest(Capability(name="f", description="said otherwise"))
    for other in ({"name": "g"}, {"input_schema": {}}, {"output_schema": {"type": "null"}}, {"approval_policy": "manual"}):
        assert declaration_digest(one) != declaration_digest(Capability(**{"name": "f", **other}))  # type: ignore[arg-type]


def test_stand_in_passes_everything_on(new_box: NewBox) -> None:
    real = Capability(
        name="f", input_schema={"type": "object"}, idempotent=False, limits=CapabilityLimits(rate_per_min=1, timeout_ms=1)
    )
    box = new_box()
    box.registry.register(stand_in(real), lambda *a, **k: [list(a), k])
    assert box.run("f('x', idempotency_key='k')\nf('x', idempotency_key='k')").result == [["x"], {"idempotency_key": "k"}]


def test_limits_of_bytes_count_arguments_and_answers_alone(new_box: NewBox) -> None:
    box = new_box()
    limits = CapabilityLimits(max_request_bytes=102, max_response_bytes=102)
    box.registry.register(Capability(name="a_capability_with_a_long_name", limits=limits), lambda text: text)
    program = "tools.a_capability_with_a_long_name('x' * {})"
    assert box.run(program.format(100)).result == "x" * 100
    assert record_of(box.run(program.format(101)))[1:] == ("error", "INVALID_ARGUMENT")


def test_a_count_of_calls_is_the_count_of_records(new_box: NewBox) -> None:
    box = new_box(tools={"f": lambda: 1})
    result = box.run("tools.f()\ntry: tools.nothing()\nexcept Exception: pass\ntools.f()")
    assert result.ok and result.metrics.external_calls_count == len(result.external_calls) == 2


def test_digests_are_those_of_the_contract() -> None:
    assert digest_json({"b": 1, "a": [True]}) == digest_bytes(b'{"a":[true],"b":1}')
    assert digest_bytes(b"") == "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"
