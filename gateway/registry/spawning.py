"""Spawning: how an embedded worker comes into being, once for each fingerprint.

Rules: a worker is a session and an entry in the book; if the entry cannot be written the session is taken back. Workers of a
tenant are made one at a time (`lock`), so that numbers, the count and fingerprints agree; of two processes that try, one is told
to try again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from gateway.errors import BadRequest, Conflict, GatewayError, NotFound, StoreFailed, Unsupported
from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.inputs import Turns
from gateway.registry.profiles import Profiles
from gateway.registry.projections import (
    CREATED,
    EXISTING,
    NOT_FOUND,
    STORE_ERROR,
    describe_problem,
    invalid,
    worker_summary,
)
from gateway.registry.runtime import Refusal
from gateway.registry.worker_records import Book, Counter, WorkerRecord
from gateway.stores.changes import AppendAudit
from sandbox.errors import RequestError

WORKERS_MAX: Final = 10_000


class Spawner:
    def __init__(
        self, runtime_id: str, book: Book, turns: Turns, profiles: Profiles, clock_ms: Callable[[], int], workers_max: int
    ) -> None:
        self._runtime_id, self._book, self._turns, self._profiles = runtime_id, book, turns, profiles
        self._clock_ms, self._workers_max = clock_ms, workers_max
        self._locks: dict[str, asyncio.Lock] = {}

    def lock(self, tenant: str) -> asyncio.Lock:
        """Held while a worker of the tenant is made or deleted."""
        return self._locks.setdefault(tenant, asyncio.Lock())

    async def spawn(self, principal: Principal, request: wire.SpawnRequest) -> wire.SpawnResult:
        said: list[wire.RuntimeDiagnostic] = []
        try:
            self._check(request, said)
            async with self.lock(principal.tenant):
                record, evidence = await self._find_or_make(principal, request)
        except Refusal as refused:
            return wire.SpawnResult(state="rejected", diagnostics=[*said, refused.said])
        shown = worker_summary(self._runtime_id, principal.tenant, record)
        return wire.SpawnResult(state="accepted", worker=shown, acceptance_evidence=evidence, diagnostics=said)

    def _check(self, request: wire.SpawnRequest, said: list[wire.RuntimeDiagnostic]) -> None:
        if isinstance(request.acceptance, wire.SocketReady):
            message = "embedded workers have nothing to connect to; ask for run_accepted"
            raise Refusal(wire.diagnostic("embedded_runtime_no_socket", "warning", message))
        if request.requested_worker_name is not None:
            message = "embedded workers get ids of their own; a requested name is not used"
            said.append(wire.diagnostic("embedded_worker_name_ignored", "info", message))
        if request.acceptance.expected_segments > 0:
            message = "an embedded worker waits for input; it begins no segments by itself"
            said.append(wire.diagnostic("embedded_runtime_tools_less", "info", message))

    async def _find_or_make(
        self, principal: Principal, request: wire.SpawnRequest
    ) -> tuple[WorkerRecord, list[wire.AcceptanceEvidence]]:
        """The worker that the same request has made before, or a new one."""
        digest = hashlib.sha256(msgspec.json.encode(request)).hexdigest()
        fingerprint = "" if request.fingerprint is None else hashlib.sha256(request.fingerprint.encode()).hexdigest()
        try:
            before = await self._book.fingerprint(principal.tenant, fingerprint) if fingerprint else None
            if before is None:
                return await self._make(principal, request, fingerprint, digest), CREATED
            if before["request"] != digest:
                raise invalid("this fingerprint was used for another request")
            record = await self._book.find(principal.tenant, before["worker_id"])
        except StoreFailed:
            raise Refusal(STORE_ERROR) from None
        except Conflict:
            raise invalid("another request of the same kind was made at the same time; try again") from None
        if record is None:
            raise Refusal(NOT_FOUND)
        return record, EXISTING

    async def _make(self, principal: Principal, request: wire.SpawnRequest, fingerprint: str, digest: str) -> WorkerRecord:
        tenant = principal.tenant
        counter = await self._book.counter(tenant)
        if counter.count >= self._workers_max:
            raise invalid(f"there are {counter.count} workers already; delete some")
        worker_id, now = f"worker-{counter.next:08x}", self._clock_ms()
        try:
            chosen = self._profiles.choose(request)
            place = await self._turns.open(principal, chosen, worker_id)
        except (BadRequest, NotFound, Unsupported, RequestError) as refused:
            raise invalid(describe_problem(refused.error.code, refused.error.message)) from None
        record = WorkerRecord(
            worker_id=worker_id, session_id=place.session_id, thread_id=place.thread_id, role=chosen.role, profile=chosen.name,
            language=chosen.language, entry=chosen.entry, labels=chosen.labels, fingerprint=fingerprint, created_at=now,
            updated_at=now,
        )  # fmt: skip
        audit = AppendAudit(
            at=now,
            kind="worker.spawn",
            actor=principal.name,
            subject=worker_id,
            data={"role": chosen.role, "profile": chosen.name},
        )
        following = Counter(next=counter.next + 1, count=counter.count + 1)
        try:
            return await self._book.create(tenant, record, following, digest, [audit])
        except GatewayError:
            await self._turns.close(principal, place)
            raise
