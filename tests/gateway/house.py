"""A small gateway in one process: a real store in memory, real guests on threads, a policy, and functions as capabilities."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from gateway.capabilities.functions import FunctionSource
from gateway.clock import now_ms
from gateway.configuration import Configuration
from gateway.policies.compiler import Replayed, compile_here, policy_of
from gateway.policies.in_force import Policies, catalog_of
from gateway.records import Principal, Quotas, Run, StoredPolicy, Tenant
from gateway.runs.runs import RunBody
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.store import Store
from policy import Policy
from sandbox.capabilities.registry import Capability
from sandbox.encoding.sealing import Keys
from sandbox.workers.interface import Workers
from sandbox.workers.local.worker import LocalWorkers

POLICY = """
policy house v 1

allow session.create
allow session.fork
allow snapshot.take
allow snapshot.restore
allow run
limit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 1_000 }
"""
TEST = """
test "runs" {{
  as {{ tenant acme }}
  run {{ language python, bytes 1KiB }} => allow
  {more}
}}
"""
ANN = Principal(tenant="acme", role="member", user="ann")
BOB = Principal(tenant="acme", role="approver", user="bob", groups=("finance",))
EVE = Principal(tenant="evil", role="operator", user="eve")
Functions = Mapping[str, tuple[dict[str, Any], Callable[..., Awaitable[Any]]]]


def declared(functions: Functions, approvals: Mapping[str, Any] | None = None) -> FunctionSource:
    """Functions as capabilities, all of whose arguments are named. `approvals` says what some of them want by themselves."""
    return FunctionSource(
        [
            (
                Capability(
                    name=name,
                    input_schema={"type": "object", "properties": fields, "required": list(fields)},
                    approval_policy=(approvals or {}).get(name, "none"),
                    idempotent=False,
                ),
                function,
            )
            for name, (fields, function) in functions.items()
        ]
    )


class House:
    """Everything a gateway has, but for HTTP: a service that is not started."""

    def __init__(self, store: Store, workers: Workers, keys: Keys) -> None:
        self.service = service = Service(store, workers, keys, Configuration(run_slots=4))
        self.store, self.keys, self.catalogue, self.audit = store, keys, service.catalogue, service.audit
        self.policies, self.sessions, self.snapshots = service.policies, service.sessions, service.snapshots
        self.persistence, self.eviction = service.persistence, service.eviction
        self.approvals, self.calls, self.hooks = service.approvals, service.calls, service.hooks
        self.runs, self.resumption, self.session_hooks = service.runs, service.resumption, service.session_hooks


async def activate(
    policies: Policies, sources: Mapping[str, str], *, shadow: bool = False, tools: list[Capability] | None = None
) -> tuple[StoredPolicy, Replayed]:
    """Deploy a policy, whose main file is p.hatch, for acme."""
    policy = policy_of(await policies.check(sources, "p.hatch", tools or []))
    return await policies.activate("acme", policy, policies.add_base(sources, tools or []), "p.hatch", "op", shadow=shadow)


def compiled(rules: str, tests: str, tools: list[Capability]) -> Policy:
    text = POLICY + rules + TEST.format(more=tests)
    return policy_of(compile_here({"house.hatch": text}, "house.hatch", catalog_of(tools)))


@contextlib.asynccontextmanager
async def housed(
    rules: str = "",
    tests: str = "",
    *,
    functions: Functions | None = None,
    store: Store | None = None,
    keys: Keys | None = None,
) -> AsyncIterator[House]:
    """A house with two tenants, acme and evil."""
    workers = LocalWorkers()
    store = store or MemoryStore()
    now = now_ms()
    for tenant in ("acme", "evil"):
        if await store.tenant(tenant) is None:
            await store.write(tenant, [PutTenant(tenant=Tenant(id=tenant, quotas=Quotas(), created_at=now, updated_at=now))])
    house = House(store, workers, keys or Keys.of(secrets.token_bytes(32)))
    await house.catalogue.add("functions", declared(functions or {}))
    house.policies.use_default(compiled(rules, tests, house.catalogue.tools()), {})
    try:
        yield house
    finally:
        await house.audit.close()
        await house.policies.compiler.close()
        await house.catalogue.close()
        await workers.aclose()


async def run(house: House, session_id: str, code: str, **more: Any) -> Run:
    return await house.runs.run(ANN, session_id, RunBody(code=code, **more))


async def value(house: House, session_id: str, code: str) -> Any:
    done = await run(house, session_id, code)
    assert done.result is not None and done.result.error is None, done.result
    return done.result.result


async def new(house: House, **options: Any) -> str:
    return (await house.sessions.create(ANN, CreateSession(**options))).id
