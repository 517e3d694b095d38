"""A tenant that is full to the last byte: what was done is answered, and whoever must be stopped can be."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

from gateway.records import Tenant
from gateway.service import Service
from gateway.stores.changes import AppendAudit, PutRun, PutTenant
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys
from sandbox.workers.local.worker import LocalWorkers
from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript
from tests.gateway.http.routes.test_approvals import decide, deploy, finished, waiting
from tests.gateway.stores.making import AT, put_session, run, tenant

pytestmark = needs_javascript


async def fill(house: House, room_bytes: int = 0) -> None:
    """Leave so much room, and no more."""
    used = (await house.ask("GET", "/v1/me")).json["usage"]["bytes"]
    quotas = {"quotas": {"storage_bytes": used + room_bytes}}
    assert (await house.ask("PATCH", "/v1/tenants/acme", quotas, role="admin")).status == 200


def test_tm_store_full_an_approval_is_refused_and_a_token_revoked(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await deploy(house)
        run_id = await waiting(house, "s1")
        await fill(house)
        assert (await house.ask("PUT", "/v1/sessions/s1/values/k", b"x", content_type="text/plain")).status == 413
        said = await house.ask(
            "POST",
            "/v1/sessions/s1/tool-approvals",
            {"decision": "reject", "reason": "not today " * 20},
            idempotency_key="k1",
        )
        assert said.status == 200, said.json
        assert (await finished(house, run_id))["error"]["code"] == "PERMISSION_DENIED"
        await fill(house)
        (mine,) = [one for one in (await house.ask("GET", "/v1/tokens")).json["items"] if one["role"] == "member"]
        assert (await house.ask("DELETE", f"/v1/tokens/{mine['id']}")).status == 200
        assert (await house.ask("GET", "/v1/me", role="member")).status == 401

    live_in(tmp_path, test)


def test_tm_store_full_approvals_expire(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await deploy(house)
        await waiting(house, "s1")
        await fill(house)
        house.service.approvals._latest_ms = house.service.clock.now_ms() + 3_600_000
        (expired,) = await house.service.approvals.expire("acme")
        assert expired.verdict == "expired"
        assert (await decide(house, "s1", "approve")).status == 404, "nothing waits any more"

    live_in(tmp_path, test)


def test_what_was_done_is_answered_also_if_there_is_no_room_to_keep_the_answer(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await fill(house, room_bytes=1700)
        body = {"id": "s1", **JAVASCRIPT}
        made = await house.ask("POST", "/v1/sessions", body, idempotency_key="k1")
        assert made.status == 201, made.json
        again = await house.ask("POST", "/v1/sessions", body, idempotency_key="k1")
        assert (again.status, again.json["code"]) == (409, "IDEMPOTENCY_ANSWER_WITHHELD")
        await fill(house)
        assert (await house.ask("POST", "/v1/sessions/s1/cancel", idempotency_key="k2")).json == {"cancelled": False}
        unknown = await house.ask("POST", "/v1/sessions/s1/cancel", idempotency_key="k2")
        assert (unknown.status, unknown.json["code"]) == (409, "IDEMPOTENCY_IN_PROGRESS")

    live_in(tmp_path, test)


def test_tm_store_full_a_service_starts_although_an_interrupted_run_has_no_room() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.write("t1", [PutTenant(Tenant(id="t1", created_at=AT, updated_at=AT))])
        begun = AppendAudit(at=AT, kind="call", subject="refund", data={"run": "r1", "call": "c1", "status": "begun"})
        many = [AppendAudit(at=AT, kind="decision", data={"path": "x" * 50_000}) for _ in range(3)]
        await store.write("t1", [put_session(), PutRun(run("r1", state="running")), begun, *many])
        await store.write("t1", [PutTenant(tenant("t1", at=AT + 1, storage_bytes=1))])
        service = Service(store, LocalWorkers(), Keys.of(secrets.token_bytes(32)))
        await service.start()
        try:
            found = await store.run("t1", "r1")
            assert found is not None and found.result is not None and found.result.status.value == "interrupted"
            calls = [one.data["status"] for one in await store.audit("t1") if one.kind == "call"]
            assert calls == ["begun", "interrupted"]
        finally:
            await service.stop()

    asyncio.run(main())
