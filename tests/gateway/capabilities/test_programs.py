"""Programs in a real sandbox that call capabilities of the service, in every language."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.capabilities.functions import FunctionSource
from gateway.capabilities.invocation import ToolCall
from sandbox.capabilities.registry import Capability, CapabilityLimits, Registry, ToolError, stand_in
from sandbox.errors import Suspend
from sandbox.wire import RunResult
from tests.conftest import NewBox
from tests.gateway.capabilities.service import Gate, Service, permit

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}


def run_program(new_box: NewBox, code: str, language: str = "python", gate: Gate = permit) -> RunResult:
    async def add(a: int, b: int = 10) -> int:
        return a + b

    async def main() -> RunResult:
        limits = CapabilityLimits(rate_per_min=2)
        service = await Service().add(FunctionSource([(Capability(name="add", input_schema=SCHEMA, limits=limits), add)]))
        registry = Registry()
        for tool in service.catalogue.tools():

            async def call(*args: Any, **kwargs: Any) -> Any:
                return await service.call("add", *args, gate=gate, **kwargs)

            registry.register(stand_in(tool), call, loop=asyncio.get_running_loop())
        box = new_box(tools=registry)
        return await asyncio.to_thread(box.run, code, language=language)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "add(2, b=3)"),
        ("python", "await tools.add(a=2, b=3)"),
        ("javascript", "await tools.add(2, 3)"),
        ("javascript", "await tools.add({a: 2, b: 3})"),
        ("shell", "test $(add 2 --b 3) = 5"),
    ],
)
def test_program_calls_a_capability_of_the_service(new_box: NewBox, language: str, code: str) -> None:
    result = run_program(new_box, code, language)
    assert result.ok and (language == "shell" or result.result == 5), result
    assert [call.status.value for call in result.external_calls] == ["ok"]


def test_refusal_of_the_service_reaches_the_program_with_its_code(new_box: NewBox) -> None:
    codes = (
        "said = []\nfor v in ('x', 1, 2, 3):\n    try: said.append(add(v))\n    except ToolError as e: said.append(e.code)\nsaid"
    )
    assert run_program(new_box, codes).result == ["INVALID_ARGUMENT", 11, 12, "RATE_LIMITED"]

    async def deny(call: ToolCall) -> None:
        raise ToolError("PERMISSION_DENIED", "not today")

    result = run_program(new_box, "add(1)", gate=deny)
    assert (result.status.value, result.external_calls[0].status.value) == ("permission_denied", "denied")


def test_gate_that_waits_for_somebody_suspends_the_run(new_box: NewBox) -> None:
    async def suspend(call: ToolCall) -> None:
        raise Suspend()

    result = run_program(new_box, "add(1)", gate=suspend)
    assert (result.status.value, result.external_calls[0].status.value) == ("waiting_for_approval", "approval_pending")
