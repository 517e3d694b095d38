"""Tenants, tokens, quotas, usage. Tenants are for admins; an operator mints tokens of its own tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gateway.http.api.admission import Admission
from gateway.http.api.authentication import Authenticator
from gateway.http.api.operation import Answer, Call, Operation
from gateway.http.api.pagination import Page, PageQuery, make_cursor
from gateway.http.api.text_fields import check_line
from gateway.records import Principal, Quotas, Role, Tenant, Token
from gateway.stores.stored import Usage
from gateway.tenants.tenants import CreateTenant, CreateToken, NewToken, UpdateTenant

if TYPE_CHECKING:
    from gateway.service import Service


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Whose token this is, what it may have, and what it has."""

    tenant: str
    role: Role
    user: str
    token_id: str
    quotas: Quotas
    usage: Usage


def operations(service: Service, authenticator: Authenticator, admission: Admission) -> list[Operation]:
    async def who_am_i(call: Call) -> Me:
        principal: Principal = call.principal
        tenant = await service.tenancy.get(principal.tenant)
        return Me(
            tenant=tenant.id,
            role=principal.role,
            user=principal.user,
            token_id=principal.token_id,
            quotas=tenant.quotas,
            usage=await service.tenancy.usage(tenant.id),
        )

    async def create_tenant(call: Call) -> Answer:
        asked: CreateTenant = call.body
        check_line("name", asked.name)
        made = await service.tenancy.create(call.principal, asked)
        return Answer(made, 201, {"location": f"/v1/tenants/{made.id}"})

    async def list_tenants(call: Call) -> Page[Tenant]:
        page = await service.tenancy.page(call.query.after, call.query.limit)
        return Page(page.items, make_cursor(page.next))

    async def get_tenant(call: Call) -> Tenant:
        return await service.tenancy.get(call.path["tenant_id"])

    async def update_tenant(call: Call) -> Tenant:
        asked: UpdateTenant = call.body
        check_line("name", asked.name or "")
        changed = await service.tenancy.update(call.principal, call.path["tenant_id"], asked)
        admission.forget(changed.id)
        return changed

    async def delete_tenant(call: Call) -> None:
        await service.tenancy.delete(call.principal, call.path["tenant_id"])

    async def get_usage(call: Call) -> Usage:
        await service.tenancy.get(call.path["tenant_id"])
        return await service.tenancy.usage(call.path["tenant_id"])

    async def create_token(call: Call) -> Answer:
        asked: CreateToken = call.body
        check_line("name", asked.name)
        return Answer(await service.tenancy.create_token(call.principal, call.principal.tenant, asked), 201)

    async def list_tokens(call: Call) -> Page[Token]:
        page = await service.tenancy.tokens(call.principal.tenant, call.query.after, call.query.limit)
        return Page(page.items, make_cursor(page.next))

    async def revoke_token(call: Call) -> Token:
        revoked = await service.tenancy.revoke(call.principal, call.principal.tenant, call.path["token_id"])
        authenticator.forget(revoked.id)
        return revoked

    tenants, tokens = "/v1/tenants", "/v1/tokens"
    one = tenants + "/{tenant_id}"
    return [
        Operation("GET", "/v1/me", "Whose token this is, its quotas, and what of them is used", who_am_i, answer=Me,
                  audience="anyone", tag="tenants"),
        Operation("POST", tenants, "Make a tenant", create_tenant, body=CreateTenant, answer=Tenant, status=201, audience="admin",
                  tag="tenants", finishes=True, statuses={409: "There is one with this id."}),
        Operation("GET", tenants, "List tenants", list_tenants, query=PageQuery, answer=Page[Tenant], audience="admin",
                  tag="tenants"),
        Operation("GET", one, "Look at a tenant", get_tenant, answer=Tenant, audience="admin", tag="tenants"),
        Operation("PATCH", one, "Change a tenant: its quotas, plan, facts", update_tenant, body=UpdateTenant, answer=Tenant,
                  audience="admin", tag="tenants", finishes=True),
        Operation("DELETE", one, "Delete a tenant with everything of it", delete_tenant, audience="admin", tag="tenants",
                  finishes=True, statuses={409: "It holds the token that asks."}),
        Operation("GET", one + "/usage", "What a tenant has", get_usage, answer=Usage, audience="admin", tag="tenants"),
        Operation("POST", tokens, "Mint a token: its text is shown once", create_token, body=CreateToken, answer=NewToken,
                  status=201, audience="operator", tag="tokens", confidential=True, finishes=True),
        Operation("GET", tokens, "List tokens", list_tokens, query=PageQuery, answer=Page[Token], audience="operator",
                  tag="tokens"),
        Operation("DELETE", tokens + "/{token_id}", "Revoke a token, now and for ever", revoke_token, answer=Token,
                  audience="operator", tag="tokens", finishes=True, statuses={409: "It is the last admin's."}),
    ]  # fmt: skip
