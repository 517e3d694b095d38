"""Tools of a connection that is bound to a runner's thread: commands that run on by themselves.

Rules: output is read from an event on, so that an agent asks for what is new; what an approver must see waits, and says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from hatchway.client.requests import STREAMS

if TYPE_CHECKING:
    from hatchway.client.async_runner import AsyncRemoteRunner, CommandOptions


class ThreadCommands:
    def __init__(self, runner: AsyncRemoteRunner) -> None:
        self._runner = runner

    @property
    def tools(self) -> list[Callable[..., Awaitable[Any]]]:
        return [self.start_command, self.get_command, self.list_commands, self.write_to_command, self.cancel_command]

    async def start_command(self, command: str, timeout_ms: int | None = None, open_stdin: bool = False) -> dict[str, Any]:
        """Begin a line of sh that runs on by itself, such as a server or a long build; get_command shows what it writes. With
        open_stdin it reads what write_to_command sends (not at every runner)."""
        options: CommandOptions = {"open_stdin": True} if open_stdin else {}
        if timeout_ms is not None:
            options["timeout_ms"] = timeout_ms
        begun = await self._runner.start(command, **options)
        return await self.get_command(begun.id)

    async def get_command(self, command_id: str, after: int = 0) -> dict[str, Any]:
        """How far a command is, and what it wrote after an event: ask on from `last`."""
        command = self._runner.command(command_id)
        log = await command.logs(after)
        told: dict[str, Any] = {"command_id": command_id, "status": log.status, "last": log.last}
        told |= {name: "".join(event.data for event in log.events if event.kind == name) for name in STREAMS}
        if log.status == "waiting":
            told["approvals"] = list((await command.wait()).approvals)
        for event in log.events:
            if event.kind == "result":
                told["exit_code"] = event.data["exit_code"]
        return told

    async def list_commands(self) -> list[dict[str, Any]]:
        """Commands under way, and those that ended lately."""
        return [msgspec.to_builtins(one) for one in await self._runner.commands()]

    async def write_to_command(self, command_id: str, text: str = "", end: bool = False) -> dict[str, Any]:
        """Write to a command that was started with open_stdin; with `end` there is no more for it."""
        command = self._runner.command(command_id)
        if text:
            await command.write(text)
        if end:
            await command.end_input()
        return {"written": len(text)}

    async def cancel_command(self, command_id: str) -> dict[str, bool]:
        """End a command. False if it had ended."""
        return {"cancelled": await self._runner.command(command_id).cancel()}
