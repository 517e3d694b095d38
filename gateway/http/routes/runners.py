"""Runners: places where commands run, threads bound to them, and the ports of what runs there.

Rules: before anything is done the tenant's policy is asked: `run` for commands (`gateway.runners.governed_commands` shows
their whole way), `fs.read` and `fs.write` for files, with paths as programs see them (`/workspace/…`).
THREAT[TM-STORE-BESIDE]: an exported folder is asked about file by file, and what may not be read is not in it. What listens
at a port is shown by `gateway.http.pages.previews`.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest
from gateway.events import STREAMS, Event, Texts
from gateway.http.api.operation import Answer, Call, Events, Operation, Raw
from gateway.http.pages.previews import HasPreviews, addressed, ticketed, without_tickets
from gateway.policies.gate import Gate
from gateway.runners import wire
from gateway.runners.bindings import seen_from
from gateway.runners.errors import outside, too_large, unsupported
from gateway.runners.governed_commands import Governor
from gateway.runners.interface import check_path
from gateway.runners.preview_tickets import Ticket
from gateway.runners.runners import Listing, SessionInfo, parse_port
from gateway.runners.wire import (
    MAX_TIMEOUT_MS,
    Artifact,
    ArtifactRequest,
    Command,
    CommandResult,
    Destination,
    FileContents,
    Octets,
    Port,
    PortPreview,
    ReadFile,
    SnapshotRef,
    WriteFile,
)

_TAG: Final = "runners"
_JSON_BYTES_MAX: Final = 8 << 20
_BUSY: Final = {409: "The session is paused, or the command is under way.", 501: "The provider cannot do this."}


class Select(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    destination_id: Annotated[str, Meta(min_length=1, max_length=120)]
    workspace: Annotated[str, Meta(min_length=1, max_length=4096)] = "/workspace"
    read_roots: Annotated[list[str], Meta(max_length=32)] = []


class FileQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4096)] = ""


class CommandCancelled(msgspec.Struct, frozen=True):
    """False: there was nothing to cancel."""

    cancelled: bool


def operations(service: HasPreviews) -> list[Operation]:
    return [*_threads(service), *_commands(service), *_files(service)]


def _threads(service: HasPreviews) -> list[Operation]:
    async def list_runners(call: Call) -> Listing:
        return await service.runners.list(call.principal.tenant)

    async def add_destination(call: Call) -> Answer:
        return Answer(await service.runners.add(call.principal.tenant, call.body), 201)

    async def remove_destination(call: Call) -> None:
        await service.runners.remove(call.principal.tenant, call.path["destination_id"])

    async def select_runner(call: Call) -> SessionInfo:
        asked: Select = call.body
        tenant, thread_id = _thread(call)
        made = await service.runners.select(tenant, thread_id, asked.destination_id, asked.workspace, asked.read_roots)
        return addressed(made)

    async def get_runner_session(call: Call) -> SessionInfo:
        return addressed(await service.runners.session(*_thread(call)))

    async def delete_runner_session(call: Call) -> None:
        await service.runners.delete(*_thread(call))

    async def snapshot_runner_session(call: Call) -> SnapshotRef:
        await service.runners.session(*_thread(call))  # an unknown thread is not the policy's to refuse
        taken = await Governor(service).snapshot(call.principal, call.path["thread_id"])
        if taken is None:
            raise unsupported("runner snapshots are not supported by this provider")
        return taken

    async def list_runner_ports(call: Call) -> list[PortPreview]:
        return without_tickets(call.path["thread_id"], await service.runners.ports(*_thread(call)))

    async def expose_runner_port(call: Call) -> PortPreview:
        made, exposure_id = await service.runners.expose(*_thread(call), call.body)
        return ticketed(service, Ticket(*_thread(call), made.port, exposure_id))

    async def withdraw_runner_port(call: Call) -> None:
        await service.runners.withdraw(*_thread(call), parse_port(call.path["port"]))

    async def pause_runner_session(call: Call) -> SessionInfo:
        return addressed(await service.runners.pause(*_thread(call)))

    async def resume_runner_session(call: Call) -> SessionInfo:
        return addressed(await service.runners.resume(*_thread(call)))

    async def detach_runner_session(call: Call) -> SessionInfo:
        return addressed(await service.runners.detach(*_thread(call)))

    async def rejoin_runner_session(call: Call) -> SessionInfo:
        return addressed(await service.runners.rejoin(*_thread(call)))

    one = "/v1/runners/threads/{thread_id}"
    life: dict[str, Any] = {"answer": SessionInfo, "tag": _TAG, "finishes": True, "statuses": _BUSY}
    return [
        Operation("GET", "/v1/runners", "List providers, destinations and bound threads", list_runners, answer=Listing, tag=_TAG),
        Operation("POST", "/v1/runners/destinations", "Add a destination, or replace it", add_destination, body=Destination,
                  answer=Destination, status=201, audience="operator", tag=_TAG, finishes=True),
        Operation("DELETE", "/v1/runners/destinations/{destination_id}", "Remove a destination", remove_destination,
                  audience="operator", tag=_TAG, finishes=True),
        Operation("PUT", one, "Bind a thread to a destination; nothing is started yet", select_runner, body=Select, **life),
        Operation("GET", one, "Look at a thread's session", get_runner_session, answer=SessionInfo, tag=_TAG),
        Operation("DELETE", one, "End a thread's session and forget its binding", delete_runner_session, tag=_TAG, finishes=True),
        Operation("POST", one + "/snapshot", "Take a snapshot of a session", snapshot_runner_session, answer=SnapshotRef,
                  tag=_TAG, finishes=True, statuses=_BUSY),
        Operation("GET", one + "/ports", "List exposed ports", list_runner_ports, answer=list[PortPreview], tag=_TAG),
        Operation("POST", one + "/ports", "Expose a port to previews; its address, with a ticket", expose_runner_port, body=Port,
                  answer=PortPreview, tag=_TAG, statuses=_BUSY),
        Operation("DELETE", one + "/ports/{port}", "Withdraw a port from previews", withdraw_runner_port, tag=_TAG,
                  finishes=True),
        Operation("POST", one + "/pause", "Pause a session", pause_runner_session, **life),
        Operation("POST", one + "/resume", "Let a paused session go on", resume_runner_session, **life),
        Operation("POST", one + "/detach", "Let a session go on by itself", detach_runner_session, **life),
        Operation("POST", one + "/rejoin", "Come back to a detached session", rejoin_runner_session, **life),
    ]  # fmt: skip


def _commands(service: HasPreviews) -> list[Operation]:
    async def run_command(call: Call) -> CommandResult | Events:
        tenant, thread_id = _thread(call)
        command: Command = call.body
        await service.runners.session(tenant, thread_id)  # an unknown thread is an answer, not an event
        governor = Governor(service)
        if "text/event-stream" not in call.headers.get("accept", ""):
            return await governor.run(call.principal, thread_id, command)
        return Events(_followed(lambda tell: governor.run(call.principal, thread_id, command, tell)))

    async def wait_for_command(call: Call) -> CommandResult | Events:
        tenant, thread_id = _thread(call)
        command_id = call.path["command_id"]
        if "text/event-stream" not in call.headers.get("accept", ""):
            return await service.runners.wait(tenant, thread_id, command_id)
        await service.runners.session(tenant, thread_id)
        return Events(_followed(lambda tell: service.runners.wait(tenant, thread_id, command_id, tell)))

    async def cancel_command(call: Call) -> CommandCancelled:
        return CommandCancelled(await service.runners.cancel(*_thread(call), call.path["command_id"]))

    many = "/v1/runners/threads/{thread_id}/commands"
    one = many + "/{command_id}"
    long: dict[str, Any] = {"answer": CommandResult, "streamed": True, "tag": _TAG, "deadline_ms": MAX_TIMEOUT_MS + 60_000}
    return [
        Operation("POST", many, "Run a command; its output as events, if they are asked for", run_command, body=Command,
                  statuses=_BUSY, **long),
        Operation("GET", one, "Wait for a command that was begun before", wait_for_command, **long),
        Operation("POST", one + "/cancel", "Cancel a command", cancel_command, answer=CommandCancelled, tag=_TAG),
    ]  # fmt: skip


def _files(service: HasPreviews) -> list[Operation]:
    async def read_runner_file(call: Call) -> Raw:
        tenant, thread_id = _thread(call)
        path = call.query.path
        await _may_touch(service, call, "fs.read", path)
        found: FileContents = await service.runners.read_file(tenant, thread_id, ReadFile(path=path))
        if "application/json" in call.headers.get("accept", ""):
            if len(found.contents) > _JSON_BYTES_MAX // 4:
                raise too_large("a file that is read as JSON", _JSON_BYTES_MAX // 4)
            return Raw(wire.encode(found), "application/json")
        return Raw(bytes(found.contents))

    async def write_runner_file(call: Call) -> None:
        tenant, thread_id = _thread(call)
        asked = WriteFile(path=call.query.path, contents=Octets(call.body))
        if call.content_type.partition(";")[0].strip().lower() == "application/json":
            asked = _decoded(call.body)
            if call.query.path not in ("", asked.path):
                raise BadRequest("INVALID_ARGUMENT", "the query and the body name two paths")
        await _may_touch(service, call, "fs.write", asked.path, bytes=len(asked.contents))
        await service.runners.write_file(tenant, thread_id, asked)

    async def export_artifact(call: Call) -> Artifact:
        tenant, thread_id = _thread(call)
        asked: ArtifactRequest = call.body
        gate, seen = await _may_touch(service, call, "fs.read", asked.path)

        def permitted(name: str) -> bool:
            return gate.permits("fs.read", {"path": posixpath.normpath(f"{seen}/{name}")})

        made = await service.runners.export(tenant, thread_id, asked, permitted)
        url = f"/v1/runners/threads/{quote(thread_id, safe='')}/artifacts/{made.artifact_id}"
        return msgspec.structs.replace(made, url=url)

    async def get_artifact(call: Call) -> Raw:
        tenant, thread_id = _thread(call)
        info = await service.runners.session(tenant, thread_id)
        blobs = getattr(service.runners.pool.providers(tenant).get(info.provider_id), "blobs", None)
        if blobs is None:
            raise unsupported("runner artifact export is not supported by this provider")
        return Raw(await blobs.get(call.path["artifact_id"]))

    one = "/v1/runners/threads/{thread_id}"
    return [
        Operation("GET", one + "/files", "Read a file: its bytes, or JSON if that is asked for", read_runner_file,
                  query=FileQuery, answer=bytes, answer_types=("application/octet-stream", "application/json"), tag=_TAG),
        Operation("PUT", one + "/files", "Write a file: its bytes, or JSON", write_runner_file, query=FileQuery, body=bytes,
                  body_types=("application/octet-stream", "application/json"), upload=True, tag=_TAG, finishes=True),
        Operation("POST", one + "/artifacts", "Keep a file, or a folder as tar", export_artifact, body=ArtifactRequest,
                  answer=Artifact, tag=_TAG, finishes=True, statuses=_BUSY),
        Operation("GET", one + "/artifacts/{artifact_id}", "An artifact's bytes", get_artifact, answer=bytes, tag=_TAG),
    ]  # fmt: skip


def _thread(call: Call) -> tuple[str, str]:
    return call.principal.tenant, call.path["thread_id"]


def _decoded(body: bytes) -> WriteFile:
    if len(body) > _JSON_BYTES_MAX:  # an array of integers takes many times the room of the bytes
        raise too_large("a file that is written as JSON", _JSON_BYTES_MAX)
    try:
        return wire.decode(body, WriteFile)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest("INVALID_BODY", f"the body does not fit: {error}"[:300]) from None


# The policy


async def _may_touch(service: HasPreviews, call: Call, event: str, path: str, **more: Any) -> tuple[Gate, str]:
    """Asks the policy about the path as programs see it, and gives both. A path that leads nowhere the thread may go is refused
    before."""
    tenant, thread_id = _thread(call)
    binding = (await service.runners.pool.lease(tenant, thread_id)).binding
    check_path(path)
    top = binding.workspace.rstrip("/")
    full = posixpath.normpath(posixpath.join(top or "/", path))
    below = seen_from(top, full)
    if below is None and (event != "fs.read" or all(seen_from(root, full) is None for root in binding.read_roots)):
        raise outside(path, thread_id)
    seen = full if below is None else posixpath.normpath(f"/workspace/{below}")  # a read root: the policy must name it
    gate, _ = await Governor(service).gate(call.principal, thread_id)
    gate.require(event, {"path": seen, **more})
    return gate, seen


# Streams


Tell = Callable[[int, bytes], None]


async def _followed(begin: Callable[[Tell], Awaitable[CommandResult]]) -> AsyncIterator[Event]:
    """Output as it comes, then the result. Whoever leaves takes the command along, unless the session is detached."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()  # bounded by the cap on a command's output
    numbers, texts = iter(range(1, 1 << 62)), Texts()

    def tell(stream: int, data: bytes) -> None:
        if text := texts.take(stream, data):
            queue.put_nowait(Event(next(numbers), STREAMS[stream], text))

    async def work() -> CommandResult:
        return await begin(tell)

    task = asyncio.create_task(work())
    task.add_done_callback(lambda done: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        for stream, text in texts.rest():
            yield Event(next(numbers), stream, text)
        yield Event(next(numbers), "result", msgspec.to_builtins(task.result()))
    finally:
        task.cancel()
        await asyncio.wait((task,))
