"""A tenant whose programs wait when they ask for the time, and whom anybody may let go on."""

from __future__ import annotations

from typing import Final

from hatchway import Client
from hatchway.client.requests import Ask
from tests.gateway.serving import Gateway

POLICY: Final = """
policy waiting v 1
allow session.create
allow run
limit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 10 }
ask now by anyone within 15m
test "asking" { as { tenant TENANT } run { language shell, bytes 1KiB } => allow now {} => ask }
"""
PROGRAM: Final = "print('before', flush=True)\ntools.now()\n7"


def open_tenant(gateway: Gateway, name: str) -> str:
    """A new tenant's token."""
    with Client(gateway.url, gateway.token) as admin:
        admin.ask(Ask("POST", "/v1/tenants", json={"id": name}))
        body = {"name": "ann", "role": "operator", "user": "ann"}
        token = str(admin.ask(Ask("POST", "/v1/tokens", json=body, headers={"hatchway-tenant": name}, kind=dict))["secret"])
    with Client(gateway.url, token) as client:
        client.ask(Ask("POST", "/v1/policies", json={"sources": {"policy.hatch": POLICY.replace("TENANT", name)}}))
    return token


def finish(gateway: Gateway, token: str, run_id: str) -> None:
    """Watch a run that was let go on until its end."""
    with Client(gateway.url, token) as client:
        while client.get_run(run_id).state != "finished":
            for _ in client.watch(Ask("GET", f"/v1/runs/{run_id}/events", once=True)):
                pass
