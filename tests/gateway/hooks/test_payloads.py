"""What hooks are told."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from gateway.hooks.events import HookEvent
from gateway.hooks.payloads import PAYLOAD_BYTES_MAX, VARIABLE_BYTES_MAX, Letter, Occasion, make_payload, seal

UUID7 = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
ALWAYS = ["PAYLOAD_JSON", "PAYLOAD_PATH", "EVENT", "ID", "SESSION_ID"]


def letter(data: dict[str, Any], hook_id: str = "user:lint", **ids: str) -> Letter:
    occasion = Occasion(event=HookEvent.PRE_TOOL_USE, session_id="s1", data=data, **ids)
    return seal(make_payload(occasion, hook_id, data, now_ms=1_767_225_600_123))


def test_the_payload_has_the_contracts_fields_with_null_for_what_is_not_known() -> None:
    assert msgspec.json.decode(letter({"tool_name": "t"}).text) == {
        "event": "pre_tool_use", "hook_id": "user:lint", "session_id": "s1", "turn_id": None, "org_id": None, "agent_id": None,
        "ts": "2026-01-01T00:00:00.123Z", "data": {"tool_name": "t"},
    }  # fmt: skip


def test_ids_that_are_known_are_filled_in() -> None:
    payload = msgspec.json.decode(letter({}, turn_id="t1", org_id="o1", agent_id="a1").text)
    assert (payload["turn_id"], payload["org_id"], payload["agent_id"]) == ("t1", "o1", "a1")


@pytest.mark.parametrize(
    ("data", "ids", "more"),
    [
        ({}, {}, []),
        ({"tool_name": "t"}, {}, ["TOOL_NAME"]),
        ({"tool_call_id": "c", "tool_name": "t"}, {"turn_id": "1"}, ["TURN_ID", "TOOL_NAME", "TOOL_CALL_ID"]),
        ({"tool_name": 5, "tool_call_id": None}, {"turn_id": "1"}, ["TURN_ID"]),
    ],
)
def test_variables_stand_in_the_contracts_order_under_both_prefixes(
    data: dict[str, Any], ids: dict[str, str], more: list[str]
) -> None:
    names = list(letter(data, **ids).variables)
    assert names == [prefix + name for prefix in ("EVERRUNS_HOOK_", "HATCHWAY_HOOK_") for name in [*ALWAYS, *more]]


def test_variables_hold_the_payload_and_its_facts() -> None:
    found = letter({"tool_name": "t", "tool_call_id": "c"}, turn_id="1")
    for prefix in ("EVERRUNS_HOOK_", "HATCHWAY_HOOK_"):
        values = {name.removeprefix(prefix): value for name, value in found.variables.items() if name.startswith(prefix)}
        assert values == {
            "PAYLOAD_JSON": found.text.decode(), "PAYLOAD_PATH": found.path, "EVENT": "pre_tool_use", "ID": "user:lint",
            "SESSION_ID": "s1", "TURN_ID": "1", "TOOL_NAME": "t", "TOOL_CALL_ID": "c",
        }  # fmt: skip


def test_the_payloads_file_is_named_after_the_hook_with_unsafe_characters_replaced() -> None:
    path = letter({}, hook_id="user:a/../b é").path
    assert re.fullmatch(rf"/workspace/\.hooks/user_a____b__-{UUID7}\.json", path), path
    assert letter({}).path != letter({}).path


def test_a_payload_longer_than_a_variable_may_be_is_left_out_of_the_environment_only() -> None:
    found = letter({"result": "x" * VARIABLE_BYTES_MAX})
    assert "EVERRUNS_HOOK_PAYLOAD_JSON" not in found.variables and "EVERRUNS_HOOK_PAYLOAD_PATH" in found.variables
    assert len(found.text) > VARIABLE_BYTES_MAX


def test_a_payload_that_is_too_large_or_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match=f"hook payload exceeded {PAYLOAD_BYTES_MAX} bytes"):
        letter({"result": "x" * PAYLOAD_BYTES_MAX})
    with pytest.raises(ValueError, match="hook payload is not JSON"):
        letter({"result": object()})
