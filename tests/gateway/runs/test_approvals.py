"""Approvals: asked for once, used once, decided by the right people, and not lost in between."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import Conflict, Forbidden, GatewayError
from gateway.records import Approval, Principal
from gateway.runs.approvals import Approvals, Decide
from gateway.runs.runs import RunBody
from gateway.stores.changes import Change
from gateway.stores.engines.sqlite import SqliteStore
from sandbox.wire import RunStatus
from tests.gateway.house import ANN, BOB, EVE, House, declared, housed
from tests.gateway.till import INTEGER, RULES, TESTS, Till, ask, decide, pending


@contextlib.asynccontextmanager
async def closing(store: SqliteStore) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await store.close()


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
            run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.result == [1, {"paid": 50}]
            assert till.paid == [50]
            again = await ask(house, "(before, answer)", run.session_id)
            assert again.result is not None and again.result.result == [1, {"paid": 50}]

    asyncio.run(main())


def test_a_program_that_a_program_started_waits_and_is_paid_once_when_approved() -> None:
    async def main() -> None:
        till = Till()
        started = "import subprocess\nopen('noted', 'a').write('x')\nsubprocess.getoutput('python3 pay.py; cat noted')"
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "open('pay.py', 'w').write('print(tools.refund(amount=50))')")
            run = await ask(house, started, run.session_id)
            assert run.state == "waiting" and till.paid == []
            await decide(house, "approve")
            run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.result == "{'paid': 50}\nx"
            assert till.paid == [50]

    asyncio.run(main())


def test_two_approvals_in_one_run_both_work() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "[tools.refund(amount=50), tools.refund(amount=60)]")
            for _ in range(2):
                await decide(house, "approve")
                run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.result == [{"paid": 50}, {"paid": 60}]
            assert till.paid == [50, 60]

    asyncio.run(main())


def test_tm_appr_replay_an_approval_is_used_once() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve")
            run = await house.resumption.resume(ANN, run.id)
            with pytest.raises(Conflict):
                await house.resumption.resume(ANN, run.id)
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
            run = await house.resumption.resume(ANN, run.id)
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
            run = await house.resumption.resume(ANN, run.id)
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
            await house.resumption.resume(ANN, run.id)
            run = await ask(house, "tools.close_account(dry=False)")
            await decide(house, "approve", requester)
            run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.result is True

    asyncio.run(main())


BOB_RUNS = Principal(tenant="acme", role="member", user="bob")


def test_tm_appr_self_what_somebody_approved_for_others_answers_no_call_of_their_own() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve_always")
            await house.resumption.resume(ANN, run.id)
            own = await house.runs.run(BOB_RUNS, run.session_id, RunBody(code="tools.refund(amount=50)"))
            assert own.state == "waiting" and till.paid == [50]
            with pytest.raises(Forbidden):
                await decide(house, "approve")
            assert await house.runs.cancel(BOB_RUNS, own.id)
            await ask(house, "tools.refund(amount=50)", run.session_id)
            assert till.paid == [50, 50]

    asyncio.run(main())


def test_a_yes_that_a_cancelled_run_has_not_used_is_taken_back() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            yes = await decide(house, "approve")
            assert await house.runs.cancel(ANN, run.id)
            for who in (BOB_RUNS, ANN):
                again = await house.runs.run(who, run.session_id, RunBody(code="tools.refund(amount=50)"))
                assert again.state == "waiting" and till.paid == []
                assert await house.runs.cancel(ANN, again.id)
            audit = await house.store.audit("acme", limit=200)
            assert [one.actor for one in audit if one.kind == "approval.withdrawn" and one.subject == yes.id] == ["ann"]

    asyncio.run(main())


TWO = "ask refund by finance within 15m\nask refund by anyone within 15m\n"


@pytest.mark.parametrize(("first", "meanwhile"), [("approve", "nothing"), ("nothing", "nothing"), ("nothing", "decided")])
def test_nobody_is_asked_about_a_run_that_has_ended(first: str, meanwhile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two people are asked, one of them refuses: the other one's question is taken back, and so is their yes."""

    async def main() -> None:
        till = Till()
        async with housed(TWO, "refund { amount 50 } => ask", functions={"refund": till.functions["refund"]}) as house:
            run = await ask(house, "tools.refund(amount=50)")
            asked = {one.approver: one for one in await pending(house)}
            if first == "approve":
                await house.approvals.decide(BOB, asked["anyone"].id, Decide(decision="approve"))
            await house.approvals.decide(BOB, asked["finance"].id, Decide(decision="reject"))
            if meanwhile == "decided":
                decide_first(house, asked["anyone"], monkeypatch)
            run = await house.resumption.resume(ANN, run.id)
            assert run.state == "finished" and run.result is not None and till.paid == []
            assert run.result.status is RunStatus.PERMISSION_DENIED
            assert await pending(house) == []
            found = await house.store.approval("acme", asked["anyone"].id)
            assert found is not None and (found.verdict == "cancelled" or found.uses_left == 0)

    asyncio.run(main())


