"""Docker's API over its unix socket: the few calls a runner needs.

Rules: one connection per call. Answers are capped; what the engine says is never repeated to callers, except that a thing is not
there. The streams of an exec are frames of eight bytes of head (stream, length) and their data.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gateway.egress.errors import EgressError
from gateway.egress.http1_exchange import Exchange, Reader, Writer
from gateway.errors import GatewayError
from gateway.runners.command_output import STDERR, STDOUT, Output
from gateway.runners.errors import busy, unavailable, unknown
from gateway.runners.wire import Terminal

_VERSION = "/v1.41"
_MAX_ANSWER_BYTES = 4 << 20
_SLOW_SECONDS = 0.01


class Engine:
    def __init__(self, socket_path: str) -> None:
        self._path = socket_path

    async def _open(self, method: str, target: str, body: Any, upgrade: bool = False) -> Exchange:
        try:
            reader, writer = await asyncio.open_unix_connection(self._path)
        except OSError:
            raise unavailable("the Docker engine cannot be reached", "is its socket there, and may the gateway use it?") from None
        data = b"" if body is None else json.dumps(body).encode()
        headers = [("Host", "docker"), ("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
        headers += [("Connection", "Upgrade"), ("Upgrade", "tcp")] if upgrade else [("Connection", "close")]
        exchange = Exchange(reader, writer, max_body_bytes=_MAX_ANSWER_BYTES)
        try:
            await exchange.send(method, _VERSION + target, headers, data)
            await exchange.read_head()
        except EgressError:
            exchange.close()
            raise unavailable("the Docker engine gave no answer") from None
        return exchange

    async def call(self, method: str, target: str, body: Any = None, *, what: str = "container") -> Any:
        exchange = await self._open(method, target, body)
        try:
            answer, status = await exchange.read(), exchange.status
            if status == 404:
                raise unknown(what, "of the Docker engine")
            if status == 409:
                raise busy("the Docker engine cannot do this to the container as it is now")
            if status >= 400:
                raise unavailable(f"the Docker engine answered {status}")
            return json.loads(answer) if answer.strip() else None
        except (EgressError, ValueError):
            raise unavailable("the Docker engine gave an answer that cannot be read") from None
        finally:
            exchange.close()

    async def create(self, name: str, body: dict[str, Any]) -> str:
        return str((await self.call("POST", f"/containers/create?name={quote(name)}", body, what="image"))["Id"])

    async def look(self, container: str) -> dict[str, Any]:
        """`Running`, `Paused`, `Pid` and `Labels` of a container; nothing if it is not there."""
        try:
            found = await self.call("GET", f"/containers/{quote(container, safe='')}/json")
        except GatewayError as refused:
            if refused.status == 404:
                return {}
            raise
        state, config = found.get("State", {}), found.get("Config", {})
        own = {"Running": bool(state.get("Running")), "Paused": bool(state.get("Paused")), "Pid": state.get("Pid") or 0}
        return {**own, "Labels": config.get("Labels") or {}}

    async def remove(self, target: str) -> None:
        """Remove a container or an image; one that is not there, or that something else still needs, is left."""
        try:
            await self.call("DELETE", target)
        except GatewayError as refused:
            if refused.status not in (404, 409):
                raise

    async def execute(
        self,
        container: str,
        body: dict[str, Any],
        stdin: bytes | None,
        output: Output,
        terminal: Terminal | None = None,
        on_begun: Callable[[Exec | None], None] = lambda terminal: None,
    ) -> int | None:
        """Run to the end; the exit code. `on_begun` is told when it runs, and of what can be written to, if it is to have a
        terminal, or no `stdin` yet."""
        is_terminal = terminal is not None
        body = {**body, "Tty": is_terminal}
        made = await self.call("POST", f"/containers/{container}/exec", {**body, "AttachStdout": True, "AttachStderr": True})
        name = str(made["Id"])
        exchange = await self._open("POST", f"/exec/{name}/start", {"Detach": False, "Tty": is_terminal}, upgrade=True)
        try:
            if exchange.status != 101:
                raise unavailable(f"the Docker engine answered {exchange.status}")
            early, reader, writer = exchange.take_connection()
            if terminal is None:
                on_begun(Exec(self, name, writer) if stdin is None else None)
                if stdin is not None:
                    await _give(writer, stdin)
                await _take(early, reader, output)
            else:
                begun = Exec(self, name, writer)
                await begun.resize(terminal)
                on_begun(begun)
                await _take_plain(early, reader, output)
        finally:
            exchange.close()
        code = (await self.call("GET", f"/exec/{name}/json")).get("ExitCode")
        return code if isinstance(code, int) else None


@dataclass(frozen=True, slots=True)
class Exec:
    """A terminal under way, or a stdin that is open."""

    engine: Engine
    name: str
    writer: Writer

    async def write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.writer.write(data)
            await self.writer.drain()

    def end_input(self) -> None:
        if isinstance(self.writer, asyncio.StreamWriter) and self.writer.can_write_eof():
            self.writer.write_eof()

    async def resize(self, terminal: Terminal) -> None:
        await self.engine.call("POST", f"/exec/{self.name}/resize?h={terminal.rows}&w={terminal.columns}", what="exec")


async def _give(writer: Writer, stdin: bytes) -> None:
    if stdin:
        writer.write(stdin)
        await writer.drain()
    if isinstance(writer, asyncio.StreamWriter) and writer.can_write_eof():
        writer.write_eof()


async def _take_plain(early: bytes, reader: Reader, output: Output) -> None:
    """A terminal's bytes are not framed."""
    data = early
    while True:
        output.write(STDOUT, data)
        if output.is_full:
            await asyncio.sleep(_SLOW_SECONDS)
        data = await reader.read(65536)
        if not data:
            return


async def _take(early: bytes, reader: Reader, output: Output) -> None:
    buffer, left, stream = bytearray(early), 0, STDOUT
    while True:
        while buffer:
            if left == 0:
                if len(buffer) < 8:
                    break
                stream, left = STDERR if buffer[0] == 2 else STDOUT, int.from_bytes(buffer[4:8], "big")
                del buffer[:8]
                continue
            part = bytes(buffer[:left])
            del buffer[: len(part)]
            left -= len(part)
            output.write(stream, part)
        if output.is_full:
            await asyncio.sleep(_SLOW_SECONDS)
        more = await reader.read(65536)
        if not more:
            return
        buffer += more
