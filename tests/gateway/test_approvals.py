"""Approvals: asked for once, used once, decided by the right people, and not lost in between."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest

from gateway.approvals import Approvals, Decide
from gateway.errors import Conflict, Forbidden, GatewayError
from gateway.records import Approval, Principal, Run
from gateway.runs import RunBody
from gateway.sessions import CreateSession
from gateway.stores.memory import MemoryStore
from sandbox.sealing import Keys
from sandbox.wire import RunStatus
from tests.gateway.house import ANN, BOB, EVE, House, declared, housed

RULES = """
allow refund when amount <= 10
ask refund when amount in 11..1_000
  by finance within 15m
ask close_account when not dry
  by anyone within 15m
"""
TESTS = (
    "refund { amount 5 } => allow refund { amount 50 } => ask refund { amount 5_000 } => deny close_account { dry false } => ask"
)
INTEGER = {"type": "integer", "minimum": 0, "maximum": 1000000}


class Till:
    """A capability with an effect: it counts what it paid."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    async def refund(self, amount: int) -> dict[str, Any]:
        self.paid.append(amount)
        return {"paid": amount}

    async def close_account(self, dry: bool) -> bool:
        return True

    @property
    def functions(self) -> dict[str, Any]:
        return {
            "refund": ({"amount": INTEGER}, self.refund),
            "close_account": ({"dry": {"type": "boolean"}}, self.close_account),
        }


async def ask(house: House, code: str, session_id: str | None = None) -> Run:
    if session_id is None:
        session_id = (await house.sessions.create(ANN, CreateSession())).id
    return await house.runs.run(ANN, session_id, RunBody(code=code))


async def pending(house: House) -> list[Approval]:
    return (await house.store.approvals("acme", pending=True)).items


async def decide(house: House, choice: Any, who: Principal = BOB) -> Approval:
    (found,) = await pending(house)
    return await house.approvals.decide(who, found.id, Decide(decision=choice))


def test_a_small_refund_is_paid_without_asking() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=7)")
            assert run.result is not None and run.result.result == {"paid": 7}
            assert till.paid == [7]

    asyncio.run(main())


def test_a_large_one_waits_and_is_paid_once_when_approved() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "before = 1\nanswer = tools.refund(amount=50)\n(before, answer)")
            assert run.state == "waiting" and run.result is not None
            assert run.result.status is RunStatus.WAITING_FOR_APPROVAL
            assert till.paid == []
            await decide(house, "approve")
            run = await house.runs.resume(ANN, run.id)
            assert run.result is not None and run.result.result == [1, {"paid": 50}]
            assert till.paid == [50]
            again = await ask(house, "(before, answer)", run.session_id)
            assert again.result is not None and again.result.result == [1, {"paid": 50}]

    asyncio.run(main())


def test_two_approvals_in_one_run_both_work() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "[tools.refund(amount=50), tools.refund(amount=60)]")
            for _ in range(2):
                await decide(house, "approve")
                run = await house.runs.resume(ANN, run.id)
            assert run.result is not None and run.result.result == [{"paid": 50}, {"paid": 60}]
            assert till.paid == [50, 60]

    asyncio.run(main())


def test_a_waiting_run_survives_a_restart_of_everything_but_the_store() -> None:
    async def main() -> None:
        till, store, keys = Till(), MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(RULES, TESTS, functions=till.functions, store=store, keys=keys) as house:
            run = await ask(house, "kept = [1, 2, 3]\n(kept, tools.refund(amount=50))")
        async with housed(RULES, TESTS, functions=till.functions, store=store, keys=keys) as house:
            await decide(house, "approve")
            run = await house.runs.resume(ANN, run.id)
            assert run.result is not None and run.result.result == [[1, 2, 3], {"paid": 50}]
            assert till.paid == [50]

    asyncio.run(main())


def test_tm_appr_replay_an_approval_is_used_once() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve")
            run = await house.runs.resume(ANN, run.id)
            with pytest.raises(Conflict):
                await house.runs.resume(ANN, run.id)
            again = await ask(house, "tools.refund(amount=50)", run.session_id)
            assert again.state == "waiting"
            assert till.paid == [50]

    asyncio.run(main())


def test_approve_always_answers_later_calls_with_these_arguments_and_no_others() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve_always")
            run = await house.runs.resume(ANN, run.id)
            again = await ask(house, "[tools.refund(amount=50), tools.refund(amount=50)]", run.session_id)
            assert again.state == "finished" and till.paid == [50, 50, 50]
            other = await ask(house, "tools.refund(amount=51)", run.session_id)
            assert other.state == "waiting"
            elsewhere = await ask(house, "tools.refund(amount=50)")
            assert elsewhere.state == "waiting"

    asyncio.run(main())


