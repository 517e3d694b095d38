"""Runs that an approver must see before they begin: they wait, begin once, and say it if they may not."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import Conflict, Forbidden
from gateway.lifecycle.crash_recovery import list_resumable
from gateway.records import Approval, Principal, Run
from gateway.runs.approvals import SHOWN_MAX, Decide
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys
from sandbox.guests.images import images
from sandbox.wire import RunStatus
from tests.gateway.house import ANN, BOB, House, activate, housed, new, run
from tests.gateway.http.routes.test_runners import ONE, PLACES, live_in
from tests.gateway.http.routes.test_runners import House as HttpHouse
from tests.gateway.runners.places import until
from tests.gateway.runs.test_governed_commands import hook
from tests.gateway.runs.test_waiting_commands import asking
from tests.gateway.runs.test_waiting_commands import decide as decide_there
from tests.gateway.till import RULES, TESTS, Till, ask, pending

LARGE = "#" * 2000 + "\n"
"""Of this size an approver must see it."""
ASK = "ask run when bytes >= 2_000B\n  by finance within 15m\n"
ASKED = "run { language python, bytes 2_000B } => ask "


async def decide(house: House, choice: Any = "approve", who: Principal = BOB, **more: Any) -> Approval:
    (found,) = await pending(house)
    return await house.approvals.decide(who, found.id, Decide(decision=choice, **more))


async def go_on(house: House, run_id: str) -> Run:
    return await house.resumption.resume(ANN, run_id)


def test_a_run_waits_until_it_is_approved_and_then_runs_once() -> None:
    async def main() -> None:
        async with housed(ASK, ASKED) as house:
            session = await new(house)
            await run(house, session, "x = 1")
            code = LARGE + "x += 1; print(input()); open('a', 'a').write('x')\nx"
            waits = await run(house, session, code, stdin="typed", env={"KEY": "s3cret"})
            assert waits.state == "waiting" and waits.result is not None
            assert (waits.result.status, waits.result.stdout) == (RunStatus.WAITING_FOR_APPROVAL, "")
            assert await house.store.tree("acme", session) == [], "something was begun"
            (found,) = await pending(house)
            assert (found.capability, found.run_id, found.session_id) == ("run", waits.id, session)
            assert found.arguments == {"language": "python", "code": code, "env": ["KEY"], "stdin_bytes": 5}
            with pytest.raises(Conflict) as busy:
                await run(house, session, "1")
            assert busy.value.code == "SESSION_WAITING"
            with pytest.raises(Forbidden):
                await decide(house, who=ANN)
            await decide(house)
            done = await go_on(house, waits.id)
            assert done.result is not None and done.result.error is None, done.result
            assert (done.result.result, done.result.stdout) == (2, "typed\n")
            with pytest.raises(Conflict):
                await go_on(house, waits.id)
            after = await run(house, session, "(x, open('a').read())")
            assert after.result is not None and after.result.result == [2, "x"]
            again = await run(house, session, code, stdin="typed", env={"KEY": "s3cret"})
            assert again.state == "waiting", "an approval is for one run"

    asyncio.run(main())


@pytest.mark.parametrize("ending", ["rejected", "expired", "cancelled"])
def test_a_run_that_is_not_approved_says_why_and_leaves_the_session_as_it_was(ending: str) -> None:
    async def main() -> None:
        async with housed(ASK, ASKED) as house:
            session = await new(house)
            await run(house, session, "x = 1")
            waits = await run(house, session, LARGE + "x = 2")
            if ending == "rejected":
                await decide(house, "reject", reason="not on a Friday")
            elif ending == "expired":
                later = house.service.clock.now_ms() + 16 * 60_000
                house.approvals._clock_ms = lambda: later
                await house.approvals.expire("acme")
            else:
                await decide(house, "cancel", ANN)
            done = await go_on(house, waits.id)
            assert done.result is not None and done.result.error is not None
            told = {
                "rejected": "finance refused run: not on a Friday",
                "expired": "run was not approved in time",
                "cancelled": "the approval of run was cancelled",
            }
            assert (done.state, done.result.status) == ("finished", RunStatus.PERMISSION_DENIED)
            assert done.result.error.message == told[ending]
            after = await run(house, session, "x")
            assert after.result is not None and after.result.result == 1

    asyncio.run(main())


def test_a_run_that_is_cancelled_takes_its_approval_back() -> None:
    async def main() -> None:
        async with housed(ASK, ASKED) as house:
            session = await new(house)
            for is_decided in (False, True):
                waits = await run(house, session, LARGE + "x = 2")
                if is_decided:
                    await decide(house)
                assert await house.runs.cancel(ANN, waits.id)
                assert await pending(house) == []
                with pytest.raises(Conflict):
                    await go_on(house, waits.id)
            later = await run(house, session, LARGE + "x = 2")
            assert later.state == "waiting", "what was approved for another run is not used"

    asyncio.run(main())


def test_a_run_that_waits_survives_two_restarts_and_one_that_was_approved_before_begins() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(ASK, ASKED, store=store, keys=keys) as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 20")
            waits = await run(house, session, LARGE + "x += 1\nx")
        async with housed(ASK, ASKED, store=store, keys=keys) as house:
            assert await list_resumable(store, house.approvals, "acme") == []
            await decide(house)
        async with housed(ASK, ASKED, store=store, keys=keys) as house:
            (found,) = await list_resumable(store, house.approvals, "acme")
            house.resumption.schedule("acme", found.id, found.user)
            await house.resumption.settle()
            done = await house.runs.get(ANN, waits.id)
            assert done.result is not None and done.result.result == 21
            assert await list_resumable(store, house.approvals, "acme") == []

    asyncio.run(main())


def test_a_run_whose_approval_was_used_when_the_gateway_died_is_asked_about_again() -> None:
    async def main() -> None:
        async with housed(ASK, ASKED) as house:
            waits = await run(house, await new(house), LARGE + "1")
            await decide(house)

            async def die(*_: Any) -> Any:
                raise asyncio.CancelledError

            programs, house.resumption._programs = house.resumption._programs, type("Dying", (), {"run": die})()
            with pytest.raises(asyncio.CancelledError):
                await go_on(house, waits.id)
            house.resumption._programs = programs
            again = await go_on(house, waits.id)
            assert again.state == "waiting", "it may have been begun: it is not begun again unseen"
            await decide(house)
            done = await go_on(house, waits.id)
            assert done.result is not None and done.result.result == 1

    asyncio.run(main())


def test_an_approval_is_of_exactly_this_program_with_its_inputs() -> None:
    async def main() -> None:
        async with housed(ASK, ASKED) as house:
            session = await new(house)
            asked: dict[str, Any] = {"code": LARGE + "n", "inputs": {"n": 1}}
            waits = await run(house, session, **asked)
            await decide(house, "approve_always")
            await go_on(house, waits.id)
            same = await run(house, session, **asked)
            assert same.result is not None and same.result.result == 1, "an approval for always"
            for other in ({"inputs": {"n": 2}}, {"stdin": "1"}, {"env": {"A": "1"}}, {"timeout_ms": 9}, {"code": LARGE + "n "}):
                waits = await run(house, session, **{**asked, **other})
                assert waits.state == "waiting", other
                assert await house.runs.cancel(ANN, waits.id)
            elsewhere = await run(house, await new(house), **asked)
            assert elsewhere.state == "waiting", "another session"

    asyncio.run(main())


def test_a_program_and_its_call_are_approved_one_after_the_other_and_each_once() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES + ASK, TESTS + " " + ASKED, functions=till.functions) as house:
            waits = await ask(house, LARGE + "print('begun')\ntools.refund(amount=50)")
            assert [one.capability for one in await pending(house)] == ["run"]
            await decide(house)
            waits = await go_on(house, waits.id)
            assert waits.state == "waiting" and till.paid == []
            assert [one.capability for one in await pending(house)] == ["refund"]
            await decide(house)
            done = await go_on(house, waits.id)
            assert done.result is not None and done.result.result == {"paid": 50}, done.result
            assert (done.result.stdout, till.paid) == ("begun\n", [50])

    asyncio.run(main())


def test_a_program_that_was_begun_is_asked_about_under_another_policy_before_it_continues() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            waits = await ask(house, LARGE + "tools.refund(amount=50)")
            text = (
                "policy strict v 1\nallow session.create\nallow run\nlimit run { cpu 1s memory 64MiB output 1KiB }\n"
                + ASK.replace("15m", "14m") + RULES
                + f'test "t" {{ as {{ tenant acme }} {ASKED} refund {{ amount 50 }} => ask }}'
            )  # fmt: skip
            await activate(house.policies, {"p.hatch": text}, tools=house.catalogue.tools())
            await house.sessions.update(Principal(tenant="acme", role="operator", user="op"), waits.session_id, repin=True)
            await decide(house)
            waits = await go_on(house, waits.id)
            assert [one.capability for one in await pending(house)] == ["run"] and till.paid == []
            await decide(house)
            waits = await go_on(house, waits.id)
            assert [one.capability for one in await pending(house)] == ["refund"], "bound to the policy"
            await decide(house)
            done = await go_on(house, waits.id)
            assert done.result is not None and done.result.result == {"paid": 50} and till.paid == [50]

    asyncio.run(main())


def test_an_approved_program_starts_others_that_the_same_rule_wants_approved() -> None:
    async def main() -> None:
        if not images.is_ready("shell"):
            pytest.skip("the shell image is not compiled")
        started = "import subprocess\nprint(subprocess.getoutput('sh x.sh; python3 y.py'))"
        async with housed(ASK, ASKED) as house:
            session = await new(house)
            await run(house, session, "open('x.sh', 'w').write('echo shell'); open('y.py', 'w').write('print(\"python\")')")
            waits = await run(house, session, LARGE + started)
            await decide(house)
            done = await go_on(house, waits.id)
            assert done.result is not None and done.result.stdout == "shell\npython\n", done.result

    asyncio.run(main())


def test_what_an_approver_is_shown_is_cut_and_the_approval_is_of_all_of_it() -> None:
    async def main() -> None:
        async with housed(ASK, ASKED) as house:
            session = await new(house)
            code = "#" * SHOWN_MAX + "\n1"
            waits = await run(house, session, code + "\u202e")
            (found,) = await pending(house)
            assert found.arguments["code"].endswith("#… (3 more characters)")
            await decide(house, "approve_always")
            await go_on(house, waits.id)
            other = await run(house, session, code + "2")
            assert other.state == "waiting"
            await house.runs.cancel(ANN, other.id)
            await run(house, session, LARGE + "# \u202e\x1b[2J")
            (found,) = await pending(house)
            assert found.arguments["code"] == LARGE + "# \ufffd\ufffd[2J", "what would hide a text is not shown as it is"

    asyncio.run(main())


def test_a_run_that_waits_is_counted_when_it_begins() -> None:
    """A rate counts what was begun, not what waits for it."""

    async def main() -> None:
        rate = "ask run when bytes >= 2_000B\n  by finance within 15m\n  rate 1/h per session\n"
        async with housed(rate, ASKED) as house:
            session = await new(house)
            for _ in range(3):
                waits = await run(house, session, LARGE + "1")
                assert waits.state == "waiting"
                await house.runs.cancel(ANN, waits.id)
            waits = await run(house, session, LARGE + "1")
            await decide(house)
            done = await go_on(house, waits.id)
            assert done.result is not None and done.result.result == 1

    asyncio.run(main())


async def ended(house: HttpHouse, run_id: str) -> dict[str, Any]:
    said: list[dict[str, Any]] = []

    async def has_ended() -> bool:
        said.append((await house.ask("GET", f"/v1/runs/{run_id}")).json)
        return said[-1]["state"] == "finished"

    await until(has_ended)
    return dict(said[-1]["result"])


async def one_pending(house: HttpHouse) -> str:
    (found,) = (await house.ask("GET", "/v1/approvals?pending=true", role="approver")).json["items"]
    return str(found["id"])


@pytest.mark.parametrize("provider", PLACES)
def test_a_run_of_a_session_that_is_bound_to_a_thread_waits_and_begins_there(provider: str, tmp_path: Path) -> None:
    async def test(house: HttpHouse) -> None:
        await house.bind(provider)
        await asking(house)
        made = await house.ask("POST", "/v1/sessions", {"id": "s", "language": "shell", "thread_id": "t1"})
        assert made.status == 201, made.body
        waits = (await house.ask("POST", "/v1/sessions/s/runs", {"code": "echo x >> a; cat a; pwd"})).json
        assert (waits["state"], waits["result"]["status"]) == ("waiting", "waiting_for_approval")
        assert (await house.ask("GET", ONE)).json["status"] == "unprovisioned", "something was begun"
        approval_id = await one_pending(house)
        shown = (await house.ask("GET", f"/v1/approvals/{approval_id}", role="approver")).json
        assert shown["arguments"] == {"language": "shell", "code": "echo x >> a; cat a; pwd", "thread": "t1"}
        await decide_there(house, approval_id)
        assert (await ended(house, waits["id"]))["stdout"] == "x\n/workspace\n"
        assert (await house.ask("GET", f"{ONE}/files?path=a")).body == b"x\n"

    live_in(tmp_path, test)


def test_a_run_is_asked_about_again_when_its_thread_was_bound_to_another_place(tmp_path: Path) -> None:
    async def test(house: HttpHouse) -> None:
        await house.bind("wasm")
        await asking(house)
        await house.ask("POST", "/v1/sessions", {"id": "s", "language": "shell", "thread_id": "t1"})
        waits = (await house.ask("POST", "/v1/sessions/s/runs", {"code": "echo x"})).json
        first = await one_pending(house)
        await house.ask("PUT", ONE, {"destination_id": "wasm", "workspace": "/workspace/d"})
        await decide_there(house, first)

        async def is_asked() -> bool:
            found = (await house.ask("GET", "/v1/approvals?pending=true", role="approver")).json["items"]
            return bool(found)

        await until(is_asked)
        assert (await house.ask("GET", f"/v1/runs/{waits['id']}")).json["state"] == "waiting"
        assert (await house.ask("DELETE", ONE)).status == 204
        await decide_there(house, await one_pending(house))
        gone = await ended(house, waits["id"])
        assert gone["error"]["code"] == "RUNNER_NOT_FOUND", gone

    live_in(tmp_path, test)


def test_hooks_see_a_run_once_and_what_they_made_of_it_is_approved(tmp_path: Path) -> None:
    async def test(house: HttpHouse) -> None:
        await asking(house)
        await hook(house, "before", "before_run", 'printf \'{"decision":"mutate","patch":{"code":"echo rewritten"}}\'')
        await hook(house, "after", "after_run", 'printf \'{"decision":"mutate","patch":{"stderr":"seen"}}\'')
        await house.ask("POST", "/v1/sessions", {"id": "s", "language": "shell"})
        waits = (await house.ask("POST", "/v1/sessions/s/runs", {"code": "echo original"})).json
        approval_id = await one_pending(house)
        shown = (await house.ask("GET", f"/v1/approvals/{approval_id}", role="approver")).json["arguments"]
        assert shown["code"] == "echo rewritten"
        await decide_there(house, approval_id)
        done = await ended(house, waits["id"])
        assert (done["stdout"], done["stderr"]) == ("rewritten\n", "seen")

    live_in(tmp_path, test)


def test_started_streamed_and_single_runs_wait_as_well(tmp_path: Path) -> None:
    async def test(house: HttpHouse) -> None:
        await asking(house)
        body = {"code": "echo there", "language": "shell"}
        single = (await house.ask("POST", "/v1/runs", body)).json
        assert single["state"] == "waiting"
        await decide_there(house, await one_pending(house))
        assert (await ended(house, single["id"]))["stdout"] == "there\n"
        await house.ask("POST", "/v1/sessions", {"id": "s", "language": "shell"})
        streamed = (await house.ask("POST", "/v1/sessions/s/runs?mode=stream", {"code": "echo there"})).body.decode()
        events = [line.removeprefix("event: ") for line in streamed.split("\n") if line.startswith("event: ")]
        assert events == ["started", "approval", "waiting"]
        (asked,) = (await house.ask("GET", "/v1/approvals?pending=true", role="approver")).json["items"]
        run_id = asked["run_id"]
        await decide_there(house, await one_pending(house))
        assert (await ended(house, run_id))["stdout"] == "there\n"
        begun = (await house.ask("POST", "/v1/sessions/s/runs?mode=async", {"code": "echo there"})).json

        async def waits() -> bool:
            return bool((await house.ask("GET", f"/v1/runs/{begun['id']}")).json["state"] == "waiting")

        await until(waits)
        await decide_there(house, await one_pending(house), "reject")
        assert (await ended(house, begun["id"]))["status"] == "permission_denied"

    live_in(tmp_path, test)
