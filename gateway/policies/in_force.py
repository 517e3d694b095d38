"""Policy in force: which policy decides for whom, what it decided lately, and how it is replaced.

Purpose: a tenant has one active policy (or the operator's default) and perhaps a candidate in its shadow. A session keeps the
policy it was opened with, known by its digest, until it is told otherwise.

Replacing: build, test, prove (`gateway.policies.compiler`, which refuses otherwise), replay the recent decisions, store, and only
then swap one reference. A policy that cannot be loaded denies everything; nothing falls back to a weaker one. A policy whose
catalog cannot hold the tenant's plan and facts is refused, and says which. Decisions whose fields had to be masked cannot be
replayed and are counted as such.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from gateway.audit.buffer import AuditBuffer
from gateway.errors import Conflict, Forbidden, Unprocessable, missing
from gateway.policies.compiler import (
    FOLDER,
    RULES_FEW,
    Compiled,
    Compiler,
    Finding,
    RefusedPolicy,
    Replayed,
    build_policy,
    decode_file,
)  # fmt: skip
from gateway.policies.decision_log import Decided, Decisions, Difference, take_newest
from gateway.policies.facts import facts_of, misfits
from gateway.policies.gate import Gate
from gateway.policies.operator_policies import OperatorBase, make_record, record_of_default
from gateway.policies.pinned_defaults import Pins
from gateway.policies.rates import Rates
from gateway.pools import policies
from gateway.records import Principal, Session, StoredPolicy, Tenant
from gateway.stores.changes import AppendAudit, PutPolicy
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.stores.stored import Page
from policy import Policy, builtin_catalog, make_catalog
from policy.model import ir
from policy.model.catalog import Catalog, load_catalog
from sandbox.capabilities.registry import Capability

KEPT_POLICIES = 256
AFTER_DEFAULT = "-"
"""The place in a list of policies after the default: no store has such a one."""
UNHOOKED = frozenset(builtin_catalog().capabilities) - {"run"}
"""What is decided besides programs and their calls: no hook runs around it."""


class PolicyGone(Forbidden):
    """It may come back: a restarted service may know it."""

    def __init__(self) -> None:
        hint = "update the session to the active policy"
        super().__init__("PERMISSION_DENIED", "the policy this session was opened with is gone", hint)


@dataclass(eq=False, slots=True)
class _InForce:
    """One tenant's policies, and what they decided lately. A task that replaces one holds the lock."""

    active: Policy
    lately: Decisions
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Policies:
    """All tenants' policies. `default` decides for tenants that have none of their own. `base` is the operator's;
    where there is one, a tenant's policy must narrow it, and the compiler proves that it does."""

    def __init__(
        self,
        store: Store,
        default: Policy,
        *,
        audit: AuditBuffer,
        compiler: Compiler,
        clock_ms: Callable[[], int],
        base: OperatorBase | None = None,
    ) -> None:
        self._store = store
        self.compiler = compiler
        self._audit = audit
        self.rates = Rates()
        self._clock_ms = clock_ms
        self.default = default
        self._defaults = {default.digest: default}
        self._programs: dict[str, Mapping[str, bytes]] = {}
        self.pins = Pins(store)
        self._read_at = {default.digest: clock_ms()}
        self.base = base
        self._tenants: dict[str, _InForce] = {}
        self._by_digest: dict[tuple[str, str], Policy] = {}

    def use_default(self, policy: Policy, programs: Mapping[str, bytes]) -> None:
        """Another default, because there is more to call than there was. `programs` are those of its hooks."""
        before, self.default = self.default, policy
        self._defaults[policy.digest] = policy
        self._programs[policy.digest] = programs
        self._read_at[policy.digest] = self._clock_ms()
        for in_force in self._tenants.values():
            if in_force.active is before:
                in_force.active = policy

    async def gate(self, tenant: Tenant, session: Session | None = None, caller: Principal | None = None) -> Gate:
        """For a session as a caller meets it, under the policy it was opened with; or for the tenant, under its active one."""
        in_force = await self._find_in_force(tenant.id)
        policy = in_force.active
        if session is not None and session.policy and session.policy != policy.digest:
            policy = await self._find_pinned(tenant.id, session.policy)
        if session is not None and policy.digest in self._defaults and not self.pins.has(tenant.id, policy.digest):
            record = self._make_default_record(tenant.id, policy.digest, is_active=False)
            await self.pins.keep(record, policy, self._programs.get(policy.digest, {}))
        facts = facts_of(tenant, session, caller, policy.catalog.context)
        if len(policy.ir.rules) <= RULES_FEW:
            folded = policy.open_session(facts)
        else:
            folded = await policies.run(tenant.id, policy.open_session, facts, eager=True)
        audit = functools.partial(self._audit.note, tenant.id)
        session_id, owner = (session.id, session.user) if session is not None else ("", "")
        actor = caller.name if caller is not None else owner
        return Gate(policy, folded, session_id, actor, in_force.lately.note, audit, self.rates, self._clock_ms)

    async def find_active(self, tenant: str) -> Policy:
        return (await self._find_in_force(tenant)).active

    @contextlib.asynccontextmanager
    async def hold_active(self, tenant: str) -> AsyncIterator[Policy]:
        """The active one, which is not replaced meanwhile."""
        in_force = await self._find_in_force(tenant)
        async with in_force.lock:
            yield in_force.active

    async def _find_in_force(self, tenant: str) -> _InForce:
        found = self._tenants.get(tenant)
        if found is None:
            stored = [*await self._store.policies_in(tenant, "active"), *await self._store.policies_in(tenant, "shadow")]
            compiled = {record.state: await self._compile(record) for record in stored}
            lately = Decisions(self._clock_ms)
            lately.shadow = compiled.get("shadow")
            found = self._tenants.setdefault(tenant, _InForce(compiled.get("active", self.default), lately))
        return found

    async def _find_pinned(self, tenant: str, digest: str) -> Policy:
        found = self._defaults.get(digest) or self._by_digest.get((tenant, digest))
        if found is None:
            stored = await self._store.policy(tenant, digest)
            found = await (self.pins.policy(tenant, digest) if stored is None else self._compile(stored))
            if found is None:
                raise PolicyGone
            self._remember((tenant, digest), found)
        return found

    async def _compile(self, stored: StoredPolicy) -> Policy:
        key = (stored.tenant, stored.digest)
        if key not in self._by_digest:
            catalog = load_catalog(stored.catalog.encode()) if stored.catalog else None
            sources = dict(stored.sources)
            base = f"{self.base.name}.hatch" if self.base is not None else ""
            if base in sources and FOLDER + base not in sources:
                # THREAT[TM-POL-BASE]: stored before bases had a folder; the operator's was at the root, whatever is next to main.
                sources[FOLDER + base] = sources[base]
            self._remember(key, await build_policy(await self.compiler.load(sources, stored.main, catalog), stored.tenant))
        return self._by_digest[key]

    def _remember(self, key: tuple[str, str], policy: Policy) -> None:
        if len(self._by_digest) >= KEPT_POLICIES:
            self._by_digest.pop(next(iter(self._by_digest)))
        self._by_digest[key] = policy

    async def recent(self, tenant: str, limit: int = 100) -> list[Decided]:
        """The newest first."""
        return take_newest((await self._find_in_force(tenant)).lately.recent, limit)

    async def differences(self, tenant: str, limit: int = 100) -> list[Difference]:
        return take_newest((await self._find_in_force(tenant)).lately.differences, limit)

    def find_decisions(self, tenant: str) -> Decisions:
        """What is remembered of a tenant's decisions since the start."""
        return self._tenants[tenant].lately if tenant in self._tenants else Decisions(self._clock_ms)

    async def check(self, sources: Mapping[str, str], main: str, tools: list[Capability], *, tenant: str = "") -> Compiled:
        """Compile, test and prove, in the tenant's turn. `findings` says what is wrong with it."""
        catalog = None if _has_catalog(sources) else catalog_of(tools)
        compiled = await self.compiler.compile(self.add_base(sources, tools), main, catalog, tenant=tenant)
        policy, base = compiled.policy, self.base
        if policy is not None and base is not None and policy.narrows != base.name:
            hint = f"write: policy {policy.name} v {policy.version} narrows {base.name}"
            raise Unprocessable("POLICY_REFUSED", f"a policy here must narrow {base.name}", hint)
        silent = [finding for hook in policy.hooks if (finding := _find_silent(hook))] if policy is not None else []
        return Compiled(findings=[*compiled.findings, *silent]) if silent else compiled

    def add_base(self, sources: Mapping[str, str], tools: list[Capability]) -> dict[str, str]:
        """A tenant's sources and the operator's base: its texts and programs are never the tenant's."""
        own = {name: text for name, text in sources.items() if not name.startswith(FOLDER)}
        return self.base.join(own, catalog_of(tools) if _has_catalog(own) else None) if self.base is not None else own

    async def rehearse(self, tenant: str, policy: Policy) -> Replayed:
        """The tenant's recent decisions, put to another policy."""
        recent = list((await self._find_in_force(tenant)).lately.recent)
        return await self.compiler.replay(policy, recent, tenant=tenant)

    async def list_unfit(self, tenant: str, name: str, catalog: Catalog) -> list[Finding]:
        """What a policy with this catalog cannot hold of the tenant's plan and facts: it would refuse every session."""
        found = await self._store.require(Tenant, tenant)
        remedy = f"an admin changes the tenant's plan and facts (PATCH /v1/tenants/{tenant})"
        return [
            Finding(
                code="TENANT_UNFIT",
                severity="error",
                message=f"the tenant {tenant} does not fit: {message}",
                hint=f"{hint}; {remedy}",
            )
            for message, hint in misfits(found, name, catalog)
        ]

    async def list_unfit_for_default(self, tenant: str) -> list[Finding]:
        """The same of the default, if that decides for the tenant."""
        if await self._store.policies_in(tenant, "active"):
            return []
        return await self.list_unfit(tenant, self.default.name, self.default.catalog)

    async def activate(
        self, tenant: str, policy: Policy, sources: Mapping[str, str], main: str, by: str, *, shadow: bool = False
    ) -> tuple[StoredPolicy, Replayed]:
        """Put a policy, which `check` has made of the sources, in force, or into the shadow of the one that is. Raises
        `RefusedPolicy` and changes nothing if the tenant does not fit it."""
        rehearsed = await self.rehearse(tenant, policy)
        in_force = await self._find_in_force(tenant)
        async with in_force.lock:
            if unfit := await self.list_unfit(tenant, policy.name, policy.catalog):
                raise RefusedPolicy(unfit)
            await self._check_new(tenant, policy, sources, in_force.active if shadow else None)
            state, now = "shadow" if shadow else "active", self._clock_ms()
            record = make_record(policy, tenant, main=main, sources=dict(sources), state=state, created_at=now, created_by=by)
            await self._put(record, rehearsed)
            self._remember((tenant, policy.digest), policy)
            self._swap(in_force, policy, shadow)
        return record, rehearsed

    async def _check_new(self, tenant: str, policy: Policy, sources: Mapping[str, str], watched: Policy | None) -> None:
        """INVARIANT: a stored policy is never another one later, nor are its hooks' programs, for sessions are pinned to it.
        `watched` is the policy in force whose shadow this is to be."""
        if watched is not None and watched.digest == policy.digest:
            raise Unprocessable("POLICY_REFUSED", f"{policy.name} v {policy.version} is in force: it cannot be its own shadow")
        newest = 0  # they come newest first
        async for stored in walk(self._store.policies, tenant, policy.name, limit=200):
            newest = newest or stored.version
            if stored.version == policy.version and _differs(stored, policy, sources):
                hint, what = f"write: policy {policy.name} v {newest + 1}", "with other rules or hooks"
                raise Conflict("POLICY_EXISTS", f"{policy.name} v {policy.version} is there already, {what}", hint)

    async def _put(self, record: StoredPolicy, rehearsed: Replayed) -> None:
        """Store it, and retire whatever was in its place."""
        before = [
            stored for stored in await self._store.policies_in(record.tenant, record.state) if stored.digest != record.digest
        ]
        facts = {"name": record.name, "version": record.version, "replayed": msgspec.to_builtins(rehearsed)}
        facts["replayed"].pop("examples")
        kind = f"policy.{record.state}"
        await self._store.write(
            record.tenant,
            [
                *(PutPolicy(policy=msgspec.structs.replace(stored, state="retired")) for stored in before),
                PutPolicy(policy=record),
                AppendAudit(at=record.created_at, kind=kind, actor=record.created_by, subject=record.digest, data=facts),
            ],
        )

    @staticmethod
    def _swap(in_force: _InForce, policy: Policy, shadow: bool) -> None:
        lately = in_force.lately
        if shadow:
            lately.shadow = policy
            lately.differences.clear()
            return
        in_force.active = policy
        if lately.shadow is not None and lately.shadow.digest == policy.digest:
            lately.shadow = None

    async def record(self, tenant: str, digest: str) -> StoredPolicy:
        """One of the tenant's policies, or a default that decides for it or for sessions of it."""
        found = await self._store.policy(tenant, digest)
        if found is None and digest in self._defaults:
            found = self._make_default_record(tenant, digest, is_active=digest == (await self.find_active(tenant)).digest)
        if found is None:
            found = await self.pins.record(tenant, digest)
        if found is None:
            raise missing("policy", digest)
        return found

    async def programs(self, tenant: str, policy: Policy) -> dict[str, bytes]:
        """The programs of its hooks, as far as they are known, among its other files."""
        sources = (await self.record(tenant, policy.digest)).sources
        return {**{name: decode_file(name, text) for name, text in sources.items()}, **self._programs.get(policy.digest, {})}

    async def program(self, tenant: str, digest: str, name: str) -> bytes | None:
        """A program of a hook of one of the tenant's policies, or of a default."""
        if digest in self._programs:
            return self._programs[digest].get(name)
        stored = await self._store.policy(tenant, digest)
        if stored is None:
            return await self.pins.program(tenant, digest, name)
        return decode_file(name, stored.sources[name]) if name in stored.sources else None

    async def records(self, tenant: str, name: str | None, after: str | None, limit: int) -> Page[StoredPolicy]:
        """The default first, if that is in force; then what the store has."""
        default = None if after is not None else await self._describe_default(tenant, name)
        after = None if after == AFTER_DEFAULT else after
        if default is None:
            return await self._store.policies(tenant, name, after=after, limit=limit)
        rest = await self._store.policies(tenant, name, limit=max(1, limit - 1))
        if limit == 1:
            return Page([default], AFTER_DEFAULT if rest.items else None)
        return Page([default, *rest.items], rest.next)

    async def _describe_default(self, tenant: str, name: str | None) -> StoredPolicy | None:
        active = await self.find_active(tenant)
        if active is not self.default or name not in (None, active.name):
            return None
        return self._make_default_record(tenant, active.digest, is_active=True)

    def _make_default_record(self, tenant: str, digest: str, *, is_active: bool) -> StoredPolicy:
        return record_of_default(self._defaults[digest], tenant, self._read_at[digest], is_active=is_active)

    async def collect(self, tenant: str) -> None:
        """Forget defaults of before that no session of the tenant needs."""
        await self.pins.collect(tenant, self._defaults)

    def forget(self, tenant: str) -> None:
        self._tenants.pop(tenant, None)
        self.pins.forget(tenant)
        for key in [key for key in self._by_digest if key[0] == tenant]:
            del self._by_digest[key]

    async def find(self, tenant: str, digest: str) -> Policy:
        """One of the tenant's policies, or the default."""
        try:
            return await self._find_pinned(tenant, digest)
        except Forbidden:
            raise missing("policy", digest) from None


