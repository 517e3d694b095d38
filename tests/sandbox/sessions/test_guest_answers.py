"""What a guest is answered during its turn: one report, names of capabilities, types erased, and no message that is none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import hatchway
from sandbox.capabilities.registry import Calls, Capability, Registry
from sandbox.engine.limits import Run
from sandbox.engine.wasmtime import Trap
from sandbox.sessions.guest_answers import Answer, answer_guest, erase_types
from sandbox.sessions.request_checks import CodeRefused
from sandbox.wire import DEFAULT_LIMITS


def answering(reported: list[bytes]) -> tuple[Answer, Run]:
    registry, run = Registry(), Run(DEFAULT_LIMITS)
    registry.register(Capability(name="price", description="of one"), lambda: 1)
    no_programs: Any = None
    return answer_guest(Calls(registry, run), run, reported, no_programs), run


def test_the_report_is_taken_once() -> None:
    reported: list[bytes] = []
    answer, _ = answering(reported)
    assert answer(ord("D"), b"{}") == b"" and reported == [b"{}"]
    with pytest.raises(Trap, match="a second time"):
        answer(ord("D"), b"{}")


def test_a_message_that_is_none_ends_the_turn() -> None:
    answer, _ = answering([])
    with pytest.raises(Trap, match="unknown message"):
        answer(ord("?"), b"")


def test_the_names_of_capabilities_are_told() -> None:
    answer, _ = answering([])
    assert msgspec.json.decode(answer(ord("N"), b"")) == ["price"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"source":"const a: = 1","path":"a.ts"}', "SYNTAX_ERROR"),
        (b"{}", "INVALID_ARGUMENT"),
        (b"[", "INVALID_ARGUMENT"),
        (b'{"source":"' + b"x" * (10 << 20) + b'1","path":"a.ts"}', "INVALID_ARGUMENT"),
    ],
)
def test_a_file_whose_types_cannot_be_erased_is_told_and_costs_no_turn(body: bytes, code: str) -> None:
    answer, _ = answering([])
    assert msgspec.json.decode(answer(ord("E"), body))["error"]["code"] == code


def test_types_are_erased_in_place_and_errors_have_one() -> None:
    code, told = erase_types("const a: number = 1", "a.ts", Run(DEFAULT_LIMITS))
    assert code == "const a         = 1" and told == []
    with pytest.raises(CodeRefused) as refused:
        erase_types("let a\nconst b: = 1", "a.ts", Run(DEFAULT_LIMITS))
    assert refused.value.error.span is not None and refused.value.error.span.line == 2


def test_a_limit_met_in_an_answer_is_told_to_a_program_that_is_to_be_kept() -> None:
    with hatchway.Sandbox(tools={"price": lambda: 1}, limits={"max_external_calls": 2}) as box:
        result = box.run("seen = 0\nwhile True:\n    price()\n    seen += 1", on_limit="keep")
        assert result.error is not None and result.error.code == "EXTERNAL_CALLS_EXCEEDED"
        assert box.run("seen").result == 2
