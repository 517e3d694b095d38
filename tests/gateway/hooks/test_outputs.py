"""What hooks answer, read as the contract says: one row per vector."""

from __future__ import annotations

import pytest

from gateway.hooks.outputs import Allow, Block, Error, HookOutput, Mutate, make_overrun, make_timeout, parse

VECTORS: list[tuple[str, str, str, int, HookOutput]] = [
    ("nothing, status 0", "", "", 0, Allow()),
    ("only blanks, status 0", " \n\t ", "noise", 0, Allow()),
    ("nothing, status 1, stderr", "", "  no way \n", 1, Block("no way")),
    ("nothing, status 2, no stderr", "", " \n", 2, Block("hook exited non-zero")),
    ("empty object", "{}", "", 0, Allow()),
    ("JSON ignores the status", '{"decision":"allow"}', "bad", 7, Allow()),
    ("decision null", '{"decision":null}', "", 0, Allow()),
    ("blanks before and after", ' \n {"decision":"allow"}\n ', "", 0, Allow()),
    ("unknown fields", '{"decision":"allow","x":[1,{"y":2}]}', "", 0, Allow()),
    ("user message", '{"user_message":"hi"}', "", 0, Allow("hi")),
    ("block with reason", '{"decision":"block","reason":"no"}', "", 0, Block("no")),
    ("block without reason", '{"decision":"block"}', "", 0, Block("hook blocked")),
    ("block with null reason", '{"decision":"block","reason":null}', "", 0, Block("hook blocked")),
    ("block with empty reason", '{"decision":"block","reason":""}', "", 0, Block("")),
    ("block with message", '{"decision":"block","reason":"r","user_message":"m"}', "", 0, Block("r", "m")),
    ("mutate", '{"decision":"mutate","patch":{"a":1}}', "", 0, Mutate({"a": 1})),
    ("mutate with any patch", '{"decision":"mutate","patch":false}', "", 0, Mutate(False)),
    ("mutate without patch", '{"decision":"mutate"}', "", 0, Error("hook decision `mutate` missing `patch`")),
    ("mutate with null patch", '{"decision":"mutate","patch":null}', "", 0, Error("hook decision `mutate` missing `patch`")),
    ("unknown decision", '{"decision":"x"}', "", 0, Error("unknown hook decision `x`")),
    ("decisions have one spelling", '{"decision":"Allow"}', "", 0, Error("unknown hook decision `Allow`")),
    ("not JSON", "hello", "", 0, Error("hook stdout is not JSON (first 80 bytes: hello)")),
    ("an array", "[1]", "", 0, Error("hook stdout is not JSON (first 80 bytes: [1])")),
    ("not JSON, status 1", "hello\n", "e", 1, Error("hook stdout is not JSON (first 80 bytes: hello\n)")),
    ("80 bytes", "a" * 100, "", 0, Error(f"hook stdout is not JSON (first 80 bytes: {'a' * 80})")),
    ("no half character", "a" * 79 + "é!", "", 0, Error(f"hook stdout is not JSON (first 80 bytes: {'a' * 79})")),
    ("no half emoji", "a" * 78 + "😀", "", 0, Error(f"hook stdout is not JSON (first 80 bytes: {'a' * 78})")),
    ("a whole character at 80", "a" * 78 + "é!", "", 0, Error(f"hook stdout is not JSON (first 80 bytes: {'a' * 78}é)")),
    ("byte order mark", "\ufeff{}", "", 0, Error("hook stdout is not JSON (first 80 bytes: \ufeff{})")),
]  # fmt: skip
UNREADABLE = [
    '{"decision":"allow"',
    '{"decision":"allow"} and more',
    '{"decision":"allow"}{"decision":"block"}',
    '{"decision":1}',
    '{"decision":{}}',
    '{"reason":["a"]}',
    '{"decision":"block","reason":5}',
    '{"user_message":{}}',
    '{"decision":"allow","decision":"block"}',
    '{"decision":"mutate","patch":{"a":1,"a":2}}',
    '{"decision":"mutate","patch":[{"x":{"b":1,"b":1}}]}',
    "{'decision':'allow'}",
    '{"patch":NaN}',
    '{"patch":"\\ud800"}',
    '{"patch":' + "[" * 5000 + "]" * 5000 + "}",
]


@pytest.mark.parametrize(("stdout", "stderr", "exit_code", "expected"), [row[1:] for row in VECTORS], ids=[r[0] for r in VECTORS])
def test_output_is_read_as_the_contract_says(stdout: str, stderr: str, exit_code: int, expected: HookOutput) -> None:
    assert parse(stdout, stderr, exit_code) == expected


@pytest.mark.parametrize("stdout", UNREADABLE)
def test_output_that_cannot_be_understood_in_one_way_only_is_an_error(stdout: str) -> None:
    found = parse(stdout)
    assert isinstance(found, Error)
    assert found.message.startswith("hook stdout JSON parse failed: ")


def test_limits_are_reported_in_the_contracts_words() -> None:
    assert make_timeout(100).message == "hook timed out after 100 ms"
    assert make_overrun().message == "hook output exceeded 65536 bytes"
