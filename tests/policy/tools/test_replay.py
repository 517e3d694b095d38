"""Recorded decisions put to a new policy."""

from __future__ import annotations

import json

import pytest

from policy import PolicyError, compile_policy
from policy.tools.replay import replay
from tests.policy.policy_texts import TOOLS, small


def line(event: str, verdict: str, **attributes: object) -> bytes:
    return json.dumps({"event": event, "attributes": attributes, "verdict": verdict}).encode()


def test_replay_counts_what_changes_and_what_permits_more() -> None:
    policy = compile_policy(small("allow payments.refund when amount <= 100 rate 1/h per tenant"), catalog=TOOLS)
    result = replay(
        policy,
        [
            line("payments.refund", "allow", amount=50),
            line("payments.refund", "deny", amount=50),
            b"",
            line("payments.refund", "allow", amount=500),
        ],
    )
    assert (result.total, result.changed, result.loosened) == (3, 2, 1)
    assert [found.line for found in result.kept] == [2, 4]


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"event": "x"}', b'{"event":"x","attributes":{},"verdict":"maybe"}', b"\xff"])
def test_replay_refuses_what_is_not_a_record(bad: bytes) -> None:
    policy = compile_policy(small("allow fs.read"))
    with pytest.raises(PolicyError, match="line 1"):
        replay(policy, [bad])
