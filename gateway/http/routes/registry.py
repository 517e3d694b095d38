"""The registry: runtimes, hosts and workers, as the original has them under `/api`, and with what we add under `/v1/registry`.

Lists under `/api` take a limit of at most 200 and are answered whole, in the original's envelope; those under `/v1` are pages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from gateway.errors import Unsupported
from gateway.http.api.operation import Call, Events, Handler, Live, Operation
from gateway.http.api.pagination import PageQuery, make_cursor
from gateway.http.api.sse import resume_after
from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.registry import Registry
from gateway.runners.pool import BUILT_IN
from gateway.service import Service

T = TypeVar("T")
Result = wire.SpawnResult | wire.InputResult | wire.Transcript | wire.LifecycleResult
_RESULTS = (wire.SpawnResult, wire.InputResult, wire.Transcript, wire.LifecycleResult)
_ELSEWHERE = {
    501: "The runtime cannot do this; the code says what.",
    502: "A runtime elsewhere failed.",
    504: "It did not answer.",
}
_TAG = "registry"


class RegistryList(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The original's envelope of a list."""

    workspace_id: str
    limit: int
    items: list[T]
    source: str = msgspec.field(default_factory=lambda: "worker_runtime_registry")
    diagnostics: list[wire.RuntimeDiagnostic] = []


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """More than 200 is 200."""

    limit: Annotated[int, Meta(ge=0)] = wire.MAX_LIMIT


class WorkersQuery(PageQuery, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=0, le=wire.MAX_LIMIT, description="The most workers in a page.")] = 50


class TranscriptQuery(msgspec.Struct, frozen=True, kw_only=True):
    start: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=0)] = wire.MAX_LIMIT


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Events after this one."""

    cursor: Annotated[int, Meta(ge=0, le=10**15)] = 0


class Reason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(max_length=500)] | None = None


def operations(service: Service) -> list[Operation]:
    return [*_list_original(service), *_list_ours(service)]


def _ask(service: Service, read: Callable[[Registry, Call], Awaitable[Any]]) -> Handler:
    """The handler that answers what the tenant's registry says."""

    async def answer(call: Call) -> Any:
        made = await read(await service.registry.of(call.principal.tenant), call)
        if isinstance(made, wire.Listing):
            return msgspec.structs.replace(made, next=make_cursor(made.next))
        return _check_supported(made) if isinstance(made, _RESULTS) else made

    return answer


def _check_supported(result: Result) -> Result:
    """What a runtime does not support is 501, under the code of its diagnostic."""
    if result.state == "unsupported":
        said = result.diagnostics[0] if result.diagnostics else None
        code = "RUNTIME_CAPABILITY_UNSUPPORTED" if said is None else said.code
        raise Unsupported(code, "the runtime does not support this" if said is None else said.message)
    return result


def _ids(call: Call) -> tuple[Principal, str, str]:
    return call.principal, call.path["runtime_id"], call.path["worker_id"]


def _workers(service: Service, prefix: str, before: str) -> list[Operation]:
    """Operations on one worker, in both forms. `before` makes their names unique."""

    async def watch(registry: Registry, call: Call) -> Live:
        return Live(await registry.events(*_ids(call), call.query.cursor))

    workers = prefix + "/runtimes/{runtime_id}/workers"
    worker = workers + "/{worker_id}"
    row, ask = partial(Operation, tag=_TAG, statuses=_ELSEWHERE), partial(_ask, service)
    return [
        row("POST", workers, "Spawn a worker",
            ask(lambda registry, call: registry.spawn(call.principal, call.path["runtime_id"], call.body)),
            name=before + "spawn_worker", body=wire.SpawnRequest, answer=wire.SpawnResult, finishes=True),
        row("GET", worker, "Look at a worker", ask(lambda registry, call: registry.worker(*_ids(call))),
            name=before + "get_worker", answer=wire.WorkerSummary),
        row("POST", worker + "/input", "Give a worker input; it has its turn after what it was given before",
            ask(lambda registry, call: registry.send_input(*_ids(call), call.body)),
            name=before + "send_worker_input", body=wire.InputRequest, answer=wire.InputResult, finishes=True),
        row("GET", worker + "/transcript", "What was said to a worker, and what it said",
            ask(lambda registry, call: registry.transcript(
                *_ids(call), call.query.start, min(call.query.limit, wire.MAX_LIMIT))),
            name=before + "get_worker_transcript", query=TranscriptQuery, answer=wire.Transcript),
        row("POST", worker + "/stop", "Stop a worker, after its turn or at once",
            ask(lambda registry, call: registry.stop(*_ids(call), call.body or wire.StopRequest())),
            name=before + "stop_worker", body=wire.StopRequest, body_optional=True, answer=wire.LifecycleResult, finishes=True),
        row("POST", worker + "/cancel", "Cancel a worker and its turn",
            ask(lambda registry, call: registry.cancel(*_ids(call))),
            name=before + "cancel_worker", body=Reason, body_optional=True, answer=wire.LifecycleResult, finishes=True),
        row("GET", worker + "/events/ws", "A worker's events on a WebSocket", ask(watch),
            name=before + "live_worker", query=EventsQuery, websocket=True),
    ]  # fmt: skip


