"""What admins and operators do, over the real service: tenants, quotas, tokens, the audit log."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.records import Principal, Tenant
from gateway.stores.changes import DeleteTenant, PutToken
from gateway.tenants.tokens import mint
from sandbox.wire import DEFAULT_LIMITS
from tests.gateway.http.asking import Reply, ask
from tests.gateway.http.house import House, live_in, needs_javascript

pytestmark = needs_javascript

UNKNOWN = "hw_" + "x" * 43


async def make_first(house: House) -> str:
    """The first tenant, with an admin's token."""
    made = await house.ask("POST", "/v1/tenants", {"id": "default"}, role="admin")
    assert made.status == 201
    text, stored = mint(tenant="default", name="first admin", role="admin", now_ms=house.service.clock.now_ms())
    await house.service.store.write("default", [PutToken(token=stored)])
    return text


async def failed_logins(house: House, tenant: str) -> list[str]:
    return [one.subject for one in await house.service.store.audit(tenant) if one.kind == "login.failed"]


def test_a_failed_login_is_in_the_audit_of_the_tokens_tenant_or_else_in_the_operators_own(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await make_first(house)
        text, stored = mint(tenant="globex", name="old", role="member", now_ms=1, expires_at=2)
        await house.service.store.write("globex", [PutToken(token=stored)])
        assert (await ask(house.face.asgi, "GET", "/v1/me", token=UNKNOWN, address="192.0.2.7")).status == 401
        assert (await ask(house.face.asgi, "GET", "/v1/me", token=text, address="192.0.2.8")).status == 401
        assert await failed_logins(house, "acme") == []
        assert await failed_logins(house, "globex") == ["192.0.2.8"]
        assert await failed_logins(house, "default") == ["192.0.2.7"]

    live_in(tmp_path, test)


def test_without_the_first_tenant_failed_logins_go_to_a_chain_that_only_an_admin_can_read(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await ask(house.face.asgi, "GET", "/v1/me", token=UNKNOWN, address="192.0.2.7")
        assert await failed_logins(house, "acme") == await failed_logins(house, "globex") == []
        read = await house.ask("GET", "/v1/audit", role="admin", hatchway_tenant="_system")
        assert [one["subject"] for one in read.json["items"]] == ["192.0.2.7"]
        assert (await house.ask("GET", "/v1/audit", hatchway_tenant="_system")).status == 403
        assert (await house.ask("POST", "/v1/tenants", {"id": "_system"}, role="admin")).status == 400

    live_in(tmp_path, test)


def test_a_failed_login_before_the_first_tenant_is_there_does_not_cost_its_admin_the_first_token(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        for name in ("acme", "globex"):
            await house.service.store.write(name, [DeleteTenant()])
        assert (await ask(house.face.asgi, "GET", "/v1/me", token=UNKNOWN)).status == 401
        token = await house.service.issue_first_token()
        assert (await ask(house.face.asgi, "GET", "/v1/me", token=token)).status == 200

    live_in(tmp_path, test)


def test_a_patch_of_one_quota_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        made = await house.ask(
            "POST", "/v1/tenants", {"id": "small", "quotas": {"sessions_max": 2, "storage_bytes": 100_000}}, role="admin"
        )
        assert made.status == 201
        changed = await house.ask("PATCH", "/v1/tenants/small", {"quotas": {"requests_per_min": 5}}, role="admin")
        assert changed.json["quotas"] == {**made.json["quotas"], "requests_per_min": 5}
        assert (changed.json["quotas"]["sessions_max"], changed.json["quotas"]["storage_bytes"]) == (2, 100_000)
        assert (await house.ask("GET", "/v1/tenants/small", role="admin")).json == changed.json

    live_in(tmp_path, test)


@pytest.mark.parametrize(
    "wrong",
    [
        {"plan": "gold"},
        {"facts": {"session.risk": "high"}},
        {"facts": {"shoe_size": 44}},
        {"quotas": {"sessions_max": -1}},
        {"quotas": {"requests_per_min": 0}},
        {"quotas": {"storage_bytes": 1 << 60}},
        {"quotas": {"wishes": 3}},
    ],
    ids=str,
)
def test_what_a_tenant_cannot_have_is_refused_when_it_is_made_and_when_it_is_changed(tmp_path: Path, wrong: Any) -> None:
    async def test(house: House) -> None:
        made = await house.ask("POST", "/v1/tenants", {"id": "other", **wrong}, role="admin")
        changed = await house.ask("PATCH", "/v1/tenants/acme", wrong, role="admin")
        assert (made.status, changed.status) == (400, 400)
        assert (await house.ask("GET", "/v1/tenants/other", role="admin")).status == 404
        assert (await house.ask("POST", "/v1/sessions", {"language": "javascript"})).status == 201

    live_in(tmp_path, test)


def test_a_refused_plan_says_which_there_are(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        refused = await house.ask("PATCH", "/v1/tenants/acme", {"plan": "gold"}, role="admin")
        assert refused.json["hint"] == "one of: enterprise, free, team"
        facts = {"session.risk": 7}
        changed = await house.ask("PATCH", "/v1/tenants/acme", {"plan": "free", "facts": facts}, role="admin")
        assert (changed.json["plan"], changed.json["facts"]) == ("free", facts)

    live_in(tmp_path, test)


def test_the_bounds_of_quotas_are_in_the_openapi_document(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        schemas = (await house.ask("GET", "/openapi.json")).json["components"]["schemas"]
        for name, kind in schemas["AskedQuotas"]["properties"].items():
            assert [one["minimum"] for one in kind["anyOf"] if one["type"] == "integer"] == [1], name

    live_in(tmp_path, test)


@pytest.mark.parametrize("limits", [{"memory_mb": -1}, {"memory_mb": 999_999}, {"cpu_ms": 0}], ids=str)
def test_limits_that_no_run_could_have_are_refused_when_the_session_is_made(tmp_path: Path, limits: Any) -> None:
    async def test(house: House) -> None:
        asked = {**msgspec.to_builtins(DEFAULT_LIMITS), **limits}
        refused = await house.ask("POST", "/v1/sessions", {"id": "s1", "language": "javascript", "limits": asked})
        assert (refused.status, refused.code) == (400, "INVALID_ARGUMENT")
        assert next(iter(limits)) in refused.json["message"]
        assert (await house.ask("GET", "/v1/sessions/s1")).status == 404

    live_in(tmp_path, test)


def test_an_admin_cannot_delete_the_tenant_its_own_token_belongs_to(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        first = await make_first(house)
        refused = await ask(house.face.asgi, "DELETE", "/v1/tenants/default", token=first)
        assert (refused.status, refused.code) == (409, "TENANT_IN_USE")
        named = await ask(house.face.asgi, "DELETE", "/v1/tenants/default", token=first, hatchway_tenant="acme")
        assert named.status == 409
        assert (await ask(house.face.asgi, "GET", "/v1/me", token=first)).status == 200
        assert (await house.ask("DELETE", "/v1/tenants/default", role="admin")).status == 204

    live_in(tmp_path, test)


def test_the_last_admins_token_cannot_be_revoked(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        async def revoke(role: str, tenant: str = "acme") -> Reply:
            listed = (await house.ask("GET", "/v1/tokens", role="admin", tenant="acme", hatchway_tenant=tenant)).json["items"]
            ids = [one["id"] for one in listed if one["role"] == role]
            return await house.ask("DELETE", f"/v1/tokens/{ids[0]}", role="admin", hatchway_tenant=tenant)

        assert (await revoke("admin", "globex")).status == 200
        refused = await revoke("admin")
        assert (refused.status, refused.code) == (409, "LAST_ADMIN")
        assert (await revoke("member")).status == 200

    live_in(tmp_path, test)


def test_an_operator_cannot_revoke_an_admins_token(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        listed = (await house.ask("GET", "/v1/tokens")).json["items"]
        ids = {one["role"]: one["id"] for one in listed}
        assert (await house.ask("DELETE", f"/v1/tokens/{ids['admin']}")).status == 403
        assert (await house.ask("GET", "/v1/me", role="admin")).status == 200

    live_in(tmp_path, test)


def test_an_export_of_the_audit_has_as_many_records_as_were_asked_for_or_all(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        for number in range(5):
            assert (await house.ask("POST", "/v1/tokens", {"name": f"t{number}"})).status == 201
        everything = (await house.ask("GET", "/v1/audit/export")).body.splitlines()
        assert len(everything) >= 5
        two = (await house.ask("GET", "/v1/audit/export?limit=2&cursor=1")).body.splitlines()
        assert two == everything[1:3]
        assert [json.loads(line)["sequence"] for line in two] == [2, 3]
        assert (await house.ask("GET", "/v1/audit/export?limit=0")).status == 400

    live_in(tmp_path, test)


@pytest.mark.parametrize("target", ["/v1/me", "/v1/approvals", "/v1/audit", "/v1/sessions/s1"])
def test_an_admin_who_names_an_absent_tenant_is_told_so(tmp_path: Path, target: str) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", "language": "javascript"}, tenant="globex")
        for _ in range(2):
            refused = await house.ask("GET", target, role="admin", hatchway_tenant="nobody")
            assert (refused.status, refused.code) == (404, "TENANT_NOT_FOUND")
        assert (await house.ask("GET", target, role="admin", hatchway_tenant="globex")).status == 200

    live_in(tmp_path, test)


def test_patches_that_come_at_once_all_hold(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        wanted = {"sessions_max": 7, "live_sessions_max": 6, "concurrent_runs": 5, "queued_runs": 4, "memory_mb": 300}
        patches = [{"quotas": {name: value}} for name, value in wanted.items()] + [{"name": "New"}, {"plan": "free"}]
        told = await asyncio.gather(*(house.ask("PATCH", "/v1/tenants/acme", one, role="admin") for one in patches))
        assert [one.status for one in told] == [200] * len(patches)
        found = (await house.ask("GET", "/v1/tenants/acme", role="admin")).json
        assert {name: found["quotas"][name] for name in wanted} == wanted
        assert (found["name"], found["plan"]) == ("New", "free")

    live_in(tmp_path, test)


def test_tm_store_remains_a_tenant_that_is_changed_while_it_is_deleted_stays_deleted(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        tenancy, gone, read = house.service.tenancy, asyncio.Event(), asyncio.Event()
        get = tenancy.get
        assert (await house.ask("POST", "/v1/tenants", {"id": "brief"}, role="admin")).status == 201

        async def slow(tenant_id: str) -> Tenant:
            found = await get(tenant_id)
            if not read.is_set():  # the one who changes it has read it: let it be deleted now, if that can be
                read.set()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(gone.wait(), 0.3)
            return found

        async def told(principal: Principal, tenant_id: str) -> None:
            gone.set()

        tenancy.get = slow  # type: ignore[method-assign]
        house.service.listeners.tenant_deleted.insert(0, told)
        changing = asyncio.create_task(house.ask("PATCH", "/v1/tenants/brief", {"name": "here"}, role="admin"))
        await read.wait()
        assert (await house.ask("DELETE", "/v1/tenants/brief", role="admin")).status == 204
        await changing
        assert (await house.ask("GET", "/v1/tenants/brief", role="admin")).status == 404

    live_in(tmp_path, test)


def test_of_two_admins_who_revoke_each_others_tokens_one_stays(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        admins = {}
        for name in ("acme", "globex"):
            page = await house.ask("GET", "/v1/tokens", tenant=name, role="admin")
            admins[name] = next(one["id"] for one in page.json["items"] if one["role"] == "admin")
        told = await asyncio.gather(
            house.ask("DELETE", f"/v1/tokens/{admins['globex']}", role="admin", hatchway_tenant="globex"),
            house.ask("DELETE", f"/v1/tokens/{admins['acme']}", tenant="globex", role="admin", hatchway_tenant="acme"),
        )
        assert sorted(one.status for one in told) in ([200, 401], [200, 409])

    live_in(tmp_path, test)


def test_tm_appr_self_where_admins_make_tokens_an_operator_has_no_second_identity(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        asked = {"name": "second", "role": "approver", "user": "invented"}
        for role in ("approver", "member", "operator"):
            refused = await house.ask("POST", "/v1/tokens", {**asked, "role": role})
            assert (refused.status, refused.json["code"]) == (403, "PERMISSION_DENIED")
        made = await house.ask("POST", "/v1/tokens", asked, role="admin")
        assert made.status == 201

    live_in(tmp_path, test, token_minting="admins")
