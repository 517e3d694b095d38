"""What a runtime is, and what one that cannot do something says.

Rules: every method names who asks; a runtime shows a tenant only what is that tenant's. What a runtime does not override it does
not support, and says so with the contract's codes. A runtime's own trouble is a diagnostic in its answer, not an exception: one
broken runtime does not hide the others.

Does not know: HTTP, the registry.
"""

from __future__ import annotations

import datetime
import platform
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from gateway.events import Event
from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.errors import CapabilityUnsupported

OS, ARCH = platform.system().lower(), platform.machine()


class Runtime(ABC):
    runtime_id: str

    @abstractmethod
    async def summary(self, principal: Principal, limit: int) -> wire.RuntimeSummary: ...

    @abstractmethod
    async def hosts(self, principal: Principal, limit: int) -> wire.Listing[wire.HostSummary]: ...

    @abstractmethod
    async def workers(self, principal: Principal, limit: int, after: str | None = None) -> wire.Listing[wire.WorkerSummary]:
        """`after` is the `next` of the listing before."""

    @abstractmethod
    async def worker(self, principal: Principal, worker_id: str) -> wire.WorkerLookup: ...

    async def spawn(self, principal: Principal, request: wire.SpawnRequest) -> wire.SpawnResult:
        message = f"the intent {intent_label(request.intent)!r} is understood, but nothing is launched by this runtime"
        return wire.SpawnResult(
            state="unsupported", diagnostics=[wire.diagnostic("worker_spawn_resolver_pending", "info", message)]
        )

    async def send_input(self, principal: Principal, worker_id: str, request: wire.InputRequest) -> wire.InputResult:
        said = wire.diagnostic("worker_input_pending", "info", f"the worker {worker_id!r} takes no input through this runtime")
        return wire.InputResult(state="unsupported", runtime_id=self.runtime_id, worker_id=worker_id, diagnostics=[said])

    async def transcript(self, principal: Principal, worker_id: str, start: int, limit: int) -> wire.Transcript:
        said = wire.diagnostic("worker_transcript_pending", "info", f"the worker {worker_id!r} shows no transcript here")
        return wire.Transcript(
            state="unsupported",
            runtime_id=self.runtime_id,
            worker_id=worker_id,
            start=start,
            limit=limit,
            diagnostics=[said],
        )

    async def stop(self, principal: Principal, worker_id: str, request: wire.StopRequest) -> wire.LifecycleResult:
        return self._decline(worker_id, "stop")

    async def cancel(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        return self._decline(worker_id, "cancel")

    async def restore(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        return self._decline(worker_id, "restore")

    async def delete(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        return self._decline(worker_id, "delete")

    async def events(self, principal: Principal, worker_id: str, after: int) -> AsyncIterator[Event]:
        """Events with a number greater than `after`, and then those that happen. What is wrong is raised before the first."""
        raise CapabilityUnsupported(self.runtime_id, "stream events")

    def proxy_points(self, worker_id: str) -> list[wire.ProxyPoint]:
        return wire.proxy_points(worker_id)

    async def close(self) -> None:
        """The service stops."""
        return None

    def _decline(self, worker_id: str, verb: str) -> wire.LifecycleResult:
        said = wire.diagnostic(f"worker_{verb}_pending", "info", f"this runtime cannot {verb} the worker {worker_id!r}")
        return wire.LifecycleResult(state="unsupported", runtime_id=self.runtime_id, worker_id=worker_id, diagnostics=[said])


def intent_label(intent: wire.SpawnIntent) -> str:
    if isinstance(intent, wire.TicketIntent):
        return f"ticket_{intent.role}"
    return "workspace_companion" if isinstance(intent, wire.WorkspaceCompanion) else "workspace_orchestrator"


def rfc3339(at_ms: int) -> str:
    return datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC).isoformat(timespec="milliseconds")
