"""Values and secrets: small things of a session, and secrets of a tenant. A secret's value is never answered.

A value's ETag is the digest of it; `If-Match` and `If-None-Match` guard writes as they do those of files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from gateway.errors import NotFound, missing
from gateway.http.api.etags import CHANGED, GUARDS, check, etag_of, expectation, is_guarded, unchanged
from gateway.http.api.operation import Answer, Call, Operation, Raw
from gateway.http.api.pagination import Page, PageQuery, make_cursor
from gateway.records import KeyInfo, SecretInfo
from gateway.stores.changes import digest_of

if TYPE_CHECKING:
    from gateway.service import Service


class SecretValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: Annotated[str, Meta(max_length=65_536)]


def operations(service: Service) -> list[Operation]:
    async def list_values(call: Call) -> Page[KeyInfo]:
        page = await service.values.page(call.principal, call.path["session_id"], call.query.after, call.query.limit)
        return Page(page.items, make_cursor(page.next))

    async def get_value(call: Call) -> Answer:
        found = await service.values.get(call.principal, call.path["session_id"], call.path["key"])
        etag = etag_of(digest_of(found))
        return Answer(None, 304, {"etag": etag}) if unchanged(call.headers, etag) else Answer(Raw(found), headers={"etag": etag})

    async def put_value(call: Call) -> Answer:
        expect = await expected(call) if is_guarded(call.headers) else None
        await service.values.put(call.principal, call.path["session_id"], call.path["key"], call.body, expect)
        return Answer(None, 204, {"etag": etag_of(digest_of(call.body))})

    async def delete_value(call: Call) -> None:
        expect = await expected(call) if "if-match" in call.headers else None
        if not await service.values.delete(call.principal, call.path["session_id"], call.path["key"], expect):
            raise missing("value", call.path["key"])

    async def expected(call: Call) -> str:
        """What the store must find there, if the caller's guards hold now."""
        try:
            etag = etag_of(digest_of(await service.values.get(call.principal, call.path["session_id"], call.path["key"])))
        except NotFound as absent:
            if absent.code != "VALUE_NOT_FOUND":
                raise
            etag = None
        check(call.headers, etag)
        return expectation(etag)

    of_session = "/v1/sessions/{session_id}/values"
    return [
        Operation("GET", of_session, "List a session's values", list_values, query=PageQuery, answer=Page[KeyInfo], tag="values"),
        Operation("GET", of_session + "/{key...}", "A value", get_value, answer=bytes, tag="values",
                  statuses={304: "You have it."}, headers={"If-None-Match": "The ETag you have."}),
        Operation("PUT", of_session + "/{key...}", "Keep a value", put_value, body=bytes, body_types=("*/*",), tag="values",
                  finishes=True, statuses=CHANGED, headers=GUARDS),
        Operation("DELETE", of_session + "/{key...}", "Forget a value", delete_value, tag="values", finishes=True,
                  statuses=CHANGED, headers={"If-Match": GUARDS["If-Match"]}),
        *_secrets(service, ""),
        *_secrets(service, "/sessions/{session_id}"),
    ]  # fmt: skip


def _secrets(service: Service, prefix: str) -> list[Operation]:
    """The same for a tenant's secrets and for those of one session."""

    async def where(call: Call) -> tuple[str, str]:
        session_id = call.path.get("session_id", "")
        if session_id:
            await service.sessions.get(call.principal, session_id)
        return call.principal.tenant, session_id

    async def list_secrets(call: Call) -> Page[SecretInfo]:
        tenant, session_id = await where(call)
        page = await service.vault.list(tenant, session_id, after=call.query.after, limit=call.query.limit)
        return Page(page.items, make_cursor(page.next))

    async def put_secret(call: Call) -> None:
        tenant, session_id = await where(call)
        await service.vault.set(tenant, call.path["name"], call.body.value, session_id, by=call.principal.name)

    async def delete_secret(call: Call) -> None:
        tenant, session_id = await where(call)
        if not await service.vault.delete(tenant, call.path["name"], session_id, by=call.principal.name):
            raise missing("secret", call.path["name"])

    path = f"/v1{prefix}/secrets"
    whose = "a session's" if prefix else "the tenant's"
    name = "session_" if prefix else ""
    return [
        Operation("GET", path, f"List {whose} secrets: names, never values", list_secrets, query=PageQuery,
                  answer=Page[SecretInfo], audience="operator", tag="secrets", name=f"list_{name}secrets"),
        Operation("PUT", path + "/{name...}", f"Keep one of {whose} secrets", put_secret, body=SecretValue, audience="operator",
                  tag="secrets", finishes=True, name=f"put_{name}secret"),
        Operation("DELETE", path + "/{name...}", f"Forget one of {whose} secrets", delete_secret, audience="operator",
                  tag="secrets", finishes=True, name=f"delete_{name}secret"),
    ]  # fmt: skip
