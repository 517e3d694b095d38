"""Hooks of a tenant, their programs, and which of them are muted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gateway.hookbook import ProgramInfo
from gateway.hooks.specs import UserHookSpec
from gateway.http.operations import Answer, Call, Operation

if TYPE_CHECKING:
    from gateway.service import Service


class Muted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ids and globs of hooks that do not fire."""

    patterns: tuple[str, ...]


def operations(service: Service) -> list[Operation]:
    async def list_hooks(call: Call) -> list[UserHookSpec]:
        return list(await service.hooks.specs(call.principal.tenant))

    async def put_hook(call: Call) -> Answer:
        return Answer(await service.hooks.put(call.principal, call.body), 201)

    async def delete_hook(call: Call) -> None:
        await service.hooks.delete(call.principal, call.path["hook_id"])

    async def get_muted(call: Call) -> Muted:
        return Muted(patterns=await service.hooks.muted(call.principal.tenant))

    async def put_muted(call: Call) -> Muted:
        return Muted(patterns=await service.hooks.mute(call.principal, call.body.patterns))

    async def put_program(call: Call) -> ProgramInfo:
        return await service.hooks.put_program(call.principal, call.path["name"], call.body)

    path, tag = "/v1/hooks", "hooks"
    author: Any = {"audience": "author", "tag": tag}
    return [
        Operation("GET", path, "List hooks", list_hooks, answer=list[UserHookSpec], **author),
        Operation("POST", path, "Add a hook, or replace the one with its id", put_hook, body=dict[str, Any], answer=UserHookSpec,
                  status=201, finishes=True, statuses={422: "The hook is not right; the message lists every mistake."}, **author),
        Operation("DELETE", path + "/{hook_id}", "Remove a hook", delete_hook, finishes=True, **author),
        Operation("GET", path + "/muted", "Which hooks do not fire", get_muted, answer=Muted, **author),
        Operation("PUT", path + "/muted", "Say which hooks do not fire", put_muted, body=Muted, answer=Muted, finishes=True,
                  **author),
        Operation("PUT", path + "/programs/{name...}", "Keep a program for hooks: a script or wasm", put_program, body=bytes,
                  body_types=("*/*",), answer=ProgramInfo, finishes=True, **author),
    ]  # fmt: skip
