"""The relation "as strict as", and the prover that uses it, against enumeration over finite domains."""

from __future__ import annotations

from itertools import product

import pytest

from policy import Approval, Decision, HookCall, Rate
from policy.proofs.strictness import is_as_strict, is_as_tight, is_strict_hook
from tests.policy.proof_campaign import run_campaign

ASKED = Decision("ask", "r", approvals=(Approval("boss", 60_000, "r"),))


@pytest.mark.parametrize("seed", range(4))
def test_narrows_diff_and_prove_agree_with_enumeration(seed: int) -> None:
    seen = run_campaign(100, seed)
    assert min(seen.get(sort, 0) for sort in ("weaker", "as strict", "equal")) > 5


def test_a_rate_is_as_tight_exactly_if_every_flow_it_passes_the_other_passes() -> None:
    """Brute force over all flows of up to one call in each of six seconds."""
    flows = list(product((0, 1, 2), repeat=6))

    def passes(rate: Rate, flow: tuple[int, ...]) -> bool:
        return all(sum(flow[start : start + rate.window_s]) <= rate.count for start in range(len(flow)))

    rates = [Rate(count, window, "session") for count, window in product((1, 2, 3), (1, 2, 3))]
    for rate, old in product(rates, rates):
        if is_as_tight(rate, old):
            assert all(passes(old, flow) for flow in flows if passes(rate, flow)), (rate, old)
    assert not is_as_tight(Rate(1, 60, "tenant"), Rate(1, 60, "session"))


def test_a_hook_is_as_strict_exactly_if_it_lets_nothing_more_pass() -> None:
    """Brute force: a program that takes any time and then says yes or no."""
    hooks = [
        HookCall("h", "before", "wasm", "h.wasm", timeout, on_error)
        for timeout, on_error in product((1, 2, 3), ("block", "warn"))
    ]

    def passes(hook: HookCall, takes: int, says: bool) -> bool:
        return says if takes <= hook.timeout_ms else hook.on_error != "block"

    for hook, old in product(hooks, hooks):
        stricter = all(passes(old, takes, says) for takes, says in product(range(5), (False, True)) if passes(hook, takes, says))
        assert is_strict_hook(hook, old) == stricter, (hook, old)


@pytest.mark.parametrize(
    ("old", "new", "strict"),
    [
        (Decision("deny", "r"), Decision("allow", "r"), False),
        (Decision("allow", "r"), Decision("deny", "r"), True),
        (ASKED, Decision("allow", "r"), False),
        (Decision("allow", "r", rates=(Rate(1, 60, "session"),)), ASKED, False),
        (ASKED, Decision("ask", "r", approvals=(Approval("peer", 60_000, "r"),)), False),
        (ASKED, Decision("ask", "r", approvals=ASKED.approvals, auto="r"), False),
        (Decision("allow", "r"), Decision("ask", "r", approvals=ASKED.approvals, auto="r"), True),
        (Decision("allow", "r", limits=(("cpu_ms", 5),)), Decision("allow", "r", limits=(("cpu_ms", 6),)), False),
        (Decision("allow", "r", limits=(("cpu_ms", 5),)), Decision("allow", "r", limits=(("cpu_ms", 5), ("a", 1))), True),
    ],
)
def test_one_answer_is_as_strict_as_another_in_every_part(old: Decision, new: Decision, strict: bool) -> None:
    assert is_as_strict(new, old) == strict
    assert is_as_strict(old, old) and is_as_strict(new, new)
