"""What /metrics says about the work itself: runs, sessions, workers, approvals, hooks, calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from gateway.hooks.firing import Effect
from gateway.lifecycle.metrics import Tally
from gateway.records import Approval
from gateway.stores.changes import AppendAudit, DeleteSession, DeleteTenant, PutApproval
from gateway.telemetry import METRICS, reference
from sandbox.guests.images import images
from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript


def shown(tally: Tally) -> list[str]:
    registry = CollectorRegistry()
    tally.show(registry)
    return generate_latest(registry).decode().splitlines()


async def metrics(house: House) -> list[str]:
    return (await house.ask("GET", "/metrics")).body.decode().splitlines()


def approval(name: str, *, tenant: str = "acme", session_id: str = "s1", verdict: str | None = None) -> PutApproval:
    made = Approval(
        id=name,
        tenant=tenant,
        session_id=session_id,
        run_id="r",
        capability="refund",
        arguments={},
        binding="",
        policy="",
        approver="lead",
        rule="",
        created_at=1,
        expires_at=2,
        verdict=verdict,  # type: ignore[arg-type]
    )
    return PutApproval(approval=made)


@needs_javascript
def test_runs_are_counted_by_language_and_status_with_how_long_they_took(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        for code in ("1", "2", "throw new Error('no')"):
            assert (await house.ask("POST", "/v1/sessions/s1/runs", {"code": code})).status == 200
        found = await metrics(house)
        assert 'hatchway_runs_total{language="javascript",status="ok"} 2.0' in found
        assert 'hatchway_runs_total{language="javascript",status="runtime_error"} 1.0' in found
        assert 'hatchway_run_seconds_count{language="javascript"} 3.0' in found

    live_in(tmp_path, test)


@needs_javascript
def test_what_is_there_now_is_read_when_somebody_asks(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        found = await metrics(house)
        assert {"hatchway_sessions_live 0.0", "hatchway_workers_live 0.0"} <= set(found)
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        await house.ask("POST", "/v1/sessions/s1/runs", {"code": "1"})
        found = await metrics(house)
        assert {"hatchway_sessions_live 1.0", "hatchway_workers_live 1.0", "hatchway_workers_lost_total 0.0"} <= set(found)
        assert {"hatchway_runs_queued 0.0", "hatchway_runs_under_way 0.0"} <= set(found)

    live_in(tmp_path, test)


def test_calls_and_hooks_are_counted_once_they_are_written_down_and_make_no_series_of_their_own() -> None:
    tally = Tally()
    before = len(shown(tally))
    statuses = ("ok", "ok", "approval_pending", "PERMISSION_DENIED", "MY_TOOLS_OWN_CODE", "ANOTHER")
    tally.note_written("acme", [AppendAudit(at=1, kind="call", subject="refund", data={"status": one}) for one in statuses])
    effects = ("blocked", "blocked", "rewrote", "something new")
    tally.note_written("acme", [AppendAudit(at=1, kind="hook", data={"outcome": {"effect": one}}) for one in effects])
    tally.note_written("acme", [AppendAudit(at=1, kind=kind, data={"omitted": "TOO_LARGE"}) for kind in ("call", "hook", "run")])
    found = shown(tally)
    for line in ('status="ok"} 2.0', 'status="waiting"} 1.0', 'status="refused"} 1.0', 'status="failed"} 3.0'):
        assert "hatchway_calls_total{" + line in found
    assert 'hatchway_hooks_total{effect="blocked"} 2.0' in found
    assert 'hatchway_hooks_total{effect="rewrote"} 1.0' in found
    assert len(found) == before


@pytest.mark.parametrize("effect", Effect.__args__)  # type: ignore[attr-defined]
def test_every_effect_of_a_hook_is_shown_before_it_happens(effect: str) -> None:
    assert f'hatchway_hooks_total{{effect="{effect}"}} 0.0' in shown(Tally())


def test_approvals_are_pending_until_they_are_decided_or_their_session_or_tenant_is_gone() -> None:
    tally = Tally()

    def pending() -> str:
        return next(line for line in shown(tally) if line.startswith("hatchway_approvals_pending "))

    tally.note_found([approval("before").approval])
    tally.note_written("acme", [approval("a"), approval("b", session_id="s2")])
    tally.note_written("globex", [approval("a", tenant="globex")])
    assert pending() == "hatchway_approvals_pending 4.0"
    tally.note_written("acme", [approval("before", verdict="approved")])
    assert pending() == "hatchway_approvals_pending 3.0"
    tally.note_written("acme", [DeleteSession(session_id="s1")])
    assert pending() == "hatchway_approvals_pending 2.0"
    tally.note_written("acme", [DeleteTenant()])
    assert pending() == "hatchway_approvals_pending 1.0"


@needs_javascript
def test_what_waited_for_somebody_before_a_restart_is_still_counted(tmp_path: Path) -> None:
    async def ask_for_one(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        await house.service.store.write("acme", [approval("a")])
        assert "hatchway_approvals_pending 1.0" in await metrics(house)

    async def look(house: House) -> None:
        assert "hatchway_approvals_pending 1.0" in await metrics(house)

    live_in(tmp_path, ask_for_one)
    live_in(tmp_path, look)


@needs_javascript
@pytest.mark.skipif(not images.is_ready("shell"), reason="the shell image is not compiled")
def test_the_calls_of_a_run_and_what_its_hooks_did_are_counted(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        executor = {"type": "bash", "command": "echo no >&2; exit 1"}
        say_no = {"id": "no", "event": "pre_tool_use", "matcher": {"tool_name": "list_tools"}, "executor": executor}
        assert (await house.ask("POST", "/v1/hooks", say_no)).status == 201
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        code = "await tools.now(); let said = ''; try { await tools.list_tools() } catch (error) { said = error.code } said"
        ran = (await house.ask("POST", "/v1/sessions/s1/runs", {"code": code})).json["result"]
        assert ran["result"] == "PERMISSION_DENIED", ran
        found = await metrics(house)
        assert {'hatchway_calls_total{status="ok"} 1.0', 'hatchway_calls_total{status="refused"} 1.0'} <= set(found)
        assert 'hatchway_hooks_total{effect="blocked"} 1.0' in found

    live_in(tmp_path, test)


def test_every_metric_that_is_shown_stands_in_the_table_and_on_the_page(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        named = {line.split()[2] for line in await metrics(house) if line.startswith("# HELP hatchway_")}
        assert {name for name in named if not name.endswith("_created")} == set(METRICS)

    live_in(tmp_path, test)
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text("utf-8")
    assert reference() in page, "put the output of python -m gateway.telemetry into docs/operations.md"
