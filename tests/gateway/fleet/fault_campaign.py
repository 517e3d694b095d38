"""A fleet under faults: gateways are killed and frozen, their database is killed, while clients store values through all of them.

    python -m tests.gateway.fleet.fault_campaign --faults 100 --seed 1

Each client stores values, and secrets, of which the audit log tells. After the last fault all that was acknowledged must be
there, and in the log; every audit chain must be whole; and every gateway must serve every tenant. A short one runs with the
tests.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import random
import signal
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.audit.verification import AuditLog
from gateway.stores.engines.postgres import PostgresStore
from tests.gateway.fleet.gateways import LEASE_MS, Fleet, ask, fleet, make_tenant, wait_for
from tests.gateway.serving import Gateway
from tests.gateway.stores.servers import Server

TENANTS = ("acme", "globex", "initech")
FAULTS = ("kill", "kill", "freeze", "freeze", "database")


@dataclass
class Outcome:
    faults: int = 0
    acknowledged: dict[str, set[str]] = field(default_factory=dict)
    lost: int = 0
    audit_records: int = 0
    findings: list[str] = field(default_factory=list)
    longest_silence_s: dict[str, float] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)


class Clients:
    """One for each tenant: it asks any gateway that is there, one value after the other."""

    def __init__(self, made: Fleet, outcome: Outcome, random_: random.Random) -> None:
        self.made, self.outcome, self._random = made, outcome, random_
        self.alive: list[Gateway] = [*made.gateways]
        self.fault = ""
        self.places = {tenant: self._begin(tenant) for tenant in TENANTS}
        self._is_over = False
        self._threads = [threading.Thread(target=self._store, args=(tenant,)) for tenant in TENANTS]

    def _begin(self, tenant: str) -> tuple[str, str]:
        token = make_tenant(self._random.choice(self.alive), tenant)
        status, said = ask(self._random.choice(self.alive), "POST", "/v1/sessions", {}, token)
        assert status == 201, said
        self.outcome.acknowledged[tenant] = set()
        return token, said["id"]

    def _store(self, tenant: str) -> None:
        token, session = self.places[tenant]
        last_s, choose = time.monotonic(), random.Random(tenant)
        for number in range(1_000_000):
            if self._is_over:
                return
            with contextlib.suppress(OSError, http.client.HTTPException):
                name = f"secret{number}" if number % 3 == 0 else f"value{number}"
                path = f"/v1/secrets/{name}" if number % 3 == 0 else f"/v1/sessions/{session}/values/{name}"
                body = {"value": "v"} if number % 3 == 0 else b"v"
                status, said = ask(choose.choice(self.alive), "PUT", path, body, token, within_s=10)
                if status < 300:
                    self.outcome.acknowledged[tenant].add(name)
                    silence_s, last_s = time.monotonic() - last_s, time.monotonic()
                    longest = self.outcome.longest_silence_s
                    longest[self.fault] = max(longest.get(self.fault, 0.0), silence_s)
                else:
                    self.outcome.codes[said["code"]] = self.outcome.codes.get(said["code"], 0) + 1

    @contextlib.contextmanager
    def run(self) -> Any:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._is_over = True
            for thread in self._threads:
                thread.join()


def run(faults: int, seed: int, folder: Path) -> Outcome:
    choose, outcome = random.Random(seed), Outcome()
    server = Server(durable=True)
    try:
        server.start()
        with fleet(folder, server.url, 3) as made:
            clients = Clients(made, outcome, choose)
            with clients.run():
                for _ in range(faults):
                    time.sleep(choose.uniform(0.2, 1.0))
                    clients.fault = choose.choice(FAULTS)
                    _break(clients.fault, server, clients, choose)
                    outcome.faults += 1
                    for token, _session in clients.places.values():
                        wait_for(choose.choice(clients.alive), "GET", "/v1/me", token, 60)
            asyncio.run(_check(server.url, clients))
            for gateway in clients.alive:
                for token, _session in clients.places.values():
                    wait_for(gateway, "GET", "/v1/me", token, 60)
    finally:
        server.stop()
    return outcome


def _break(fault: str, server: Server, clients: Clients, choose: random.Random) -> None:
    victim = choose.choice(clients.alive)
    if fault == "kill":
        victim.kill()
        clients.alive.remove(victim)
        clients.alive.append(clients.made.start())
    elif fault == "freeze":
        os.kill(victim.process.pid, signal.SIGSTOP)
        time.sleep(choose.uniform(0.5, 2.5) * LEASE_MS / 1000)
        os.kill(victim.process.pid, signal.SIGCONT)
    else:
        server.kill()
        time.sleep(choose.uniform(0.0, 1.5) * LEASE_MS / 1000)
        server.start()


async def _check(url: str, clients: Clients) -> None:
    store, outcome = await PostgresStore.open(url), clients.outcome
    try:
        for tenant, (_, session) in clients.places.items():
            found: set[str] = set()
            after: str | None = None
            while True:
                page = await store.values(tenant, session, after=after, limit=500)
                found |= {one.key for one in page.items}
                if (after := page.next) is None:
                    break
            async for record in store.walk_audit(tenant):
                if record.kind == "secret.set" and await store.secret(tenant, record.subject) is not None:
                    found.add(record.subject)
            outcome.lost += len(outcome.acknowledged[tenant] - found)
            verdict = await AuditLog(store).verify(tenant)
            outcome.audit_records += verdict.records
            if not verdict.ok:
                outcome.findings.append(f"{tenant}: {verdict}")
    finally:
        await store.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(options.faults, options.seed, Path(folder))
    print(json.dumps({**vars(outcome), "acknowledged": sum(map(len, outcome.acknowledged.values()))}, indent=1))
    return int(bool(outcome.lost or outcome.findings))


if __name__ == "__main__":
    raise SystemExit(main())