@pytest.mark.parametrize("choice", ["reject", "reject_always", "cancel"])
def test_a_refused_call_is_an_error_the_program_sees(choice: str) -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "try:\n    tools.refund(amount=50)\nexcept Exception as error:\n    result = str(error)")
            await decide(house, choice, ANN if choice == "cancel" else BOB)
            run = await house.runs.resume(ANN, run.id)
            assert run.result is not None and run.result.status is RunStatus.OK
            assert "refund" in str(run.result.result)
            assert till.paid == []
            again = await ask(house, "tools.refund(amount=50)", run.session_id)
            assert again.state == ("finished" if choice == "reject_always" else "waiting")
            if choice == "reject_always":
                assert again.result is not None and again.result.status is RunStatus.PERMISSION_DENIED

    asyncio.run(main())


def test_tm_appr_self_whoever_asks_cannot_approve_unless_the_policy_says_anyone() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            requester = Principal(tenant="acme", role="approver", user="ann", groups=("finance",))
            with pytest.raises(Forbidden):
                await decide(house, "approve", requester)
            with pytest.raises(Forbidden):
                await decide(house, "approve", Principal(tenant="acme", role="approver", user="zoe", groups=("sales",)))
            await decide(house, "approve")
            await house.runs.resume(ANN, run.id)
            run = await ask(house, "tools.close_account(dry=False)")
            await decide(house, "approve", requester)
            run = await house.runs.resume(ANN, run.id)
            assert run.result is not None and run.result.result is True

    asyncio.run(main())


def test_another_tenants_approval_is_not_there() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            await ask(house, "tools.refund(amount=50)")
            (found,) = await pending(house)
            with pytest.raises(GatewayError) as refused:
                await house.approvals.decide(EVE, found.id, Decide(decision="approve"))
            assert refused.value.code == "APPROVAL_NOT_FOUND"

    asyncio.run(main())


def test_tm_appr_clock_an_approval_that_lapsed_stays_lapsed_when_the_clock_goes_back() -> None:
    async def main() -> None:
        till, now = Till(), [0]
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            (found,) = await pending(house)
            house.approvals = house.calls._approvals = Approvals(house.store, lambda: now[0])
            now[0] = found.expires_at + 1
            with pytest.raises(Conflict) as late:
                await decide(house, "approve")
            assert "expired" in str(late.value)
            now[0] = found.created_at
            run = await house.runs.resume(ANN, run.id)
            assert run.result is not None and run.result.status is RunStatus.PERMISSION_DENIED
            assert till.paid == []

    asyncio.run(main())


def test_an_approval_can_be_decided_once() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            await ask(house, "tools.refund(amount=50)")
            settled = await decide(house, "reject")
            with pytest.raises(Conflict):
                await house.approvals.decide(BOB, settled.id, Decide(decision="approve"))

    asyncio.run(main())


def test_what_the_policy_denies_is_not_asked_for() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=5000)")
            assert run.result is not None and run.result.status is RunStatus.PERMISSION_DENIED
            assert await pending(house) == [] and till.paid == []

    asyncio.run(main())


def test_a_session_whose_run_waits_takes_no_other_run_until_it_is_cancelled() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            with pytest.raises(Conflict) as busy:
                await ask(house, "1", run.session_id)
            assert busy.value.code == "SESSION_WAITING"
            assert await house.runs.cancel(ANN, run.id)
            after = await ask(house, "1", run.session_id)
            assert after.result is not None and after.result.result == 1

    asyncio.run(main())


def test_everything_about_an_approval_is_in_the_audit() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve")
            await house.runs.resume(ANN, run.id)
            kinds = [(one.kind, one.actor) for one in await house.store.audit("acme", limit=100)]
            wanted = [("approval.requested", "ann"), ("approval.decided", "bob"), ("approval.used", "ann")]
            assert [one for one in kinds if one[0].startswith("approval")] == wanted

    asyncio.run(main())


def test_a_capability_declared_anew_while_its_call_waits_is_asked_for_again() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve")
            other = {**till.functions, "refund": ({"amount": {**INTEGER, "maximum": 999999}}, till.refund)}
            await house.catalogue.add("functions", declared(other))
            run = await house.runs.resume(ANN, run.id)
            assert run.state == "waiting" and till.paid == []
            await decide(house, "approve")
            run = await house.runs.resume(ANN, run.id)
            assert run.state == "finished" and till.paid == [50]

    asyncio.run(main())
