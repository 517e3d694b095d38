"""Tenants and their tokens.

Rules: only admins make and delete tenants; operators mint and revoke tokens of their own tenant, never with a role above their
own. THREAT[TM-APPR-SELF]: who approves is told from who asked by the user their tokens name, so four eyes are two people only
where one cannot make the other's token: with `token_minting = "admins"` operators make none. A token's text is answered once and
kept nowhere. What policies could not judge (a plan, a fact) is refused here, not when a session is made.
THREAT[TM-STORE-REMAINS]: a tenant that is made under the id of one that was deleted is another tenant: it is made when nothing of
that one is left in this process, and has another `birth`, so that what was exported from the first does not open in the second.
Admins cannot lock themselves out: the tenant of the token that asks is not deleted, the last admin's token is not revoked; the
operator of the machine has `hatchway tokens new`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal
from weakref import WeakValueDictionary

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest, Conflict, Forbidden, GatewayError, missing
from gateway.events import Listeners
from gateway.policies.facts import check_facts
from gateway.policies.in_force import Policies
from gateway.records import HasRole, Principal, Quotas, Record, Role, StoredToken, Tenant, Token
from gateway.stores.changes import ABSENT, AppendAudit, DeleteTenant, PutTenant, PutToken
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.stores.stored import Page, Usage
from gateway.tenants.tokens import is_valid, mint

_log = logging.getLogger("hatchway.tenancy")
FIRST_TENANT: Final = "default"
"""The operator's own: made at the first start, with the first admin's token."""
SYSTEM_TENANT: Final = "_system"
"""Its audit has what belongs to no tenant, when the first one was deleted. No tenant of this name can be created."""
_BIRTH_BYTES: Final = 16
_TENANT_ID: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_RANK: Final[dict[Role, int]] = {"member": 0, "approver": 1, "author": 1, "operator": 2, "admin": 3}


Count = Annotated[int, Meta(ge=1, le=1 << 53)]


class AskedQuotas(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The quotas to set; those that are not named stay as they are."""

    sessions_max: Count | None = None
    live_sessions_max: Count | None = None
    memory_mb: Count | None = None
    concurrent_runs: Count | None = None
    queued_runs: Count | None = None
    storage_bytes: Count | None = None
    requests_per_min: Count | None = None

    def complete(self, quotas: Quotas) -> Quotas:
        return msgspec.structs.replace(quotas, **_list_given(self))


