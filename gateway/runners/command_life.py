"""The life of a command, for all providers: its bounds are checked, it runs as a task of its session, a timeout or a cancel asks
it to end and then no longer waits for it. Its output is a feed that callers read from any event on, while it runs and after;
its result is kept for callers that come back.

Does not know: how a command is run (`_execute`), what is persisted after it (`_settle`).
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import signal
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from gateway.clock import now_ms
from gateway.egress import Decide
from gateway.errors import GatewayError
from gateway.events import Event, Feed
from gateway.runners import wire
from gateway.runners.command_output import STDERR, STDOUT, Output
from gateway.runners.errors import busy, in_use, invalid, left, path_required, too_large, unknown, unsupported

GRACE_MS = 2_000
TERM = "xterm-256color"
"""What terminals are said to be."""
MAX_PATH_BYTES = 4096
MAX_NAME = 120
_LOST_AFTER_MS = 15_000
_LEAST_PATIENCE_MS = 1_000
"""For what became of a kept command whose time is over."""
MAX_COMMANDS = 64
_MAX_FINISHED = 64
_MAX_FINISHED_BYTES = 16 << 20
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_LEAST = {"timeout_ms": 1, "max_output_bytes": 0, "cpu_ms": 1, "memory_bytes": 1}


class Handle(Protocol):
    """What a place lets be done to a command under way: it may be written to if it has a terminal or an open stdin, and has an
    end of input if that is a stdin. The last is of its terminal."""

    async def signal(self, number: int) -> None: ...
    async def write(self, data: bytes) -> None: ...
    async def end_input(self) -> None: ...
    async def resize(self, terminal: wire.Terminal) -> None: ...


@dataclass(slots=True)
class Control:
    """How a command under way is spoken to: it is asked to end, and why; its place attaches a handle when it has begun."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = ""
    """cancelled, timeout, lost; left: the gateway stops, and the next one comes back to the command."""
    is_resumed: bool = False
    """An earlier gateway began it, and it was kept."""
    connect: Decide | None = None
    handle: Handle | None = None
    _attached: asyncio.Event = field(default_factory=asyncio.Event)

    def attach(self, handle: Handle) -> None:
        self.handle = handle
        self._attached.set()

    async def reach(self, work: asyncio.Future[Any]) -> Handle | None:
        """The handle, once there is one; None if the work has ended."""
        attached = asyncio.ensure_future(self._attached.wait())
        try:
            await asyncio.wait([attached, work], return_when=asyncio.FIRST_COMPLETED)
        finally:
            attached.cancel()
        return None if work.done() else self.handle

    def ask(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.event.set()

    async def wait_or(self, *work: asyncio.Future[Any], seconds: float | None = None) -> bool:
        """Until it is asked for (True), some of the work is done or the time is over."""
        asked = asyncio.ensure_future(self.event.wait())
        try:
            await asyncio.wait([asked, *work], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        return self.event.is_set()


@contextlib.asynccontextmanager
async def take_turn(lock: asyncio.Lock, control: Control) -> AsyncIterator[bool]:
    """For places where one command runs at a time: True when it is this one's turn, False if it was asked to end before."""
    acquiring = asyncio.ensure_future(lock.acquire())
    try:
        await control.wait_or(acquiring)
        yield acquiring.done()
    finally:
        if not acquiring.cancel():
            lock.release()


Finish = Callable[[wire.CommandResult], Awaitable[wire.CommandResult]]
"""What is done with a result before a caller sees it."""
After = Callable[[], Awaitable[None]]
"""What is done when it has ended, however that was."""


@dataclass(frozen=True, slots=True)
class Oversight:
    """What policy, hooks and audit have to do with a command while it runs. Without `streams` no output is shown before `finish`
    has seen the result; without `connect` it has no network."""

    finish: Finish | None = None
    after: After | None = None
    streams: bool = True
    connect: Decide | None = None


@dataclass(slots=True, eq=False)
class Tracked:
    """A command that was begun. `life` is that of the session it runs in."""

    life: CommandLife
    command: wire.Command
    control: Control
    output: Output
    feed: Feed
    started_ms: int
    task: asyncio.Task[wire.CommandResult] = field(init=False)
    ended_ms: int | None = None

    @property
    def status(self) -> str:
        if not self.task.done():
            return "running"
        return "failed" if self.task.cancelled() or self.task.exception() else self.task.result().status

    async def write(self, data: bytes) -> None:
        """Type into its terminal, or write to its open stdin, as fast as it reads."""
        if not self.command.open_stdin:
            self._check_terminal("start it with `terminal` or `open_stdin`")
        if (handle := await self.control.reach(self.task)) is not None:
            await handle.write(data)

    async def end_input(self) -> None:
        """There is no more for its stdin. A terminal's end is typed."""
        if not self.command.open_stdin:
            raise unsupported("this command has no open stdin", "type ^D into a terminal")
        if (handle := await self.control.reach(self.task)) is not None:
            await handle.end_input()

    async def resize(self, terminal: wire.Terminal) -> None:
        self._check_terminal("start it with `terminal`")
        if (handle := await self.control.reach(self.task)) is not None:
            await handle.resize(terminal)

    def _check_terminal(self, hint: str) -> None:
        if self.command.terminal is None:
            raise unsupported("this command has no terminal", hint)

    async def signal(self, number: int) -> None:
        """Where a place knows no signals, those that end a program cancel it."""
        if self.life.has_handles:
            if (handle := await self.control.reach(self.task)) is not None:
                await handle.signal(number)
        elif number in _ENDING:
            self.control.ask("cancelled")
        else:
            raise unsupported("this signal is not supported by this provider", "INT, TERM and KILL cancel a command")

    async def stay(self) -> wire.CommandResult:
        """Wait for its end. If the caller goes away it is cancelled, unless the session is detached."""
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            await self.leave()
            raise

    async def leave(self) -> None:
        if not self.task.done() and not self.life.is_detached:
            self.control.ask("cancelled")
            await asyncio.wait([self.task])

    async def watch(self) -> AsyncIterator[Event]:
        """What it writes, and what came of it, for a caller that stays."""
        try:
            async for event in self.feed.events():
                yield event
        finally:
            await self.leave()

    def describe(self) -> wire.CommandInfo:
        """Arguments may be long, and are the caller's own: the program's name says enough."""
        status = self.status
        has_result = status not in ("running", "failed")
        return wire.CommandInfo(
            command_id=self.command.command_id, program=self.command.program, status=status, started_ms=self.started_ms,
            ended_ms=self.ended_ms, exit_code=self.task.result().exit_code if has_result else None,
        )  # fmt: skip


class CommandLife(abc.ABC):
    grace_ms = GRACE_MS
    """Between the polite signal and the one that cannot be ignored."""
    has_handles = False
    """Its commands have handles."""
    is_detached = False

    def __init__(self) -> None:
        self._running: dict[str, Tracked] = {}
        self._finished: OrderedDict[str, Tracked] = OrderedDict()

    @abc.abstractmethod
    def _check_open(self) -> None:
        """Raise if it cannot be used."""

    @abc.abstractmethod
    async def _settle(self) -> list[str]:
        """Persist what a command or a file operation has changed, before its caller is told; what could not be."""

    def start(self, command: wire.Command, oversight: Oversight = Oversight(), *, resumed_ms: int | None = None) -> Tracked:
        """Begin a command, which runs on by itself. `resumed_ms`: an earlier gateway began it then, and it was kept."""
        if resumed_ms is None:
            self._check(command)
        cap = _cap(command.max_output_bytes, wire.MAX_OUTPUT_BYTES, wire.MAX_OUTPUT_BYTES)
        feed = Feed(command.command_id)
        control = Control(is_resumed=resumed_ms is not None, connect=oversight.connect)
        output = Output(cap, feed.write if oversight.streams else None)
        tracked = Tracked(self, command, control, output, feed, now_ms() if resumed_ms is None else resumed_ms)
        tracked.task = asyncio.create_task(self._supervise(tracked, oversight))
        self._finished.pop(command.command_id, None)
        self._running[command.command_id] = tracked
        tracked.task.add_done_callback(lambda _: self._conclude(tracked))
        return tracked

    async def run(self, command: wire.Command) -> wire.CommandResult:
        """Run a command to its end."""
        return await self.start(command).stay()

    async def wait(self, command_id: str) -> wire.CommandResult:
        """The result of a command that was begun before."""
        return await asyncio.shield(self.find(command_id).task)

    def find(self, command_id: str) -> Tracked:
        found = self._running.get(command_id) or self._finished.get(command_id)
        if found is None:
            raise unknown("command", command_id)
        return found

    async def cancel(self, command_id: str) -> bool:
        running = self._running.get(command_id)
        if running is None:
            return False
        running.control.ask("cancelled")
        await asyncio.wait([running.task])
        return True

    async def _supervise(self, tracked: Tracked, oversight: Oversight) -> wire.CommandResult:
        command, output, control = tracked.command, tracked.output, tracked.control
        until_ms = tracked.started_ms + _cap(command.timeout_ms, wire.DEFAULT_TIMEOUT_MS, wire.MAX_TIMEOUT_MS)
        work = asyncio.create_task(self._execute(command, output, control))
        try:
            least_ms = _LEAST_PATIENCE_MS if control.is_resumed else 0
            await control.wait_or(work, seconds=max(least_ms, until_ms - now_ms()) / 1000)
            if not work.done():
                control.ask("timeout")
                await asyncio.wait([work], timeout=_LOST_AFTER_MS / 1000)
            if not work.done():
                control.reason = "lost"
            exit_code = work.result() if work.done() else None
            if control.reason == "left":
                raise left(command.command_id, command.on_restart)
            if exit_code is None and now_ms() >= until_ms and control.is_resumed:
                control.ask("timeout")  # it was ended while no gateway was there
            result = wire.CommandResult(
                command_id=command.command_id,
                exit_code=None if control.reason else exit_code,
                stdout=output.text(STDOUT),
                stderr=output.text(STDERR),
                status=control.reason or ("exited" if exit_code is not None else "lost"),
                dropped_bytes=output.dropped_bytes,
                warnings=await self._settle(),
            )
            return result if oversight.finish is None else await oversight.finish(result)
        finally:
            work.cancel()
            if oversight.after is not None and control.reason != "left":
                await oversight.after()

    def _conclude(self, tracked: Tracked) -> None:
        """It has ended: its watchers are told, and the oldest of those that ended are forgotten."""
        task, name = tracked.task, tracked.command.command_id
        tracked.ended_ms = now_ms()
        failed = None if task.cancelled() else task.exception()
        if task.cancelled() or isinstance(failed, Exception):
            known = failed.error if isinstance(failed, GatewayError) else None
            code, message = (known.code, known.message) if known else ("INTERNAL", "the command could not be carried out")
            tracked.feed.end("error", {"code": code, "message": message})
        else:
            tracked.feed.end("result", msgspec.to_builtins(task.result()))
        if self._running.get(name) is tracked:
            del self._running[name]
            self._finished[name] = tracked
        kept_bytes = sum(one.output.kept_bytes for one in self._finished.values())
        while len(self._finished) > _MAX_FINISHED or (kept_bytes > _MAX_FINISHED_BYTES and len(self._finished) > 1):
            kept_bytes -= self._finished.popitem(last=False)[1].output.kept_bytes

    def _check(self, command: wire.Command) -> None:
        self._check_open()
        if not command.program:
            raise invalid("program is required")
        check_name("command_id", command.command_id)
        if command.command_id in self._running:
            raise in_use(command.command_id)
        if len(self._running) >= MAX_COMMANDS:
            raise busy(f"a session runs at most {MAX_COMMANDS} commands at a time")
        if command.terminal is not None and command.stdin:
            raise invalid("a command with a terminal has no stdin", "write to it while it runs")
        if command.terminal is not None and command.on_restart != "end":
            raise invalid("a command with a terminal ends with the gateway", "leave on_restart out")
        if command.open_stdin and (command.stdin or command.terminal is not None):
            raise invalid("a command with an open stdin has no other input", "write all of it while it runs")
        if command.open_stdin and command.on_restart != "end":
            raise invalid("a command with an open stdin ends with the gateway", "leave on_restart out")
        for name, _ in command.env:
            if not name or "=" in name:
                raise invalid("an env name must not be empty or contain '='")
        if command.cwd is not None:
            check_path(command.cwd)
        for name, least in _LEAST.items():
            asked = getattr(command, name)
            if asked is not None and asked < least:
                raise invalid(f"{name} must be at least {least}, not {asked}")
        texts = [command.program, *command.args, *(text for pair in command.env for text in pair)]
        if sum(map(_size_bytes, [*texts, command.stdin])) > wire.MAX_ARGUMENTS_BYTES:
            raise too_large("the command with its arguments, env and stdin", wire.MAX_ARGUMENTS_BYTES)
        if any("\0" in text for text in texts):
            raise invalid("the command, its arguments and its env must not contain NUL")

    @abc.abstractmethod
    async def _execute(self, command: wire.Command, output: Output, control: Control) -> int | None:
        """Run it; its exit code. When `control.event` is set, end it with all it started, in `grace_ms` and a little."""

    @property
    def command_ids(self) -> list[str]:
        return list(self._running)

    def list_commands(self) -> list[wire.CommandInfo]:
        """Those under way, and those that ended lately; the oldest first."""
        tracked = sorted([*self._finished.values(), *self._running.values()], key=lambda one: one.started_ms)
        return [one.describe() for one in tracked]


def _cap(asked: int | None, default: int, most: int) -> int:
    return default if asked is None else min(asked, most)


def _size_bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise invalid("a path, argument or value is not valid Unicode") from None


def check_name(what: str, name: str) -> None:
    """Names of commands and destinations are parts of URLs."""
    if not 0 < len(name) <= MAX_NAME or "/" in name or name in (".", "..") or not name.isprintable():
        raise invalid(f"{what} must have 1 to {MAX_NAME} characters, none of them '/' or a control character")


def check_path(path: str) -> None:
    """What is no path anywhere. Where a path leads is for its place to find out."""
    if not path:
        raise path_required()
    if "\0" in path or _size_bytes(path) > MAX_PATH_BYTES:
        raise invalid(f"a path has at most {MAX_PATH_BYTES} bytes and no NUL")
