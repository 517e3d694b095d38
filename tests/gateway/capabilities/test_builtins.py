"""The built-in capabilities of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from gateway.capabilities.builtins import BuiltinSource
from gateway.capabilities.endpoints import WebClient
from gateway.capabilities.functions import FunctionSource
from gateway.capabilities.sources import Caller
from gateway.egress import Egress
from sandbox.capabilities.registry import ToolError
from tests.gateway.capabilities.service import MemorySecrets, Service, allow_all, deny_all
from tests.gateway.web import Request, answer, serve


class MemoryFiles:
    def __init__(self) -> None:
        self.files = {"/workspace/b.txt": b"b", "/workspace/a.txt": "ä".encode(), "/workspace/raw": b"\xff", "/ro": b"fixed"}

    async def read(self, caller: Caller, path: str, max_bytes: int) -> bytes:
        if path not in self.files:
            raise ToolError("NOT_FOUND", f"there is no file {path}")
        return self.files[path]

    async def write(self, caller: Caller, path: str, data: bytes) -> None:
        if path == "/ro":
            raise ToolError("PERMISSION_DENIED", "file is read-only: /ro")
        self.files[path] = data

    async def names(self, caller: Caller, path: str) -> Sequence[str]:
        return [name.removeprefix(path + "/") for name in self.files if name.startswith(path + "/")]


async def service(egress: Egress | None = None, decide_for: Any = allow_all) -> Service:
    one = Service()
    secrets = MemorySecrets({"KEY": "s3cret-value"}, ["127.0.0.1"])
    client = WebClient(egress or Egress(), decide_for, secrets)
    source = BuiltinSource(one.catalogue.tools, MemoryFiles(), client, lambda: 1_700_000_000_123)
    return await one.add(source, "builtins")


NAMES = [
    "current_policy", "describe_tool", "fetch_json", "fetch_text", "list_dir", "list_tools", "now", "read_text", "write_text",
]  # fmt: skip


def test_what_there_is_is_listed_described_and_told_as_policy() -> None:
    async def main() -> None:
        one = await service()
        await one.add(FunctionSource({"add": lambda a, b: a + b}), "own")
        assert [tool["name"] for tool in await one.call("list_tools")] == sorted([*NAMES, "add"])
        described = await one.call("describe_tool", "write_text")
        assert described["side_effect"] == "write" and list(described["input_schema"]["properties"]) == ["path", "text"]
        assert await one.code("describe_tool", "nothing") == "UNKNOWN_TOOL"
        assert await one.call("current_policy") == {
            "default_permissions": "none",
            "filesystem": "capability_only",
            "network": "capability_only",
            "subprocess": "denied",
            "tools": sorted([*NAMES, "add"]),
        }
        effects = {tool.name: tool.side_effect.value for tool in one.catalogue.tools()}
        assert [effects[name] for name in ("read_text", "write_text", "list_dir", "fetch_text", "list_tools")] == [
            "read", "write", "read", "network", "none",
        ]  # fmt: skip

    asyncio.run(main())


def test_files_are_read_written_and_listed() -> None:
    async def main() -> None:
        one = await service()
        assert await one.call("read_text", "/workspace/a.txt") == "ä"
        assert await one.call("write_text", "/workspace/c.txt", text="üx") == {"path": "/workspace/c.txt", "bytes": 3}
        assert await one.call("read_text", path="/workspace/c.txt") == "üx"
        assert await one.call("list_dir", "/workspace") == ["a.txt", "b.txt", "c.txt", "raw"]
        assert await one.code("read_text", "/none") == "NOT_FOUND"
        assert await one.code("read_text", "/workspace/raw") == "TOOL_ERROR"
        assert await one.code("write_text", "/ro", "x") == "PERMISSION_DENIED"

    asyncio.run(main())


@pytest.mark.parametrize("path", ["/workspace/../etc/passwd", "/..", "/a\0b", "../x"])
def test_path_that_is_not_plainly_inside_is_denied(path: str) -> None:
    async def main() -> None:
        one = await service()
        for call in (("read_text", path), ("write_text", path, "x"), ("list_dir", path)):
            assert await one.code(*call) == "PERMISSION_DENIED"

    asyncio.run(main())


@pytest.mark.parametrize("call", [("read_text",), ("read_text", 1), ("write_text", "/a"), ("now", 1), ("fetch_text", "")])
def test_arguments_of_the_wrong_shape_are_refused(call: tuple[Any, ...]) -> None:
    async def main() -> None:
        assert await (await service()).code(*call) == "INVALID_ARGUMENT"

    asyncio.run(main())


def test_web_is_fetched_with_secrets_that_programs_do_not_see() -> None:
    async def main() -> None:
        def echo(request: Request) -> bytes:
            return answer(f'{{"key": "{request.headers.get("x-key", "")}"}}'.encode())

        async with serve(echo) as web:
            one = await service(Egress(allow_private=[web.service]))
            assert await one.call("fetch_text", web.url) == '{"key": ""}'
            assert await one.call("fetch_json", web.url, headers={"X-Key": "${secret:KEY}"}) == {"key": "[secret]"}
            assert web.requests[-1].headers["x-key"] == "s3cret-value"
            assert await one.code("fetch_text", web.url, headers={"X-Key": "${secret:NONE}"}) == "PERMISSION_DENIED"
            assert await one.code("fetch_text", web.url, headers={"Host": "internal"}) == "TOOL_ERROR"

    asyncio.run(main())


@pytest.mark.parametrize(("reply", "code"), [(answer(b"x", "500 Broken"), "TOOL_ERROR"), (answer(b"not json"), "TOOL_ERROR")])
def test_answer_that_is_no_value_is_an_error(reply: bytes, code: str) -> None:
    async def main() -> None:
        async with serve(lambda request: reply) as web:
            assert await (await service(Egress(allow_private=[web.service]))).code("fetch_json", web.url) == code

    asyncio.run(main())


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "http://2130706433/"]
)
def test_address_that_is_not_public_is_denied(url: str) -> None:
    async def main() -> None:
        assert await (await service()).code("fetch_text", url) == "PERMISSION_DENIED"

    asyncio.run(main())


def test_host_the_policy_does_not_permit_is_denied() -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b"x")) as web:
            one = await service(Egress(allow_private=[web.service]), deny_all)
            assert await one.code("fetch_text", web.url) == "PERMISSION_DENIED" and not web.requests

    asyncio.run(main())


def test_time_is_told_as_number_and_text() -> None:
    async def main() -> None:
        assert await (await service()).call("now") == {"unix_ms": 1_700_000_000_123, "iso": "2023-11-14T22:13:20.123Z"}

    asyncio.run(main())
