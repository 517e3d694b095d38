"""A small Docker engine for tests, where there is none: it speaks the same API over a unix socket, and its "containers" are plain
processes in the directory that is shared as /workspace. Nothing is recorded; commands really run and really stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import struct
import termios
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import h11


class FakeEngine:
    def __init__(self, socket_path: Path) -> None:
        self.path, self.notes = socket_path, socket_path.parent
        self.containers: dict[str, dict[str, Any]] = {}
        self.created: list[dict[str, Any]] = []
        self.images = {"rust:latest"}
        self._execs: dict[str, dict[str, Any]] = {}
        self._processes: dict[str, set[asyncio.subprocess.Process]] = {}

    async def __aenter__(self) -> FakeEngine:
        self._server = await asyncio.start_unix_server(self._serve, str(self.path))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()
        for name in list(self.containers):
            await self._remove(name)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http = h11.Connection(h11.SERVER)
        body = b""
        request: h11.Request | None = None
        try:
            while True:
                event = http.next_event()
                if event is h11.NEED_DATA:
                    http.receive_data(await reader.read(65536))
                elif isinstance(event, h11.Request):
                    request = event
                elif isinstance(event, h11.Data):
                    body += event.data
                else:
                    break
            assert request is not None
            url = urlsplit(request.target.decode())
            path = unquote(url.path.removeprefix("/v1.41"))
            asked = json.loads(body) if body.strip() else {}
            if path.startswith("/exec/") and path.endswith("/start"):
                writer.write(
                    http.send(h11.InformationalResponse(status_code=101, headers=[("Upgrade", "tcp"), ("Connection", "Upgrade")]))
                )
                await self._run(self._execs[path.split("/")[2]], http.trailing_data[0], reader, writer)
            else:
                status, answer = await self._answer(request.method.decode(), path, parse_qs(url.query), asked)
                data = json.dumps(answer).encode() if answer is not None else b""
                writer.write(http.send(h11.Response(status_code=status, headers=[("Content-Length", str(len(data)))])))
                writer.write(data)
            await writer.drain()
        except (ConnectionError, h11.ProtocolError):
            pass
        finally:
            writer.close()

    async def _answer(self, method: str, path: str, query: dict[str, list[str]], asked: dict[str, Any]) -> tuple[int, Any]:
        parts = path.strip("/").split("/")
        if path == "/containers/create":
            if asked["Image"] not in self.images:
                return 404, {"message": "no such image, pulled from /var/lib/docker"}
            self.created.append(asked)
            name = query["name"][0]
            self.containers[name] = {"spec": asked, "running": False}
            self._processes[name] = set()
            return 201, {"Id": name}
        if path == "/commit":
            image = f"{query['repo'][0]}:{query['tag'][0]}"
            self.images.add(image)
            return 201, {"Id": "sha256:1"}
        if parts[0] == "images":
            found = parts[1] in self.images
            self.images.discard(parts[1])
            return 200 if found else 404, {}
        if parts[0] == "exec" and parts[2] == "resize":
            size = struct.pack("4H", int(query["h"][0]), int(query["w"][0]), 0, 0)
            fcntl.ioctl(self._execs[parts[1]]["terminal"], termios.TIOCSWINSZ, size)
            return 200, None
        if parts[0] == "exec":
            return 200, {"ExitCode": self._execs[parts[1]].get("code")}
        container = self.containers.get(parts[1])
        if container is None:
            return 404, {"message": "no such container"}
        if method == "DELETE":
            await self._remove(parts[1])
            return 204, None
        if parts[2] == "start":
            container["running"] = True
            return 204, None
        if parts[2] == "kill":
            was_running, container["running"] = container["running"], False
            await self._kill(parts[1])
            return (204 if was_running else 409), None
        if parts[2] == "json":
            return 200, {"State": {"Running": container["running"]}, "Config": {"Labels": container["spec"]["Labels"]}}
        if parts[2] in ("pause", "unpause"):
            for process in self._processes[parts[1]]:
                os.killpg(process.pid, signal.SIGSTOP if parts[2] == "pause" else signal.SIGCONT)
            return 204, None
        if parts[2] == "exec" and container["running"]:
            name = str(len(self._execs) + 1)
            self._execs[name] = {**asked, "container": parts[1]}
            return 201, {"Id": name}
        return 500, {"message": "the engine is broken at /var/lib/docker"}

    async def _run(self, asked: dict[str, Any], early: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spec = self.containers[asked["container"]]["spec"]
        shared, top = spec["HostConfig"]["Mounts"][0]["Source"], spec["HostConfig"]["Mounts"][0]["Target"]
        cwd = asked.get("WorkingDir", top).replace(top, shared, 1)
        command = [part.replace(top, shared, 1) if part.startswith(top) else part for part in asked["Cmd"]]
        command = [part.replace("/run/hatchway/", f"{self.notes}/{asked['container']}-", 1) for part in command]
        env = {"PATH": os.environ["PATH"], **dict(pair.partition("=")[::2] for pair in asked.get("Env", []))}
        if asked["Tty"]:
            return await self._run_in_terminal(asked, command, cwd, env, reader, writer)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self._processes[asked["container"]].add(process)
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        given = process.stdin

        async def feed() -> None:
            with contextlib.suppress(ConnectionError):
                given.write(early)
                while asked.get("AttachStdin") and (data := await reader.read(65536)):
                    given.write(data)
                    await given.drain()
                given.close()

        async def copy(number: int, source: asyncio.StreamReader) -> None:
            while data := await source.read(65536):
                writer.write(bytes([number, 0, 0, 0]) + len(data).to_bytes(4, "big") + data)
                await writer.drain()

        feeding = asyncio.create_task(feed())
        try:
            await asyncio.gather(copy(1, process.stdout), copy(2, process.stderr))
            code = await process.wait()
            asked["code"] = code if code >= 0 else 128 - code
        finally:
            feeding.cancel()
            self._processes[asked["container"]].discard(process)

    async def _run_in_terminal(
        self,
        asked: dict[str, Any],
        command: list[str],
        cwd: str,
        env: dict[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        ours, theirs = os.openpty()
        asked["terminal"] = ours
        os.set_blocking(ours, False)

        def take() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = await asyncio.create_subprocess_exec(
            *command, cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=take
        )
        os.close(theirs)
        self._processes[asked["container"]].add(process)

        async def feed() -> None:
            while data := await reader.read(65536):
                os.write(ours, data)

        feeding, loop = asyncio.create_task(feed()), asyncio.get_running_loop()
        loop.add_reader(ours, lambda: _copy(ours, writer))
        try:
            code = await process.wait()
            _copy(ours, writer)
            await writer.drain()
            asked["code"] = code if code >= 0 else 128 - code
        finally:
            feeding.cancel()
            loop.remove_reader(ours)
            os.close(ours)
            self._processes[asked["container"]].discard(process)

    async def _remove(self, name: str) -> None:
        self.containers.pop(name, None)
        await self._kill(name)
        self._processes.pop(name, None)

    async def _kill(self, name: str) -> None:
        for process in list(self._processes.get(name, ())):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _copy(terminal: int, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(terminal, 65536):
            writer.write(data)
