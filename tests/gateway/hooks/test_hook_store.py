"""The hooks of a tenant: none is lost because another came at the same time, and none is taken that could not run."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
import wasmtime

from gateway.errors import GatewayError
from gateway.hooks.hook_store import HOOKS_MAX, HookStore
from tests.gateway.house import House, housed
from tests.gateway.runs.test_run_hooks import OPERATOR

WASM = b"\0asm\x01\0\0\0"
_LENGTH = (1 << 20) + 2
MODULE = (
    bytes(wasmtime.wat2wasm('(module (memory (export "memory") 1) (func (export "_start")))'))
    + bytes([0, _LENGTH & 0x7F | 0x80, _LENGTH >> 7 & 0x7F | 0x80, _LENGTH >> 14, 1, ord("x")])
    + b"\0" * (1 << 20)
)
"""With a section of no meaning, which makes it long."""


def spec(command: str, **more: Any) -> dict[str, Any]:
    return {"event": "pre_tool_use", "executor": {"type": "bash", "command": command}, **more}


async def commands(book: HookStore) -> list[str | None]:
    book.forget("acme")
    return sorted(one.executor.command or "" for one in await book.specs("acme"))


def another(house: House) -> HookStore:
    """The same tenants' hooks, as another process knows them."""
    return dataclasses.replace(house.hooks, _read={})


def test_hooks_without_an_id_that_come_at_once_are_all_kept() -> None:
    async def main() -> None:
        async with housed() as house:
            books = [house.hooks, another(house)]
            for book in books:
                await book.specs("acme")
            wanted = [f"echo {number}" for number in range(10, 22)]
            coming = (books[number % 2].put(OPERATOR, spec(one)) for number, one in enumerate(wanted))
            made = await asyncio.gather(*coming)
            assert len({one.id for one in made}) == len(wanted)
            assert await commands(house.hooks) == wanted

    asyncio.run(main())


def test_a_hook_whose_id_is_null_replaces_none() -> None:
    async def main() -> None:
        async with housed() as house:
            first = await house.hooks.put(OPERATOR, spec("echo 1", id="pre_tool_use_0"))
            second = await house.hooks.put(OPERATOR, spec("echo 2", id=None))
            assert (first.id, second.id) == ("user:pre_tool_use_0", "user:pre_tool_use_1")
            assert await commands(house.hooks) == ["echo 1", "echo 2"]
            await house.hooks.put(OPERATOR, spec("echo 3", id="pre_tool_use_1"))
            assert await commands(house.hooks) == ["echo 1", "echo 3"]

    asyncio.run(main())


def test_hooks_that_come_at_once_are_no_more_than_there_may_be() -> None:
    async def main() -> None:
        async with housed() as house:
            coming = (house.hooks.put(OPERATOR, spec(f"echo {number}")) for number in range(HOOKS_MAX + 2))
            answers = await asyncio.gather(*coming, return_exceptions=True)
            refused = [one.code for one in answers if isinstance(one, GatewayError)]
            assert refused == ["QUOTA_EXCEEDED"] * 2 and len(await commands(house.hooks)) == HOOKS_MAX

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("lint/a.sh", b"#" * (64 << 10), None),
        ("lint/a.sh", b"#" * ((64 << 10) + 1), "QUOTA_EXCEEDED"),
        ("scan.wasm", MODULE, None),
        ("scan.wasm", WASM + b"\0" * (1 << 20), "INVALID_HOOK"),
        ("scan.wasm", WASM + b"\0" * (4 << 20), "QUOTA_EXCEEDED"),
        ("bad name$", b"true", "INVALID_ARGUMENT"),
        ("../a.sh", b"true", "INVALID_ARGUMENT"),
        ("/a.sh", b"true", "INVALID_ARGUMENT"),
        ("", b"true", "INVALID_ARGUMENT"),
        ("a" * 256, b"true", "INVALID_ARGUMENT"),
    ],
)
def test_a_program_is_kept_if_a_hook_could_name_and_run_it(name: str, data: bytes, code: str | None) -> None:
    async def main() -> None:
        async with housed() as house:
            if code is None:
                kept = await house.hooks.put_program(OPERATOR, name, data)
                assert (kept.name, kept.size_bytes) == (name, len(data))
                return
            with pytest.raises(GatewayError) as refused:
                await house.hooks.put_program(OPERATOR, name, data)
            assert refused.value.code == code
            assert await house.hooks.programs("acme", None, 10) == ([], None)

    asyncio.run(main())


def test_a_hook_whose_program_is_not_stored_is_refused_and_taken_when_it_is() -> None:
    async def main() -> None:
        async with housed() as house:
            hook = {"id": "lint", "event": "before_run", "executor": {"type": "shell", "program": "lint.sh"}}
            with pytest.raises(GatewayError, match=r"no program 'lint\.sh' is stored") as refused:
                await house.hooks.put(OPERATOR, hook)
            assert refused.value.code == "INVALID_HOOK" and await house.hooks.specs("acme") == ()
            await house.hooks.put_program(OPERATOR, "lint.sh", b"true")
            assert (await house.hooks.put(OPERATOR, hook)).id == "user:lint"

    asyncio.run(main())
