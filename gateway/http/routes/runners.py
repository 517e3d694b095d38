"""Runners: places where commands run, threads bound to them, the life of their sessions, and the ports of what runs there.

Rules: before anything is done `gateway.runs.governed_commands` asks the tenant's policy. What listens at a port is shown by
`gateway.http.pages.previews`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from gateway.http.api.operation import Call, Handler, Operation, in_thread
from gateway.http.pages.previews import address_ports, issue_ticket
from gateway.runners import wire
from gateway.runners.errors import unsupported
from gateway.runners.preview_tickets import Ticket
from gateway.runners.runners import Listing, SessionInfo, parse_port
from gateway.runs.governed_commands import Governor
from gateway.runs.waiting_commands import digest_place
from gateway.service import Service

TAG: Final = "runners"
THREAD: Final = "/v1/runners/threads/{thread_id}"
BUSY: Final = {409: "The session is paused, or the command is under way.", 501: "The provider cannot do this."}

_life = partial(Operation, tag=TAG, answer=SessionInfo, finishes=True, statuses=BUSY)

Label = Annotated[str, Meta(max_length=120)]


class Select(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    destination_id: Annotated[str, Meta(min_length=1, max_length=120)]
    workspace: Annotated[str, Meta(min_length=1, max_length=4096)] = "/workspace"
    read_roots: Annotated[list[str], Meta(max_length=32)] = []
    labels: Annotated[dict[Label, Label], Meta(max_length=64)] = {}
    snapshot_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    idle_timeout_ms: Annotated[int, Meta(ge=1000)] | None = None
    ttl_ms: Annotated[int, Meta(ge=1000)] | None = None


class ThreadsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A label's name, or `name=value`."""

    label: Annotated[str, Meta(max_length=250)] = ""


