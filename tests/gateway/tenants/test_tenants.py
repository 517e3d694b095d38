"""A tenant is deleted over the API of a real gateway: nothing of it is on the disk, in a worker, or there for who comes after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.gateway.gateway_campaign import Connection
from tests.gateway.serving import Gateway, serving

CANARY = "canary-5f1c9e"


class Tenant(Connection):
    """Asks in the name of a tenant, as its operator."""

    def __init__(self, gateway: Gateway, token: str) -> None:
        super().__init__(gateway)
        self._token = token

    def done(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        status, answer = self.ask(method, path, body, headers or {})
        assert status < 300, (method, path, status, answer[:300])
        return json.loads(answer) if answer else None


def make_tenant(admin: Tenant, gateway: Gateway, name: str) -> Tenant:
    admin.done("POST", "/v1/tenants", {"id": name})
    minted = admin.done("POST", "/v1/tokens", {"name": "op", "role": "operator"}, {"Hatchway-Tenant": name})
    return Tenant(gateway, minted["secret"])


def leave_traces(tenant: Tenant) -> None:
    """Something in every place that a tenant can put something."""
    tenant.done("POST", "/v1/sessions", {"id": "s1", "title": CANARY, "durable": True}, {"Idempotency-Key": CANARY})
    of_session = "/v1/sessions/s1"
    tenant.done("POST", of_session + "/runs", {"code": f"x = '{CANARY}'; print(x); open('made', 'w').write(x * 2000)"})
    tenant.done("PUT", of_session + "/files/kept", CANARY.encode() * 1000)
    tenant.done("PUT", of_session + "/values/k", CANARY.encode())
    tenant.done("PUT", "/v1/secrets/s", {"value": CANARY})
    tenant.done("POST", of_session + "/snapshots", {"label": CANARY, "template": True})
    tenant.done("POST", "/v1/sessions", {"id": "s2", "template": CANARY})
    tenant.done("POST", "/v1/sessions/s2/runs", {"code": "x"})


def on_disk(data: Path) -> list[str]:
    """Files that hold the canary."""
    return [path.name for path in data.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_nothing_of_a_tenant_is_left_on_disk_or_in_memory_when_it_was_deleted(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, workers="processes") as gateway:
        admin = Tenant(gateway, gateway.token)
        tenant = make_tenant(admin, gateway, "acme")
        leave_traces(tenant)
        (carried,) = [one["id"] for one in tenant.done("GET", "/v1/snapshots")["items"]]
        status, blob = tenant.ask("GET", f"/v1/snapshots/{carried}/content")
        assert status == 200
        assert on_disk(data), "the search finds what is there"
        admin.done("DELETE", "/v1/tenants/acme")
        assert on_disk(data) == []
        assert tenant.ask("GET", "/v1/sessions")[0] == 401
        again = make_tenant(admin, gateway, "acme")
        for path in ("/v1/sessions", "/v1/secrets", "/v1/snapshots", "/v1/runs"):
            assert again.done("GET", path)["items"] == [], path
        assert [one["owner"] for one in again.done("GET", "/v1/policies")["items"]] == ["operator"]
        assert again.ask("GET", "/v1/sessions/s1/files/kept")[0] == 404
        status, _ = again.ask("POST", "/v1/sessions", {"id": "s3", "template": CANARY})
        assert status == 400
        again.done("POST", "/v1/sessions", {"id": "s1"}, {"Idempotency-Key": CANARY})
        ran = again.done("POST", "/v1/sessions/s1/runs", {"code": "import os; ('x' in globals(), os.listdir())"})
        assert ran["result"]["result"] == [False, []] and ran["result"]["diagnostics"] == []
        assert again.ask("POST", "/v1/snapshots", blob, {"Content-Type": "application/cbor"})[0] == 422
        verdicts = [one["kind"] for one in again.done("GET", "/v1/audit")["items"]]
        assert verdicts[0] == "tenant.create"
        for connection in (admin, tenant, again):
            connection.close()
