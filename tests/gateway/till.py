"""A till: a capability with an effect, rules under which some of its calls wait for a person, and that person."""

from __future__ import annotations

from typing import Any

from gateway.records import Approval, Principal, Run
from gateway.runs.approvals import Decide
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from tests.gateway.house import ANN, BOB, House

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
