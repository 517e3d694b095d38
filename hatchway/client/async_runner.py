"""A gateway's runners for asyncio: commands in a thread's session, wherever that runs.

    done = await client.runner("box").run("make test")
    server = await client.runner("box").start("python3 -m http.server")
    async for event in server.watch(): ...
    async with client.runner("box").terminal("python3 -q") as python: ...

Rules: `client.runner(name)` asks nothing. A thread that is not bound yet is bound by its first verb: to the destination that was
given, or to `wasm`, which needs no destination. A text is a line of `sh`; a list is a program with its arguments.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import msgspec

from hatchway.client import requests
from hatchway.client.async_live import AsyncLive
from hatchway.client.coming import Coming
from hatchway.client.operations import request
from hatchway.client.requests import CommandInfo, CommandLog, CommandResult, Event, Refused, RunnerInfo
from hatchway.client.url_paths import segment

if TYPE_CHECKING:
    from hatchway.client.async_client import AsyncClient, OnOutput

T = TypeVar("T")


class CommandOptions(TypedDict, total=False):
    """Of a command, besides what it runs. `terminal` is (rows, columns): it has one of that size, and no `stdin`. With
    `open_stdin` its input is what is written to it while it runs. `on_restart` says what becomes of it when the gateway restarts:
    end, keep or restart."""

    command_id: str
    cwd: str
    env: Mapping[str, str]
    stdin: str
    timeout_ms: int
    terminal: tuple[int, int]
    on_restart: str
    open_stdin: bool


class RunnerOptions(TypedDict, total=False):
    """Of a thread that is bound, by the first verb."""

    destination: str
    workspace: str
    read_roots: Sequence[str]


class AsyncRemoteRunner:
    """A thread of the gateway, with what runs there."""

    def __init__(self, client: AsyncClient, thread_id: str, options: RunnerOptions) -> None:
        self._client, self.thread_id, self._options = client, thread_id, options
        self._is_bound = False

    def __repr__(self: Any) -> str:
        return f"<{type(self).__name__} {self.thread_id!r}>"

    async def bind(self) -> RunnerInfo:
        """Look at the thread; one that is not there is bound, and so is one to another destination, if one was given."""
        asked: dict[str, Any] = dict(self._options)
        wanted = asked.pop("destination", None)
        try:
            found = await self._client._get(RunnerInfo, "get_runner_session", thread_id=self.thread_id)
        except Refused as refused:
            if refused.status != 404:
                raise
            found = None
        if found is None or wanted not in (None, found.destination_id):
            chosen = {"thread_id": self.thread_id, "destination_id": wanted or "wasm", **asked}
            found = await self._client._get(RunnerInfo, "select_runner", **chosen)
        self._is_bound = True
        return found

    async def _get(self, kind: type[T], operation: str, /, **arguments: Any) -> T:
        if not self._is_bound:
            await self.bind()
        return await self._client._get(kind, operation, thread_id=self.thread_id, **arguments)

    async def run(
        self, command: str | Sequence[str], *, on_output: OnOutput | None = None, **options: Unpack[CommandOptions]
    ) -> CommandResult:
        """Run a command to its end. `on_output` is told what it writes meanwhile."""
        asked = _describe(command, options)
        if on_output is None:
            return await self._run(asked, "wait")
        await self.bind()
        ask = request("run_command", once=True, thread_id=self.thread_id, mode="stream", **asked)
        return await _follow(self._client._stream(ask), on_output)

    async def _run(self, asked: Mapping[str, Any], mode: str) -> CommandResult:
        if not self._is_bound:
            await self.bind()
        ask = request("run_command", kind=CommandResult, once=True, thread_id=self.thread_id, mode=mode, **asked)
        done: CommandResult = await self._client.ask(ask)
        return done

    async def start(self, command: str | Sequence[str], **options: Unpack[CommandOptions]) -> AsyncRemoteCommand:
        """Begin a command, which runs on by itself."""
        begun = await self._run(_describe(command, options), "async")
        return self.command(begun.command_id)

    def terminal(
        self, command: str | Sequence[str] = "exec sh", *, rows: int = 24, columns: int = 80, **options: Unpack[CommandOptions]
    ) -> Coming[AsyncLive]:
        """Begin a command with a terminal, and talk to it: `async with box.terminal("python3 -q") as python`."""

        async def begin() -> AsyncLive:
            options["terminal"] = (rows, columns)
            return await (await self.start(command, **options)).live()

        return Coming(begin())

    def command(self, command_id: str) -> AsyncRemoteCommand:
        """A command that was begun before."""
        return AsyncRemoteCommand(self, command_id)

    async def commands(self) -> list[CommandInfo]:
        """Those under way, and those that ended lately."""
        return await self._get(list[CommandInfo], "list_commands")

    async def read(self, path: str) -> bytes:
        return await self._get(bytes, "read_runner_file", path=path)

    async def write(self, path: str, data: bytes | str) -> None:
        await self._get(bytes, "write_runner_file", path=path, file=data.encode() if isinstance(data, str) else data)

    async def do(self, operation_name: str, /, **arguments: Any) -> Any:
        """Any other operation of the thread, such as `do("expose_runner_port", port=8000)`; as `Client.do` does it."""
        if not self._is_bound:
            await self.bind()
        return await self._client.do(operation_name, thread_id=self.thread_id, **arguments)

    async def stop(self) -> RunnerInfo:
        """End what runs; the next use finds the files again."""
        return await self._get(RunnerInfo, "stop_runner_session")

    async def delete(self) -> None:
        """Delete the thread with all it has."""
        await self._client.ask(request("delete_runner_session", thread_id=self.thread_id))


class AsyncRemoteCommand:
    """A command that runs by itself."""

    def __init__(self, runner: AsyncRemoteRunner, command_id: str) -> None:
        self._runner, self.id = runner, command_id

    def __repr__(self: Any) -> str:
        return f"<{type(self).__name__} {self.id!r}>"

    async def _get(self, kind: type[T], operation: str, /, **arguments: Any) -> T:
        return await self._runner._get(kind, operation, command_id=self.id, **arguments)

    async def wait(self) -> CommandResult:
        return await self._get(CommandResult, "wait_for_command")

    async def logs(self, after: int = 0) -> CommandLog:
        """What it has written after an event; `last` is where to ask on from."""
        return await self._get(CommandLog, "get_command_log", after=after)

    async def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """What it writes, as it does; the last event is its `result`."""
        await self._runner.bind()
        ask = request("get_command_log", once=True, thread_id=self._runner.thread_id, command_id=self.id, after=after)
        async for event in self._runner._client._stream(ask):
            yield event

    def live(self, after: int = 0) -> Coming[AsyncLive]:
        """What it writes after an event as it does, and what is typed into its terminal: `async with command.live() as live`."""

        async def open_live() -> AsyncLive:
            await self._runner.bind()
            client, place = self._runner._client, f"threads/{segment(self._runner.thread_id)}/commands/{segment(self.id)}/live"
            live = AsyncLive(
                self.id, f"/v1/runners/{place}", client._open_socket, client._sleep, client._address.timeout_seconds, after
            )
            return await live.open()

        return Coming(open_live())

    async def signal(self, name: str) -> None:
        """INT, TERM, KILL, HUP, USR1, …"""
        await self._get(bytes, "signal_command", signal=name)

    async def write(self, text: str) -> None:
        """Into its terminal or open stdin; returns when it was taken."""
        await self._get(bytes, "write_to_command", data=text)

    async def end_input(self) -> None:
        """There is no more for its open stdin."""
        await self._get(bytes, "write_to_command", end=True)

    async def cancel(self) -> bool:
        """End it. Whether it was under way."""
        return (await self._get(dict[str, bool], "cancel_command"))["cancelled"]


def _describe(command: str | Sequence[str], options: CommandOptions) -> dict[str, Any]:
    program, *args = ["sh", "-c", command] if isinstance(command, str) else command
    asked: dict[str, Any] = {"command_id": secrets.token_hex(8), "program": program, "args": args, **options}
    asked["env"] = list(options.get("env", {}).items())
    if terminal := options.get("terminal"):
        asked["terminal"] = {"rows": terminal[0], "columns": terminal[1]}
    return asked


async def _follow(events: AsyncIterator[Event], on_output: OnOutput) -> CommandResult:
    async for event in events:
        if event.kind in requests.STREAMS:
            on_output(requests.STREAMS.index(event.kind), event.data.encode())
        elif event.kind == "error":
            raise requests.read_failure(event.data)
        elif event.kind in ("result", "waiting"):
            return msgspec.convert(event.data, CommandResult)
    raise requests.Unreachable("the stream ended before the command did")
