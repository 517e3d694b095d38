"""Whose facts a policy is asked with: those of the caller that asks now, not of the one that opened the session."""

from __future__ import annotations

import asyncio

import pytest

from gateway.errors import BadRequest, Forbidden
from gateway.policies.facts import facts_of
from gateway.records import Principal, Session, Tenant
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from sandbox.wire import Language, RunStatus
from tests.gateway.house import ANN, House, housed
from tests.gateway.till import INTEGER, Till, decide

OPERATOR = Principal(tenant="acme", role="operator", user="olga")
ONLY_OPERATORS = """
allow refund when session.role == operator and amount <= 10
ask refund when amount in 11..100
  by finance within 15m
deny snapshot.take when session.role != operator
deny fs.read when user != olga
"""
REFUNDS = "tools.refund(amount=1)"


async def refund(house: House, caller: Principal, session: str, code: str = REFUNDS) -> RunStatus:
    done = await house.runs.run(caller, session, RunBody(code=code))
    assert done.result is not None
    return done.result.status


def test_tm_pol_caller_an_operators_session_gives_a_runner_no_rights_nor_takes_an_operators_away() -> None:
    async def main() -> None:
        till = Till()
        async with housed(ONLY_OPERATORS, functions=till.functions) as house:
            theirs = (await house.sessions.create(OPERATOR, CreateSession())).id
            own = (await house.sessions.create(ANN, CreateSession())).id
            (fork,) = await house.snapshots.fork(ANN, theirs)
            saved = await house.snapshots.take(OPERATOR, theirs)
            restored = (await house.sessions.restore(ANN, saved.id)).id
            for session in (theirs, own, fork.id, restored):
                assert await refund(house, ANN, session) is RunStatus.PERMISSION_DENIED
                with pytest.raises(Forbidden):
                    await house.snapshots.take(ANN, session)
                assert await refund(house, OPERATOR, session) is RunStatus.OK
                assert await refund(house, ANN, session) is RunStatus.PERMISSION_DENIED, "not what was folded for another"
            assert till.paid == [1] * 4

    asyncio.run(main())


def test_tm_pol_caller_a_resumed_run_has_the_facts_of_its_own_caller() -> None:
    code = "first = tools.refund(amount=50)\ntools.refund(amount=1)"

    async def main() -> None:
        till = Till()
        async with housed(ONLY_OPERATORS, functions={"refund": ({"amount": INTEGER}, till.refund)}) as house:
            for caller, status in ((OPERATOR, RunStatus.OK), (ANN, RunStatus.PERMISSION_DENIED)):
                session = (await house.sessions.create(OPERATOR, CreateSession())).id
                run = await house.runs.run(caller, session, RunBody(code=code))
                settled = await decide(house, "approve")
                requester = Principal(tenant="acme", role="member", user=settled.requested_by)
                done = await house.resumption.resume(requester, run.id)
                assert done.result is not None and done.result.status is status

    asyncio.run(main())


def test_tm_pol_caller_a_session_cannot_be_opened_with_a_callers_facts() -> None:
    async def main() -> None:
        async with housed() as house:
            for name in ("role", "user", "creator", "creator_role"):
                with pytest.raises(BadRequest):
                    await house.sessions.create(OPERATOR, CreateSession(facts={name: "operator"}))

    asyncio.run(main())


def test_what_belongs_to_the_session_has_other_names_for_catalogs_that_know_them() -> None:
    tenant = Tenant(id="acme", created_at=1, updated_at=1)
    session = Session(
        id="s", tenant="acme", user="olga", language=Language.PYTHON, created_at=1, updated_at=1, last_used_at=1,
        facts={"role": "operator", "creator_role": "operator", "mfa": True},
    )  # fmt: skip
    asked = {"tenant": "acme", "plan": "team", "session.mfa": True, "user": "ann", "session.role": "member"}
    assert facts_of(tenant, session, ANN) == asked
    known = facts_of(tenant, session, ANN, {"session.role", "session.creator", "session.creator_role"})
    assert known == {**asked, "session.creator": "olga", "session.creator_role": "operator"}
