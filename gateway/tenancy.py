"""Tenants and their tokens.

Rules: only admins make and delete tenants; operators mint and revoke tokens of their own tenant, never with a role above their
own. A token's text is answered once and kept nowhere. Deleting a tenant deletes everything of it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from gateway.errors import BadRequest, Forbidden, GatewayError, missing
from gateway.policies import now_ms
from gateway.records import Principal, Quotas, Record, Role, StoredToken, Tenant, Token
from gateway.stores.interface import ABSENT, AppendAudit, DeleteTenant, Page, PutTenant, PutToken, Store, Usage
from gateway.stores.walking import walk
from gateway.tokens import mint

_log = logging.getLogger("hatchway.tenancy")
FIRST_TENANT: Final = "default"
"""The operator's own: made at the first start, with the first admin's token."""
SYSTEM_TENANT: Final = "_system"
"""Whose audit has what belongs to no tenant, when the first one was deleted. Nobody can make a tenant of this name."""
_TENANT_ID: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_RANK: Final[dict[Role, int]] = {"runner": 0, "approver": 1, "author": 1, "operator": 2, "admin": 3}


class CreateTenant(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    name: str = ""
    plan: str = "team"
    facts: dict[str, Any] = {}
    quotas: Quotas = Quotas()


class UpdateTenant(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str | None = None
    plan: str | None = None
    facts: dict[str, Any] | None = None
    quotas: Quotas | None = None


class CreateToken(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    role: Role = "runner"
    user: str = ""
    groups: tuple[str, ...] = ()
    lasts_ms: int | None = None


class NewToken(Record, frozen=True, kw_only=True):
    """`secret` is shown this once."""

    token: Token
    secret: str


class Tenancy:
    def __init__(
        self,
        store: Store,
        forget: Callable[[str], Awaitable[None]],
        renew: Callable[[str], None],
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._store = store
        self._forget = forget
        self._renew = renew
        self._clock_ms = clock_ms

    async def create(self, principal: Principal, asked: CreateTenant) -> Tenant:
        if not _TENANT_ID.fullmatch(asked.id):
            raise BadRequest("INVALID_ARGUMENT", "a tenant's id is a lower-case letter and up to 62 letters, digits, '-' or '_'")
        now = self._clock_ms()
        fields = {name: getattr(asked, name) for name in CreateTenant.__struct_fields__}
        tenant = Tenant(**fields, created_at=now, updated_at=now)
        audit = AppendAudit(at=now, kind="tenant.create", actor=principal.name, subject=tenant.id)
        await self._store.write(tenant.id, [PutTenant(tenant=tenant, expect=ABSENT), audit])
        return tenant

    async def get(self, tenant_id: str) -> Tenant:
        found = await self._store.tenant(tenant_id)
        if found is None:
            raise missing("tenant", tenant_id)
        return found

    async def page(self, after: str | None = None, limit: int = 100) -> Page[Tenant]:
        return await self._store.tenants(after=after, limit=limit)

    async def update(self, principal: Principal, tenant_id: str, asked: UpdateTenant) -> Tenant:
        found, now = await self.get(tenant_id), self._clock_ms()
        changed = {name: value for name in UpdateTenant.__struct_fields__ if (value := getattr(asked, name)) is not None}
        tenant = msgspec.structs.replace(found, **changed, updated_at=now)
        audit = AppendAudit(
            at=now, kind="tenant.update", actor=principal.name, subject=tenant_id, data={"changed": list(changed)}
        )
        await self._store.write(tenant_id, [PutTenant(tenant=tenant), audit])
        self._renew(tenant_id)
        return tenant

    async def delete(self, principal: Principal, tenant_id: str) -> None:
        """What is in memory goes first, and once more afterwards: somebody may have asked meanwhile, and a tenant that is made
        anew under this id must find nothing. THREAT[TM-STORE-REMAINS]"""
        await self.get(tenant_id)
        await self._forget(tenant_id)
        await self._store.write(tenant_id, [DeleteTenant()])
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
        if _RANK[asked.role] > _RANK[principal.role]:
            raise Forbidden("PERMISSION_DENIED", f"the role {principal.role!r} cannot make a token for the role {asked.role!r}")
        if not 1 <= len(asked.name) <= 200 or (asked.lasts_ms is not None and asked.lasts_ms < 1000):
            raise BadRequest("INVALID_ARGUMENT", "a token needs a name of up to 200 characters, and lasts at least a second")
        now = self._clock_ms()
        expires_at = now + asked.lasts_ms if asked.lasts_ms is not None else None
        secret, stored = mint(
            tenant=tenant_id,
            name=asked.name,
            role=asked.role,
            user=asked.user,
            groups=asked.groups,
            expires_at=expires_at,
            now_ms=now,
        )
        data = {"role": asked.role, "name": asked.name}
        audit = AppendAudit(at=now, kind="token.create", actor=principal.name, subject=stored.token.id, data=data)
        await self._store.write(tenant_id, [PutToken(token=stored), audit])
        return NewToken(token=stored.token, secret=secret)

    async def tokens(self, tenant_id: str, after: str | None = None, limit: int = 100) -> Page[Token]:
        page = await self._store.tokens(tenant_id, after=after, limit=limit)
        return Page([one.token for one in page.items], page.next)

    async def revoke(self, principal: Principal, tenant_id: str, token_id: str) -> Token:
        stored = await self._find(tenant_id, token_id)
        if stored.token.revoked_at is not None:
            return stored.token
        now = self._clock_ms()
        revoked = msgspec.structs.replace(stored, token=msgspec.structs.replace(stored.token, revoked_at=now))
        audit = AppendAudit(at=now, kind="token.revoke", actor=principal.name, subject=token_id)
        await self._store.write(tenant_id, [PutToken(token=revoked), audit])
        return revoked.token

    async def _find(self, tenant_id: str, token_id: str) -> StoredToken:
        async for one in walk(lambda after: self._store.tokens(tenant_id, after=after, limit=1000)):
            if one.token.id == token_id:
                return one
        raise missing("token", token_id)