def _differs(stored: StoredPolicy, policy: Policy, sources: Mapping[str, str]) -> bool:
    """In what it decides, or in a program that judges for it."""
    programs = {hook.program for hook in policy.ir.hooks}
    return stored.digest != policy.digest or any(stored.sources.get(name) != sources.get(name) for name in programs)


def _has_catalog(sources: Mapping[str, str]) -> bool:
    """Whether a policy brings what it is about."""
    return any(name.endswith(".catalog.json") and not name.startswith(FOLDER) for name in sources)


def _find_silent(hook: ir.Hook) -> Finding | None:
    """A guard that never runs must not look like one."""
    if hook.phase not in ("before", "after") or not UNHOOKED.issuperset(hook.capabilities):
        return None
    message = f"the hook {hook.name} would never run: it is on {', '.join(hook.capabilities)}"
    hint = "hooks run around `run` and around capabilities that programs call; guard this with a rule"
    return Finding(code="HOOK_SILENT", severity="error", message=message, hint=hint)


def deny_all() -> Policy:
    """The policy that permits nothing: in force until there is another."""
    catalog = builtin_catalog()
    return Policy(ir.Policy("nothing", 0, catalog.digest, (), (), (), (), {}), catalog)


def catalog_of(tools: list[Capability]) -> Catalog:
    """What policies of a tenant can talk about."""
    if not tools:
        return builtin_catalog()
    return make_catalog("tools", [msgspec.to_builtins(tool) for tool in tools])
