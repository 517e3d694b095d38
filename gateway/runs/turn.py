"""A turn: one run on its way, with what is to be stored about it. `gateway.runs.runs` shows the way itself."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest, GatewayError
from gateway.events import Feed
from gateway.policies.gate import language_name, refusal
from gateway.records import Principal, Record, Run, Session
from gateway.runs.calls import CallContext
from gateway.runs.cancellation import Stop, Stopped
from gateway.runs.results import INTERRUPTED
from gateway.sessions.live import Live
from gateway.stores.changes import AppendAudit, Change
from gateway.telemetry import step
from policy import Decision, PolicyError
from sandbox.errors import RequestError, SetupError
from sandbox.languages import LANGUAGES
from sandbox.limits import lower
from sandbox.wire import MAX_STARTED_BYTES, ErrorObject, Language, OnLimit, RunRequest, RunStatus, SessionLimits


class RunBody(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client sends. Everything but the code has a default. `stdin_base64` is for an input that is no text."""

    code: str
    language: Language | None = None
    inputs: dict[str, Any] = {}
    timeout_ms: Annotated[int, Meta(ge=1)] | None = None
    limits: SessionLimits | None = None
    return_snapshot: bool = False
    validate_only: bool = False
    stdin: str = ""
    stdin_base64: Annotated[str, Meta(pattern="^[A-Za-z0-9+/]*={0,2}$")] = ""
    filename: str | None = None
    env: dict[str, str] = {}
    on_limit: OnLimit = OnLimit.UNDO


@dataclass(eq=False, slots=True)
class Turn(CallContext):
    """One run on its way, and what its calls are made in. `body` is what is run: a hook may have rewritten it. `is_resumed`: the
    run has waited for an approval, and continues. `is_elsewhere`: its program runs in the thread that the session is bound to.
    `begun_under` is the digest of the policy that permitted it to begin, `requests` what asks for its approvals."""

    live: Live
    record: Run
    body: RunBody
    feed: Feed
    stop: Stop
    is_resumed: bool = False
    is_stored: bool = False
    is_elsewhere: bool = False
    decision: Decision | None = None
    begun_under: str = ""
    requests: tuple[Change, ...] = ()

    def mark_stored(self) -> None:
        """The run is in the store, and its audit with it."""
        self.is_stored = True
        self.audit.clear()

    @property
    def has_asked(self) -> bool:
        """Whether approvals of the run may be pending, or approved and not used."""
        return self.is_resumed or bool(self.approvals)

    @property
    def language(self) -> Language:
        return self.body.language or self.live.record.language

    @property
    def thread_id(self) -> str | None:
        """Of the thread that the program runs in, if it is not run in the sandbox."""
        is_there = self.language is Language.SHELL and not self.body.validate_only
        return self.live.record.thread_id if is_there else None

    def ask_policy(self, code: str) -> Decision:
        """What the policy says about running `code` here."""
        return self.gate.decide("run", {"language": language_name(self.language), "bytes": measure(code)})

    def find_startable(self, decision: Decision) -> list[Language]:
        """THREAT[TM-POL-START]: the languages in which this program may start others: those whose programs, of the size that may
        be started, the policy permits on the terms of this one. Rates, limits and hooks are not looked at again for each."""
        return [
            language
            for language in LANGUAGES
            if self.gate.permits_alike("run", {"language": language_name(language), "bytes": MAX_STARTED_BYTES}, decision)
        ]

    def decide(self) -> Decision:
        """May this program be run here, and how? A refusal is audited now, anything else with the run. If an approver must see
        it, `gateway.runs.permission` asks."""
        with step("policy.decide"):
            decision = self.decision = self.ask_policy(self.body.code)
        if decision.verdict == "deny":
            self.note("decision", self.record.id, **self.decided)
            raise refusal("run", decision)
        return decision

    def recheck(self, data: Mapping[str, Any]) -> str | None:
        """Asked after every hook that rewrote the run: may it still be run?"""
        decision = self.ask_policy(data["code"])
        return refusal("run", decision).error.message if decision.verdict == "deny" else None

    @property
    def asked_limits(self) -> SessionLimits | None:
        """The limits that the request itself asks for, if any."""
        body, own = self.body, self.live.record.limits
        if body.timeout_ms is not None:
            return msgspec.structs.replace(body.limits or own, wall_ms=body.timeout_ms)
        return body.limits

    @property
    def decided(self) -> dict[str, str]:
        """What the policy said about the run, for the audit."""
        decision = self.decision
        if decision is None:
            return {}
        return {"event": "run", "verdict": decision.verdict, "rule": decision.rule, "policy": self.gate.policy.digest}

    def audit_end(self, status: RunStatus, **more: Any) -> AppendAudit:
        """How the run ended, for the audit: to be stored together with the run."""
        data = {"session": self.record.session_id, "status": status.value, "code": self.record.code_digest, **more}
        data["decision"] = self.decided
        return AppendAudit(at=self._clock_ms(), kind="run", actor=self.principal.name, subject=self.record.id, data=data)


@contextlib.contextmanager
def audit_ending(turn: Turn) -> Iterator[None]:
    """THREAT[TM-AUDIT-LOSS]: what a run has done is audited however it ends, also when its worker dies or its caller disconnects:
    then there is no run to store it with."""
    try:
        yield
    except BaseException as error:
        is_ended_elsewhere = turn.is_resumed and turn.stop.is_asked  # by `Suspension.end`
        is_decided = turn.decision is not None
        if is_decided and not turn.is_stored and not is_ended_elsewhere and not isinstance(error, GatewayError):
            is_stopped = isinstance(error, (asyncio.CancelledError, Stopped))
            turn.audit.append(turn.audit_end(turn.stop.ends_as if is_stopped else RunStatus.INTERRUPTED))
            turn.stop.is_audited = True
        for record in turn.audit:
            turn.gate.audit(record)
        raise


def measure(code: str) -> int:
    return len(code.encode("utf-8", "surrogatepass"))


def describe_error(error: BaseException) -> ErrorObject:
    """What a caller may know of an error."""
    if isinstance(error, (GatewayError, RequestError)):
        return error.error
    if isinstance(error, PolicyError):
        return ErrorObject(code="POLICY_INVALID", message=str(error)[:1000])
    if isinstance(error, SetupError):
        return ErrorObject(code="NOT_READY", message="the language is not ready here yet", hint="see /readyz")
    if isinstance(error, Stopped) and error.ends_as is RunStatus.INTERRUPTED:
        return INTERRUPTED
    if isinstance(error, (asyncio.CancelledError, Stopped)):
        return ErrorObject(code="CANCELLED", message="the run was cancelled")
    return ErrorObject(code="INTERNAL", message="the run could not be carried out")


def is_refusal(error: Exception) -> bool:
    """Whether the worker did not begin the program. An answer that was too large is no refusal, nor is a failure."""
    if isinstance(error, RequestError):
        return error.error.code != "RESULT_TOO_LARGE"
    return isinstance(error, (Stopped, SetupError))


def make_record(principal: Principal, session: Session, body: RunBody, run_id: str, state: Any, now: int) -> Run:
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


def make_request(session: Session, body: RunBody, limits: SessionLimits, starts: list[Language]) -> RunRequest:
    """What the worker is asked. The policy's limits are the ceiling; the request may lower them. `starts`: the languages in
    which the program may start others."""
    ours: dict[str, Any] = {"session_id": session.id, "language": body.language or session.language, "starts": starts}
    ours |= {"limits": lower(limits, body.limits, body.timeout_ms), "timeout_ms": None, "return_snapshot": False}
    return RunRequest(**{**msgspec.structs.asdict(body), **ours})
