"""What a runtime is, and what one that cannot do something says.

Rules: every method names who asks; a runtime shows a tenant only what is that tenant's. What a runtime does not override it does
not support, and says so with the contract's codes. A runtime's own trouble is a diagnostic in its answer, not an exception: one
broken runtime does not hide the others. Inside of a runtime it is a `Refusal`, which `answer_refusals` makes such an answer of.
"""

from __future__ import annotations

import datetime
import functools
import platform
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, ClassVar, Concatenate, Final, ParamSpec, TypeVar

from gateway.events import Event
from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.errors import CapabilityUnsupported

LOOKING: Final = ("can_list_workers", "can_get_worker")
CONTROLLING: Final = (
    "can_spawn_worker", "can_stop_worker", "can_accept_input", "can_stream_events", "can_read_bounded_transcript",
)  # fmt: skip
P = ParamSpec("P")
R = TypeVar("R", bound="Runtime")
A = TypeVar("A", wire.Transcript, wire.InputResult, wire.LifecycleResult)
Verb = Callable[Concatenate[R, Principal, str, P], Coroutine[Any, Any, A]]


class Refusal(Exception):
    def __init__(self, said: wire.RuntimeDiagnostic, state: wire.State = "rejected") -> None:
        super().__init__(said.code)
        self.said, self.state = said, state


def decline(code: str, message: str) -> Refusal:
    return Refusal(wire.diagnostic(code, "info", message), "unsupported")


def answer_refusals(kind: type[A], *repeated: str) -> Callable[[Verb[R, P, A]], Verb[R, P, A]]:
    """For a verb on a worker: its refusals are answers of this kind, in which `repeated` arguments are told again."""

    def wrap(verb: Verb[R, P, A]) -> Verb[R, P, A]:
        @functools.wraps(verb)
        async def call(self: R, principal: Principal, worker_id: str, /, *args: P.args, **kwargs: P.kwargs) -> A:
            try:
                return await verb(self, principal, worker_id, *args, **kwargs)
            except Refusal as refused:
                asked: dict[str, Any] = dict(zip(repeated, args, strict=False))
                return self.answer(kind, worker_id, refused.state, diagnostics=[refused.said], **asked)

        return call

    return wrap


class Runtime(ABC):
    """All workers of a runtime are on one host: the runtime is as able as that, and has its troubles."""

    runtime_id: str
    label: str
    kind: ClassVar[str]
    source: ClassVar[wire.RuntimeSource]

    @property
    @abstractmethod
    def status(self) -> str: ...

    @abstractmethod
    def host(self, tenant: str, limit: int) -> wire.HostSummary: ...

    def answer(self, kind: type[A], worker_id: str, state: wire.State = "accepted", **facts: Any) -> A:
        """About a worker."""
        return kind(state=state, runtime_id=self.runtime_id, worker_id=worker_id, **facts)

    async def summary(self, principal: Principal, limit: int) -> wire.RuntimeSummary:
        host = self.host(principal.tenant, limit)
        return wire.RuntimeSummary(
            runtime_id=self.runtime_id,
            label=self.label,
            kind=self.kind,
            status=self.status,
            source=self.source,
            host_ids=[host.host_id][:limit],
            capabilities=host.capabilities,
            diagnostics=_choose_troubles(host),
        )

    async def hosts(self, principal: Principal, limit: int) -> wire.Listing[wire.HostSummary]:
        if limit == 0:
            return wire.Listing(items=[])
        host = self.host(principal.tenant, limit)
        return wire.Listing(items=[host], diagnostics=_choose_troubles(host))

    @abstractmethod
    async def workers(self, principal: Principal, limit: int, after: str | None = None) -> wire.Listing[wire.WorkerSummary]:
        """`after` is the `next` of the listing before."""

    @abstractmethod
    async def worker(self, principal: Principal, worker_id: str) -> wire.WorkerLookup: ...

    async def spawn(self, principal: Principal, request: wire.SpawnRequest) -> wire.SpawnResult:
        message = f"the intent {intent_label(request.intent)!r} is understood, but nothing is launched by this runtime"
        said = wire.diagnostic("worker_spawn_resolver_pending", "info", message)
        return wire.SpawnResult(state="unsupported", diagnostics=[said])

    @answer_refusals(wire.InputResult)
    async def send_input(self, principal: Principal, worker_id: str, request: wire.InputRequest) -> wire.InputResult:
        raise decline("worker_input_pending", f"the worker {worker_id!r} takes no input through this runtime")

    @answer_refusals(wire.Transcript, "start", "limit")
    async def transcript(self, principal: Principal, worker_id: str, start: int, limit: int) -> wire.Transcript:
        raise decline("worker_transcript_pending", f"the worker {worker_id!r} shows no transcript here")

    @answer_refusals(wire.LifecycleResult)
    async def stop(self, principal: Principal, worker_id: str, request: wire.StopRequest) -> wire.LifecycleResult:
        raise decline("worker_stop_pending", f"this runtime cannot stop the worker {worker_id!r}")

    @answer_refusals(wire.LifecycleResult)
    async def cancel(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        raise decline("worker_cancel_pending", f"this runtime cannot cancel the worker {worker_id!r}")

    @answer_refusals(wire.LifecycleResult)
    async def restore(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        raise decline("worker_restore_pending", f"this runtime cannot restore the worker {worker_id!r}")

    @answer_refusals(wire.LifecycleResult)
    async def delete(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        raise decline("worker_delete_pending", f"this runtime cannot delete the worker {worker_id!r}")

    async def events(self, principal: Principal, worker_id: str, after: int) -> AsyncIterator[Event]:
        """Events with a number greater than `after`, and then those that happen. What is wrong is raised before the first."""
        raise CapabilityUnsupported(self.runtime_id, "stream events")


def _choose_troubles(host: wire.HostSummary) -> list[wire.RuntimeDiagnostic]:
    return [said for said in host.diagnostics if said.severity != "info"]


def describe_abilities(verbs: tuple[str, ...], is_able: bool, limit: int, **facts: Any) -> wire.RuntimeCapabilities:
    """Of a runtime here, unless the facts say otherwise."""
    here = {"os": platform.system().lower(), "arch": platform.machine()}
    return wire.RuntimeCapabilities(**{**here, **dict.fromkeys(verbs, is_able), "max_workers": limit, **facts})


def intent_label(intent: wire.SpawnIntent) -> str:
    return f"ticket_{intent.role}" if isinstance(intent, wire.TicketIntent) else str(intent.__struct_config__.tag)


def rfc3339(at_ms: int) -> str:
    return datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC).isoformat(timespec="milliseconds")
