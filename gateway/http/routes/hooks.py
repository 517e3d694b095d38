"""Hooks of a tenant, their programs, and which of them are muted."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from gateway.hooks.hook_store import ProgramInfo
from gateway.hooks.specs import TIMEOUT_MS, TIMEOUT_MS_RANGE, UserHookSpec
from gateway.http.api.operation import Call, Operation, Raw
from gateway.http.api.pagination import Page, PageQuery, make_cursor
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
    async def delete_hook(call: Call) -> None:
        """By its whole id, or as it was posted."""
        asked = call.path["hook_id"]
        known = {spec.id for spec in await service.hooks.specs(call.principal.tenant)}
        whole = f"user:{asked}"
        await service.hooks.delete(call.principal, whole if asked not in known and whole in known else asked)

    async def get_muted(call: Call) -> Muted:
        return Muted(patterns=await service.hooks.list_muted(call.principal.tenant))

    async def put_muted(call: Call) -> Muted:
        return Muted(patterns=await service.hooks.mute(call.principal, call.body.patterns))

    async def list_programs(call: Call) -> Page[ProgramInfo]:
        found, after = await service.hooks.programs(call.principal.tenant, **call.query.window)
        return Page(found, make_cursor(after))

    async def get_program(call: Call) -> Raw:
        return Raw(await service.hooks.program(call.principal.tenant, call.path["name"]))

    row, path = partial(Operation, tag="hooks", audience="author"), "/v1/hooks"
    program = path + "/programs/{name...}"
    return [
        row("GET", path, "List hooks", lambda call: service.hooks.specs(call.principal.tenant),
            name="list_hooks", answer=list[UserHookSpec]),
        row("POST", path, "Add a hook, or replace the one with its id",
            lambda call: service.hooks.put(call.principal, call.body), name="put_hook", body=HookBody, answer=UserHookSpec,
            status=201, finishes=True, statuses={422: "The hook is not right; the message lists every mistake."}),
        row("DELETE", path + "/{hook_id}", "Remove a hook", delete_hook, finishes=True),
        row("GET", path + "/muted", "Which hooks do not fire", get_muted, answer=Muted),
        row("PUT", path + "/muted", "Say which hooks do not fire", put_muted, body=Muted, answer=Muted, finishes=True),
        row("GET", path + "/programs", "List the programs that are kept for hooks", list_programs, query=PageQuery,
            answer=Page[ProgramInfo]),
        row("GET", program, "A program that is kept for hooks", get_program, answer=bytes),
        row("PUT", program, "Keep a program for hooks: a script or wasm",
            lambda call: service.hooks.put_program(call.principal, call.path["name"], call.body),
            name="put_program", body=bytes, body_types=("*/*",), answer=ProgramInfo, finishes=True),
        row("DELETE", program, "Forget a program for hooks",
            lambda call: service.hooks.delete_program(call.principal, call.path["name"]),
            name="delete_program", finishes=True, statuses={409: "A hook runs it."}),
    ]  # fmt: skip
