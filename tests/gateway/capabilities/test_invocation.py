"""The way of a call through the service: every station, and what happens when a call fails there."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from gateway.capabilities.functions import FunctionSource
from gateway.capabilities.invocation import ToolCall, make, prepare
from gateway.capabilities.sources import Caller
from sandbox.capabilities.registry import Capability, CapabilityLimits, ToolCallContext, ToolError, digest_json
from sandbox.errors import RequestError, Suspend
from tests.gateway.capabilities.service import ANN, Service


def source(function: Any, name: str = "f", **fields: Any) -> FunctionSource:
    limits = CapabilityLimits(**fields.pop("limits", {}))
    return FunctionSource([(Capability(name=name, limits=limits, **fields), function)])


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def test_call_is_found_checked_gated_and_made() -> None:
    async def main() -> None:
        seen: list[ToolCall] = []

        async def gate(call: ToolCall) -> None:
            seen.append(call)

        service = await Service().add(source(lambda n: n + 1, input_schema=NUMBER, output_schema={"type": "integer"}))
        assert await service.call("f", 1, gate=gate) == 2
        (call,) = seen
        assert (call.name, call.arguments, call.caller) == ("f", {"n": 1}, ANN)
        assert call.request_digest == digest_json(ToolCallContext("f", [1], {}))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("function", "fields", "args", "code"),
    [
        (lambda n: n, {"input_schema": NUMBER}, ["x"], "INVALID_ARGUMENT"),
        (lambda n: n, {"input_schema": NUMBER}, [], "INVALID_ARGUMENT"),
        (lambda s: s, {"limits": {"max_request_bytes": 100}}, ["x" * 200], "INVALID_ARGUMENT"),
        (lambda: "x", {"output_schema": {"type": "integer"}}, [], "TOOL_ERROR"),
        (lambda: "x" * 200, {"limits": {"max_response_bytes": 100}}, [], "TOOL_ERROR"),
        (lambda: object(), {}, [], "TOOL_ERROR"),
        (lambda: 1 / 0, {}, [], "TOOL_ERROR"),
    ],
)
def test_failure_at_any_station_is_a_tool_error(function: Any, fields: dict[str, Any], args: list[Any], code: str) -> None:
    async def main() -> None:
        service = await Service().add(source(function, **fields))
        assert await service.code("f", *args) == code

    asyncio.run(main())


def test_unknown_capability_is_told_with_the_nearest_name() -> None:
    async def main() -> None:
        service = await Service().add(source(print, "weather"))
        error = await service.error("wether")
        assert error.code == "UNKNOWN_TOOL" and "'weather'" in error.message

    asyncio.run(main())


def test_gate_that_denies_or_suspends_keeps_the_function_from_running() -> None:
    async def main() -> None:
        called: list[int] = []
        service = await Service().add(source(lambda: called.append(1)))

        async def deny(call: ToolCall) -> None:
            raise ToolError("PERMISSION_DENIED", "no")

        async def suspend(call: ToolCall) -> None:
            raise Suspend()

        assert await service.code("f", gate=deny) == "PERMISSION_DENIED"
        with pytest.raises(Suspend):
            await service.call("f", gate=suspend)
        assert not called

    asyncio.run(main())


def test_tm_cap_swap_capability_declared_anew_while_a_call_is_pending_is_not_called() -> None:
    async def main() -> None:
        called: list[str] = []
        service = await Service().add(source(lambda n: called.append("old"), input_schema=NUMBER))
        pending, decided = asyncio.Event(), asyncio.Event()

        async def gate(call: ToolCall) -> None:
            pending.set()
            await decided.wait()

        waiting = asyncio.ensure_future(service.error("f", 1, gate=gate))
        await pending.wait()
        await service.add(source(lambda **given: called.append("new"), input_schema={"type": "object"}))
        decided.set()
        error = await waiting
        assert error.code == "PERMISSION_DENIED" and "declared again" in error.message and not called

    asyncio.run(main())


@pytest.mark.parametrize("is_async", [True, False])
def test_call_over_its_time_is_left_and_the_next_one_works(is_async: bool) -> None:
    async def main() -> None:
        release = threading.Event()

        async def sleep() -> None:
            await asyncio.Event().wait()

        def block() -> None:
            release.wait(30)

        service = await Service().add(source(sleep if is_async else block, limits={"timeout_ms": 20}))
        await service.add(source(lambda: 1, "g"), "other")
        try:
            assert await service.code("f") == "TIMEOUT_TOOL"
            assert await service.call("g") == 1
            # What cannot be ended keeps its place; what can be gives it back.
            assert service.catalogue.find("acme", "f").entry.admission.under_way == (0 if is_async else 1)
        finally:
            release.set()
        while service.catalogue.find("acme", "f").entry.admission.under_way:
            await asyncio.sleep(0)

    asyncio.run(main())


def test_calls_beyond_the_concurrency_wait_and_a_rate_refuses() -> None:
    async def main() -> None:
        now, most, go = [0], [0], asyncio.Event()

        async def work() -> int:
            now[0] += 1
            most[0] = max(most[0], now[0])
            await go.wait()
            now[0] -= 1
            return 1

        service = await Service().add(source(work, limits={"concurrency": 2, "rate_per_min": 5}))
        tasks = [asyncio.ensure_future(service.call("f")) for _ in range(5)]
        while now[0] < 2:
            await asyncio.sleep(0)
        go.set()
        assert await asyncio.gather(*tasks) == [1] * 5 and most[0] == 2
        assert await service.code("f") == "RATE_LIMITED"
        assert await service.call("f", caller=Caller("other", "s")) == 1

    asyncio.run(main())


def test_cancelled_call_gives_its_place_back() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            await asyncio.Event().wait()

        service = await Service().add(source(work, limits={"concurrency": 1}))
        task = asyncio.ensure_future(service.call("f"))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert service.catalogue.find("acme", "f").entry.admission.under_way == 0

    asyncio.run(main())


def test_call_with_an_idempotency_key_happens_once() -> None:
    async def main() -> None:
        paid: list[int] = []

        def pay(n: int) -> int:
            paid.append(n)
            return len(paid)

        service = await Service().add(source(pay, idempotent=False))
        assert [await service.call("f", 5, idempotency_key="a") for _ in range(3)] == [1, 1, 1] and paid == [5]
        assert await service.code("f", 6, idempotency_key="a") == "INVALID_ARGUMENT"
        assert await service.call("f", 6, idempotency_key="b") == 2
        assert await service.call("f", 5, idempotency_key="a", caller=Caller("other", "s")) == 3

    asyncio.run(main())


def test_key_of_a_call_that_was_left_behind_is_taken_until_it_ends_and_then_has_its_answer() -> None:
    async def main() -> None:
        release, paid = threading.Event(), []

        def pay() -> int:
            release.wait(30)
            paid.append(1)
            return len(paid)

        service = await Service().add(source(pay, idempotent=False, limits={"timeout_ms": 20}))
        assert await service.code("f", idempotency_key="a") == "TIMEOUT_TOOL"
        assert "still under way" in (await service.error("f", idempotency_key="a")).message
        release.set()
        while (await service.error("f", idempotency_key="a")).code != "OK":
            await asyncio.sleep(0)
        assert await service.call("f", idempotency_key="a") == 1 and paid == [1]

    asyncio.run(main())


def test_arguments_without_names_are_seen_as_a_list_and_can_be_given_back_as_one() -> None:
    async def main() -> None:
        service = await Service().add(source(lambda *a, **k: [list(a), k]))
        call = prepare(service.catalogue, ANN, ToolCallContext("f", [1, 2], {"k": 3}))
        assert call.arguments == {"args": [1, 2], "k": 3}
        again = prepare(service.catalogue, ANN, ToolCallContext("f", [], dict(call.arguments)))
        assert await make(service.catalogue, again) == [[1, 2], {"k": 3}]
        with pytest.raises(ToolError, match="'args'"):
            prepare(service.catalogue, ANN, ToolCallContext("f", [1], {"args": 2}))

    asyncio.run(main())


def test_name_belongs_to_one_source() -> None:
    async def main() -> None:
        service = await Service().add(source(lambda: "shared"), "one")
        with pytest.raises(RequestError, match="'one'"):
            await service.add(source(lambda: "second"), "two")
        await service.add(source(lambda: "third", "g"), "two")
        assert (await service.call("f"), await service.call("g")) == ("shared", "third")

    asyncio.run(main())


def test_functions_are_described_by_their_hints() -> None:
    async def main() -> None:
        async def later(n: int, text: str = "") -> str:
            """Says it later."""
            return text * n

        service = await Service().add(FunctionSource({"later": later, "now": lambda a: a}))
        tools = {tool.name: tool for tool in service.catalogue.tools()}
        assert tools["later"].description == "Says it later." and tools["later"].input_schema["required"] == ["n"]
        assert await service.call("later", 2, text="x") == "xx" and await service.call("now", a=[1]) == [1]
        assert await service.code("later", "2") == "INVALID_ARGUMENT"
        for bad in ("a-b", "", "ü"):
            with pytest.raises(RequestError):
                FunctionSource({bad: later})

    asyncio.run(main())