def decide_first(house: House, asked: Approval, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody decides it after the end of the run was prepared and before it is written."""
    withdrawn = house.approvals._withdraw

    async def late(tenant: str, run_id: str, ids: Sequence[str], by: str) -> list[Change]:
        monkeypatch.undo()
        changes = await withdrawn(tenant, run_id, ids, by)
        await house.approvals.decide(BOB, asked.id, Decide(decision="approve"))
        return changes

    monkeypatch.setattr(house.approvals, "_withdraw", late)


def test_a_decision_that_comes_too_late_leaves_the_run_to_go_on_when_it_expires() -> None:
    async def main() -> None:
        till, now = Till(), [0]
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            (found,) = await pending(house)
            house.approvals = house.calls._approvals = Approvals(house.store, lambda: now[0])
            now[0] = found.expires_at + 1
            with pytest.raises(Conflict, match="expired"):
                await decide(house, "approve")
            assert [(one.run_id, one.verdict) for one in await house.approvals.expire("acme")] == [(run.id, "expired")]

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
            run = await house.resumption.resume(ANN, run.id)
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


def test_everything_about_an_approval_is_in_the_audit() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve")
            await house.resumption.resume(ANN, run.id)
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
            run = await house.resumption.resume(ANN, run.id)
            assert run.state == "waiting" and till.paid == []
            await decide(house, "approve")
            run = await house.resumption.resume(ANN, run.id)
            assert run.state == "finished" and till.paid == [50]

    asyncio.run(main())


def test_a_call_that_waits_counts_towards_its_rate_when_it_is_made_and_once() -> None:
    async def main() -> None:
        till = Till()
        rules = "ask refund\n  by finance within 15m\n  rate 1/h per session\n"
        async with housed(rules, "refund { amount 5 } => ask", functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve")
            run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.result == {"paid": 50}
            again = await ask(house, "tools.refund(amount=60)", run.session_id)
            assert again.result is not None and again.result.error is not None
            assert again.result.error.code == "RATE_EXCEEDED" and till.paid == [50]

    asyncio.run(main())


def test_tm_appr_replay_two_approvers_at_once_give_one_use(tmp_path: Path) -> None:
    async def main() -> None:
        till, store = Till(), await SqliteStore.open(tmp_path / "store.db")
        async with closing(store), housed(RULES, TESTS, functions=till.functions, store=store) as house:
            run = await ask(house, "tools.refund(amount=50)")
            (found,) = await pending(house)
            yes = Decide(decision="approve")
            carl = Principal(tenant="acme", role="approver", user="carl", groups=("finance",))
            said = [house.approvals.decide(who, found.id, yes) for who in (BOB, carl)]
            outcomes = await asyncio.gather(*said, return_exceptions=True)
            assert sorted(type(one).__name__ for one in outcomes) == ["Approval", "Conflict"]
            run = await house.resumption.resume(ANN, run.id)
            again = await ask(house, "tools.refund(amount=50)", run.session_id)
            assert again.state == "waiting" and till.paid == [50]

    asyncio.run(main())


def test_an_approval_that_was_used_and_has_run_out_does_not_refuse_the_next_call() -> None:
    async def main() -> None:
        till, now = Till(), [0]

        async def slow_refund(amount: int) -> dict[str, Any]:
            now[0] += 3_600_000
            return await till.refund(amount)

        functions = {**till.functions, "refund": ({"amount": INTEGER}, slow_refund)}
        async with housed(RULES, TESTS, functions=functions) as house:
            house.approvals = house.calls._approvals = Approvals(house.store, lambda: now[0])
            run = await ask(house, "[tools.refund(amount=50), tools.refund(amount=50)]")
            for _ in range(2):
                await decide(house, "approve")
                run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.status is RunStatus.OK and till.paid == [50, 50]

    asyncio.run(main())


def test_a_capability_that_wants_a_person_by_its_declaration_gets_one() -> None:
    async def main() -> None:
        till = Till()
        wants = {"refund": "manual", "close_account": {"auto": {"rule": "no such rule"}}}
        rules, tests = "allow refund\nallow close_account", "refund { amount 5 } => allow close_account { dry true } => allow"
        async with housed(rules, tests, functions=till.functions) as house:
            await house.catalogue.add("functions", declared(till.functions, wants))
            run = await ask(house, "tools.refund(amount=7)")
            assert run.state == "waiting"
            with pytest.raises(Forbidden):
                await decide(house, "approve", ANN)
            await decide(house, "approve", Principal(tenant="acme", role="approver", user="zoe"))
            run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.result == {"paid": 7}
            other = await ask(house, "tools.close_account(dry=True)")
            assert other.state == "waiting"

    asyncio.run(main())


def test_an_approvers_reason_reaches_the_program() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            waits = await ask(house, "tools.refund(amount=50)")
            (found,) = await pending(house)
            await house.approvals.decide(BOB, found.id, Decide(decision="reject", reason="the customer was paid in May"))
            done = await house.resumption.resume(ANN, waits.id)
            assert done.result is not None and done.result.error is not None
            assert done.result.error.message.endswith("finance refused refund: the customer was paid in May")

    asyncio.run(main())