class CreateTenant(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With `birth` it is the tenant that has this id and birth at another gateway with the same keys: it imports snapshots that
    were exported there."""

    id: str
    birth: Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")] | None = None
    name: str = ""
    plan: str = "team"
    facts: dict[str, Any] = {}
    quotas: AskedQuotas = AskedQuotas()


class UpdateTenant(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str | None = None
    plan: str | None = None
    facts: dict[str, Any] | None = None
    quotas: AskedQuotas | None = None


class CreateToken(HasRole, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    role: Role = "member"
    user: str = ""
    groups: tuple[str, ...] = ()
    lasts_ms: int | None = None


class NewToken(Record, frozen=True, kw_only=True):
    """`secret` is shown this once."""

    token: Token
    secret: str


@dataclass(eq=False)
class Tenancy:
    _store: Store
    _policies: Policies
    _forget: Callable[[str], Awaitable[None]]
    _renew: Callable[[str], None]
    _clock_ms: Callable[[], int]
    _listeners: Listeners
    _minting: Literal["operators", "admins"]
    _claim: Callable[[str], Awaitable[object]] | None = None
    """Makes this gateway the owner of a tenant that is to be created. Raises if another one is."""
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    _revoking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a token is revoked, as the store's is: of two admins who revoke each other's tokens, one stays."""

    async def create(self, principal: Principal, asked: CreateTenant) -> Tenant:
        if not _TENANT_ID.fullmatch(asked.id):
            raise BadRequest("INVALID_ARGUMENT", "a tenant's id is a lower-case letter and up to 62 letters, digits, '-' or '_'")
        async with self._lock(asked.id):
            now = self._clock_ms()
            fields = {"birth": draw_birth(), **_list_given(asked), "quotas": asked.quotas.complete(Quotas())}
            tenant = Tenant(**fields, created_at=now, updated_at=now)
            check_facts(tenant, self._policies.default)
            audit = AppendAudit(at=now, kind="tenant.create", actor=principal.name, subject=tenant.id)
            if self._claim is not None:
                await self._claim(tenant.id)
            await self._store.write(tenant.id, [PutTenant(tenant=tenant, expect=ABSENT), audit])
            return tenant

    def _lock(self, tenant_id: str) -> asyncio.Lock:
        """No other task creates, changes or deletes a tenant of this id meanwhile."""
        return self._locks.setdefault(tenant_id, asyncio.Lock())

    async def get(self, tenant_id: str) -> Tenant:
        return await self._store.require(Tenant, tenant_id)

    async def page(self, after: str | None = None, limit: int = 100) -> Page[Tenant]:
        return await self._store.tenants(after=after, limit=limit)

    async def update(self, principal: Principal, tenant_id: str, asked: UpdateTenant) -> Tenant:
        async with self._lock(tenant_id):
            found, now = await self.get(tenant_id), self._clock_ms()
            changed = _list_given(asked)
            if asked.quotas is not None:
                changed["quotas"] = asked.quotas.complete(found.quotas)
            tenant = msgspec.structs.replace(found, **changed, updated_at=now)
            audit = AppendAudit(
                at=now, kind="tenant.update", actor=principal.name, subject=tenant_id, data={"changed": list(changed)}
            )
            is_judged = not changed.keys().isdisjoint(("plan", "facts"))
            async with self._policies.hold_active(tenant_id) if is_judged else contextlib.nullcontext() as policy:
                if policy is not None:
                    check_facts(tenant, policy)
                await self._store.write(tenant_id, [PutTenant(tenant=tenant), audit])
            self._renew(tenant_id)
            return tenant

    async def delete(self, principal: Principal, tenant_id: str) -> None:
        """What is in memory is dropped first, and once more afterwards: a request may have come meanwhile, and another tenant
        that is created under this id must find nothing. THREAT[TM-STORE-REMAINS]"""
        async with self._lock(tenant_id):
            await self.get(tenant_id)
            if any([stored.token.id == principal.token_id async for stored in walk(self._store.tokens, tenant_id)]):
                hint = "make a token for an admin of another tenant, and ask with that"
                raise Conflict("TENANT_IN_USE", "this tenant holds the token that asks, which would go with it", hint)
            await self._forget(tenant_id)
            await self._store.write(tenant_id, [DeleteTenant()])
            for tell in self._listeners.tenant_deleted:
                await tell(principal, tenant_id)
            await self._forget(tenant_id)
            _log.info("the tenant %s was deleted by %s", tenant_id, principal.name)
            try:
                await self._store.compact()
            except GatewayError as error:
                _log.error("what the tenant %s had is deleted, but may still be read from the disk: %s", tenant_id, error)
            await self._forget(tenant_id)  # what a request that was under way has brought back

    async def usage(self, tenant_id: str) -> Usage:
        return await self._store.usage(tenant_id)

    async def create_token(self, principal: Principal, tenant_id: str, asked: CreateToken) -> NewToken:
        await self.get(tenant_id)
        if self._minting == "admins" and principal.role != "admin":
            raise Forbidden("PERMISSION_DENIED", "tokens are made by admins only here", "ask an admin for one")
        if _RANK[asked.role] > _RANK[principal.role]:
            raise Forbidden("PERMISSION_DENIED", f"the role {principal.role!r} cannot make a token for the role {asked.role!r}")
        return await issue(self._store, tenant_id, asked, by=principal.name, now_ms=self._clock_ms())

    async def tokens(self, tenant_id: str, after: str | None = None, limit: int = 100) -> Page[Token]:
        page = await self._store.tokens(tenant_id, after=after, limit=limit)
        return Page([stored.token for stored in page.items], page.next)

    async def revoke(self, principal: Principal, tenant_id: str, token_id: str) -> Token:
        async with self._revoking, self._store.exclude_others("revocation"):
            stored, now = await self._find(tenant_id, token_id), self._clock_ms()
            if stored.token.revoked_at is not None:
                return stored.token
            if _RANK[stored.token.role] > _RANK[principal.role]:
                raise Forbidden(
                    "PERMISSION_DENIED", f"the role {principal.role!r} cannot revoke a token of {stored.token.role!r}"
                )
            if stored.token.role == "admin" and not await self._has_other_admin(token_id, now):
                raise Conflict("LAST_ADMIN", "this is the last admin's token: no other could be made", "make another one first")
            revoked = msgspec.structs.replace(stored, token=msgspec.structs.replace(stored.token, revoked_at=now))
            audit = AppendAudit(at=now, kind="token.revoke", actor=principal.name, subject=token_id)
            await self._store.write(tenant_id, [PutToken(token=revoked), audit])
            return revoked.token

    async def _find(self, tenant_id: str, token_id: str) -> StoredToken:
        async for stored in walk(self._store.tokens, tenant_id):
            if stored.token.id == token_id:
                return stored
        raise missing("token", token_id)

    async def _has_other_admin(self, token_id: str, now: int) -> bool:
        async for tenant in walk(self._store.tenants):
            async for stored in walk(self._store.tokens, tenant.id):
                if stored.token.role == "admin" and stored.token.id != token_id and is_valid(stored.token, now):
                    return True
        return False


async def issue_first_token(store: Store, now_ms: int) -> str | None:
    """A token for the first admin, if there is no tenant yet: shown once, when the service is first started."""
    if (await store.tenants(limit=1)).items:
        return None
    secret, stored = mint(tenant=FIRST_TENANT, name="first admin", role="admin", now_ms=now_ms)
    await store.write(FIRST_TENANT, [PutTenant(tenant=make_first_tenant(now_ms)), PutToken(token=stored)])
    return secret


async def restore_first(store: Store, tenant_id: str, now_ms: int) -> None:
    """Make sure that the tenant exists: the first one is created again if it was deleted, any other must exist."""
    if await store.tenant(tenant_id) is None:
        if tenant_id != FIRST_TENANT:
            raise missing("tenant", tenant_id)
        audit = AppendAudit(at=now_ms, kind="tenant.create", actor="hatchway", subject=tenant_id)
        again = make_first_tenant(now_ms, birth=draw_birth())
        await store.write(tenant_id, [PutTenant(tenant=again, expect=ABSENT), audit])


def make_first_tenant(now_ms: int, birth: str = "") -> Tenant:
    """In a store that never had a tenant it has no birth: there was none before it."""
    return Tenant(id=FIRST_TENANT, birth=birth, name="The first tenant", created_at=now_ms, updated_at=now_ms)


def draw_birth() -> str:
    return secrets.token_hex(_BIRTH_BYTES)


async def issue(store: Store, tenant_id: str, asked: CreateToken, *, by: str, now_ms: int) -> NewToken:
    """A new token, and its record in the audit. The caller has checked that it may be made."""
    if not 1 <= len(asked.name) <= 200 or (asked.lasts_ms is not None and asked.lasts_ms < 1000):
        raise BadRequest("INVALID_ARGUMENT", "a token needs a name of up to 200 characters, and lasts at least a second")
    expires_at = now_ms + asked.lasts_ms if asked.lasts_ms is not None else None
    fields = {name: getattr(asked, name) for name in ("name", "role", "user", "groups")}
    secret, stored = mint(tenant=tenant_id, now_ms=now_ms, expires_at=expires_at, **fields)
    data = {"role": asked.role, "name": asked.name}
    audit = AppendAudit(at=now_ms, kind="token.create", actor=by, subject=stored.token.id, data=data)
    await store.write(tenant_id, [PutToken(token=stored), audit])
    return NewToken(token=stored.token, secret=secret)


def _list_given(asked: CreateTenant | UpdateTenant | AskedQuotas) -> dict[str, Any]:
    """What was given."""
    return {name: value for name in asked.__struct_fields__ if (value := getattr(asked, name)) is not None}
