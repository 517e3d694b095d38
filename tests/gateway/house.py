"""A small gateway in one process: a real store in memory, real guests on threads, a policy, and functions as capabilities."""

from __future__ import annotations

import contextlib
import functools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.functions import FunctionSource
from gateway.clock import now_ms
from gateway.hooks.hook_store import HookBook
from gateway.hooks.session_hooks import Lifecycles
from gateway.hooks.worker_jobs import WorkerForks
from gateway.policies.compiler import compile_here, policy_of
from gateway.policies.in_force import Policies, Replayed, catalog_of
from gateway.records import Principal, Quotas, Run, StoredPolicy, Tenant
from gateway.runs.approvals import Approvals
from gateway.runs.calls import Calls
from gateway.runs.runs import RunBody, Runs
from gateway.runs.scheduler import Scheduler
from gateway.sessions.sessions import CreateSession, Sessions
from gateway.sessions.snapshots import Snapshots
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
ANN = Principal(tenant="acme", role="runner", user="ann")
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
    """Everything a gateway has, but for HTTP."""

    def __init__(self, store: Store, workers: Workers, policy: Policy, catalogue: Catalogue, keys: Keys) -> None:
        self.store, self.keys, self.catalogue = store, keys, catalogue
        self.policies = Policies(store, policy)
        self.sessions = Sessions(store, workers, self.policies, keys, catalogue.tools)
        self.approvals = Approvals(store)
        self.hooks = HookBook(store, lambda session: WorkerForks(functools.partial(workers.of, session.tenant)))
        self.calls = Calls(catalogue, self.approvals, self.hooks, store)
        self.runs = Runs(store, self.sessions, Scheduler(4), self.calls, self.approvals, self.hooks, self.policies.trail, keys)
        self.lifecycles = Lifecycles(self.hooks, self.sessions, self.policies.trail)
        self.sessions.on_start, self.sessions.on_end = self.lifecycles.started, self.lifecycles.ending
        self.runs.endings.on_turn_end = self.lifecycles.turn_ended
        self.snapshots = Snapshots(store, self.sessions, keys)


async def activate(
    policies: Policies, sources: Mapping[str, str], *, shadow: bool = False, tools: list[Capability] | None = None
) -> tuple[StoredPolicy, Replayed]:
    """Deploy a policy, whose main file is p.hatch, for acme."""
    policy = policy_of(await policies.check(sources, "p.hatch", tools or []))
    return await policies.activate("acme", policy, sources, "p.hatch", "op", shadow=shadow)


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
    catalogue = Catalogue()
    await catalogue.add("functions", declared(functions or {}))
    store = store or MemoryStore()
    now = now_ms()
    for tenant in ("acme", "evil"):
        if await store.tenant(tenant) is None:
            await store.write(tenant, [PutTenant(tenant=Tenant(id=tenant, quotas=Quotas(), created_at=now, updated_at=now))])
    house = House(
        store, workers, compiled(rules, tests, catalogue.tools("acme")), catalogue, keys or Keys.of(secrets.token_bytes(32))
    )
    try:
        yield house
    finally:
        await house.policies.trail.close()
        await house.policies.compiler.close()
        await catalogue.close()
        await workers.aclose()


async def run(house: House, session_id: str, code: str, **more: Any) -> Run:
    return await house.runs.run(ANN, session_id, RunBody(code=code, **more))


async def value(house: House, session_id: str, code: str) -> Any:
    done = await run(house, session_id, code)
    assert done.result is not None and done.result.error is None, done.result
    return done.result.result


async def new(house: House, **options: Any) -> str:
    return (await house.sessions.create(ANN, CreateSession(**options))).id
