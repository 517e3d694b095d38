"""The life of a command, for all providers: its bounds are checked, it runs as a task of its session, a timeout or a cancel asks
it to end and then no longer waits for it, its result is kept for a caller that comes back.

Does not know: how a command is run (`_execute`), what is persisted after it (`_settle`).
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from gateway.runners import wire
from gateway.runners.command_output import STDERR, STDOUT, OnOutput, Output
from gateway.runners.errors import busy, in_use, invalid, path_required, too_large, unknown

GRACE_MS = 2_000
MAX_PATH_BYTES = 4096
MAX_NAME = 120
_LOST_AFTER_MS = 15_000
MAX_COMMANDS = 64
_MAX_FINISHED = 64
_LEAST = {"timeout_ms": 1, "max_output_bytes": 0, "cpu_ms": 1, "memory_bytes": 1}


@dataclass(slots=True)
class Ending:
    """How a command is asked to end, and why."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = ""

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
async def taking_turn(lock: asyncio.Lock, ending: Ending) -> AsyncIterator[bool]:
    """For places where one command runs at a time: True when it is this one's turn, False if it was asked to end before."""
    acquiring = asyncio.ensure_future(lock.acquire())
    try:
        await ending.wait_or(acquiring)
        yield acquiring.done()
    finally:
        if not acquiring.cancel():
            lock.release()


Finish = Callable[[wire.CommandResult], Awaitable[wire.CommandResult]]
"""What is done with a result before a caller sees it."""


@dataclass(slots=True)
class Running:
    task: asyncio.Task[wire.CommandResult]
    ending: Ending
    output: Output
    streams: bool


class CommandLife(abc.ABC):
    grace_ms = GRACE_MS
    """Between the polite signal and the one that cannot be ignored."""
    is_detached = False

    def __init__(self) -> None:
        self._running: dict[str, Running] = {}
        self._finished: OrderedDict[str, wire.CommandResult] = OrderedDict()

    @abc.abstractmethod
    def _check_open(self) -> None:
        """Raise if it cannot be used."""

    @abc.abstractmethod
    async def _settle(self) -> list[str]:
        """Persist what a command or a file operation has changed, before its caller is told; what could not be."""

    async def run(
        self, command: wire.Command, *, on_output: OnOutput | None = None, finish: Finish | None = None, streams: bool = True
    ) -> wire.CommandResult:
        """Run a command to its end. If the caller goes away the command is cancelled, unless the session is detached. Without
        `streams` no output is shown before `finish` has seen the result."""
        self._check(command)
        cap = _cap(command.max_output_bytes, wire.MAX_OUTPUT_BYTES, wire.MAX_OUTPUT_BYTES)
        output = Output(cap, on_output if streams else None)
        ending = Ending()
        task = asyncio.create_task(self._supervise(command, output, ending, finish))
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # the caller may have left
        self._running[command.command_id] = Running(task, ending, output, streams)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not self.is_detached:
                ending.ask("cancelled")
                await asyncio.wait([task])
            raise

    async def wait(self, command_id: str, *, on_output: OnOutput | None = None) -> wire.CommandResult:
        """Come back to a command that was started before: its output from the beginning, and its result."""
        running = self._running.get(command_id)
        if running is not None:
            if on_output is not None and running.streams:
                running.output.follow(on_output)
            return await asyncio.shield(running.task)
        try:
            return self._finished[command_id]
        except KeyError:
            raise unknown("command", command_id) from None

    async def cancel(self, command_id: str) -> bool:
        running = self._running.get(command_id)
        if running is None:
            return False
        running.ending.ask("cancelled")
        await asyncio.wait([running.task])
        return True

    async def _supervise(
        self, command: wire.Command, output: Output, ending: Ending, finish: Finish | None
    ) -> wire.CommandResult:
        timeout_ms = _cap(command.timeout_ms, wire.DEFAULT_TIMEOUT_MS, wire.MAX_TIMEOUT_MS)
        work = asyncio.create_task(self._execute(command, output, ending))
        try:
            await ending.wait_or(work, seconds=timeout_ms / 1000)
            if not work.done():
                ending.ask("timeout")
                await asyncio.wait([work], timeout=_LOST_AFTER_MS / 1000)
            if not work.done():
                ending.reason = "lost"
            exit_code = work.result() if work.done() else None
            result = wire.CommandResult(
                command_id=command.command_id,
                exit_code=None if ending.reason else exit_code,
                stdout=output.text(STDOUT),
                stderr=output.text(STDERR),
                status=ending.reason or ("exited" if exit_code is not None else "lost"),
                dropped_bytes=output.dropped_bytes,
                warnings=await self._settle(),
            )
            if finish is not None:
                result = await finish(result)
            self._finished[command.command_id] = result
            while len(self._finished) > _MAX_FINISHED:
                self._finished.popitem(last=False)
            return result
        finally:
            work.cancel()
            self._running.pop(command.command_id, None)

    def _check(self, command: wire.Command) -> None:
        self._check_open()
        if not command.program:
            raise invalid("program is required")
        check_name("command_id", command.command_id)
        if command.command_id in self._running:
            raise in_use(command.command_id)
        if len(self._running) >= MAX_COMMANDS:
            raise busy(f"a session runs at most {MAX_COMMANDS} commands at a time")
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
    async def _execute(self, command: wire.Command, output: Output, ending: Ending) -> int | None:
        """Run it; its exit code. When `ending.event` is set, end it with all it started, in `grace_ms` and a little."""

    @property
    def command_ids(self) -> list[str]:
        return list(self._running)


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
