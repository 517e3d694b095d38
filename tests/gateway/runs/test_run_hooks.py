"""Hooks around real runs and calls: what they block, rewrite, redact and leave behind."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from gateway.egress import EgressError
from gateway.errors import Forbidden, GatewayError, TooMany
from gateway.records import Principal, Run
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from gateway.stores.engines.memory import MemoryStore
from sandbox.capabilities.registry import ToolError
from sandbox.wire import CallStatus, RunStatus
from tests.gateway.house import ANN, House, activate, housed
from tests.gateway.till import RULES, TESTS, Till, decide

OPERATOR = Principal(tenant="acme", role="operator", user="op")
TEXT = {"type": "string"}


async def hook(house: House, name: str, event: str, command: str, **more: Any) -> None:
    executor = more.pop("executor", {"type": "bash", "command": command})
    await house.hooks.put(OPERATOR, {"id": name, "event": event, "executor": executor, **more})


async def run(house: House, code: str, session_id: str | None = None) -> Run:
    if session_id is None:
        session_id = (await house.sessions.create(ANN, CreateSession())).id
    return await house.runs.run(ANN, session_id, RunBody(code=code))


async def audited(house: House) -> list[dict[str, Any]]:
    return [one.data["outcome"] for one in await house.store.audit("acme", limit=200) if one.kind == "hook"]


def test_a_hook_before_a_run_blocks_it_with_its_reason() -> None:
    async def main() -> None:
        async with housed() as house:
            script = "grep -q secret && { echo 'no secrets here' >&2; exit 1; }; exit 0"
            await hook(house, "lint", "before_run", script)
            with pytest.raises(Forbidden, match="no secrets here"):
                await run(house, "print('secret')")
            done = await run(house, "print('fine')")
            assert done.result is not None and done.result.stdout == "fine\n"

    asyncio.run(main())


def test_a_hook_rewrites_a_run_and_the_policy_is_asked_again() -> None:
    async def main() -> None:
        rules = "deny run when bytes > 2KiB"
        async with housed(rules, "run { language shell, bytes 3KiB } => deny") as house:
            long = json.dumps({"decision": "mutate", "patch": {"code": "1" + " " * 3000}})
            short = json.dumps({"decision": "mutate", "patch": {"code": "40 + 2"}})
            await hook(house, "rewrite", "before_run", f"if grep -q long; then echo '{long}'; else echo '{short}'; fi")
            done = await run(house, "0")
            assert done.result is not None and done.result.result == 42
            with pytest.raises(GatewayError, match="refuses run"):
                await run(house, "'long'")

    asyncio.run(main())


def test_a_hook_after_a_run_redacts_what_it_printed() -> None:
    async def main() -> None:
        async with housed() as house:
            code = (
                "import json, sys\ndata = json.load(sys.stdin)['data']\n"
                "print(json.dumps({'decision': 'mutate', 'patch': {'stdout': data['stdout'].replace('4711', '****')}}))"
            )
            await hook(house, "redact", "after_run", "", executor={"type": "python", "command": code}, on_error="block")
            done = await run(house, "print('card 4711')")
            assert done.result is not None and done.result.stdout == "card ****\n"
            done = await run(house, "import sys\nsys.stdout.buffer.write(b'4711 \\xff')")
            assert done.result is not None and done.result.stdout_bytes == "**** \ufffd".encode()
            assert "base64" not in msgspec.json.encode(done.result).decode()

    asyncio.run(main())


def test_a_redacting_hook_that_fails_withholds_the_result() -> None:
    async def main() -> None:
        async with housed() as house:
            await hook(house, "redact", "after_run", "echo not json", on_error="block")
            done = await run(house, "print('card 4711')\n'4711'")
            assert done.result is not None and done.result.status is RunStatus.PERMISSION_DENIED
            assert "4711" not in str(done.result)

    asyncio.run(main())


async def refuse(text: str) -> None:
    raise ToolError("NO", f"there is no {text}")


REFUSING = {"find": ({"text": TEXT}, refuse)}
FAILS = "try:\n  tools.find(text='canary')\nexcept Exception: pass\nraise ValueError('card canary')"


def test_a_failure_that_is_withheld_is_told_nowhere_in_the_result() -> None:
    async def main() -> None:
        async with housed("allow find\n", 'find { text "a" } => allow', functions=REFUSING) as house:
            await hook(house, "redact", "after_run", "echo not json", on_error="block")
            done = await run(house, FAILS)
            assert done.result is not None and done.result.error is not None and "canary" not in str(done.result)
            assert [one.message for one in done.result.diagnostics] == [done.result.error.message]
            assert [(one.name, one.status) for one in done.result.external_calls] == [("find", CallStatus.ERROR)]

    asyncio.run(main())


def test_a_hook_after_a_run_rewords_its_failure_and_nothing_else_repeats_it() -> None:
    async def main() -> None:
        async with housed("allow find\n", 'find { text "a" } => allow', functions=REFUSING) as house:
            patch = {"decision": "mutate", "patch": {"error": "a card", "stderr": ""}}
            await hook(house, "redact", "after_run", "", executor=python(patch), on_error="block")
            done = await run(house, FAILS)
            assert done.result is not None and done.result.error is not None and "canary" not in str(done.result)
            assert (done.result.status, done.result.error.message) == (RunStatus.RUNTIME_ERROR, "a card")
            assert [one.message for one in done.result.diagnostics] == ["a card"]
            fine = await run(house, "5")
            assert fine.result is not None and (fine.result.status, fine.result.error) == (RunStatus.OK, None)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("event", "code", "patch"), [("after_run", "1", {"result": True}), ("before_run", "x", {"inputs": {"x": True}})]
)
def test_a_hook_may_put_in_what_python_finds_equal(event: str, code: str, patch: dict[str, Any]) -> None:
    async def main() -> None:
        async with housed() as house:
            await hook(house, "rewrite", event, "", executor=python({"decision": "mutate", "patch": patch}))
            session = await house.sessions.create(ANN, CreateSession())
            done = await house.runs.run(ANN, session.id, RunBody(code=code, inputs={"x": 1}))
            assert done.result is not None and done.result.result is True

    asyncio.run(main())


def test_tm_hook_stream_what_a_hook_may_redact_is_not_shown_while_the_run_waits() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            patch = {"decision": "mutate", "patch": {"stdout": "gone", "stderr": ""}}
            await hook(house, "redact", "after_run", "", executor=python(patch), on_error="block")
            code = "import sys\nprint('canary')\nprint('canary', file=sys.stderr)\ndisplay('canary')\ntools.refund(amount=50)"
            waiting = await run(house, code)
            feed = house.runs.watch("acme", waiting.id)
            assert feed is not None
            shown = [waiting, await house.runs.get(ANN, waiting.id), [event async for event in feed.events()]]
            assert waiting.state == "waiting" and "canary" not in str(shown)
            await decide(house, "approve")
            done = await house.resumption.resume(ANN, waiting.id)
            assert done.result is not None and done.result.stdout == "gone" and till.paid == [50]

    asyncio.run(main())


def test_what_no_hook_may_redact_is_shown_while_the_run_waits() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            waiting = await run(house, "print('canary')\ntools.refund(amount=50)")
            assert waiting.result is not None and waiting.result.stdout == "canary\n"

    asyncio.run(main())


def test_files_of_a_hook_are_there_for_the_run_and_its_fork_is_not() -> None:
    async def main() -> None:
        async with housed() as house:
            await hook(house, "prepare", "before_run", "echo 42 > config.txt; x=1")
            done = await run(house, "import os\n(open('config.txt').read(), os.path.exists('.hooks'))")
            assert done.result is not None and done.result.result == ["42\n", False]
            assert [one.path for one in await house.store.tree("acme", done.session_id)] == ["/config.txt"]

    asyncio.run(main())


def test_files_of_a_hook_that_blocked_are_not_kept() -> None:
    async def main() -> None:
        async with housed() as house:
            await hook(house, "strict", "before_run", "echo junk > junk.txt; exit 1")
            session = await house.sessions.create(ANN, CreateSession())
            with pytest.raises(Forbidden):
                await run(house, "1", session.id)
            assert await house.store.tree("acme", session.id) == []

    asyncio.run(main())


def test_every_outcome_is_in_the_audit_also_of_a_hook_that_timed_out() -> None:
    async def main() -> None:
        async with housed() as house:
            await hook(house, "slow", "before_run", "while :; do :; done", timeout_ms=100, on_error="warn")
            done = await run(house, "7")
            assert done.result is not None and done.result.result == 7
            (outcome,) = await audited(house)
            assert outcome["hook_id"] == "user:slow" and outcome["effect"] == "warned"
            assert outcome["reason"] == "hook timed out after 100 ms"

    asyncio.run(main())


def test_a_muted_hook_does_not_fire() -> None:
    async def main() -> None:
        async with housed() as house:
            await hook(house, "strict", "before_run", "exit 1")
            await house.hooks.mute(OPERATOR, ["user:str*"])
            done = await run(house, "7")
            assert done.result is not None and done.result.result == 7
            with pytest.raises(GatewayError):
                await house.hooks.mute(OPERATOR, ["policy:lint"])

    asyncio.run(main())


def test_a_policys_hook_runs_its_own_stored_program() -> None:
    async def main() -> None:
        async with housed() as house:
            text = (
                "policy hooked v 1\nallow session.create\nallow run\nlimit run { cpu 1s memory 64MiB output 1KiB }\n"
                'hook lint on before run run shell "hooks/lint.sh" timeout 30s on_error block\n'
                'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }'
            )
            sources = {"p.hatch": text, "hooks/lint.sh": "grep -q forbidden && { echo 'linted' >&2; exit 1; }; exit 0"}
            await activate(house.policies, sources)
            with pytest.raises(Forbidden, match="linted"):
                await run(house, "'forbidden'")
            done = await run(house, "1")
            assert done.result is not None and done.result.result == 1

    asyncio.run(main())


def test_tm_hook_stream_what_a_hook_may_redact_is_not_shown_live() -> None:
    async def main() -> None:
        async with housed() as house:
            text = (
                "policy hooked v 1\nallow session.create\nallow run\nlimit run { cpu 1s memory 64MiB output 1KiB }\n"
                'hook redact on after run run python "redact.py" timeout 30s on_error block\n'
                'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }'
            )
            patch = {"decision": "mutate", "patch": {"stdout": "gone"}}
            program = f"import json; print(json.dumps({patch!r}))"
            await activate(house.policies, {"p.hatch": text, "redact.py": program})
            session = await house.sessions.create(ANN, CreateSession())
            started = await house.runs.start(ANN, session.id, RunBody(code="print('4711')"))
            feed = house.runs.watch("acme", started.id)
            assert feed is not None
            events = [event async for event in feed.events()]
            assert [event.kind for event in events] == ["started", "result"] and "4711" not in str(events)
            assert events[1].data["result"]["stdout"] == "gone"

    asyncio.run(main())


def test_start_turn_and_end_of_a_session_are_told_and_change_nothing() -> None:
    async def main() -> None:
        async with housed() as house:
            for event in ("session_start", "turn_end", "session_end"):
                await hook(house, event, event, "cat > /dev/null; exit 1")
            session = await house.sessions.create(ANN, CreateSession())
            done = await run(house, "7", session.id)
            assert done.result is not None and done.result.result == 7
            await house.sessions.delete(ANN, session.id)
            await house.audit.flush()
            assert [(one["hook_id"], one["effect"]) for one in await audited(house)] == [
                ("user:session_start", "ignored"),
                ("user:turn_end", "ignored"),
                ("user:session_end", "ignored"),
            ]

    asyncio.run(main())


def test_what_a_person_says_can_be_rewritten_and_blocked() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await house.sessions.create(ANN, CreateSession())
            assert await house.session_hooks.submit_prompt(house.sessions, ANN, session.id, "hello") == "hello"
            rewrite = json.dumps({"decision": "mutate", "patch": {"message": "HELLO"}})
            script = f"if grep -q rude; then echo 'be kind' >&2; exit 1; else echo '{rewrite}'; fi"
            await hook(house, "manners", "user_prompt_submit", script)
            assert await house.session_hooks.submit_prompt(house.sessions, ANN, session.id, "hello") == "HELLO"
            with pytest.raises(Forbidden, match="be kind"):
                await house.session_hooks.submit_prompt(house.sessions, ANN, session.id, "rude")

    asyncio.run(main())


def python(answer: Any = None, *, before: str = "") -> dict[str, Any]:
    """An executor that answers with JSON."""
    return {"type": "python", "command": f"{before}\nimport json; print(json.dumps({answer!r}) if {answer!r} else '')"}


def test_a_rewritten_run_counts_once_towards_its_rate() -> None:
    async def main() -> None:
        async with housed() as house:
            text = (
                "policy rated v 1\nallow session.create\nallow run\n  rate 2/h per session\n"
                "limit run { cpu 1s memory 64MiB output 1KiB }\n"
                'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }'
            )
            await activate(house.policies, {"p.hatch": text})
            await hook(house, "rewrite", "before_run", "", executor=python({"decision": "mutate", "patch": {"code": "40 + 2"}}))
            done = await run(house, "0")
            done = await run(house, "0", done.session_id)
            assert done.result is not None and done.result.result == 42
            with pytest.raises(TooMany):
                await run(house, "0", done.session_id)

    asyncio.run(main())


def test_tm_hook_stream_what_a_tenants_own_hook_may_redact_is_not_shown_live() -> None:
    async def main() -> None:
        async with housed() as house:
            patch = {"decision": "mutate", "patch": {"stdout": "gone"}}
            await hook(house, "redact", "after_run", "", executor=python(patch), on_error="block")
            session = await house.sessions.create(ANN, CreateSession())
            started = await house.runs.start(ANN, session.id, RunBody(code="print('4711')"))
            feed = house.runs.watch("acme", started.id)
            assert feed is not None
            events = [event async for event in feed.events()]
            assert "4711" not in str(events) and events[-1].data["result"]["stdout"] == "gone"
            await house.hooks.mute(OPERATOR, ["user:redact"])
            started = await house.runs.start(ANN, session.id, RunBody(code="print('4711')"))
            feed = house.runs.watch("acme", started.id)
            assert feed is not None
            assert "stdout" in [event.kind async for event in feed.events()]

    asyncio.run(main())


def test_a_long_reason_of_a_hook_is_cut_in_the_audit_and_costs_nobody_the_run() -> None:
    async def main() -> None:
        async with housed() as house:
            said = "import json; print(json.dumps({'decision': 'block', 'reason': 'x' * 60300, 'user_message': 'y' * 5000}))"
            await hook(house, "chatty", "after_run", "", executor={"type": "python", "command": said})
            done = await run(house, "7")
            assert done.result is not None and done.result.result == 7
            (outcome,) = await audited(house)
            assert len(outcome["reason"]) < 600 and len(outcome["user_message"]) < 600

    asyncio.run(main())


def test_a_hook_put_while_hooks_are_read_is_not_forgotten() -> None:
    class Slow(MemoryStore):
        """Gives what it has read when it is told to."""

        gate: asyncio.Event | None = None

        async def entries(self, *where: Any, **more: Any) -> Any:
            found = await super().entries(*where, **more)
            if self.gate is not None:
                await self.gate.wait()
            return found

    async def main() -> None:
        store = Slow()
        async with housed(store=store) as house:
            store.gate = asyncio.Event()
            reading = asyncio.create_task(house.hooks.specs("acme"))
            await asyncio.sleep(0)
            gate, store.gate = store.gate, None
            await hook(house, "late", "before_run", "exit 1")
            gate.set()
            await reading
            assert [one.id for one in await house.hooks.specs("acme")] == ["user:late"]

    asyncio.run(main())


def test_a_hooks_program_is_read_once_and_again_when_it_was_put_anew() -> None:
    class Counting(MemoryStore):
        read = 0

        async def policy(self, *where: Any) -> Any:
            self.read += 1
            return await super().policy(*where)

        async def entry(self, tenant: str, kind: str, entry_id: str) -> Any:
            self.read += kind == "hook_program"
            return await super().entry(tenant, kind, entry_id)

    async def main() -> None:
        store = Counting()
        async with housed(store=store) as house:
            text = (
                "policy hooked v 1\nallow session.create\nallow run\nlimit run { cpu 1s memory 64MiB output 1KiB }\n"
                'hook lint on before run run shell "lint.sh" timeout 30s on_error block\n'
                'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }'
            )
            await activate(house.policies, {"p.hatch": text, "lint.sh": "exit 0"})
            await house.hooks.put_program(OPERATOR, "own.sh", b"exit 0")
            await hook(house, "own", "before_run", "", executor={"type": "bash", "program": "own.sh"})
            session = await house.sessions.create(ANN, CreateSession())
            store.read = 0
            for _ in range(3):
                await run(house, "1", session.id)
            assert store.read == 2
            await house.hooks.put_program(OPERATOR, "own.sh", b"echo changed >&2; exit 1")
            with pytest.raises(Forbidden, match="changed"):
                await run(house, "1", session.id)

    asyncio.run(main())


def test_what_a_hook_says_to_people_is_told_with_the_run_and_with_a_refusal() -> None:
    async def main() -> None:
        async with housed() as house:
            told = json.dumps({"decision": "allow", "user_message": "mind the budget"})
            sorry = json.dumps({"decision": "block", "reason": "no", "user_message": "ask ann first"})
            await hook(house, "note", "before_run", f"if grep -q secret; then echo '{sorry}'; else echo '{told}'; fi")
            done = await run(house, "1")
            assert done.result is not None
            said = [(one.code, one.severity.value, one.message, one.hint) for one in done.result.diagnostics]
            assert said == [("HOOK_MESSAGE", "info", "mind the budget", "said by the hook user:note")]
            with pytest.raises(Forbidden) as refused:
                await run(house, "secret = 1")
            assert (refused.value.code, refused.value.error.hint) == ("HOOK_BLOCKED", "ask ann first")

    asyncio.run(main())


def test_what_a_hook_that_blocks_a_call_says_to_people_is_told_with_the_run() -> None:
    async def main() -> None:
        async def look() -> int:
            return 1

        async with housed("allow look", "look {} => allow", functions={"look": ({}, look)}) as house:
            sorry = json.dumps({"decision": "block", "reason": "no", "user_message": "ask ann first"})
            await hook(house, "guard", "pre_tool_use", f"echo '{sorry}'")
            done = await run(house, "try:\n    tools.look()\nexcept Exception as error:\n    print(error)")
            assert done.result is not None and "blocked it: no" in done.result.stdout and "ann" not in done.result.stdout
            assert ("HOOK_MESSAGE", "ask ann first") in [(one.code, one.message) for one in done.result.diagnostics]

    asyncio.run(main())


def test_tm_hook_008_a_policys_hooks_judge_what_other_hooks_rewrote_and_see_results_first() -> None:
    async def main() -> None:
        async with housed() as house:
            text = (
                "policy hooked v 1\nallow session.create\nallow run\nlimit run { cpu 1s memory 64MiB output 1KiB }\n"
                'hook guard on before run run shell "guard.sh" timeout 30s on_error block\n'
                'hook redact on after run run shell "redact.sh" timeout 30s on_error block\n'
                'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }'
            )
            redacted = json.dumps({"decision": "mutate", "patch": {"stdout": "redacted"}})
            guard = "if grep -q evil; then exit 1; fi"
            await activate(
                house.policies, {"p.hatch": text, "guard.sh": guard, "redact.sh": f"grep -q secret && echo '{redacted}'"}
            )
            disguised = json.dumps({"decision": "mutate", "patch": {"stdout": "disguised"}})
            await hook(house, "disguise", "after_run", f"if grep -q secret; then echo '{disguised}'; fi")
            done = await run(house, "print('sec' + 'ret')")
            assert done.result is not None and done.result.stdout == "redacted"
            evil = json.dumps({"decision": "mutate", "patch": {"code": "print('evil')"}})
            await hook(house, "rewrite", "before_run", f"echo '{evil}'")
            with pytest.raises(Forbidden):
                await run(house, "1")

    asyncio.run(main())


def test_tm_audit_loss_a_webhook_is_in_the_chain_before_it_is_told() -> None:
    async def main() -> None:
        async with housed("allow net.connect", 'net.connect { host "hooks.example", port 443 } => allow') as house:
            recorded = list[Any]()

            class Recipient:
                async def request(self, *_: Any, **__: Any) -> Any:
                    recorded.append([one.data for one in await house.store.audit("acme") if one.kind == "webhook"])
                    raise EgressError("TIMEOUT", "killed before it answered")

            async def find_key(_: str) -> bytes:
                return b"key"

            house.hooks._egress = Recipient()  # type: ignore[assignment]
            house.hooks._find_key = lambda tenant: find_key
            executor = {"type": "webhook", "url": "https://hooks.example/told"}
            await hook(house, "tell", "before_run", "", executor=executor, on_error="allow")
            done = await run(house, "1")
            assert done.result is not None and done.result.ok
            ((begun,),) = recorded
            assert (begun["event"], begun["status"], begun["run"]) == ("before_run", "begun", done.id)

    asyncio.run(main())
