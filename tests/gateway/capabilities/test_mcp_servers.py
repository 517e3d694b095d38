"""MCP servers as capabilities: real servers over pipes and HTTP, and servers that die, flood or lie."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.invocation import make, prepare
from gateway.capabilities.mcp_connections import connect_to
from gateway.capabilities.mcp_servers import ServerSource, ServerSpec, identifier
from gateway.capabilities.sources import Caller, ServerState
from gateway.egress import Egress
from sandbox.capabilities.registry import CapabilityLimits, ToolCallContext, ToolError
from sandbox.errors import RequestError

HERE = Path(__file__).parent
SERVER = [sys.executable, str(HERE / "mcp_server.py")]
ANN = Caller("acme", "s1")


class Clock:
    ms = 0

    def __call__(self) -> int:
        return self.ms


class House:
    def __init__(self, source: ServerSource) -> None:
        self.source = source
        self.catalogue = Catalogue()

    async def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        return await make(self.catalogue, prepare(self.catalogue, ANN, ToolCallContext(name, list(args), kwargs)))

    async def error(self, name: str, /, *args: Any, **kwargs: Any) -> ToolError:
        with pytest.raises(ToolError) as raised:
            await self.call(name, *args, **kwargs)
        return raised.value


@contextlib.asynccontextmanager
async def house(spec: ServerSpec, clock: Callable[[], int] | None = None, egress: Egress | None = None) -> AsyncIterator[House]:
    one = House(ServerSource(spec, connect_to(spec, egress), clock))
    try:
        await one.catalogue.add(spec.name, one.source)
        await one.source.wait_until_tried()
        yield one
    finally:
        await one.source.close()


def run(test: Callable[[House], Awaitable[None]], spec: ServerSpec, clock: Callable[[], int] | None = None) -> None:
    async def main() -> None:
        async with house(spec, clock) as one:
            await asyncio.wait_for(test(one), 60)

    asyncio.run(main())


def rough(tmp_path: Path, limits: CapabilityLimits | None = None, **answers: Any) -> ServerSpec:
    tools = [{"name": "one", "inputSchema": {"type": "object"}}]
    said = {"tools/list": {"tools": tools}, **{key.replace("__", "/"): value for key, value in answers.items()}}
    (tmp_path / "answers.json").write_text(json.dumps(said))
    command = [sys.executable, "-S", "-E", str(HERE / "rough_server.py"), str(tmp_path / "answers.json")]
    return ServerSpec(name="r", command=command, limits=limits or CapabilityLimits(timeout_ms=30_000))


def test_tools_of_a_server_appear_with_their_schemas_and_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATCHWAY_PRIVATE", "not for servers")

    async def test(one: House) -> None:
        tools = {tool.name: tool for tool in one.catalogue.tools()}
        assert sorted(tools) == ["t_add", "t_die", "t_fail", "t_say_hello", "t_variable", "t_wait"]
        assert tools["t_add"].description == "The sum."
        assert tools["t_add"].input_schema["properties"]["a"]["type"] == "integer"
        assert await one.call("t_add", 2, b=3) == {"result": 5}
        assert await one.call("t_say_hello", name="ann") == "hello ann"
        assert (await one.error("t_add", "x")).code == "INVALID_ARGUMENT"
        failed = await one.error("t_fail")
        assert failed.code == "TOOL_ERROR" and "fail" in failed.message
        # It sees only the variables it was given.
        assert await one.call("t_variable", name="HATCHWAY_PRIVATE") == ""
        assert await one.call("t_variable", name="GIVEN") == "yes"

    run(test, ServerSpec(name="t", command=SERVER, env={"GIVEN": "yes"}))


def test_server_that_dies_in_a_call_fails_the_call_and_is_started_again_after_a_pause() -> None:
    clock = Clock()

    async def test(one: House) -> None:
        waiting = asyncio.ensure_future(one.error("t_wait"))
        while one.source.is_connected and not one.catalogue.find("acme", "t_wait").entry.admission.under_way:
            await asyncio.sleep(0)
        died = await one.error("t_die")
        assert died.code == "TOOL_ERROR" and (await waiting).code == "TOOL_ERROR"
        assert "is down" in (await one.error("t_add", 1)).message
        clock.ms += 600
        assert await one.call("t_add", 1) == {"result": 2}

    run(test, ServerSpec(name="t", command=SERVER), clock)


def test_server_that_takes_longer_to_start_than_a_caller_waits_is_there_for_the_next(tmp_path: Path) -> None:
    """Whoever gave up used to take the attempt along, and the next caller began from nothing: nobody ever got through."""
    started, go_on = tmp_path / "started", tmp_path / "go_on"
    wait = (
        f"import os, time\nopen({str(started)!r}, 'a').write('x')\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.01)\n"
    )
    script = wait + f"import runpy\nrunpy.run_path({SERVER[1]!r}, run_name='__main__')"
    clock = Clock()
    go_on.touch()

    async def test(one: House) -> None:
        go_on.unlink()
        await one.error("t_die")
        assert "next attempt in" in (await one.error("t_add", a=1)).message
        clock.ms += 60_000
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await one.call("t_add", a=1)
        go_on.touch()
        assert await one.call("t_add", a=1) == {"result": 2}
        assert started.read_text() == "xx"

    run(test, ServerSpec(name="t", command=[sys.executable, "-c", script]), clock)


def test_pause_doubles_with_every_failure_to_connect(tmp_path: Path) -> None:
    clock = Clock()

    async def main() -> None:
        spec = rough(tmp_path)
        one = House(ServerSource(spec, connect_to(spec), clock))
        await one.catalogue.add("r", one.source)
        await one.source.wait_until_tried()
        (tmp_path / "answers.json").write_text('{"initialize": "exit"}')
        await one.source.close()
        for pause_ms in (500, 1000, 2000):
            assert "cannot be reached" in (await one.error("r_one")).message
            clock.ms += pause_ms - 1
            assert "next attempt in 1 ms" in (await one.error("r_one")).message
            clock.ms += 1
        (tmp_path / "answers.json").write_text(json.dumps({"tools/list": {"tools": []}, "tools/call": {"content": []}}))
        assert await one.call("r_one") == []
        assert one.source.is_connected and one.catalogue.tools() == []
        await one.source.close()

    asyncio.run(main())


def test_server_that_is_down_at_the_start_is_tried_until_its_tools_appear(tmp_path: Path) -> None:
    async def main() -> None:
        spec = rough(tmp_path, initialize="exit")
        one = House(ServerSource(spec, connect_to(spec)))
        await one.catalogue.add("r", one.source)
        assert one.source.state == ServerState(ready=False), "nobody has waited for it"
        await one.source.wait_until_tried()
        assert one.catalogue.tools() == [] and "cannot be reached" in one.source.diagnostics[0]
        assert one.source.state == ServerState(ready=False, problem="it cannot be reached")
        rough(tmp_path)
        while not one.catalogue.tools():
            await asyncio.sleep(0.01)
        assert one.source.diagnostics == []
        assert one.source.state == ServerState(ready=True, tools=1)
        await one.source.close()
        rough(tmp_path, initialize="exit")
        again = ServerSource(spec, connect_to(spec))
        await again.start()
        await again.close()

    asyncio.run(main())


@pytest.mark.parametrize("behaviour", ["exit", "garbage", "flood"])
def test_tm_cap_server_that_floods_lies_or_leaves_is_cut_off(tmp_path: Path, behaviour: str) -> None:
    async def test(one: House) -> None:
        assert (await one.error("r_one")).code == "TOOL_ERROR"
        while one.source.is_connected:
            await asyncio.sleep(0)

    run(test, rough(tmp_path, tools__call=behaviour))


def test_server_that_never_answers_times_out_and_serves_the_next_call(tmp_path: Path) -> None:
    async def test(one: House) -> None:
        assert (await one.error("r_one")).code == "TIMEOUT_TOOL"
        assert await one.call("r_one") == "late"

    said = ["silence", {"content": [{"type": "text", "text": "late"}]}]
    run(test, rough(tmp_path, CapabilityLimits(timeout_ms=5000), tools__call=said))


def test_tools_whose_names_become_the_same_or_whose_schemas_cannot_be_checked_are_left_out(tmp_path: Path) -> None:
    exponential = {"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    tools = [
        {"name": "a.b", "inputSchema": {"type": "object"}},
        {"name": "a-b", "inputSchema": {"type": "object"}},
        {"name": "remote", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1/x"}}}},
        {"name": "slow", "inputSchema": {"type": "object", "properties": {"x": exponential}, **exponential}},
        {"name": "no", "inputSchema": {"type": "object", "properties": {"x": {"type": "nothing"}}}},
        {"name": "größe 1", "inputSchema": {"type": "object"}},
        *({"name": f"many{n}", "inputSchema": {"type": "object"}} for n in range(300)),
    ]

    async def test(one: House) -> None:
        names = [tool.name for tool in one.catalogue.tools()]
        assert "r_gr__e_1" in names and not {"r_a_b", "r_remote", "r_slow", "r_no"} & set(names)
        assert len(names) == 251
        assert len(one.source.diagnostics) == 5, one.source.diagnostics

    run(test, rough(tmp_path, tools__list={"tools": tools}))


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"content": [{"type": "text", "text": "plain"}]}, "plain"),
        ({"content": [], "structuredContent": {"a": 1}}, {"a": 1}),
        ({"content": []}, []),
        ({"content": [{"type": "text", "text": "a"}] * 2}, [{"type": "text", "text": "a"}] * 2),
    ],
)
def test_answer_of_a_tool_becomes_a_value(tmp_path: Path, result: dict[str, Any], value: Any) -> None:
    async def test(one: House) -> None:
        assert await one.call("r_one") == value

    run(test, rough(tmp_path, tools__call=result))


@pytest.mark.parametrize("given", [{"n": "no number"}, None])
def test_answer_that_is_not_as_the_servers_own_schema_says_is_refused(tmp_path: Path, given: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = [{"name": "one", "inputSchema": {"type": "object"}, "outputSchema": schema}]

    async def test(one: House) -> None:
        error = await one.error("r_one")
        assert error.code == "TOOL_ERROR" and "schema" in error.message

    answer = {"content": [], **({} if given is None else {"structuredContent": given})}
    run(test, rough(tmp_path, tools__list={"tools": tools}, tools__call=answer))


def test_server_that_does_not_start_says_why_and_one_that_could_not_is_refused() -> None:
    async def main() -> None:
        spec = ServerSpec(name="gone", command=["/does/not/exist"])
        async with house(spec) as one:
            assert "cannot be reached" in one.source.diagnostics[0]
        for bad in (ServerSpec(name="x"), ServerSpec(name="x", command=["a"], url="http://b/")):
            with pytest.raises(RequestError):
                connect_to(bad)

    asyncio.run(main())


@pytest.fixture
def http_port() -> Iterator[int]:
    with subprocess.Popen([*SERVER, "http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def test_server_is_reached_over_http_through_the_guarded_client_only(http_port: int) -> None:
    spec = ServerSpec(name="h", url=f"http://127.0.0.1:{http_port}/mcp")

    async def main() -> None:
        async with house(spec, egress=Egress(allow_private=[f"127.0.0.1:{http_port}"])) as one:
            assert await one.call("h_add", 2, 3) == {"result": 5}
            assert await one.call("h_say_hello", "bob") == "hello bob"
            assert (await one.error("h_die")).code == "TOOL_ERROR"
        async with house(spec, egress=Egress()) as one:
            assert "cannot be reached" in one.source.diagnostics[0]

    asyncio.run(main())


def test_names_become_identifiers() -> None:
    assert [identifier(n) for n in ("a.b", "1x", "ok_1", "é", "")] == ["a_b", "_1x", "ok_1", "_", ""]
