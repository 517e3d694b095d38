"""Spawning: how an embedded worker comes into being, once for each fingerprint.

Rules: a worker is a session and an entry in the book; if the entry cannot be written the session is taken back. Workers of a
tenant are made one at a time (`lock`), so that numbers, the count and fingerprints agree; of two processes that try, one is told
to try again.

Does not know: what workers do.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from gateway.errors import Conflict, GatewayError, StoreFailed
from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.identifiers import embedded_host_id
from gateway.registry.input_runs import Turns
from gateway.registry.projections import worker_summary
from gateway.registry.transcript_text import EVIDENCE, invalid, not_found, reject_spawn, role_and_profile, store_error
from gateway.registry.worker_records import Book, Counter, WorkerRecord
from gateway.stores.changes import AppendAudit

WORKERS_MAX: Final = 10_000


class Spawner:
    def __init__(self, runtime_id: str, book: Book, turns: Turns, clock_ms: Callable[[], int], workers_max: int) -> None:
        self._runtime_id, self._book, self._turns = runtime_id, book, turns
        self._clock_ms, self._workers_max = clock_ms, workers_max
        self._locks: dict[str, asyncio.Lock] = {}

    def lock(self, tenant: str) -> asyncio.Lock:
        """Held while a worker of the tenant is made or deleted."""
        return self._locks.setdefault(tenant, asyncio.Lock())

    def _show(self, principal: Principal, record: WorkerRecord) -> wire.WorkerSummary:
        return worker_summary(self._runtime_id, embedded_host_id(principal.tenant), record)

    async def spawn(self, principal: Principal, request: wire.SpawnRequest) -> wire.SpawnResult:
        said: list[wire.RuntimeDiagnostic] = []
        if isinstance(request.acceptance, wire.SocketReady):
            message = "embedded workers have nothing to connect to; ask for run_accepted"
            return reject_spawn([wire.diagnostic("embedded_runtime_no_socket", "warning", message)])
        if request.requested_worker_name is not None:
            message = "embedded workers get ids of their own; a requested name is not used"
            said.append(wire.diagnostic("embedded_worker_name_ignored", "info", message))
        if request.acceptance.expected_segments > 0:
            message = "an embedded worker waits for input; it begins no segments by itself"
            said.append(wire.diagnostic("embedded_runtime_tools_less", "info", message))
        try:
            async with self.lock(principal.tenant):
                return await self._spawn(principal, request, said)
        except StoreFailed:
            return reject_spawn([*said, store_error()])
        except Conflict:
            return reject_spawn([*said, invalid("another request of the same kind was made at the same time; try again")])

    async def _spawn(
        self, principal: Principal, request: wire.SpawnRequest, said: list[wire.RuntimeDiagnostic]
    ) -> wire.SpawnResult:
        tenant, fingerprint = principal.tenant, ""
        request_digest = hashlib.sha256(msgspec.json.encode(request)).hexdigest()
        if request.fingerprint is not None:
            fingerprint = hashlib.sha256(request.fingerprint.encode()).hexdigest()
            before = await self._book.fingerprint(tenant, fingerprint)
            if before is not None:
                return await self._spawned_before(principal, before, request_digest, said)
        counter = await self._book.counter(tenant)
        if counter.count >= self._workers_max:
            return reject_spawn([*said, invalid(f"there are {counter.count} workers already; delete some")])
        worker_id, now = f"worker-{counter.next:08x}", self._clock_ms()
        role, profile = role_and_profile(request.intent)
        place = await self._turns.open(principal, request.language, worker_id)
        record = WorkerRecord(
            worker_id=worker_id,
            session_id=place,
            role=role,
            profile=profile,
            language=request.language,
            fingerprint=fingerprint,
            created_at=now,
            updated_at=now,
        )
        audit = AppendAudit(at=now, kind="worker.spawn", actor=principal.name, subject=worker_id, data={"role": role})
        following = Counter(next=counter.next + 1, count=counter.count + 1)
        try:
            record = await self._book.create(tenant, record, following, request_digest, [audit])
        except GatewayError:
            await self._turns.close(principal, place)
            raise
        shown = self._show(principal, record)
        return wire.SpawnResult(state="accepted", worker=shown, acceptance_evidence=EVIDENCE, diagnostics=said)

    async def _spawned_before(
        self, principal: Principal, before: dict[str, str], request_digest: str, said: list[wire.RuntimeDiagnostic]
    ) -> wire.SpawnResult:
        """The same request once more: the worker it has made."""
        if before["request"] != request_digest:
            return reject_spawn([*said, invalid("this fingerprint was used for another request")])
        record = await self._book.find(principal.tenant, before["worker_id"])
        if record is None:
            return reject_spawn([*said, not_found()])
        evidence = wire.AcceptanceEvidence(
            kind="embedded_runtime_worker_existing", detail="this request has made the worker before"
        )
        shown = self._show(principal, record)
        return wire.SpawnResult(state="accepted", worker=shown, acceptance_evidence=[evidence, EVIDENCE[1]], diagnostics=said)
