"""Tenants, tokens, quotas, usage. Tenants are for admins; an operator mints tokens of its own tenant."""

from __future__ import annotations

from functools import partial

import msgspec

from gateway.http.api.admission import Admission
from gateway.http.api.authentication import Authenticator
from gateway.http.api.decoding import check_line
from gateway.http.api.operation import Call, Operation
from gateway.http.api.pagination import Page, PageQuery, paginate
from gateway.records import Principal, Quotas, Role, Tenant, Token
from gateway.service import Service
from gateway.stores.stored import Usage
from gateway.tenants.tenants import CreateTenant, CreateToken, NewToken, UpdateTenant


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Whose token this is, what it may have, and what it has."""

    tenant: str
    role: Role
    user: str
    token_id: str
    quotas: Quotas
    usage: Usage


def operations(service: Service, authenticator: Authenticator, admission: Admission) -> list[Operation]:
    return [*_tenants(service, admission), *_tokens(service, authenticator)]


def _tenants(service: Service, admission: Admission) -> list[Operation]:
    async def who_am_i(call: Call) -> Me:
        caller: Principal = call.principal
        tenant, usage = await service.tenancy.get(caller.tenant), await service.tenancy.usage(caller.tenant)
        return Me(tenant=tenant.id, role=caller.role, user=caller.user, token_id=caller.token_id, quotas=tenant.quotas,
                  usage=usage)  # fmt: skip

    async def create_tenant(call: Call) -> Tenant:
        check_line("name", call.body.name)
        return await service.tenancy.create(call.principal, call.body)

    async def update_tenant(call: Call) -> Tenant:
        check_line("name", call.body.name or "")
        changed = await service.tenancy.update(call.principal, call.path["tenant_id"], call.body)
        admission.forget(changed.id)
        return changed

    async def get_usage(call: Call) -> Usage:
        await service.tenancy.get(call.path["tenant_id"])
        return await service.tenancy.usage(call.path["tenant_id"])

    row, path, tenant = partial(Operation, tag="tenants", audience="admin"), "/v1/tenants", "/v1/tenants/{tenant_id}"
    return [
        row("GET", "/v1/me", "Whose token this is, its quotas, and what of them is used", who_am_i, answer=Me, audience="anyone"),
        row("POST", path, "Make a tenant", create_tenant, body=CreateTenant, answer=Tenant, status=201,
            location="/v1/tenants/{0.id}", finishes=True, statuses={409: "There is one with this id."}),
        row("GET", path, "List tenants", paginate(lambda call: service.tenancy.page(**call.query.window)),
            name="list_tenants", query=PageQuery, answer=Page[Tenant]),
        row("GET", tenant, "Look at a tenant", lambda call: service.tenancy.get(call.path["tenant_id"]),
            name="get_tenant", answer=Tenant),
        row("PATCH", tenant, "Change a tenant: its quotas, plan, facts", update_tenant, body=UpdateTenant, answer=Tenant,
            finishes=True),
        row("DELETE", tenant, "Delete a tenant with everything of it",
            lambda call: service.tenancy.delete(call.principal, call.path["tenant_id"]),
            name="delete_tenant", finishes=True, statuses={409: "It holds the token that asks."}),
        row("GET", tenant + "/usage", "What a tenant has", get_usage, answer=Usage),
    ]  # fmt: skip


def _tokens(service: Service, authenticator: Authenticator) -> list[Operation]:
    async def create_token(call: Call) -> NewToken:
        check_line("name", call.body.name)
        return await service.tenancy.create_token(call.principal, call.principal.tenant, call.body)

    async def revoke_token(call: Call) -> Token:
        revoked = await service.tenancy.revoke(call.principal, call.principal.tenant, call.path["token_id"])
        authenticator.forget(revoked.id)
        return revoked

    row, path = partial(Operation, tag="tokens", audience="operator"), "/v1/tokens"
    return [
        row("POST", path, "Mint a token: its text is shown once", create_token, body=CreateToken, answer=NewToken, status=201,
            confidential=True, finishes=True),
        row("GET", path, "List tokens",
            paginate(lambda call: service.tenancy.tokens(call.principal.tenant, **call.query.window)), name="list_tokens",
            query=PageQuery, answer=Page[Token]),
        row("DELETE", path + "/{token_id}", "Revoke a token, now and for ever", revoke_token, answer=Token, finishes=True,
            statuses={409: "It is the last admin's."}),
    ]  # fmt: skip