def _list_original(service: Service) -> list[Operation]:
    def row(path: str, summary: str, name: str, item: Any, read: Callable[[Registry, Call, int], Any]) -> Operation:
        async def answer(call: Call) -> RegistryList[Any]:
            limit, tenant = min(call.query.limit, wire.MAX_LIMIT), call.principal.tenant
            found = await read(await service.registry.of(tenant), call, limit)
            return RegistryList(workspace_id=tenant, limit=limit, items=found.items, diagnostics=found.diagnostics)

        kind = RegistryList[item]
        return Operation("GET", "/api" + path, summary, answer, query=ListQuery, answer=kind, tag=_TAG, name=f"api_list_{name}")

    return [
        row("/runtimes", "List runtimes", "runtimes", wire.RuntimeSummary,
            lambda registry, call, limit: registry.list_runtimes(call.principal, limit)),
        row("/hosts", "List hosts", "hosts", wire.HostSummary,
            lambda registry, call, limit: registry.list_hosts(call.principal, limit)),
        row("/workers", "List workers", "workers", wire.WorkerSummary,
            lambda registry, call, limit: registry.list_workers(call.principal, limit)),
        row("/runtimes/{runtime_id}/workers", "List a runtime's workers", "runtime_workers", wire.WorkerSummary,
            lambda registry, call, limit: registry.runtime_workers(call.principal, call.path["runtime_id"], limit)),
        row("/hosts/{host_id}/workers", "List a host's workers", "host_workers", wire.WorkerSummary,
            lambda registry, call, limit: registry.list_workers_for_host(call.principal, call.path["host_id"], limit)),
        *_workers(service, "/api", "api_"),
    ]  # fmt: skip


def _list_ours(service: Service) -> list[Operation]:
    async def watch(registry: Registry, call: Call) -> Events:
        return Events(await registry.events(*_ids(call), resume_after(call.headers) or call.query.cursor))

    async def list_launch_options(call: Call) -> wire.LaunchOptions:
        listed = await service.runners.list(call.principal.tenant)
        places = sorted({BUILT_IN.id, *(destination.id for destination in listed.destinations)})
        templates = await service.snapshots.page(call.principal, None, "template", None, wire.MAX_LIMIT)
        names = sorted({one.label for one in templates})
        return await service.registry.list_launch_options(call.principal, places, names)

    row, ask = partial(Operation, tag=_TAG), partial(_ask, service)
    change = partial(row, audience="operator", finishes=True)
    life = partial(row, answer=wire.LifecycleResult, finishes=True, statuses=_ELSEWHERE)
    root, runtime = "/v1/registry", "/v1/registry/runtimes/{runtime_id}"
    worker = runtime + "/workers/{worker_id}"
    return [
        row("GET", root + "/runtimes", "List runtimes",
            ask(lambda registry, call: registry.list_runtimes(call.principal, wire.MAX_LIMIT)),
            name="list_runtimes", answer=wire.Listing[wire.RuntimeSummary]),
        change("POST", root + "/runtimes", "Add a runtime of another gateway",
               lambda call: service.registry.add(call.principal, call.body), name="add_runtime", body=wire.RemoteSpec,
               answer=wire.RuntimeSummary, status=201, location="/v1/registry/runtimes/{0.runtime_id}",
               statuses={409: "There is one with this id."}),
        row("GET", runtime, "Look at a runtime",
            ask(lambda registry, call: registry.runtime(call.path["runtime_id"]).summary(call.principal, wire.MAX_LIMIT)),
            name="get_runtime", answer=wire.RuntimeSummary),
        change("DELETE", runtime, "Remove a remote runtime that has no running workers",
               lambda call: service.registry.remove(call.principal, call.path["runtime_id"]), name="remove_runtime",
               statuses={409: "It has running workers."}),
        change("POST", root + "/remotes/{runtime_id}/test", "Ask a remote runtime whether it is there",
               lambda call: service.registry.test(call.principal, call.path["runtime_id"]), name="test_runtime",
               answer=wire.RemoteTest),
        row("GET", root + "/launch-options", "What workers can be spawned as, and where", list_launch_options,
            answer=wire.LaunchOptions),
        row("GET", root + "/hosts", "List hosts", ask(lambda registry, call: registry.list_hosts(call.principal, wire.MAX_LIMIT)),
            name="list_hosts", answer=wire.Listing[wire.HostSummary]),
        row("GET", root + "/hosts/{host_id}/workers", "List a host's workers",
            ask(lambda registry, call: registry.list_workers_for_host(
                call.principal, call.path["host_id"], min(call.query.limit, wire.MAX_LIMIT))),
            name="list_host_workers", query=ListQuery, answer=wire.Listing[wire.WorkerSummary]),
        row("GET", root + "/workers", "List the workers of all runtimes, page by page",
            ask(lambda registry, call: registry.page_workers(call.principal, **call.query.window)),
            name="list_workers", query=WorkersQuery, answer=wire.Listing[wire.WorkerSummary]),
        row("GET", runtime + "/workers", "List a runtime's workers, page by page",
            ask(lambda registry, call: registry.runtime_workers(
                call.principal, call.path["runtime_id"], **call.query.window)),
            name="list_runtime_workers", query=WorkersQuery, answer=wire.Listing[wire.WorkerSummary]),
        *_workers(service, root, ""),
        life("POST", worker + "/restore", "Let a stopped worker take input again",
             ask(lambda registry, call: registry.restore(*_ids(call))), name="restore_worker", body=Reason, body_optional=True),
        life("DELETE", worker, "Delete a worker with all it said",
             ask(lambda registry, call: registry.delete(*_ids(call))), name="delete_worker"),
        row("GET", worker + "/events", "A worker's events as they happen", ask(watch), name="watch_worker", query=EventsQuery,
            streamed=True, headers={"Last-Event-ID": "Go on after this event."}, statuses=_ELSEWHERE),
    ]  # fmt: skip
