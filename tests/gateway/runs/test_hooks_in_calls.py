"""Hooks around capability calls: what programs ask for and what they are answered, as hooks left it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from gateway.records import Run
from gateway.runs.approvals import Decide
from gateway.sessions.sessions import CreateSession
from sandbox.wire import RunStatus
from tests.gateway.house import ANN, BOB, activate, housed
from tests.gateway.runs.test_run_hooks import OPERATOR, TEXT, audited, hook, python, run


def test_a_hook_before_a_call_changes_its_arguments() -> None:
    async def main() -> None:
        seen = []

        async def greet(name: str) -> str:
            seen.append(name)
            return f"hello {name}"

        functions = {"greet": ({"name": TEXT}, greet)}
        async with housed("allow greet", "greet { name x } => allow", functions=functions) as house:
            patch = json.dumps({"decision": "mutate", "patch": {"arguments": {"name": "Bob"}}})
            await hook(house, "rename", "pre_tool_use", f"echo '{patch}'", matcher={"tool_name": "greet"})
            done = await run(house, "tools.greet(name='Eve')")
            assert done.result is not None and done.result.result == "hello Bob"
            assert seen == ["Bob"]

    asyncio.run(main())


def test_tm_hook_007_a_call_rewritten_into_something_denied_is_not_made() -> None:
    async def main() -> None:
        made = []

        async def pay(amount: int) -> int:
            made.append(amount)
            return amount

        functions = {"pay": ({"amount": {"type": "integer", "minimum": 0, "maximum": 10000}}, pay)}
        rules, tests = "allow pay when amount <= 10", "pay { amount 5 } => allow pay { amount 50 } => deny"
        async with housed(rules, tests, functions=functions) as house:
            patch = json.dumps({"decision": "mutate", "patch": {"arguments": {"amount": 5000}}})
            await hook(house, "greedy", "pre_tool_use", f"echo '{patch}'")
            done = await run(house, "tools.pay(amount=1)")
            assert done.result is not None and done.result.status is RunStatus.PERMISSION_DENIED
            assert made == []

    asyncio.run(main())


def test_a_hook_after_a_call_redacts_what_the_program_sees() -> None:
    async def main() -> None:
        async def lookup(name: str) -> dict[str, str]:
            return {"name": name, "card": "4711"}

        functions = {"lookup": ({"name": TEXT}, lookup)}
        async with housed("allow lookup", "lookup { name x } => allow", functions=functions) as house:
            patch = json.dumps({"decision": "mutate", "patch": {"result": {"name": "ann"}}})
            await hook(house, "redact", "post_tool_use", f"echo '{patch}'", on_error="block")
            done = await run(house, "tools.lookup(name='ann')")
            assert done.result is not None and done.result.result == {"name": "ann"}

    asyncio.run(main())


def test_files_of_hooks_around_calls_and_of_a_sessions_start_are_kept() -> None:
    async def main() -> None:
        async def greet(name: str) -> str:
            return f"hello {name}"

        functions = {"greet": ({"name": TEXT}, greet)}
        async with housed("allow greet", "greet { name x } => allow", functions=functions) as house:
            for event in ("session_start", "pre_tool_use", "post_tool_use", "turn_end"):
                write = f"open('/workspace/{event}.txt', 'w').write('{event}')"
                await hook(house, event, event, "", executor=python(before=write))
            session = await house.sessions.create(ANN, CreateSession())
            await run(house, "tools.greet(name='ann')", session.id)
            done = await run(house, "import os\nsorted(os.listdir('/workspace'))", session.id)
            wanted = ["post_tool_use.txt", "pre_tool_use.txt", "session_start.txt", "turn_end.txt"]
            assert done.result is not None and done.result.result == wanted
            assert [one.path for one in await house.store.tree("acme", session.id)] == [f"/{name}" for name in wanted]

    asyncio.run(main())


def test_a_hook_that_rewrites_a_call_does_not_make_it_happen_twice() -> None:
    async def main() -> None:
        made = []

        async def pay(amount: int) -> int:
            made.append(amount)
            return len(made)

        functions = {"pay": ({"amount": {"type": "integer"}}, pay)}
        async with housed("allow pay", "pay { amount 5 } => allow", functions=functions) as house:
            patch = {"decision": "mutate", "patch": {"arguments": {"amount": 9}}}
            await hook(house, "round", "pre_tool_use", "", executor=python(patch))
            done = await run(house, "[tools.pay(amount=8, idempotency_key='k') for _ in range(2)]")
            assert done.result is not None and done.result.result == [1, 1] and made == [9]

    asyncio.run(main())


STAMP = """import json, sys
call = json.load(sys.stdin)["data"]
print(json.dumps({"decision": "mutate", "patch": {"arguments": {"mark": call["tool_call_id"]}}}))
"""


def stamped(made: list[str]) -> dict[str, Any]:
    async def pay(mark: str) -> str:
        made.append(mark)
        return mark

    return {"pay": ({"mark": {"type": "string"}}, pay)}


def test_an_approved_call_is_made_as_the_hooks_left_it_and_asked_once() -> None:
    async def main() -> None:
        made: list[str] = []
        rules = "ask pay by finance within 15m"
        async with housed(rules, 'pay { mark "a" } => ask', functions=stamped(made)) as house:
            await hook(house, "stamp", "pre_tool_use", "", executor={"type": "python", "command": STAMP})
            await hook(house, "seen", "post_tool_use", "", executor={"type": "python", "command": SEEN})
            waiting = await run(house, "[tools.pay(mark=''), tools.pay(mark='')]")
            asked = []
            for _ in range(2):
                (found,) = (await house.store.approvals("acme", pending=True)).items
                asked.append(found.arguments["mark"])
                await house.approvals.decide(BOB, found.id, Decide(decision="approve"))
                done = await house.resumption.resume(ANN, waiting.id)
            assert done.state == "finished" and made == asked and len(set(asked)) == 2
            assert done.result is not None and done.result.result == [[one, one] for one in asked]
            outcomes = [one["hook_id"] for one in await audited(house)]
            assert outcomes == ["user:stamp", "user:seen"] * 2

    asyncio.run(main())


SEEN = """import json, sys
call = json.load(sys.stdin)["data"]
print(json.dumps({"decision": "mutate", "patch": {"result": [call["result"], call["tool_call_id"]]}}))
"""


def test_hooks_are_told_of_a_waiting_call_again_if_the_session_went_over_to_another_policy() -> None:
    async def main() -> None:
        made: list[str] = []
        rules = "ask pay by finance within 15m"
        async with housed(rules, 'pay { mark "a" } => ask', functions=stamped(made)) as house:
            waiting = await run(house, "tools.pay(mark='')")
            (found,) = (await house.store.approvals("acme", pending=True)).items
            await house.approvals.decide(BOB, found.id, Decide(decision="approve"))
            text = (
                "policy strict v 1\nallow session.create\nallow run\nlimit run { cpu 1s memory 64MiB output 1KiB }\nallow pay\n"
                'hook no on before pay run shell "no.sh" timeout 30s on_error block\n'
                'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }'
            )
            tools = house.catalogue.tools()
            await activate(house.policies, {"p.hatch": text, "no.sh": "echo never >&2; exit 1"}, tools=tools)
            await house.sessions.update(OPERATOR, waiting.session_id, repin=True)
            done = await house.resumption.resume(ANN, waiting.id)
            assert done.result is not None and done.result.error is not None
            assert "never" in done.result.error.message and made == []

    asyncio.run(main())


def test_a_call_hook_that_fails_and_warns_is_told_once_with_the_result_also_after_a_wait() -> None:
    async def main() -> None:
        async def pay(amount: int) -> int:
            return amount

        functions = {"pay": ({"amount": {"type": "integer", "minimum": 0, "maximum": 100}}, pay)}
        rules = "allow pay when amount <= 10\nask pay when amount > 10 by anyone within 15m"
        tests = "pay { amount 1 } => allow pay { amount 50 } => ask"
        async with housed(rules, tests, functions=functions) as house:
            broken = {"type": "python", "command": "1 / 0"}
            for event in ("before_run", "pre_tool_use"):
                spec = {"id": event, "event": event, "executor": broken, "on_error": "warn", "timeout_ms": 30_000}
                await house.hooks.put(OPERATOR, spec)
            done = await run(house, "[tools.pay(amount=1) for _ in range(3)] + [tools.pay(amount=50)]")
            wanted = [("HOOK_FAILED", "the hook user:before_run"), ("HOOK_FAILED", "the hook user:pre_tool_use")]
            assert done.state == "waiting" and warned(done) == wanted
            (asked,) = (await house.store.approvals("acme", pending=True)).items
            await house.approvals.decide(ANN, asked.id, Decide(decision="approve"))
            done = await house.resumption.resume(ANN, done.id)
            assert done.result is not None and done.result.result == [1, 1, 1, 50]
            assert warned(done) == wanted

    asyncio.run(main())


def warned(done: Run) -> list[tuple[str, str]]:
    assert done.result is not None
    return [(one.code, one.message.split(" failed: ")[0]) for one in done.result.diagnostics if one.code == "HOOK_FAILED"]
