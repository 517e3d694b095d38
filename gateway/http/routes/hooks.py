"""Hooks of a tenant, their programs, and which of them are muted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from gateway.hooks.hook_store import ProgramInfo
from gateway.hooks.specs import TIMEOUT_MS, TIMEOUT_MS_RANGE, UserHookSpec
from gateway.http.api.operation import Answer, Call, Operation, Raw
from gateway.http.api.pagination import Page, PageQuery, make_cursor

if TYPE_CHECKING:
    from gateway.service import Service


_SCHEMAS: Final = "#/components/schemas/"
_LEAST_MS, _MOST_MS = TIMEOUT_MS_RANGE
HookBody = Annotated[
    dict[str, Any],
    Meta(
        description="A hook as people write it. It is read by the check that lists every mistake at once.",
        extra_json_schema={
            "required": ["event", "executor"],
            "additionalProperties": False,
            "properties": {
                "id": {"type": ["string", "null"], "description": "Default: the event and a number.", "maxLength": 80},
                "event": {"$ref": _SCHEMAS + "HookEvent"},
                "matcher": {"$ref": _SCHEMAS + "Matcher"},
                "executor": {"$ref": _SCHEMAS + "Executor"},
                "timeout_ms": {"type": "integer", "minimum": _LEAST_MS, "maximum": _MOST_MS, "default": TIMEOUT_MS},
                "on_error": {"enum": ["block", "allow", "warn"], "default": "warn"},
                "description": {"type": ["string", "null"], "maxLength": 1000},
                "source": {"const": "user"},
            },
        },
    ),
]


class Muted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ids and globs of hooks that do not fire."""

    patterns: tuple[str, ...]


def operations(service: Service) -> list[Operation]:
    async def list_hooks(call: Call) -> list[UserHookSpec]:
        return list(await service.hooks.specs(call.principal.tenant))

    async def put_hook(call: Call) -> Answer:
        return Answer(await service.hooks.put(call.principal, call.body), 201)

    async def delete_hook(call: Call) -> None:
        """By its whole id, or as it was posted."""
        asked = call.path["hook_id"]
        known = {one.id for one in await service.hooks.specs(call.principal.tenant)}
        whole = f"user:{asked}"
        await service.hooks.delete(call.principal, whole if asked not in known and whole in known else asked)

    async def get_muted(call: Call) -> Muted:
        return Muted(patterns=await service.hooks.muted(call.principal.tenant))

    async def put_muted(call: Call) -> Muted:
        return Muted(patterns=await service.hooks.mute(call.principal, call.body.patterns))

    async def put_program(call: Call) -> ProgramInfo:
        return await service.hooks.put_program(call.principal, call.path["name"], call.body)

    async def list_programs(call: Call) -> Page[ProgramInfo]:
        found, after = await service.hooks.programs(call.principal.tenant, call.query.after, call.query.limit)
        return Page(found, make_cursor(after))

    async def get_program(call: Call) -> Raw:
        return Raw(await service.hooks.program(call.principal.tenant, call.path["name"]))

    async def delete_program(call: Call) -> None:
        await service.hooks.delete_program(call.principal, call.path["name"])

    path, tag = "/v1/hooks", "hooks"
    program = path + "/programs/{name...}"
    author: Any = {"audience": "author", "tag": tag}
    return [
        Operation("GET", path, "List hooks", list_hooks, answer=list[UserHookSpec], **author),
        Operation("POST", path, "Add a hook, or replace the one with its id", put_hook, body=HookBody, answer=UserHookSpec,
                  status=201, finishes=True, statuses={422: "The hook is not right; the message lists every mistake."}, **author),
        Operation("DELETE", path + "/{hook_id}", "Remove a hook", delete_hook, finishes=True, **author),
        Operation("GET", path + "/muted", "Which hooks do not fire", get_muted, answer=Muted, **author),
        Operation("PUT", path + "/muted", "Say which hooks do not fire", put_muted, body=Muted, answer=Muted, finishes=True,
                  **author),
        Operation("GET", path + "/programs", "List the programs that are kept for hooks", list_programs, query=PageQuery,
                  answer=Page[ProgramInfo], **author),
        Operation("GET", program, "A program that is kept for hooks", get_program, answer=bytes, **author),
        Operation("PUT", program, "Keep a program for hooks: a script or wasm", put_program, body=bytes, body_types=("*/*",),
                  answer=ProgramInfo, finishes=True, **author),
        Operation("DELETE", program, "Forget a program for hooks", delete_program, finishes=True,
                  statuses={409: "A hook runs it."}, **author),
    ]  # fmt: skip
