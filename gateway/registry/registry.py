"""One tenant's registry: its runtimes in the order they were registered, and every question about them.

Rules: an id is checked before anything is looked up, and a worker is looked up only in the runtime that is named. `limit` is a
budget that the runtimes of a list share, first come first served; of their diagnostics the first 16 are told. Ids of runtimes
are unique. What the contract does not have stands apart: `page` lists with a cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import msgspec
from msgspec import UNSET

from gateway.errors import BadRequest
from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.errors import RuntimeTaken, UnknownHost, UnknownRuntime, UnknownWorker, failed
from gateway.registry.identifiers import check_id
from gateway.registry.runtime import Runtime

T = TypeVar("T")
P = ParamSpec("P")
Verb = Callable[Concatenate[Any, Principal, str, P], Coroutine[Any, Any, T]]


def _ask_worker(verb: Verb[P, T]) -> Callable[Concatenate[Any, Principal, str, str, P], Coroutine[Any, Any, T]]:
    """The verb of the runtime that is named, on a worker that is there."""

    async def call(
        self: Registry, principal: Principal, runtime_id: str, worker_id: str, /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        await self.worker(principal, runtime_id, worker_id)
        its_own: Verb[P, T] = getattr(type(self.runtime(runtime_id)), verb.__name__)
        return await its_own(self.runtime(runtime_id), principal, worker_id, *args, **kwargs)

    return call


class Registry:
    def __init__(self, runtimes: Iterable[Runtime] = ()) -> None:
        self._runtimes: dict[str, Runtime] = {}
        for runtime in runtimes:
            self.register(runtime)

    def register(self, runtime: Runtime) -> None:
        check_id("runtime_id", runtime.runtime_id)
        if runtime.runtime_id in self._runtimes:
            raise RuntimeTaken(runtime.runtime_id)
        self._runtimes[runtime.runtime_id] = runtime

    def unregister(self, runtime_id: str) -> Runtime:
        self.runtime(runtime_id)
        return self._runtimes.pop(runtime_id)

    def runtime(self, runtime_id: str) -> Runtime:
        found = self._runtimes.get(check_id("runtime_id", runtime_id))
        if found is None:
            raise UnknownRuntime(runtime_id)
        return found

    def __iter__(self) -> Iterator[Runtime]:
        return iter(list(self._runtimes.values()))

    # Lists

    async def list_runtimes(self, principal: Principal, limit: int) -> wire.Listing[wire.RuntimeSummary]:
        items = [await runtime.summary(principal, limit) for runtime in list(self._runtimes.values())[:limit]]
        said = [said for item in items for said in item.diagnostics]
        return wire.Listing(items=items, diagnostics=said[: wire.MAX_DIAGNOSTICS])

    async def list_hosts(self, principal: Principal, limit: int) -> wire.Listing[wire.HostSummary]:
        found = _Found[wire.HostSummary](limit)
        for runtime in self:
            if found.room:
                found.add(await runtime.hosts(principal, found.room))
        return found.list()

    async def list_workers(self, principal: Principal, limit: int) -> wire.Listing[wire.WorkerSummary]:
        return msgspec.structs.replace(await self.page_workers(principal, limit), next=None)

    async def page_workers(self, principal: Principal, limit: int, after: str | None = None) -> wire.Listing[wire.WorkerSummary]:
        """Ours: all workers, page by page. A position is a runtime's id and that runtime's own position."""
        runtimes = list(self._runtimes.values())
        inner: str | None = None
        if after is not None:
            runtime_id, _, inner_text = after.partition("/")
            if runtime_id not in self._runtimes:
                raise BadRequest("INVALID_CURSOR", "the runtime that this page would begin in is gone", "begin at the first page")
            runtimes = runtimes[list(self._runtimes).index(runtime_id) :]
            inner = inner_text or None
        found = _Found[wire.WorkerSummary](limit)
        for runtime in runtimes:
            if not found.room:
                return found.list(f"{runtime.runtime_id}/")
            page = found.add(await runtime.workers(principal, found.room, inner))
            if page.next is not None:
                return found.list(f"{runtime.runtime_id}/{page.next}")
            inner = None
        return found.list()

    async def runtime_workers(
        self, principal: Principal, runtime_id: str, limit: int, after: str | None = None
    ) -> wire.Listing[wire.WorkerSummary]:
        found = _Found[wire.WorkerSummary](limit)
        return found.list(found.add(await self.runtime(runtime_id).workers(principal, limit, after)).next)

    async def list_workers_for_host(self, principal: Principal, host_id: str, limit: int) -> wire.Listing[wire.WorkerSummary]:
        """As in the original, `limit` workers of a runtime are taken before those of the host are chosen."""
        check_id("host_id", host_id)
        found, is_there = _Found[wire.WorkerSummary](limit), False
        for runtime in self:
            hosts = await runtime.hosts(principal, wire.MAX_HOST_SCAN)
            found.said += hosts.diagnostics
            if all(host.host_id != host_id for host in hosts.items):
                continue
            is_there = True
            page = await runtime.workers(principal, limit)
            here = [worker for worker in page.items if worker.host_id == host_id]
            found.add(msgspec.structs.replace(page, items=here))
            if not found.room:
                break
        if not is_there:
            raise UnknownHost(host_id)
        return found.list()

    # One worker

    async def worker(self, principal: Principal, runtime_id: str, worker_id: str) -> wire.WorkerSummary:
        """Raises `UnknownWorker`, or what the runtime says is wrong with itself."""
        check_id("runtime_id", runtime_id)
        check_id("worker_id", worker_id)
        lookup = await self.runtime(runtime_id).worker(principal, worker_id)
        if lookup.worker is not UNSET:
            return lookup.worker
        for said in lookup.diagnostics:
            if said.severity == "error":
                raise failed(said.code, said.message)
        raise UnknownWorker(runtime_id, worker_id)

    async def spawn(self, principal: Principal, runtime_id: str, request: wire.SpawnRequest) -> wire.SpawnResult:
        return await self.runtime(runtime_id).spawn(principal, request)

    send_input = _ask_worker(Runtime.send_input)
    transcript = _ask_worker(Runtime.transcript)
    stop = _ask_worker(Runtime.stop)
    cancel = _ask_worker(Runtime.cancel)
    restore = _ask_worker(Runtime.restore)
    delete = _ask_worker(Runtime.delete)
    events = _ask_worker(Runtime.events)


class _Found(Generic[T]):
    """What runtimes have listed so far, within a budget that they share."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: list[T] = []
        self.said: list[wire.RuntimeDiagnostic] = []

    @property
    def room(self) -> int:
        return self._limit - len(self._items)

    def add(self, page: wire.Listing[T]) -> wire.Listing[T]:
        self._items += page.items[: self.room]
        self.said += page.diagnostics
        return page

    def list(self, following: str | None = None) -> wire.Listing[T]:
        return wire.Listing(items=self._items, diagnostics=self.said[: wire.MAX_DIAGNOSTICS], next=following)
