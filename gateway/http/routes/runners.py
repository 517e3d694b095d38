"""Runners: places where commands run, threads bound to them, and the ports of what runs there.

Rules: before anything is done `gateway.runners.governed_commands` asks the tenant's policy: `run` for commands, `fs.read` and
`fs.write` for files. THREAT[TM-STORE-BESIDE]: an exported folder is asked about file by file, and what may not be read is not in
it. What listens at a port is shown by `gateway.http.pages.previews`.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest
from gateway.events import STREAMS, Event, Texts
from gateway.http.api.operation import Call, Events, Handler, Operation, Raw
from gateway.http.pages.previews import address_ports, issue_ticket
from gateway.runners import wire
from gateway.runners.errors import too_large, unsupported
from gateway.runners.governed_commands import Governor
from gateway.runners.preview_tickets import Ticket
from gateway.runners.runners import Listing, SessionInfo, parse_port
from gateway.service import Service

_TAG: Final = "runners"
_THREAD: Final = "/v1/runners/threads/{thread_id}"
_JSON_BYTES_MAX: Final = 8 << 20
_BUSY: Final = {409: "The session is paused, or the command is under way.", 501: "The provider cannot do this."}


class Select(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    destination_id: Annotated[str, Meta(min_length=1, max_length=120)]
    workspace: Annotated[str, Meta(min_length=1, max_length=4096)] = "/workspace"
    read_roots: Annotated[list[str], Meta(max_length=32)] = []


class FileQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4096)] = ""


class EntriesQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4096)] = "."
    recursive: bool = False


class Folder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]


class Move(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    target: Annotated[str, Meta(min_length=1, max_length=4096)]


class Restore(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    snapshot_id: Annotated[str, Meta(min_length=1, max_length=200)]


class Fork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    thread_id: Annotated[str, Meta(min_length=1, max_length=120)]


class CommandCancelled(msgspec.Struct, frozen=True):
    """False: there was nothing to cancel."""

    cancelled: bool


def operations(service: Service) -> list[Operation]:
    return [*_threads(service), *_commands(service), *_files(service), *_trees(service)]


def _threads(service: Service) -> list[Operation]:
    async def select(call: Call) -> SessionInfo:
        asked: Select = call.body
        return await service.runners.select(*_thread(call), asked.destination_id, asked.workspace, asked.read_roots)

    async def snapshot_runner_session(call: Call) -> wire.SnapshotRef:
        await service.runners.session(*_thread(call))  # an unknown thread is not the policy's to refuse
        taken = await Governor(service).snapshot(call.principal, call.path["thread_id"])
        if taken is None:
            raise unsupported("runner snapshots are not supported by this provider")
        return taken

    async def restore(call: Call) -> SessionInfo:
        await Governor(service).require_path(call.principal, call.path["thread_id"], "fs.write", ".", bytes=0)
        gate, _ = await Governor(service).gate(call.principal, call.path["thread_id"])
        gate.require("snapshot.restore", {"bytes": 0, "age": 0})
        return await service.runners.restore(*_thread(call), call.body.snapshot_id)

    async def fork(call: Call) -> SessionInfo:
        await service.runners.session(*_thread(call))
        (await Governor(service).gate(call.principal, call.path["thread_id"]))[0].require("session.fork", {"count": 1})
        return await service.runners.fork(*_thread(call), call.body.thread_id)

    row = partial(Operation, tag=_TAG)
    change = partial(row, audience="operator", finishes=True)
    life = partial(row, answer=SessionInfo, finishes=True, statuses=_BUSY)
    return [
        row("GET", "/v1/runners", "List providers, destinations and bound threads",
            lambda call: service.runners.list(call.principal.tenant), name="list_runners", answer=Listing),
        change("POST", "/v1/runners/destinations", "Add a destination, or replace it",
               lambda call: service.runners.add(call.principal.tenant, call.body),
               name="add_destination", body=wire.Destination, answer=wire.Destination, status=201),
        change("DELETE", "/v1/runners/destinations/{destination_id}", "Remove a destination",
               lambda call: service.runners.remove(call.principal.tenant, call.path["destination_id"]),
               name="remove_destination"),
        life("PUT", _THREAD, "Bind a thread to a destination; nothing is started yet", _address(select),
             name="select_runner", body=Select),
        row("GET", _THREAD, "Look at a thread's session", _address(lambda call: service.runners.session(*_thread(call))),
            name="get_runner_session", answer=SessionInfo),
        row("DELETE", _THREAD, "End a thread's session and forget its binding",
            lambda call: service.runners.delete(*_thread(call)), name="delete_runner_session", finishes=True),
        row("POST", _THREAD + "/snapshot", "Take a snapshot of a session", snapshot_runner_session, answer=wire.SnapshotRef,
            finishes=True, statuses=_BUSY),
        life("POST", _THREAD + "/restore", "Make a session's files what they were in a snapshot", _address(restore),
             name="restore_runner_session", body=Restore),
        life("POST", _THREAD + "/fork", "Begin another thread with a copy of a session's files", _address(fork),
             name="fork_runner_session", body=Fork, status=201),
        life("POST", _THREAD + "/stop", "Stop a session; its next use finds it again",
             _address(lambda call: service.runners.stop(*_thread(call))), name="stop_runner_session"),
        *_ports(service),
        life("POST", _THREAD + "/pause", "Pause a session", _address(lambda call: service.runners.pause(*_thread(call))),
             name="pause_runner_session"),
        life("POST", _THREAD + "/resume", "Let a paused session go on",
             _address(lambda call: service.runners.resume(*_thread(call))), name="resume_runner_session"),
        life("POST", _THREAD + "/detach", "Let a session go on by itself",
             _address(lambda call: service.runners.detach(*_thread(call))), name="detach_runner_session"),
        life("POST", _THREAD + "/rejoin", "Come back to a detached session",
             _address(lambda call: service.runners.rejoin(*_thread(call))), name="rejoin_runner_session"),
    ]  # fmt: skip


def _address(find: Callable[[Call], Awaitable[SessionInfo]]) -> Handler:
    """The handler that answers a session as its tenant sees it, with addresses of the gateway."""

    async def answer(call: Call) -> SessionInfo:
        info = await find(call)
        return msgspec.structs.replace(info, ports=address_ports(info.thread_id, info.ports))

    return answer


def _ports(service: Service) -> list[Operation]:
    async def list_runner_ports(call: Call) -> list[wire.PortPreview]:
        return address_ports(call.path["thread_id"], await service.runners.ports(*_thread(call)))

    async def expose_runner_port(call: Call) -> wire.PortPreview:
        made, exposure_id = await service.runners.expose(*_thread(call), call.body)
        return issue_ticket(service, Ticket(*_thread(call), made.port, exposure_id))

    row, ports = partial(Operation, tag=_TAG), _THREAD + "/ports"
    return [
        row("GET", ports, "List exposed ports", list_runner_ports, answer=list[wire.PortPreview]),
        row("POST", ports, "Expose a port to previews; its address, with a ticket", expose_runner_port, body=wire.Port,
            answer=wire.PortPreview, statuses=_BUSY),
        row("DELETE", ports + "/{port}", "Withdraw a port from previews",
            lambda call: service.runners.withdraw(*_thread(call), parse_port(call.path["port"])),
            name="withdraw_runner_port", finishes=True),
    ]  # fmt: skip


def _commands(service: Service) -> list[Operation]:
    async def run_command(call: Call) -> wire.CommandResult | Events:
        tenant, thread_id = _thread(call)
        command: wire.Command = call.body
        await service.runners.session(tenant, thread_id)  # an unknown thread is an answer, not an event
        governor = Governor(service)
        if "text/event-stream" not in call.headers.get("accept", ""):
            return await governor.run(call.principal, thread_id, command)
        return Events(_follow(lambda tell: governor.run(call.principal, thread_id, command, tell)))

    async def wait_for_command(call: Call) -> wire.CommandResult | Events:
        tenant, thread_id = _thread(call)
        command_id = call.path["command_id"]
        if "text/event-stream" not in call.headers.get("accept", ""):
            return await service.runners.wait(tenant, thread_id, command_id)
        await service.runners.session(tenant, thread_id)
        return Events(_follow(lambda tell: service.runners.wait(tenant, thread_id, command_id, tell)))

    async def cancel_command(call: Call) -> CommandCancelled:
        return CommandCancelled(await service.runners.cancel(*_thread(call), call.path["command_id"]))

    row, commands, command = partial(Operation, tag=_TAG), _THREAD + "/commands", _THREAD + "/commands/{command_id}"
    long = partial(row, answer=wire.CommandResult, streamed=True, deadline_ms=wire.MAX_TIMEOUT_MS + 60_000)
    return [
        long("POST", commands, "Run a command; its output as events, if they are asked for", run_command, body=wire.Command,
             statuses=_BUSY),
        long("GET", command, "Wait for a command that was begun before", wait_for_command),
        row("POST", command + "/cancel", "Cancel a command", cancel_command, answer=CommandCancelled),
    ]  # fmt: skip


def _files(service: Service) -> list[Operation]:
    async def read_runner_file(call: Call) -> Raw:
        tenant, thread_id = _thread(call)
        path = call.query.path
        await Governor(service).require_path(call.principal, thread_id, "fs.read", path)
        found: wire.FileContents = await service.runners.read_file(tenant, thread_id, wire.ReadFile(path=path))
        if "application/json" in call.headers.get("accept", ""):
            if len(found.contents) > _JSON_BYTES_MAX // 4:
                raise too_large("a file that is read as JSON", _JSON_BYTES_MAX // 4)
            return Raw(wire.encode(found), "application/json")
        return Raw(bytes(found.contents))

    async def write_runner_file(call: Call) -> None:
        tenant, thread_id = _thread(call)
        asked = wire.WriteFile(path=call.query.path, contents=wire.Octets(call.body))
        if call.content_type.partition(";")[0].strip().lower() == "application/json":
            asked = _decode_write(call.body)
            if call.query.path not in ("", asked.path):
                raise BadRequest("INVALID_ARGUMENT", "the query and the body name two paths")
        await Governor(service).require_path(call.principal, thread_id, "fs.write", asked.path, bytes=len(asked.contents))
        await service.runners.write_file(tenant, thread_id, asked)

    async def export_artifact(call: Call) -> wire.Artifact:
        tenant, thread_id = _thread(call)
        gate, seen = await Governor(service).require_path(call.principal, thread_id, "fs.read", call.body.path)

        def may_read(name: str) -> bool:
            return gate.permits("fs.read", {"path": posixpath.normpath(f"{seen}/{name}")})

        made = await service.runners.export(tenant, thread_id, call.body, may_read)
        url = f"/v1/runners/threads/{quote(thread_id, safe='')}/artifacts/{made.artifact_id}"
        return msgspec.structs.replace(made, url=url)

    async def get_artifact(call: Call) -> Raw:
        return Raw(await service.runners.read_artifact(*_thread(call), call.path["artifact_id"]))

    row, forms = partial(Operation, tag=_TAG), ("application/octet-stream", "application/json")
    return [
        row("GET", _THREAD + "/files", "Read a file: its bytes, or JSON if that is asked for", read_runner_file,
            query=FileQuery, answer=bytes, answer_types=forms),
        row("PUT", _THREAD + "/files", "Write a file: its bytes, or JSON", write_runner_file, query=FileQuery, body=bytes,
            body_types=forms, upload=True, finishes=True),
        row("POST", _THREAD + "/artifacts", "Keep a file, or a folder as tar", export_artifact, body=wire.ArtifactRequest,
            answer=wire.Artifact, finishes=True, statuses=_BUSY),
        row("GET", _THREAD + "/artifacts/{artifact_id}", "An artifact's bytes", get_artifact, answer=bytes),
    ]  # fmt: skip


def _trees(service: Service) -> list[Operation]:
    async def list_runner_files(call: Call) -> list[wire.FileEntry]:
        tenant, thread_id = _thread(call)
        path, recursive = call.query.path or ".", call.query.recursive
        gate, seen = await Governor(service).require_path(call.principal, thread_id, "fs.read", path)
        listed = await service.runners.list_entries(tenant, thread_id, path, recursive=recursive)
        return [one for one in listed if gate.permits("fs.read", {"path": posixpath.normpath(f"{seen}/{one.path}")})]

    async def make_runner_directory(call: Call) -> None:
        await Governor(service).require_path(call.principal, call.path["thread_id"], "fs.write", call.body.path, bytes=0)
        await service.runners.make_directory(*_thread(call), call.body.path)

    async def require_all(call: Call, event: str, path: str, below: list[wire.FileEntry], **more: Any) -> None:
        gate, seen = await Governor(service).require_path(call.principal, call.path["thread_id"], event, path, **more)
        for entry in below:
            gate.require(event, {"path": posixpath.normpath(f"{seen}/{entry.path}"), **more})

    async def find_below(call: Call, path: str) -> list[wire.FileEntry]:
        """What a change of a folder reaches. THREAT[TM-STORE-BESIDE]: the policy is asked about each; what cannot be listed is
        not changed."""
        await Governor(service).require_path(call.principal, call.path["thread_id"], "fs.write", path, bytes=0)
        above, name = posixpath.split(posixpath.normpath(path))
        beside = await service.runners.list_entries(*_thread(call), above or ".", recursive=False)
        if any(entry.path == name and entry.kind != "directory" for entry in beside):
            return []
        return [*await service.runners.list_entries(*_thread(call), path, recursive=True)]

    async def move_runner_file(call: Call) -> None:
        path, target = call.body.path, call.body.target
        below = await find_below(call, path)
        await require_all(call, "fs.read", path, below)
        for place in (path, target):
            await require_all(call, "fs.write", place, below, bytes=0)
        await service.runners.move_file(*_thread(call), path, target)

    async def delete_runner_file(call: Call) -> None:
        path = call.query.path
        await require_all(call, "fs.write", path, await find_below(call, path), bytes=0)
        await service.runners.delete_file(*_thread(call), path, recursive=call.query.recursive)

    row = partial(Operation, tag=_TAG)
    return [
        row("GET", _THREAD + "/entries", "List a folder: kinds, sizes, modes, times", list_runner_files, query=EntriesQuery,
            answer=list[wire.FileEntry]),
        row("DELETE", _THREAD + "/entries", "Delete a file or folder", delete_runner_file, query=EntriesQuery, finishes=True),
        row("POST", _THREAD + "/directories", "Make a folder", make_runner_directory, body=Folder, finishes=True),
        row("POST", _THREAD + "/move", "Move a file or folder", move_runner_file, body=Move, finishes=True),
    ]  # fmt: skip


def _thread(call: Call) -> tuple[str, str]:
    return call.principal.tenant, call.path["thread_id"]


def _decode_write(body: bytes) -> wire.WriteFile:
    if len(body) > _JSON_BYTES_MAX:  # an array of integers takes many times the room of the bytes
        raise too_large("a file that is written as JSON", _JSON_BYTES_MAX)
    try:
        return wire.decode(body, wire.WriteFile)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest("INVALID_BODY", f"the body does not fit: {error}"[:300]) from None


Tell = Callable[[int, bytes], None]


async def _follow(begin: Callable[[Tell], Awaitable[wire.CommandResult]]) -> AsyncIterator[Event]:
    """Output as it comes, then the result. A client that leaves cancels the command, unless the session is detached."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()  # bounded by the cap on a command's output
    numbers, texts = iter(range(1, 1 << 62)), Texts()

    def tell(stream: int, data: bytes) -> None:
        if text := texts.take(stream, data):
            queue.put_nowait(Event(next(numbers), STREAMS[stream], text))

    async def work() -> wire.CommandResult:
        return await begin(tell)

    task = asyncio.create_task(work())
    task.add_done_callback(lambda done: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        for stream, text in texts.read_rest():
            yield Event(next(numbers), stream, text)
        yield Event(next(numbers), "result", msgspec.to_builtins(task.result()))
    finally:
        task.cancel()
        await asyncio.wait((task,))
