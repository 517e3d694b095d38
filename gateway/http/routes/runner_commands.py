"""Commands of a runner's session: run one and wait, start one and come back, watch it live, talk to its terminal.

Rules: a command passes `gateway.runs.governed_commands` before it is begun. A caller that waits for one, or watches what it
has begun, and leaves, cancels it, unless the session is detached; a command that was started (`mode=async`) goes on.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Literal

import msgspec

from gateway.events import Event
from gateway.http.api.operation import Answer, Call, Events, Live, Operation, in_thread
from gateway.http.api.sse import resume_after
from gateway.http.routes.runners import BUSY, TAG, THREAD
from gateway.runners import wire
from gateway.runners.command_life import Tracked
from gateway.runs.governed_commands import Governor
from gateway.runs.waiting_commands import WaitingCommand
from gateway.service import Service

SignalName = Literal["HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP", "TSTP", "WINCH"]


class CommandQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`wait` answers when the command has ended; `async` at once, with 202; `stream` with its events."""

    mode: Literal["wait", "async", "stream"] = "wait"


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Events after this one."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0


class CommandLog(msgspec.Struct, frozen=True, kw_only=True):
    """Events after the one that was asked for, and the number of the last of them, to ask on from."""

    status: str
    events: list[Event]
    last: int


class Signal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signal: SignalName


class CommandCancelled(msgspec.Struct, frozen=True):
    """False: there was nothing to cancel."""

    cancelled: bool


class InputMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="input", tag_field="kind"):
    """Typed into the command's terminal, or written to its open stdin."""

    data: str


class EndMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="end", tag_field="kind"):
    """The end of its open stdin."""


class ResizeMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="resize", tag_field="kind"):
    terminal: wire.Terminal


class SignalMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="signal", tag_field="kind"):
    signal: SignalName


class CancelMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="cancel", tag_field="kind"):
    pass


class CommandInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Typed into the command's terminal, or written to its open stdin; with `end` there is no more for that."""

    data: str = ""
    end: bool = False


Message = InputMessage | EndMessage | ResizeMessage | SignalMessage | CancelMessage


def operations(service: Service) -> list[Operation]:
    async def run_command(call: Call) -> Answer | Events:
        tenant, thread_id = in_thread(call)
        await service.runners.session(tenant, thread_id)  # an unknown thread is not the policy's to refuse
        begun = await Governor(service).start(call.principal, thread_id, call.body)
        if isinstance(begun, WaitingCommand):
            is_streamed = call.query.mode == "stream" or _wants_events(call)
            return Events(_tell_waiting(begun)) if is_streamed else Answer(begun.answer(), 202)
        if call.query.mode == "async":
            return Answer(wire.CommandResult(command_id=call.body.command_id, status="running"), 202)
        if call.query.mode == "stream" or _wants_events(call):
            return Events(begun.watch())
        return Answer(await begun.stay())

    async def list_commands(call: Call) -> list[wire.CommandInfo]:
        begun = await service.runners.list_commands(*in_thread(call))
        return [*(one.describe() for one in await service.waiting.list(*in_thread(call))), *begun]

    async def signal_command(call: Call) -> None:
        await (await _find(service, call)).signal(_number(call.body.signal))

    async def write_to_command(call: Call) -> None:
        found = await _find(service, call)
        if call.body.data:
            await found.write(call.body.data.encode())
        if call.body.end:
            await found.end_input()

    async def cancel_command(call: Call) -> CommandCancelled:
        thread_id, command_id = call.path["thread_id"], call.path["command_id"]
        waited = await service.waiting.cancel(call.principal, thread_id, command_id)
        return CommandCancelled(waited or await service.runners.cancel(*in_thread(call), command_id))

    async def live_command(call: Call) -> Live:
        found = await _find(service, call)

        async def receive(message: Message) -> None:
            await _carry_out(found, message)

        return Live(found.feed.events(call.query.after), receive, Message)

    row, commands, command = partial(Operation, tag=TAG), THREAD + "/commands", THREAD + "/commands/{command_id}"
    long = partial(row, streamed=True, deadline_ms=wire.MAX_TIMEOUT_MS + 60_000)
    return [
        *_results(service),
        long("POST", commands, "Run a command and wait, or start it; its output as events, if they are asked for", run_command,
             query=CommandQuery, body=wire.Command, answer=wire.CommandResult,
             statuses={202: "It is under way, or waits for an approval.", **BUSY}),
        row("GET", commands, "List commands under way, and those that ended lately",
            list_commands, answer=list[wire.CommandInfo]),
        row("POST", command + "/signal", "Send a command a signal", signal_command, body=Signal,
            statuses={501: "The provider cannot do this."}),
        row("POST", command + "/input", "Write to a command's terminal or open stdin, and wait until it was taken",
            write_to_command, body=CommandInput, deadline_ms=wire.MAX_TIMEOUT_MS, statuses={501: "It has neither."}),
        row("POST", command + "/cancel", "Cancel a command", cancel_command, answer=CommandCancelled),
        row("GET", command + "/live", "A command's events on a WebSocket, and its terminal", live_command, query=LogQuery,
            websocket=True),
    ]  # fmt: skip


