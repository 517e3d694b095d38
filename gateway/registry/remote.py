"""The remote runtime: a runtime of another gateway, over HTTP.

Rules: it is asked through `Client`, under a token of this tenant's; ids of workers are the other's, checked, and everything else
it says is shortened and cleaned before it is repeated. What goes wrong is a diagnostic with a `remote_…` code. A heartbeat says
how it is: while it is `unavailable`, lists answer at once and say so; what a caller wants of one worker is tried all the same.
A stream of events goes on over a restart of the other: it is opened again from the last number that was seen.
THREAT[TM-REG-REMOTE]: neither its address, nor its token, nor its own words about errors are told.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote

import msgspec

from gateway.egress.peer_gateway import Client, Reply, Unreachable
from gateway.errors import BadRequest
from gateway.events import Event
from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.errors import UnknownWorker, failed
from gateway.registry.identifiers import check_id, display_hint, is_id, make_id
from gateway.registry.runtime import (
    CONTROLLING,
    LOOKING,
    A,
    Refusal,
    Runtime,
    answer_refusals,
    describe_abilities,
    rfc3339,
)

BEAT_TIMEOUT_MS: Final = 3_000
MISSES_MAX: Final = 3
_FIRST_PAUSE_SECONDS: Final = 0.05
_LAST_PAUSE_SECONDS: Final = 2.0
_WORDS: Final = {
    "remote_runtime_auth_failed": "the remote runtime did not let us in",
    "remote_runtime_token_missing": "the secret with the token for the remote runtime is not there",
    "remote_worker_not_found": "the remote runtime has no such worker",
    "remote_runtime_unsupported": "the remote runtime cannot do this",
    "remote_runtime_http_error": "the remote runtime failed",
    "remote_runtime_http_rejected": "the remote runtime refused this",
    "remote_runtime_malformed_response": "the remote runtime's answer cannot be read",
    "remote_runtime_timeout": "the remote runtime did not answer in time",
    "remote_runtime_network_error": "the remote runtime cannot be reached",
    "remote_runtime_unavailable": "the remote runtime has not been heard of",
}
_WARNINGS: Final = ("remote_worker_not_found", "remote_runtime_unsupported", "remote_runtime_http_rejected")
_AWAY: Final = ("remote_runtime_timeout", "remote_runtime_network_error", "remote_runtime_http_error")
Health = Literal["available", "degraded", "unavailable"]
T = TypeVar("T")


class _Refused(Refusal):
    def __init__(self, code: str) -> None:
        said = wire.diagnostic(code, "warning" if code in _WARNINGS else "error", _WORDS[code])
        super().__init__(said, "unsupported" if code == "remote_runtime_unsupported" else "rejected")
        self.code = code


class Heartbeat:
    """From when a runtime was last heard of to how much it is to be trusted. Heard of lately and no beat missed since:
    `available`. A missed beat, or silence for a while: `degraded`. Three missed beats in a row, or long silence: `unavailable`.
    One beat makes it available again."""

    def __init__(self, clock_ms: Callable[[], int], *, degraded_ms: int = 15_000, unavailable_ms: int = 60_000) -> None:
        self._clock_ms = clock_ms
        self._degraded_ms, self._unavailable_ms = degraded_ms, unavailable_ms
        self._began_ms = clock_ms()
        self._misses = 0
        self.last_seen_ms: int | None = None

    def beat(self) -> None:
        self.last_seen_ms = self._clock_ms()
        self._misses = 0

    def miss(self) -> None:
        self._misses += 1

    @property
    def health(self) -> Health:
        silent_ms = self._clock_ms() - (self._began_ms if self.last_seen_ms is None else self.last_seen_ms)
        if self._misses >= MISSES_MAX or silent_ms >= self._unavailable_ms:
            return "unavailable"
        if self._misses or silent_ms >= self._degraded_ms:
            return "degraded"
        return "available"


class RemoteRuntime(Runtime):
    kind = "remote_worker_runtime"
    source = wire.RuntimeSource(kind="remote_http", note="a runtime of another gateway; where it is stays here")

    def __init__(
        self,
        runtime_id: str,
        client: Client,
        clock_ms: Callable[[], int],
        *,
        label: str = "",
        target: str = wire.EMBEDDED_RUNTIME,
    ) -> None:
        self.runtime_id = check_id("runtime_id", runtime_id)
        self._client, self._clock_ms = client, clock_ms
        self.label = display_hint(label) or "Remote Worker runtime"
        self._base = f"/v1/registry/runtimes/{check_id('runtime_id', target)}"
        self._host_id = make_id("remote-", runtime_id)
        self.heartbeat = Heartbeat(clock_ms)
        self._told: wire.RuntimeCapabilities | None = None

    # Asking

    async def beat(self) -> bool:
        """Is it there? What it says that it has is remembered."""
        return not any(said.code in _AWAY for said in await self.test())

    async def test(self) -> list[wire.RuntimeDiagnostic]:
        """Ask it now; what is wrong."""
        try:
            self._told = (await self._ask("GET", "", wire.RuntimeSummary, timeout_ms=BEAT_TIMEOUT_MS)).capabilities
        except _Refused as refused:
            return [refused.said]
        return []

    async def _ask(self, method: str, path: str, kind: type[T], json: Any = None, timeout_ms: int = 10_000) -> T:
        try:
            reply = await self._client.request(method, self._base + path, json=json, timeout_ms=timeout_ms)
        except Unreachable as unreachable:
            self.heartbeat.miss()
            raise _Refused(unreachable.code) from None
        if reply.status >= 500 and reply.status != 501:
            self.heartbeat.miss()
        else:
            self.heartbeat.beat()
        if reply.status >= 300:
            raise _Refused(_choose_code(reply))
        try:
            return msgspec.json.decode(reply.body, type=kind)
        except (msgspec.DecodeError, RecursionError):
            raise _Refused("remote_runtime_malformed_response") from None

    async def _ask_soon(self, path: str, kind: type[T]) -> T:
        """For lists: one that is known to be away is not waited for."""
        if self.heartbeat.health == "unavailable":
            raise _Refused("remote_runtime_unavailable")
        return await self._ask("GET", path, kind)

    # Looking

    @property
    def status(self) -> str:
        return self.heartbeat.health

    def host(self, tenant: str, limit: int) -> wire.HostSummary:
        health, seen_ms = self.heartbeat.health, self.heartbeat.last_seen_ms
        trouble = [wire.diagnostic("remote_runtime_degraded", "warning", f"the runtime is {health}")]
        return wire.HostSummary(
            runtime_id=self.runtime_id,
            host_id=self._host_id,
            label=self.label,
            kind=wire.REMOTE_HOST,
            status=health,
            observed_at=rfc3339(self._clock_ms()),
            last_seen_at=None if seen_ms is None else rfc3339(seen_ms),
            capabilities=describe_abilities(
                (*LOOKING, *CONTROLLING),
                health != "unavailable",
                limit if self._told is None else max(0, self._told.max_workers),
                has_shell=self._told is not None and self._told.has_shell,
                has_workspace_fs=self._told is not None and self._told.has_workspace_fs,
                local_pod_inspection="unavailable",
                workspace_scope="remote_runtime_backend_private",
                os="remote",
                arch="remote",
            ),
            diagnostics=[] if health == "available" else trouble,
        )

    async def workers(self, principal: Principal, limit: int, after: str | None = None) -> wire.Listing[wire.WorkerSummary]:
        if limit == 0:
            return wire.Listing(items=[])
        cursor = "" if after is None else f"&cursor={quote(after, safe='')}"
        try:
            found = await self._ask_soon(f"/workers?limit={limit}{cursor}", wire.Listing[wire.WorkerSummary])
        except _Refused as refused:
            return wire.Listing(items=[], diagnostics=[refused.said])
        items = [self._map_worker(worker) for worker in found.items[:limit] if is_id(worker.worker_id)]
        following = found.next if found.next is not None and len(found.next) <= 1024 else None
        return wire.Listing(items=items, diagnostics=_clean(found.diagnostics), next=following)

    async def worker(self, principal: Principal, worker_id: str) -> wire.WorkerLookup:
        try:
            found = await self._ask("GET", f"/workers/{worker_id}", wire.WorkerSummary)
        except _Refused as refused:
            return wire.WorkerLookup(diagnostics=[] if refused.code == "remote_worker_not_found" else [refused.said])
        return wire.WorkerLookup(worker=self._map_worker(msgspec.structs.replace(found, worker_id=worker_id)))

    def _map_worker(self, worker: wire.WorkerSummary) -> wire.WorkerSummary:
        return msgspec.structs.replace(
            worker,
            runtime_id=self.runtime_id,
            host_id=self._host_id,
            label=display_hint(worker.label),
            role=None if worker.role is None else display_hint(worker.role),
            profile=None if worker.profile is None else display_hint(worker.profile),
            workspace=wire.WorkerWorkspace(visibility="remote_runtime", identity="runtime_registry_worker"),
            state=display_hint(worker.state),
            status=display_hint(worker.status),
            last_seen_at=None if worker.last_seen_at is None else display_hint(worker.last_seen_at),
            implementation=wire.WorkerImplementation(kind="remote_worker_runtime", display_hint="worker of a remote runtime"),
            diagnostics=_clean(worker.diagnostics),
        )

    @answer_refusals(wire.Transcript, "start", "limit")
    async def transcript(self, principal: Principal, worker_id: str, start: int, limit: int) -> wire.Transcript:
        found = await self._ask("GET", f"/workers/{worker_id}/transcript?start={start}&limit={limit}", wire.Transcript)
        return self._adopt(found, worker_id)

    # Acting

    async def spawn(self, principal: Principal, request: wire.SpawnRequest) -> wire.SpawnResult:
        try:
            made = await self._ask("POST", "/workers", wire.SpawnResult, json=request)
        except _Refused as refused:
            return wire.SpawnResult(state=refused.state, diagnostics=[refused.said])
        if made.worker is not msgspec.UNSET and not is_id(made.worker.worker_id):
            return wire.SpawnResult(state="rejected", diagnostics=[_Refused("remote_runtime_malformed_response").said])
        return wire.SpawnResult(
            state=made.state,
            worker=made.worker if made.worker is msgspec.UNSET else self._map_worker(made.worker),
            acceptance_evidence=[
                wire.AcceptanceEvidence(kind=display_hint(evidence.kind), detail=display_hint(evidence.detail, 200))
                for evidence in made.acceptance_evidence[: wire.MAX_DIAGNOSTICS]
            ],
            diagnostics=_clean(made.diagnostics),
        )

    @answer_refusals(wire.InputResult)
    async def send_input(self, principal: Principal, worker_id: str, request: wire.InputRequest) -> wire.InputResult:
        done = await self._ask("POST", f"/workers/{worker_id}/input", wire.InputResult, json=request)
        return self._adopt(done, worker_id)

    async def stop(self, principal: Principal, worker_id: str, request: wire.StopRequest) -> wire.LifecycleResult:
        return await self._change(principal, worker_id, "POST", "/stop", request)

    async def cancel(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        return await self._change(principal, worker_id, "POST", "/cancel")

    async def restore(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        return await self._change(principal, worker_id, "POST", "/restore")

    async def delete(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        return await self._change(principal, worker_id, "DELETE", "")

    @answer_refusals(wire.LifecycleResult)
    async def _change(
        self, principal: Principal, worker_id: str, method: str, verb: str, request: Any = None
    ) -> wire.LifecycleResult:
        done = await self._ask(method, f"/workers/{worker_id}{verb}", wire.LifecycleResult, json=request)
        return self._adopt(done, worker_id)

    def _adopt(self, answer: A, worker_id: str) -> A:
        """An answer of the other's, as one of ours."""
        return msgspec.structs.replace(
            answer, runtime_id=self.runtime_id, worker_id=worker_id, diagnostics=_clean(answer.diagnostics)
        )

    # Events

    async def events(self, principal: Principal, worker_id: str, after: int) -> AsyncIterator[Event]:
        return self._stream(worker_id, after)

    async def _stream(self, worker_id: str, after: int) -> AsyncIterator[Event]:
        pause_seconds, is_told = _FIRST_PAUSE_SECONDS, False
        while True:
            try:
                async with self._client.events(f"{self._base}/workers/{worker_id}/events?cursor={after}") as (status, events):
                    self._check_stream(status, worker_id)
                    self.heartbeat.beat()
                    pause_seconds, is_told = _FIRST_PAUSE_SECONDS, False
                    async for event in events:
                        if event.kind == "error":
                            break
                        after = max(after, event.number)
                        yield event
                    else:
                        if not await self._is_there(worker_id):
                            return
            except Unreachable:
                self.heartbeat.miss()
            if not is_told:
                yield Event(0, "runtime", {"status": "degraded"})
                is_told = True
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LAST_PAUSE_SECONDS)

    def _check_stream(self, status: int, worker_id: str) -> None:
        if status >= 500 or status in (408, 429):
            raise Unreachable("remote_runtime_network_error")
        if status == 404:
            raise UnknownWorker(self.runtime_id, worker_id)
        if status == 400:
            raise BadRequest("INVALID_CURSOR", "the remote runtime does not know this cursor", "begin at 0")
        if status >= 300:
            code = _choose_code(Reply(status, b""))
            raise failed(code, _WORDS[code])

    async def _is_there(self, worker_id: str) -> bool:
        """The stream ended in good order: because the worker is gone, or because the other gateway stops."""
        try:
            await self._ask("GET", f"/workers/{worker_id}", msgspec.Raw)
        except _Refused as refused:
            return refused.code != "remote_worker_not_found"
        return True


def _choose_code(reply: Reply) -> str:
    if reply.status in (401, 403):
        return "remote_runtime_auth_failed"
    if reply.status == 404:
        return "remote_worker_not_found"
    if reply.status in (405, 501):
        return "remote_runtime_unsupported"
    return "remote_runtime_http_error" if reply.status >= 500 else "remote_runtime_http_rejected"


def _clean(said: list[wire.RuntimeDiagnostic]) -> list[wire.RuntimeDiagnostic]:
    return [
        wire.diagnostic(display_hint(problem.code), problem.severity, display_hint(problem.message, 200))
        for problem in said[: wire.MAX_DIAGNOSTICS]
    ]
