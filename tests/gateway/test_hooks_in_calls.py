"""Hooks around capability calls: what programs ask for and what they are answered, as hooks left it."""

from __future__ import annotations

import asyncio
import json

from gateway.approvals import Decide
from gateway.records import Run
from gateway.sessions import CreateSession
from sandbox.wire import RunStatus
from tests.gateway.house import ANN, housed
from tests.gateway.test_hooks_in_runs import OPERATOR, TEXT, hook, python, run


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
            done = await house.runs.resume(ANN, done.id)
            assert done.result is not None and done.result.result == [1, 1, 1, 50]
            assert warned(done) == wanted

    asyncio.run(main())


def warned(done: Run) -> list[tuple[str, str]]:
    assert done.result is not None
    return [(one.code, one.message.split(" failed: ")[0]) for one in done.result.diagnostics if one.code == "HOOK_FAILED"]