def _results(service: Service) -> list[Operation]:
    """What came of a command, and what it has written."""

    async def wait_for_command(call: Call) -> Answer | Events:
        waits = await service.waiting.find(*in_thread(call), call.path["command_id"])
        if waits is not None:
            return Events(_tell_waiting(waits)) if _wants_events(call) else Answer(waits.answer(), 202)
        if _wants_events(call):
            return Events((await _find(service, call)).feed.events(resume_after(call.headers)))
        return Answer(await service.runners.wait(*in_thread(call), call.path["command_id"]))

    async def get_command_log(call: Call) -> CommandLog | Events:
        waits = await service.waiting.find(*in_thread(call), call.path["command_id"])
        if waits is not None:
            return Events(_tell_waiting(waits)) if _wants_events(call) else CommandLog(status=waits.status, events=[], last=0)
        found, after = await _find(service, call), resume_after(call.headers) or call.query.after
        if _wants_events(call):
            return Events(found.feed.events(after))
        events = found.feed.since(after)
        return CommandLog(status=found.status, events=events, last=events[-1].number if events else after)

    row, command = partial(Operation, tag=TAG, streamed=True), THREAD + "/commands/{command_id}"
    resumes = {"Last-Event-ID": "Go on after this event."}
    return [
        row("GET", command, "Wait for a command that was begun before", wait_for_command, answer=wire.CommandResult,
            deadline_ms=wire.MAX_TIMEOUT_MS + 60_000, headers=resumes,
            statuses={202: "It waits for an approval.", 403: "It was refused while it waited."}),
        row("GET", command + "/logs", "A command's output, from an event on; as events, also what is still to come",
            get_command_log, query=LogQuery, answer=CommandLog, headers=resumes),
    ]  # fmt: skip


async def _find(service: Service, call: Call) -> Tracked:
    await service.waiting.require_begun(*in_thread(call), call.path["command_id"])
    return await service.runners.find_command(*in_thread(call), call.path["command_id"])


async def _tell_waiting(waits: WaitingCommand) -> AsyncIterator[Event]:
    kind = "waiting" if waits.refused is None else "error"
    yield Event(1, kind, msgspec.to_builtins(waits.refused or waits.answer()))


def _wants_events(call: Call) -> bool:
    return "text/event-stream" in call.headers.get("accept", "")


def _number(name: SignalName) -> int:
    return signal.Signals[f"SIG{name}"]


async def _carry_out(found: Tracked, message: Message) -> None:
    if isinstance(message, CancelMessage):
        found.control.ask("cancelled")
    elif isinstance(message, SignalMessage):
        await found.signal(_number(message.signal))
    elif isinstance(message, InputMessage):
        await found.write(message.data.encode())
    elif isinstance(message, EndMessage):
        await found.end_input()
    else:
        await found.resize(message.terminal)