class KeepAlive(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long it lasts from now on; if nothing is said, as it was bound."""

    ttl_ms: Annotated[int, Meta(ge=1000)] | None = None


class Restore(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    snapshot_id: Annotated[str, Meta(min_length=1, max_length=200)]


class Fork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    new_thread_id: Annotated[str, Meta(min_length=1, max_length=120)]


def operations(service: Service) -> list[Operation]:
    return [*_destinations(service), *_bindings(service), *_snapshots(service), *_lives(service), *_ports(service)]


def _destinations(service: Service) -> list[Operation]:
    row = partial(Operation, tag=TAG)
    change = partial(row, audience="operator", finishes=True)
    return [
        row("GET", "/v1/runners", "List providers, destinations and bound threads",
            lambda call: service.runners.list(call.principal.tenant), name="list_runners", answer=Listing),
        change("POST", "/v1/runners/destinations", "Add a destination, or replace it",
               lambda call: service.runners.add(call.principal.tenant, call.body),
               name="add_destination", body=wire.Destination, answer=wire.Destination, status=201),
        change("DELETE", "/v1/runners/destinations/{destination_id}", "Remove a destination",
               lambda call: service.runners.remove(call.principal.tenant, call.path["destination_id"]),
               name="remove_destination"),
    ]  # fmt: skip


def _bindings(service: Service) -> list[Operation]:
    async def select(call: Call) -> SessionInfo:
        asked: Select = call.body
        options = wire.ThreadOptions(
            labels=asked.labels, snapshot_id=asked.snapshot_id, idle_timeout_ms=asked.idle_timeout_ms, ttl_ms=asked.ttl_ms
        )
        if asked.snapshot_id is not None:
            gate, _ = await Governor(service).gate(call.principal, call.path["thread_id"])
            gate.require("snapshot.restore", {"bytes": 0, "age": 0})
        roots = asked.read_roots
        made = await service.runners.select(*in_thread(call), asked.destination_id, asked.workspace, roots, options)
        for waits in await service.waiting.list(*in_thread(call)):
            if waits.place != digest_place((await service.runners.pool.lease(*in_thread(call))).binding):
                await service.waiting.cancel(call.principal, waits.thread_id, waits.command.command_id)
        return made

    async def delete(call: Call) -> None:
        await service.runners.delete(*in_thread(call))
        await service.waiting.withdraw_all(call.principal, call.path["thread_id"])

    async def list_runner_sessions(call: Call) -> list[SessionInfo]:
        found = await service.runners.sessions(call.principal.tenant, call.query.label)
        return [msgspec.structs.replace(one, ports=address_ports(one.thread_id, one.ports)) for one in found]

    row = partial(Operation, tag=TAG)
    return [
        row("GET", "/v1/runners/threads", "List threads with the status of their sessions", list_runner_sessions,
            query=ThreadsQuery, answer=list[SessionInfo]),
        _life("PUT", THREAD, "Bind a thread to a destination; nothing is started yet", _address(select),
             name="select_runner", body=Select),
        row("GET", THREAD, "Look at a thread's session", _address(lambda call: service.runners.session(*in_thread(call))),
            name="get_runner_session", answer=SessionInfo),
        row("DELETE", THREAD, "End a thread's session and forget its binding",
            delete, name="delete_runner_session", finishes=True),
    ]  # fmt: skip


def _snapshots(service: Service) -> list[Operation]:
    async def snapshot_runner_session(call: Call) -> wire.SnapshotRef:
        await service.runners.session(*in_thread(call))  # an unknown thread is not the policy's to refuse
        taken = await Governor(service).snapshot(call.principal, call.path["thread_id"])
        if taken is None:
            raise unsupported("runner snapshots are not supported by this provider")
        return taken

    async def restore(call: Call) -> SessionInfo:
        await Governor(service).require_path(call.principal, call.path["thread_id"], "fs.write", ".", bytes=0)
        gate, _ = await Governor(service).gate(call.principal, call.path["thread_id"])
        gate.require("snapshot.restore", {"bytes": 0, "age": 0})
        return await service.runners.restore(*in_thread(call), call.body.snapshot_id)

    async def fork(call: Call) -> SessionInfo:
        await service.runners.session(*in_thread(call))
        (await Governor(service).gate(call.principal, call.path["thread_id"]))[0].require("session.fork", {"count": 1})
        return await service.runners.fork(*in_thread(call), call.body.new_thread_id)

    row = partial(Operation, tag=TAG)
    return [
        row("POST", THREAD + "/snapshot", "Take a snapshot of a session", snapshot_runner_session, answer=wire.SnapshotRef,
            finishes=True, statuses=BUSY),
        _life("POST", THREAD + "/restore", "Make a session's files what they were in a snapshot", _address(restore),
             name="restore_runner_session", body=Restore),
        _life("POST", THREAD + "/fork", "Begin another thread with a copy of a session's files", _address(fork),
             name="fork_runner_session", body=Fork, status=201),
    ]  # fmt: skip


def _lives(service: Service) -> list[Operation]:
    return [
        _life("POST", THREAD + "/stop", "Stop a session; its next use finds it again",
             _address(lambda call: service.runners.stop(*in_thread(call))), name="stop_runner_session"),
        _life("POST", THREAD + "/keep-alive", "Let a session last longer; it counts as used",
             _address(lambda call: service.runners.keep_alive(*in_thread(call), call.body.ttl_ms)),
             name="keep_runner_session_alive", body=KeepAlive),
        _life("POST", THREAD + "/pause", "Pause a session", _address(lambda call: service.runners.pause(*in_thread(call))),
             name="pause_runner_session"),
        _life("POST", THREAD + "/resume", "Let a paused session go on",
             _address(lambda call: service.runners.resume(*in_thread(call))), name="resume_runner_session"),
        _life("POST", THREAD + "/detach", "Let a session go on by itself",
             _address(lambda call: service.runners.detach(*in_thread(call))), name="detach_runner_session"),
        _life("POST", THREAD + "/rejoin", "Come back to a detached session",
             _address(lambda call: service.runners.rejoin(*in_thread(call))), name="rejoin_runner_session"),
    ]  # fmt: skip


def _address(find: Callable[[Call], Awaitable[SessionInfo]]) -> Handler:
    """The handler that answers a session as its tenant sees it, with addresses of the gateway."""

    async def answer(call: Call) -> SessionInfo:
        info = await find(call)
        return msgspec.structs.replace(info, ports=address_ports(info.thread_id, info.ports))

    return answer


def _ports(service: Service) -> list[Operation]:
    async def list_runner_ports(call: Call) -> list[wire.PortPreview]:
        return address_ports(call.path["thread_id"], await service.runners.ports(*in_thread(call)))

    async def expose_runner_port(call: Call) -> wire.PortPreview:
        made, exposure_id = await service.runners.expose(*in_thread(call), call.body)
        return issue_ticket(service, Ticket(*in_thread(call), made.port, exposure_id))

    row, ports = partial(Operation, tag=TAG), THREAD + "/ports"
    return [
        row("GET", ports, "List exposed ports", list_runner_ports, answer=list[wire.PortPreview]),
        row("POST", ports, "Expose a port to previews; its address, with a ticket", expose_runner_port, body=wire.Port,
            answer=wire.PortPreview, statuses=BUSY),
        row("DELETE", ports + "/{port}", "Withdraw a port from previews",
            lambda call: service.runners.withdraw(*in_thread(call), parse_port(call.path["port"])),
            name="withdraw_runner_port", finishes=True),
    ]  # fmt: skip
