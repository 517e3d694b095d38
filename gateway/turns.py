"""Turns: one run on its way, and the small pure steps of it.

Rules: data and translation only; `gateway.runs` shows the way itself.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from gateway.calls import CallContext
from gateway.errors import BadRequest, GatewayError
from gateway.events import Feed
from gateway.hooks.events import HookEvent
from gateway.policies import Gate, language_name, now_ms, refusal
from gateway.records import Principal, Record, Run, Session
from gateway.sessions import Live
from gateway.stores.interface import AppendAudit
from policy import Decision
from sandbox.errors import RequestError
from sandbox.wire import ErrorObject, Language, RunRequest, SessionLimits
from sandbox.workers.interface import FileChanges

T = TypeVar("T")


class RunBody(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client sends. Everything but the code has a default."""

    code: str
    language: Language | None = None
    inputs: dict[str, Any] = {}
    timeout_ms: int | None = None
    limits: SessionLimits | None = None
    return_snapshot: bool = False
    validate_only: bool = False
    stdin: str = ""
    filename: str | None = None
    env: dict[str, str] = {}


class Turn:
    """One run on its way: who, where, under which gate, and what is to be written down about it."""

    __slots__ = ("audit", "body", "decided", "feed", "gate", "left", "live", "principal", "record")

    def __init__(self, principal: Principal, live: Live, gate: Gate, record: Run, body: RunBody, feed: Feed) -> None:
        self.principal = principal
        self.live = live
        self.gate = gate
        self.record = record
        self.body = body
        self.feed = feed
        self.audit: list[AppendAudit] = []
        self.decided: dict[str, str] = {}
        """What the policy said about the run, for the audit."""
        self.left: list[FileChanges] = []

    def context(self) -> CallContext:
        """What its capability calls are made in."""
        return CallContext(
            principal=self.principal,
            session=self.live.record,
            run_id=self.record.id,
            gate=self.gate,
            note=self.note,
            left=self.left,
        )

    def note(self, kind: str, subject: str, **data: Any) -> None:
        self.audit.append(AppendAudit(at=now_ms(), kind=kind, actor=self.principal.name, subject=subject, data=data))


class RunGate:
    """Asked after every hook that rewrote a run: may it still be run?"""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    async def check(self, event: HookEvent, data: Mapping[str, Any]) -> str | None:
        turn = self._turn
        language = language_name(turn.body.language or turn.live.record.language)
        decision = turn.gate.decide("run", {"language": language, "bytes": size_of(data["code"])})
        if decision.verdict == "allow" or decision.auto is not None:
            return None
        return refusal("run", decision).error.message


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What was run is stored even if its caller goes away meanwhile: memory and store must agree."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def size_of(code: str) -> int:
    return len(code.encode("utf-8", "surrogatepass"))


def error_of(error: BaseException) -> ErrorObject:
    """What a caller may know of it."""
    if isinstance(error, (GatewayError, RequestError)):
        return error.error
    if isinstance(error, asyncio.CancelledError):
        return ErrorObject(code="CANCELLED", message="the run was cancelled")
    return ErrorObject(code="INTERNAL", message="the run could not be carried out")


def may_stream(decision: Decision) -> bool:
    """THREAT[TM-HOOK-STREAM]: output that a hook may redact is shown to nobody before the hook has."""
    return all(hook.phase != "after" for hook in decision.hooks)


def new_record(principal: Principal, session: Session, body: RunBody, run_id: str, state: Any) -> Run:
    now = now_ms()
    try:
        code = body.code.encode()
    except UnicodeEncodeError:
        raise BadRequest("INVALID_ARGUMENT", "the code is not valid Unicode") from None
    return Run(
        id=run_id,
        tenant=session.tenant,
        session_id=session.id,
        language=body.language or session.language,
        state=state,
        code_digest=hashlib.sha256(code).hexdigest(),
        policy=session.policy,
        user=principal.name,
        created_at=now,
        updated_at=now,
    )


def request_of(session: Session, body: RunBody, limits: SessionLimits) -> RunRequest:
    """What the worker is asked. The policy's limits are the ceiling; the request may lower them."""
    asked = body.limits or limits
    lowest = SessionLimits(**{name: min(getattr(asked, name), getattr(limits, name)) for name in SessionLimits.__struct_fields__})
    return RunRequest(
        session_id=session.id,
        language=body.language or session.language,
        code=body.code,
        inputs=body.inputs,
        return_snapshot=False,
        validate_only=body.validate_only,
        timeout_ms=body.timeout_ms,
        limits=lowest,
        stdin=body.stdin,
        filename=body.filename,
        env=body.env,
    )
