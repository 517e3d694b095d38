"""The registry: runtimes, hosts and workers, as the original has them under `/api`, and with what we add under `/v1/registry`.

Lists under `/api` take a limit of at most 200 and are answered whole, in the original's envelope; those under `/v1` are pages.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Meta

from gateway.errors import Unsupported
from gateway.http.api.operation import Answer, Call, Events, Live, Operation
from gateway.http.api.pagination import make_cursor, open_cursor
from gateway.http.api.sse import resume_after
from gateway.registry.registries import Registries
from gateway.registry.registry import Registry
from gateway.registry.wire import (
    MAX_LIMIT,
    HostSummary,
    InputRequest,
    InputResult,
    LifecycleResult,
    Listing,
    RemoteSpec,
    RuntimeDiagnostic,
    RuntimeSummary,
    SpawnRequest,
    SpawnResult,
    StopRequest,
    Transcript,
    WorkerSummary,
)

T = TypeVar("T")
R = TypeVar("R", SpawnResult, InputResult, Transcript, LifecycleResult)
_ELSEWHERE = {
    501: "The runtime cannot do this; the code says what.",
    502: "A runtime elsewhere failed.",
    504: "It did not answer.",
}
_TAG = "registry"


class HasRegistry(Protocol):
    """The part of the service that is needed here."""

    @property
    def registry(self) -> Registries: ...


class RegistryList(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The original's envelope of a list."""

    workspace_id: str
    limit: int
    items: list[T]
    source: str = msgspec.field(default_factory=lambda: "worker_runtime_registry")
    diagnostics: list[RuntimeDiagnostic] = []


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """More than 200 is 200."""

    limit: Annotated[int, Meta(ge=0)] = MAX_LIMIT


class WorkersQuery(msgspec.Struct, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=0, le=MAX_LIMIT, description="At most so many workers.")] = 50
    cursor: Annotated[str | None, Meta(description="The `next` of the page before.")] = None

    @property
    def after(self) -> str | None:
        return None if self.cursor is None else open_cursor(self.cursor)


