"""docs/hooks.md names everything a hook's author can write or be told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from gateway.hooks.events import HookEvent
from gateway.hooks.executors.webhooks import _AGAIN
from gateway.hooks.matchers import Matcher
from gateway.hooks.outputs import _Answer
from gateway.hooks.payloads import HookPayload
from gateway.hooks.specs import Executor, ExecutorType, OnError, UserHookSpec

TEXT = (Path(__file__).parents[3] / "docs" / "hooks.md").read_text("utf-8")
WORDS = [
    *(event.value for event in HookEvent),
    *("agent_id", "reason", "message", "attachments", "tool_name", "tool_call_id", "arguments", "result", "error", "success"),
    *("tool_calls", "language", "code", "inputs", "status", "stdout", "stderr", "exit_code"),
    *get_args(ExecutorType),
    *get_args(OnError),
    *Matcher.__struct_fields__,
    *Executor.__struct_fields__,
    *UserHookSpec.__struct_fields__,
    *HookPayload.__struct_fields__,
    *_Answer.__struct_fields__,
    *("PAYLOAD_JSON", "PAYLOAD_PATH", "EVENT", "SESSION_ID", "TURN_ID", "TOOL_NAME", "TOOL_CALL_ID"),
]


@pytest.mark.parametrize("word", sorted(set(WORDS) - {"type"}))
def test_a_word_of_hooks_is_documented(word: str) -> None:
    assert f"`{word}" in TEXT or f'"{word}"' in TEXT or f" {word}" in TEXT or f"{{{word}," in TEXT


def test_the_answers_after_which_a_webhook_is_asked_again_are_documented() -> None:
    (sentence,) = (one for one in TEXT.split(". ") if "are tried again" in one)
    assert {int(word) for word in re.findall(r"\b[45]\d\d\b", sentence)} == _AGAIN and "5xx" not in sentence
