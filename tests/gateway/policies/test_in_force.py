"""Policy in force: replaced only by what was proved, pinned by sessions, watched from the shadow."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from gateway import children
from gateway.audit.buffer import KEPT_MAX, TENANT_KEPT_MAX, AuditBuffer
from gateway.clock import now_ms
from gateway.errors import BadRequest, Conflict, Forbidden, GatewayError, StoreFailed, TooMany, Unavailable, Unprocessable
from gateway.policies.compiler import Compiler, RefusedPolicy, compile_here, policy_of
from gateway.policies.deployments import Comparison, Deploy, Deployments, Question, Sources
from gateway.policies.facts import facts_of
from gateway.policies.in_force import Policies, deny_all
from gateway.policies.operator_policies import OperatorBase
from gateway.records import Principal, Tenant
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import AppendAudit
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.engines.sqlite import SqliteStore
from policy import PolicyError
from policy.evaluation import evaluator
from policy.model import ir
from sandbox.wire import Language
from tests.gateway.house import ANN, activate, housed

OPERATOR = Principal(tenant="acme", role="operator", user="op")
LIMIT = "limit run { cpu 1s memory 64MiB output 1KiB }\n"
ALL = "allow session.create\nallow run\n" + LIMIT


def policy(rules: str, tests: str = "run { language python, bytes 1B } => allow", version: int = 1, header: str = "") -> str:
    return f'policy mine v {version}{header}\n{rules}\ntest "t" {{ as {{ tenant acme }} {tests} }}\n'


NO_SHELL = policy(
    ALL + "deny run when language == shell", "run { language shell, bytes 1B } => deny run { language python, bytes 1B } => allow"
)


def test_a_policy_that_is_refused_changes_nothing_and_says_why() -> None:
    async def main() -> None:
        async with housed() as house:
            before = (await house.policies.find_active("acme")).digest
            for text in ("policy mine v 1\nallow rnu", policy(ALL, "run { language python, bytes 1B } => deny"), "nonsense"):
                with pytest.raises(RefusedPolicy) as refused:
                    await activate(house.policies, {"p.hatch": text})
                assert any(one.severity == "error" and one.place is not None for one in refused.value.findings)
            assert (await house.policies.find_active("acme")).digest == before
            assert await house.store.policies_in("acme", "active") == []

    asyncio.run(main())


def test_what_an_operator_notes_about_a_tenant_does_not_make_it_another() -> None:
    noted = Tenant(id="acme", plan="free", facts={"tenant": "globex", "plan": "gold", "region": "eu"}, created_at=0, updated_at=0)
    assert facts_of(noted, None) == {"tenant": "acme", "plan": "free", "region": "eu"}


def test_recent_decisions_are_put_to_a_new_policy_before_it_decides() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await house.sessions.create(ANN, CreateSession())
            for _ in range(3):
                await house.runs.run(ANN, session.id, RunBody(code="echo", language=Language.SHELL))
            _, replayed = await activate(house.policies, {"p.hatch": NO_SHELL})
            assert (replayed.changed, replayed.loosened) == (3, 0)
            assert replayed.examples[0]["is"] == "deny"

    asyncio.run(main())


def test_a_policy_in_the_shadow_decides_nothing_and_is_compared() -> None:
    async def main() -> None:
        async with housed() as house:
            await activate(house.policies, {"p.hatch": NO_SHELL}, shadow=True)
            session = await house.sessions.create(ANN, CreateSession())
            done = await house.runs.run(ANN, session.id, RunBody(code="echo hi", language=Language.SHELL))
            assert done.result is not None and done.result.stdout == "hi\n"
            (difference,) = [one for one in await house.policies.differences("acme") if one.event == "run"]
            assert (difference.verdict, difference.candidate) == ("allow", "deny")

    asyncio.run(main())


def test_a_stored_policy_is_in_force_after_a_restart() -> None:
    async def main() -> None:
        store = MemoryStore()
        async with housed(store=store) as house:
            stored, _ = await activate(house.policies, {"p.hatch": NO_SHELL})
        async with housed(store=store) as house:
            assert (await house.policies.find_active("acme")).digest == stored.digest
            assert (await house.policies.find_active("evil")).digest != stored.digest

    asyncio.run(main())


def test_tm_pol_base_a_tenants_policy_must_narrow_the_operators_base() -> None:
    async def main() -> None:
        async with housed() as house:
            base = "policy platform v 1\n" + ALL + 'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }'
            policies = Policies(
                house.store,
                deny_all(),
                audit=house.audit,
                compiler=Compiler(),
                clock_ms=now_ms,
                base=OperatorBase("platform", {"platform.hatch": base.encode()}, {}),
            )
            try:
                with pytest.raises(Unprocessable, match="must narrow platform"):
                    await activate(policies, {"p.hatch": NO_SHELL})
                narrow = NO_SHELL.replace("v 1\n", "v 1 narrows platform\n", 1)
                loose = policy(ALL.replace("1s", "9s"), header=" narrows platform")
                forged = {"p.hatch": loose, "platform.hatch": base.replace("1s", "99s")}
                with pytest.raises(RefusedPolicy):
                    await activate(policies, forged)
                stored, _ = await activate(policies, {"p.hatch": narrow})
                assert (await policies.find_active("acme")).digest == stored.digest
            finally:
                await policies.compiler.close()

    asyncio.run(main())


def test_tm_pol_facts_only_an_operator_says_what_policies_believe_about_a_session() -> None:
    async def main() -> None:
        async with housed() as house:
            with pytest.raises(Forbidden):
                await house.sessions.create(ANN, CreateSession(facts={"mfa": True}))
            made = await house.sessions.create(OPERATOR, CreateSession(facts={"mfa": True}))
            assert made.facts == {"creator_role": "operator", "mfa": True}

    asyncio.run(main())


def test_tm_pol_facts_an_operator_marks_a_session_that_has_read_untrusted_content() -> None:
    async def main() -> None:
        async with housed("allow fs.write\ndeny fs.write when session.tainted\n") as house:
            session = await house.sessions.create(OPERATOR, CreateSession(facts={"tainted": False}))

            async def may_write(session_id: str) -> bool:
                gate = await house.sessions.find_gate(await house.sessions.find(ANN, session_id), ANN)
                return gate.permits("fs.write", {"path": "/workspace/a", "bytes": 1})

            assert await may_write(session.id)
            with pytest.raises(Forbidden):
                await house.sessions.update(ANN, session.id, facts={"tainted": False})
            marked = await house.sessions.update(OPERATOR, session.id, facts={"tainted": True})
            assert marked.facts == {"creator_role": "operator", "tainted": True} and not await may_write(session.id)
            (fork,) = await house.snapshots.fork(ANN, session.id)
            assert not await may_write(fork.id)
            with pytest.raises(PolicyError, match=r"session\.tainted"):
                await house.sessions.update(OPERATOR, session.id, facts={"tainted": "no"})
            assert not await may_write((await house.sessions.create(ANN, CreateSession())).id), "unknown counts as tainted"

    asyncio.run(main())


def test_nothing_is_permitted_while_there_is_no_policy() -> None:
    assert deny_all().decide("run", {"tenant": "acme", "language": "python", "bytes": 1}).verdict == "deny"


def test_check_explain_and_diff_over_the_api_say_what_the_command_says() -> None:
    async def main() -> None:
        async with housed() as house:
            desk = Deployments(house.policies, lambda: [])
            checked = await desk.check(OPERATOR, Sources(sources={"p.hatch": NO_SHELL}, main="p.hatch"))
            assert checked.ok and checked.name == "mine" and checked.tests == 2
            wrong = await desk.check(OPERATOR, Sources(sources={"p.hatch": NO_SHELL.replace("shell", "shel", 1)}, main="p.hatch"))
            assert not wrong.ok and wrong.findings[0].place is not None and wrong.findings[0].place.line == 5
            asked: dict[str, Any] = {"language": "shell", "bytes": 1}
            question = Question(event="run", attributes=asked, sources={"p.hatch": NO_SHELL}, main="p.hatch")
            explained = await desk.explain(OPERATOR, question)
            assert explained.verdict == "deny" and "language == shell" in explained.text
            new = Sources(sources={"p.hatch": NO_SHELL}, main="p.hatch")
            old = Sources(sources={"p.hatch": policy(ALL)}, main="p.hatch")
            changes = await desk.diff(OPERATOR, Comparison(new=new, old=old))
            assert [(one.capability, one.loosens) for one in changes] == [("run", False)]
            deployed = await desk.deploy(OPERATOR, Deploy(sources={"p.hatch": NO_SHELL}, main="p.hatch"))
            assert deployed.policy.state == "active"

    asyncio.run(main())


def test_tm_pol_stall_a_policy_that_takes_too_long_is_refused_and_the_next_is_not() -> None:
    async def main() -> None:
        compiler = Compiler(timeout_seconds=0.02)
        try:
            hostile = policy(ALL + "\n".join(f'allow fs.read when path under "/a{n}"' for n in range(3000)))
            with pytest.raises(Unprocessable, match="too long"):
                await compiler.compile({"p.hatch": hostile}, "p.hatch")
            compiler._checking.seconds = 30
            assert (await compiler.compile({"p.hatch": NO_SHELL}, "p.hatch")).policy is not None
        finally:
            await compiler.close()

    asyncio.run(main())


def test_tm_pol_stall_a_tenants_texts_keep_neither_others_nor_stored_policies_waiting() -> None:
    async def main() -> None:
        compiler, go_on, order = Compiler(), threading.Event(), []
        ask = compiler._checking._ask

        def slow(request: Any, left: threading.Event) -> Any:
            order.append("busy" if "busy.hatch" in request.arguments else "other")
            assert order[-1] == "other" or go_on.wait(60)
            return ask(request, left)

        compiler._checking._ask = slow  # type: ignore[method-assign]
        try:
            many = [
                asyncio.create_task(compiler.compile({"busy.hatch": NO_SHELL}, "busy.hatch", tenant="busy")) for _ in range(16)
            ]
            await asyncio.sleep(0)
            with pytest.raises(TooMany):
                await compiler.compile({"busy.hatch": NO_SHELL}, "busy.hatch", tenant="busy")
            other = asyncio.create_task(compiler.compile({"p.hatch": NO_SHELL}, "p.hatch", tenant="other"))
            async with asyncio.timeout(60):
                assert (await compiler.load({"p.hatch": NO_SHELL}, "p.hatch")).policy is not None, "nothing is in its way"
                assert (await other).policy is not None, "nor in another tenant's"
                assert order == ["busy", "other"]
                go_on.set()
                await asyncio.gather(*many)
        finally:
            await compiler.close()

    asyncio.run(main())


def test_a_compiler_that_was_killed_is_replaced() -> None:
    async def main() -> None:
        compiler = Compiler()
        try:
            await compiler.compile({"p.hatch": NO_SHELL}, "p.hatch")
            (child,) = compiler._checking._children.values()
            assert child._process is not None
            child._process.kill()
            child._process.wait()
            found = policy_of(await compiler.compile({"p.hatch": NO_SHELL}, "p.hatch"))
            assert found.digest == policy_of(compile_here({"p.hatch": NO_SHELL}, "p.hatch")).digest
        finally:
            await compiler.close()

    asyncio.run(main())


def test_tm_audit_loss_when_the_audit_cannot_be_written_nothing_more_is_decided() -> None:
    class Full(MemoryStore):
        async def write(self, tenant: str, changes: Any) -> None:
            raise StoreFailed("STORE_FULL", "no space left")

    async def main() -> None:
        trail = AuditBuffer(Full())
        tenants = ["acme", *(f"t{n}" for n in range(KEPT_MAX // TENANT_KEPT_MAX - 1))]
        for tenant in tenants:
            for number in range(TENANT_KEPT_MAX):
                trail.note(tenant, AppendAudit(at=number, kind="decision"))
            with pytest.raises(Unavailable) as full:
                trail.note(tenant, AppendAudit(at=0, kind="decision"))
            assert full.value.code == "AUDIT_UNAVAILABLE"
        await trail.flush()
        with pytest.raises(Unavailable):
            trail.note("another", AppendAudit(at=0, kind="decision"))
        trail._store = MemoryStore()
        await trail.close()

    asyncio.run(main())


def test_a_refusal_names_its_rule_and_how_to_learn_more() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await house.sessions.create(ANN, CreateSession())
            live = await house.sessions.find(ANN, session.id)
            gate = await house.sessions.find_gate(live, ANN)
            with pytest.raises(GatewayError) as refused:
                gate.require("fs.read", {"path": "/etc/passwd"})
            assert refused.value.error.hint == "decided by default; `hatchway policy explain` says why"

    asyncio.run(main())


def test_rates_are_counted_for_everything_that_is_decided() -> None:
    async def main() -> None:
        text = policy(
            "allow session.create\n  rate 2/min per tenant\nallow run\n  rate 3/min per session\n" + LIMIT,
            "run { language python, bytes 1B } => allow session.create { language python } => allow",
        )
        async with housed() as house:
            await activate(house.policies, {"p.hatch": text})
            one, two = [await house.sessions.create(ANN, CreateSession()) for _ in range(2)]
            with pytest.raises(TooMany):
                await house.sessions.create(ANN, CreateSession())
            for _ in range(3):
                await house.runs.run(ANN, one.id, RunBody(code="1"))
            with pytest.raises(TooMany):
                await house.runs.run(ANN, one.id, RunBody(code="1"))
            await house.runs.run(ANN, two.id, RunBody(code="1"))

    asyncio.run(main())


def test_what_a_new_policy_looks_at_is_known_of_decisions_that_an_older_one_made() -> None:
    """The policy in force looks at the table only, the next one at the rows."""

    async def main() -> None:
        async def query(table: str, rows: int) -> int:
            return rows

        rows = {"type": "integer", "minimum": 0, "maximum": 1000}
        functions = {"query": ({"table": {"type": "string"}, "rows": rows}, query)}
        rules, tests = (
            'allow query when table == "orders"',
            "query { table orders, rows 1 } => allow query { table x, rows 1 } => deny",
        )
        async with housed(rules, tests, functions=functions) as house:
            tools = house.catalogue.tools()
            few = policy(
                ALL + "allow query when rows <= 10",
                "query { table x, rows 1 } => allow query { table x, rows 11 } => deny run { language shell, bytes 1B } => allow",
            )
            await activate(house.policies, {"p.hatch": few}, shadow=True, tools=tools)
            session = await house.sessions.create(ANN, CreateSession())
            await house.runs.run(ANN, session.id, RunBody(code="[tools.query(table='orders', rows=n) for n in (1, 500)]"))
            differences = [one for one in await house.policies.differences("acme") if one.event == "query"]
            assert [(one.attributes["rows"], one.candidate) for one in differences] == [(500, "deny")]
            _, replayed = await activate(house.policies, {"p.hatch": few}, tools=tools)
            changed = [one["attributes"]["rows"] for one in replayed.examples if one["event"] == "query"]
            assert changed == [500]

    asyncio.run(main())


def test_the_log_of_decisions_is_bounded_also_in_what_one_decision_takes() -> None:
    async def main() -> None:
        async def greet(name: str) -> str:
            return "hello"

        functions = {"greet": ({"name": {"type": "string"}}, greet)}
        async with housed('allow greet when name == "ann"', "greet { name ann } => allow", functions=functions) as house:
            session = await house.sessions.create(ANN, CreateSession())
            code = "try:\n    tools.greet(name='x' * 100_000)\nexcept Exception:\n    pass"
            await house.runs.run(ANN, session.id, RunBody(code=code))
            (found,) = [one for one in await house.policies.recent("acme") if one.event == "greet"]
            assert len(found.attributes["name"]) < 300 and found.masked

    asyncio.run(main())


def test_a_stored_policy_is_not_replaced_by_another_of_its_name_and_version() -> None:
    """A candidate for the shadow that is called like the policy in force took its place in the store: after a restart nothing
    was in force but the default."""

    async def main() -> None:
        store = MemoryStore()
        async with housed(store=store) as house:
            stored, _ = await activate(house.policies, {"p.hatch": NO_SHELL})
            other = NO_SHELL.replace("shell", "javascript")
            for shadow in (True, False):
                with pytest.raises(Conflict, match="is there already"):
                    await activate(house.policies, {"p.hatch": other}, shadow=shadow)
            with pytest.raises(Unprocessable, match="its own shadow"):
                await activate(house.policies, {"p.hatch": NO_SHELL}, shadow=True)
            await activate(house.policies, {"p.hatch": NO_SHELL})
        async with housed(store=store) as house:
            assert (await house.policies.find_active("acme")).digest == stored.digest

    asyncio.run(main())


def test_of_two_policies_put_in_force_at_once_the_store_and_the_memory_have_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "store.db")
        texts = [policy(ALL, version=version).replace("mine", name) for version, name in enumerate("abcd", 1)]
        async with housed(store=store) as house:
            deploying = [activate(house.policies, {"p.hatch": one}) for one in texts]
            await asyncio.gather(*deploying)
            (kept,) = await store.policies_in("acme", "active")
            assert kept.digest == (await house.policies.find_active("acme")).digest
        await store.close()

    asyncio.run(main())


def test_a_policy_with_a_hook_that_would_never_run_is_refused() -> None:
    async def main() -> None:
        async with housed() as house:
            desk = Deployments(house.policies, lambda: [])
            hook = 'hook scan on before {target} run shell "scan.sh" timeout 30s on_error block'
            for target, ok in (("fs.*", False), ("net.connect", False), ("any with effects {{ write }}", False), ("run", True)):
                text = policy(ALL + 'allow fs.read when path under "/workspace"\n' + hook.format(target=target.format()))
                asked = Sources(sources={"p.hatch": text, "scan.sh": "exit 0"}, main="p.hatch")
                checked = await desk.check(OPERATOR, asked)
                assert checked.ok is ok, (target, checked.findings)
                assert any("scan would never run" in one.message for one in checked.findings) is not ok

    asyncio.run(main())


def test_a_deployed_policys_hook_is_not_replaced_under_its_name_and_version() -> None:
    async def main() -> None:
        async with housed() as house:
            text = policy(ALL + 'hook lint on before run run shell "lint.sh" timeout 30s on_error block')
            sources = {"p.hatch": text, "lint.sh": "exit 1"}
            await activate(house.policies, sources)
            with pytest.raises(Conflict, match="other rules or hooks"):
                await activate(house.policies, {**sources, "lint.sh": "exit 0"})
            next_one = {"p.hatch": text.replace("v 1", "v 2"), "lint.sh": "exit 0"}
            await activate(house.policies, next_one)
            session = await house.sessions.create(ANN, CreateSession())
            assert (await house.runs.run(ANN, session.id, RunBody(code="7"))).result is not None

    asyncio.run(main())


def test_tm_pol_stall_explaining_and_replaying_cost_a_child_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with housed() as house:
            session = await house.sessions.create(ANN, CreateSession())
            await house.runs.run(ANN, session.id, RunBody(code="echo", language=Language.SHELL))
            desk, before = Deployments(house.policies, lambda: []), (await house.policies.find_active("acme")).digest
            checked = await house.policies.check({"p.hatch": NO_SHELL}, "p.hatch", [])
            await children.of_tenant_data.close()  # a new one takes longer than no time
            monkeypatch.setattr(children.of_tenant_data, "seconds", 0.0)
            with pytest.raises(Unprocessable, match="too long"):
                await desk.explain(OPERATOR, Question(event="run", attributes={}))
            with pytest.raises(Unprocessable, match="too long"):
                await house.policies.activate("acme", policy_of(checked), {"p.hatch": NO_SHELL}, "p.hatch", "op")
            assert (await house.policies.find_active("acme")).digest == before
            monkeypatch.undo()
            with pytest.raises(BadRequest, match="64 bits"):
                await desk.explain(OPERATOR, Question(event="run", attributes={"bytes": 1 << 70}))
            assert (await desk.explain(OPERATOR, Question(event="run", attributes={}))).verdict == "allow"

    asyncio.run(main())


def test_tm_pol_stall_a_policy_of_many_rules_is_built_and_folded_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    emit, threads = evaluator.emit_event, list[int]()

    def note(made: ir.Policy, event: str) -> Any:
        if event == "fs.read":
            threads.append(threading.get_ident())
        return emit(made, event)

    async def main() -> None:
        async with housed() as house:
            monkeypatch.setattr(evaluator, "emit_event", note)
            many = ALL + "\n".join(f'allow fs.read when path under "/workspace/{n}" and user == ann' for n in range(101))
            desk = Deployments(house.policies, lambda: [])
            await desk.deploy(OPERATOR, Deploy(sources={"p.hatch": policy(many)}, main="p.hatch"))
            session = await house.sessions.create(ANN, CreateSession())
            gate = await house.sessions.find_gate(await house.sessions.find(ANN, session.id), ANN)
            assert gate.permits("fs.read", {"path": "/workspace/7/x"}) and not gate.permits("fs.read", {"path": "/workspace/x"})
            assert threads and threading.get_ident() not in threads

    asyncio.run(main())