class TranscriptQuery(msgspec.Struct, frozen=True, kw_only=True):
    start: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=0)] = MAX_LIMIT


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Events after this one."""

    cursor: Annotated[int, Meta(ge=0, le=10**15)] = 0


class Reason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(max_length=500)] | None = None


def operations(service: HasRegistry) -> list[Operation]:
    return [*_original(service), *_ours(service)]


class _Worker:
    """What both forms do with one worker."""

    def __init__(self, service: HasRegistry) -> None:
        self._service = service

    async def _of(self, call: Call) -> tuple[Registry, str, str]:
        return await _of(self._service, call), call.path["runtime_id"], call.path.get("worker_id", "")

    async def spawn(self, call: Call) -> SpawnResult:
        registry, runtime_id, _ = await self._of(call)
        return _supported(await registry.spawn(call.principal, runtime_id, call.body))

    async def get(self, call: Call) -> WorkerSummary:
        registry, runtime_id, worker_id = await self._of(call)
        return await registry.worker(call.principal, runtime_id, worker_id)

    async def send_input(self, call: Call) -> InputResult:
        registry, runtime_id, worker_id = await self._of(call)
        return _supported(await registry.send_input(call.principal, runtime_id, worker_id, call.body))

    async def transcript(self, call: Call) -> Transcript:
        registry, runtime_id, worker_id = await self._of(call)
        asked: TranscriptQuery = call.query
        limit = min(asked.limit, MAX_LIMIT)
        return _supported(await registry.transcript(call.principal, runtime_id, worker_id, asked.start, limit))

    async def stop(self, call: Call) -> LifecycleResult:
        registry, runtime_id, worker_id = await self._of(call)
        return _supported(await registry.stop(call.principal, runtime_id, worker_id, call.body or StopRequest()))

    async def cancel(self, call: Call) -> LifecycleResult:
        registry, runtime_id, worker_id = await self._of(call)
        return _supported(await registry.cancel(call.principal, runtime_id, worker_id))

    async def restore(self, call: Call) -> LifecycleResult:
        registry, runtime_id, worker_id = await self._of(call)
        return _supported(await registry.restore(call.principal, runtime_id, worker_id))

    async def delete(self, call: Call) -> LifecycleResult:
        registry, runtime_id, worker_id = await self._of(call)
        return _supported(await registry.delete(call.principal, runtime_id, worker_id))

    async def watch(self, call: Call) -> Events:
        registry, runtime_id, worker_id = await self._of(call)
        after = resume_after(call.headers) or call.query.cursor
        return Events(await registry.events(call.principal, runtime_id, worker_id, after))

    async def live(self, call: Call) -> Live:
        registry, runtime_id, worker_id = await self._of(call)
        return Live(await registry.events(call.principal, runtime_id, worker_id, call.query.cursor))


def _workers(service: HasRegistry, prefix: str, before: str) -> list[Operation]:
    """Operations on one worker. `before` makes their names unique."""
    do = _Worker(service)
    many = prefix + "/runtimes/{runtime_id}/workers"
    one = many + "/{worker_id}"

    def named(name: str) -> dict[str, Any]:
        return {"name": before + name, "tag": _TAG, "statuses": _ELSEWHERE}

    return [
        Operation("POST", many, "Spawn a worker", do.spawn, body=SpawnRequest, answer=SpawnResult, finishes=True,
                  **named("spawn_worker")),
        Operation("GET", one, "Look at a worker", do.get, answer=WorkerSummary, **named("get_worker")),
        Operation("POST", one + "/input", "Give a worker input; it has its turn after what it was given before",
                  do.send_input, body=InputRequest, answer=InputResult, finishes=True, **named("send_worker_input")),
        Operation("GET", one + "/transcript", "What was said to a worker, and what it said", do.transcript,
                  query=TranscriptQuery, answer=Transcript, **named("get_worker_transcript")),
        Operation("POST", one + "/stop", "Stop a worker, after its turn or at once", do.stop, body=StopRequest,
                  body_optional=True, answer=LifecycleResult, finishes=True, **named("stop_worker")),
        Operation("POST", one + "/cancel", "Cancel a worker and its turn", do.cancel, body=Reason, body_optional=True,
                  answer=LifecycleResult, finishes=True, **named("cancel_worker")),
        Operation("GET", one + "/events/ws", "A worker's events on a WebSocket", do.live, query=EventsQuery,
                  websocket=True, **named("live_worker")),
    ]  # fmt: skip


def _original(service: HasRegistry) -> list[Operation]:
    def envelope(call: Call, limit: int, found: Listing[T]) -> RegistryList[T]:
        return RegistryList(workspace_id=call.principal.tenant, limit=limit, items=found.items, diagnostics=found.diagnostics)

    async def api_list_runtimes(call: Call) -> RegistryList[RuntimeSummary]:
        limit = min(call.query.limit, MAX_LIMIT)
        return envelope(call, limit, await (await _of(service, call)).list_runtimes(call.principal, limit))

    async def api_list_hosts(call: Call) -> RegistryList[HostSummary]:
        limit = min(call.query.limit, MAX_LIMIT)
        return envelope(call, limit, await (await _of(service, call)).list_hosts(call.principal, limit))

    async def api_list_workers(call: Call) -> RegistryList[WorkerSummary]:
        limit = min(call.query.limit, MAX_LIMIT)
        return envelope(call, limit, await (await _of(service, call)).list_workers(call.principal, limit))

    async def api_list_runtime_workers(call: Call) -> RegistryList[WorkerSummary]:
        limit, registry = min(call.query.limit, MAX_LIMIT), await _of(service, call)
        return envelope(call, limit, await registry.runtime_workers(call.principal, call.path["runtime_id"], limit))

    async def api_list_host_workers(call: Call) -> RegistryList[WorkerSummary]:
        limit, registry = min(call.query.limit, MAX_LIMIT), await _of(service, call)
        return envelope(call, limit, await registry.list_workers_for_host(call.principal, call.path["host_id"], limit))

    shared: dict[str, Any] = {"query": ListQuery, "tag": _TAG}
    return [
        Operation("GET", "/api/runtimes", "List runtimes", api_list_runtimes, answer=RegistryList[RuntimeSummary], **shared),
        Operation("GET", "/api/hosts", "List hosts", api_list_hosts, answer=RegistryList[HostSummary], **shared),
        Operation("GET", "/api/workers", "List workers", api_list_workers, answer=RegistryList[WorkerSummary], **shared),
        Operation("GET", "/api/runtimes/{runtime_id}/workers", "List a runtime's workers", api_list_runtime_workers,
                  answer=RegistryList[WorkerSummary], **shared),
        Operation("GET", "/api/hosts/{host_id}/workers", "List a host's workers", api_list_host_workers,
                  answer=RegistryList[WorkerSummary], **shared),
        *_workers(service, "/api", "api_"),
    ]  # fmt: skip


def _ours(service: HasRegistry) -> list[Operation]:
    async def list_runtimes(call: Call) -> Listing[RuntimeSummary]:
        return await (await _of(service, call)).list_runtimes(call.principal, MAX_LIMIT)

    async def list_hosts(call: Call) -> Listing[HostSummary]:
        return await (await _of(service, call)).list_hosts(call.principal, MAX_LIMIT)

    async def list_workers(call: Call) -> Listing[WorkerSummary]:
        registry, asked = await _of(service, call), call.query
        return _paged(await registry.page_workers(call.principal, asked.limit, asked.after))

    async def list_runtime_workers(call: Call) -> Listing[WorkerSummary]:
        registry, asked = await _of(service, call), call.query
        return _paged(await registry.runtime_workers(call.principal, call.path["runtime_id"], asked.limit, asked.after))

    async def list_host_workers(call: Call) -> Listing[WorkerSummary]:
        registry = await _of(service, call)
        return await registry.list_workers_for_host(call.principal, call.path["host_id"], min(call.query.limit, MAX_LIMIT))

    async def get_runtime(call: Call) -> RuntimeSummary:
        registry = await _of(service, call)
        return await registry.runtime(call.path["runtime_id"]).summary(call.principal, MAX_LIMIT)

    async def add_runtime(call: Call) -> Answer:
        made = await service.registry.add(call.principal, call.body)
        return Answer(made, 201, {"location": f"/v1/registry/runtimes/{made.runtime_id}"})

    async def remove_runtime(call: Call) -> None:
        await service.registry.remove(call.principal, call.path["runtime_id"])

    do = _Worker(service)
    root = "/v1/registry"
    one = root + "/runtimes/{runtime_id}"
    worker = one + "/workers/{worker_id}"
    life: dict[str, Any] = {"answer": LifecycleResult, "tag": _TAG, "finishes": True, "statuses": _ELSEWHERE}
    return [
        Operation("GET", root + "/runtimes", "List runtimes", list_runtimes, answer=Listing[RuntimeSummary], tag=_TAG),
        Operation("POST", root + "/runtimes", "Add a runtime of another gateway", add_runtime, body=RemoteSpec,
                  answer=RuntimeSummary, status=201, audience="operator", tag=_TAG, finishes=True,
                  statuses={409: "There is one with this id."}),
        Operation("GET", one, "Look at a runtime", get_runtime, answer=RuntimeSummary, tag=_TAG),
        Operation("DELETE", one, "Remove a remote runtime that has no running workers", remove_runtime, audience="operator",
                  tag=_TAG, finishes=True, statuses={409: "It has running workers."}),
        Operation("GET", root + "/hosts", "List hosts", list_hosts, answer=Listing[HostSummary], tag=_TAG),
        Operation("GET", root + "/hosts/{host_id}/workers", "List a host's workers", list_host_workers, query=ListQuery,
                  answer=Listing[WorkerSummary], tag=_TAG),
        Operation("GET", root + "/workers", "List the workers of all runtimes, page by page", list_workers, query=WorkersQuery,
                  answer=Listing[WorkerSummary], tag=_TAG),
        Operation("GET", one + "/workers", "List a runtime's workers, page by page", list_runtime_workers, query=WorkersQuery,
                  answer=Listing[WorkerSummary], tag=_TAG),
        *_workers(service, root, ""),
        Operation("POST", worker + "/restore", "Let a stopped worker take input again", do.restore, body=Reason,
                  body_optional=True, name="restore_worker", **life),
        Operation("DELETE", worker, "Delete a worker with all it said", do.delete, name="delete_worker", **life),
        Operation("GET", worker + "/events", "A worker's events as they happen", do.watch, query=EventsQuery,
                  streamed=True, headers={"Last-Event-ID": "Go on after this event."}, tag=_TAG, statuses=_ELSEWHERE,
                  name="watch_worker"),
    ]  # fmt: skip


async def _of(service: HasRegistry, call: Call) -> Registry:
    return await service.registry.of(call.principal.tenant)


def _paged(found: Listing[T]) -> Listing[T]:
    return msgspec.structs.replace(found, next=make_cursor(found.next))


def _supported(result: R) -> R:
    """What a runtime does not support is 501, under the code of its diagnostic."""
    if result.state == "unsupported":
        said = result.diagnostics[0] if result.diagnostics else None
        code = "RUNTIME_CAPABILITY_UNSUPPORTED" if said is None else said.code
        raise Unsupported(code, "the runtime does not support this" if said is None else said.message)
    return result
