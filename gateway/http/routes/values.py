"""Values and secrets: small things of a session, and secrets of a tenant. A secret's value is never answered.

A value's ETag is the digest of it; `If-Match` and `If-None-Match` guard writes as they do those of files.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from gateway.errors import NotFound, missing
from gateway.http.api.etags import CHANGED, GUARDS, check, is_guarded, is_unchanged, make_etag
from gateway.http.api.operation import Answer, Call, Operation, Raw, in_session
from gateway.http.api.pagination import Page, PageQuery, paginate
from gateway.records import KeyInfo, SecretInfo
from gateway.service import Service
from gateway.stores.changes import digest_of


class SecretValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: Annotated[str, Meta(max_length=65_536)]


def operations(service: Service) -> list[Operation]:
    async def get_value(call: Call) -> Answer:
        found = await service.values.get(*in_session(call), call.path["key"])
        digest = digest_of(found)
        tag = {"etag": make_etag(digest)}
        return Answer(None, 304, tag) if is_unchanged(call.headers, digest) else Answer(Raw(found), headers=tag)

    async def put_value(call: Call) -> Answer:
        expect = await check_guards(call) if is_guarded(call.headers) else None
        await service.values.put(*in_session(call), call.path["key"], call.body, expect)
        return Answer(None, 204, {"etag": make_etag(digest_of(call.body))})

    async def delete_value(call: Call) -> None:
        expect = await check_guards(call) if "if-match" in call.headers else None
        if not await service.values.delete(*in_session(call), call.path["key"], expect):
            raise missing("value", call.path["key"])

    async def check_guards(call: Call) -> str:
        """What the store must find there, if the caller's guards hold now."""
        try:
            digest = digest_of(await service.values.get(*in_session(call), call.path["key"]))
        except NotFound as absent:
            if absent.code != "VALUE_NOT_FOUND":
                raise
            digest = None
        return check(call.headers, f"value {call.path['key'][:200]}", digest)

    row, path = partial(Operation, tag="values"), "/v1/sessions/{session_id}/values"
    value = path + "/{key...}"
    return [
        row("GET", path, "List a session's values",
            paginate(lambda call: service.values.page(*in_session(call), **call.query.window)), name="list_values",
            query=PageQuery, answer=Page[KeyInfo]),
        row("GET", value, "A value", get_value, answer=bytes, statuses={304: "You have it."},
            headers={"If-None-Match": "The ETag you have."}),
        row("PUT", value, "Keep a value", put_value, body=bytes, body_types=("*/*",), finishes=True, statuses=CHANGED,
            headers=GUARDS),
        row("DELETE", value, "Forget a value", delete_value, finishes=True, statuses=CHANGED,
            headers={"If-Match": GUARDS["If-Match"]}),
        *_secrets(service, ""),
        *_secrets(service, "/sessions/{session_id}"),
    ]  # fmt: skip


def _secrets(service: Service, prefix: str) -> list[Operation]:
    """The same for a tenant's secrets and for those of one session."""

    async def find_owner(call: Call) -> tuple[str, str]:
        session_id = call.path.get("session_id", "")
        if session_id:
            await service.sessions.get(call.principal, session_id)
        return call.principal.tenant, session_id

    async def read(call: Call) -> Page[SecretInfo]:
        return await service.vault.list(*await find_owner(call), **call.query.window)

    async def put(call: Call) -> None:
        tenant, session_id = await find_owner(call)
        await service.vault.set(tenant, call.path["name"], call.body.value, session_id, by=call.principal.name)

    async def delete(call: Call) -> None:
        tenant, session_id = await find_owner(call)
        if not await service.vault.delete(tenant, call.path["name"], session_id, by=call.principal.name):
            raise missing("secret", call.path["name"])

    row, path = partial(Operation, tag="secrets", audience="operator"), f"/v1{prefix}/secrets"
    whose, what = ("a session's", "session_secret") if prefix else ("the tenant's", "secret")
    return [
        row("GET", path, f"List {whose} secrets: names, never values", paginate(read), query=PageQuery,
            answer=Page[SecretInfo], name=f"list_{what}s"),
        row("PUT", path + "/{name...}", f"Keep one of {whose} secrets", put, body=SecretValue, finishes=True, name=f"put_{what}"),
        row("DELETE", path + "/{name...}", f"Forget one of {whose} secrets", delete, finishes=True, name=f"delete_{what}"),
    ]  # fmt: skip
