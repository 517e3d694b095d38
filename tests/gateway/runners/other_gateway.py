"""Another gateway for tests: a real sandbox behind the part of `/v1` that the `hatchway` provider uses."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote

import msgspec

from gateway.egress.peer_gateway import Reply, Unreachable
from gateway.events import Event
from gateway.runners.artifacts import pack_tree
from gateway.runners.wire import FileEntry
from sandbox.engine.limits import Cancel
from sandbox.errors import RequestError
from sandbox.guests.state import SessionState
from sandbox.sessions.request_checks import parse_language
from sandbox.sessions.session import Session
from sandbox.wire import RunRequest, RunResult
from sandbox.workers.interface import Operation
from sandbox.workers.local.folder_files import FolderFiles

_STATUSES = {
    "PATH_NOT_FOUND": 404, "PATH_READ_ONLY": 403, "PATH_OUTSIDE_WORKSPACE": 403, "PATH_NOT_A_FILE": 400, "RUNNER_TOO_LARGE": 413,
    "RUNNER_INVALID": 400, "PATH_REQUIRED": 400,
}  # fmt: skip


class Files(FolderFiles):
    def do(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        asked: dict[str, Any] = {"verb": verb, "path": path, "contents": contents, **options}
        return self.perform(Operation(**asked))

    def read(self, path: str) -> bytes:
        return self.do("read", path)


class OtherGateway:
    """Implements `gateway.egress.peer_gateway.Client`."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.snapshots: dict[str, SessionState] = {}
        self.runs: dict[str, tuple[asyncio.Task[RunResult], Cancel]] = {}
        self.is_away = False
        self.output: dict[str, asyncio.Queue[Event | None]] = {}

    async def request(
        self, method: str, path: str, *, json: Any = None, body: bytes | None = None, timeout_ms: int = 30_000
    ) -> Reply:
        if self.is_away:
            raise Unreachable("remote_runtime_network_error")
        parts = path.split("/", 5)
        if path == "/v1/sessions":
            return self._open(name=json["id"])
        if parts[2] == "runs":
            return self._look(parts[3], len(parts) > 4)
        if parts[2] == "snapshots":
            return self._open(self.snapshots[parts[3]]) if parts[3] in self.snapshots else _reply(404, {})
        session = self.sessions.get(parts[3])
        if session is None:
            return _reply(404, {"code": "SESSION_NOT_FOUND"})
        if len(parts) == 4:
            if method == "DELETE":
                self.sessions.pop(parts[3]).close()
            return _reply(200, {"id": parts[3]})
        if parts[4] == "runs?mode=async":
            return self._run(session, json)
        if parts[4] == "snapshots":
            name = uuid.uuid4().hex
            self.snapshots[name] = session.freeze()
            return _reply(201, {"id": name})
        if parts[4] == "directories":
            return self._file(session, "mkdir", json["path"], b"")
        if parts[4].startswith(("archive?path=", "files?path=", "stat?path=")):
            kind, _, rest = parts[4].partition("?path=")
            return self._look_at(session, kind, unquote(rest.partition("&")[0]).rstrip("/"))
        name, _, query = parts[5].partition("?")
        return self._file(session, method + query, "/" + unquote(name), body)

    @contextlib.asynccontextmanager
    async def events(self, path: str) -> AsyncIterator[tuple[int, AsyncIterator[Event]]]:
        queue = self.output[path.split("/")[3]]

        async def coming() -> AsyncIterator[Event]:
            while (event := await queue.get()) is not None:
                yield event

        yield 200, coming()

    def _open(self, state: SessionState | None = None, name: str = "") -> Reply:
        name = name or uuid.uuid4().hex
        self.sessions[name] = Session(name, state=state)
        return _reply(201, {"id": name})

    def _look(self, run_id: str, cancelling: bool) -> Reply:
        task, cancel = self.runs[run_id]
        if cancelling:
            cancel.ask()
            return _reply(200, {"cancelled": not task.done()})
        if not task.done():
            return _reply(200, {"id": run_id, "state": "running"})
        return _reply(200, {"id": run_id, "state": "finished", "result": task.result()})

    def _run(self, session: Session, asked: dict[str, Any]) -> Reply:
        request = RunRequest(
            session_id=session.id,
            language=parse_language(asked["language"]),
            code=asked["code"],
            inputs={},
            return_snapshot=False,
            validate_only=False,
            timeout_ms=asked.get("timeout_ms"),
            stdin=asked.get("stdin", ""),
            filename=asked.get("filename"),
        )
        name, cancel = uuid.uuid4().hex, Cancel()
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

        def tell(stream: int, data: bytes) -> None:
            event = Event(0, ("stdout", "stderr")[stream], data.decode("utf-8", "replace"))
            loop.call_soon_threadsafe(queue.put_nowait, event)

        task = asyncio.create_task(asyncio.to_thread(session.run, request, cancel=cancel, on_output=tell))
        task.add_done_callback(lambda _: queue.put_nowait(None))
        self.runs[name], self.output[name] = (task, cancel), queue
        return _reply(202, {"id": name, "state": "running"})

    def _look_at(self, session: Session, kind: str, path: str) -> Reply:
        place = Files(session.vfs)
        try:
            if kind == "archive":
                listed = msgspec.json.decode(place.do("list", path, recursive=True), type=list[FileEntry])
                read = [(one, place.read(f"{path}/{one.path}") if one.kind == "file" else b"") for one in listed]
                return Reply(200, pack_tree(read))
            verb, options = ("list", {"recursive": False}) if kind == "files" else ("stat", {})
            told = msgspec.json.decode(place.do(verb, path, **options))
        except RequestError as refused:
            return _reply(_STATUSES[refused.error.code], {"error": refused.error})
        shown = [
            {
                "name": one["path"],
                "is_directory": one["kind"] == "directory",
                "size_bytes": one["size_bytes"],
                "updated_at": one["modified_ms"],
                "mode": one["mode"],
            }
            for one in (told if isinstance(told, list) else [told])
        ]
        return _reply(200, {"items": shown} if kind == "files" else shown[0])

    def _file(self, session: Session, method: str, path: str, body: bytes | None) -> Reply:
        place = Files(session.vfs)
        try:
            if method == "GET":
                return Reply(200, place.read(path))
            if method.startswith("DELETE"):
                place.do("delete", path, recursive="recursive" in method)
            else:
                place.do("mkdir" if method == "mkdir" else "write", path, body or b"")
            return _reply(200, {"path": path})
        except RequestError as refused:
            return _reply(_STATUSES[refused.error.code], {"error": refused.error})


def _reply(status: int, value: Any) -> Reply:
    return Reply(status, msgspec.json.encode(value))
