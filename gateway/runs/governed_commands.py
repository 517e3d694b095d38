"""Governed commands: what policy, hooks and audit have to say about a command, whatever place it runs in.

    decide → hooks before → decide again → count → approve → write down → run → hooks after → write down → answer

Rules: a command is a program, so the policy's `run` decides about it, for the thread as for a session; the facts of sessions
are unknown, and so have the catalog's cautious defaults. What an approver must see waits in the store
(`gateway.runs.waiting_commands`) and is begun when it has been approved, as hooks have left it. The policy's limits are a ceiling
on what the command asks for. Hooks see the command line as `code`, may rewrite it, and run in an empty session of their own: the
place itself is none of theirs, and files they write are thrown away. Output that a hook may redact is shown to no caller before
it has been.

A command that is to last (`on_restart`) is stored before it begins. The next gateway asks the policy in force again: one that is
kept is then watched on, or ended; one that is begun again goes the whole way.

A failure of policy, hook or audit refuses, visibly. THREAT[TM-RUN-UNSEEN]: a command is in the audit log before it is begun, and
its end follows, also if the caller has left.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import posixpath
import shlex
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from gateway.capabilities.policy_gates import gate_connections
from gateway.clock import SteadyClock, now_ms
from gateway.errors import Forbidden, GatewayError, Unavailable
from gateway.hooks.events import HookEvent
from gateway.hooks.hook_store import HookStore
from gateway.ids import uuid7
from gateway.policies.gate import Gate, is_permitted, refusal
from gateway.policies.in_force import Policies
from gateway.records import Principal, Session
from gateway.runners.bindings import make_relative
from gateway.runners.command_life import After, Oversight, Tracked, check_path
from gateway.runners.errors import display, in_use, invalid, outside, stale
from gateway.runners.runner_session import RunnerSession
from gateway.runners.stored_runners import LastingCommand, StoredRunners
from gateway.runners.wire import DEFAULT_TIMEOUT_MS, MAX_OUTPUT_BYTES, Command, CommandResult, SnapshotRef
from gateway.runs.approvals import Approvals, Asking
from gateway.runs.waiting_commands import WaitingCommand, WaitingCommands, describe_asked, digest_place
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import AppendAudit, Change
from gateway.stores.pages import walk
from gateway.stores.store import Store
from policy import Decision
from sandbox.capabilities.registry import ToolError
from sandbox.errors import RequestError
from sandbox.languages import LANGUAGE_OF_COMMAND, NAME_OF
from sandbox.wire import Language
from sandbox.workers.interface import Opening, WorkerLost, Workers

_log = logging.getLogger("hatchway.runners")


class Service(Protocol):
    """The parts of the service that are needed here."""

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> SteadyClock: ...
    @property
    def workers(self) -> Workers: ...
    @property
    def sessions(self) -> Sessions: ...
    @property
    def policies(self) -> Policies: ...
    @property
    def hooks(self) -> HookStore: ...
    @property
    def runners(self) -> StoredRunners: ...
    @property
    def approvals(self) -> Approvals: ...
    @property
    def waiting(self) -> WaitingCommands: ...


class Governor:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def gate(self, principal: Principal, thread_id: str) -> tuple[Gate, Session]:
        """The policy in force, as it meets a thread; and the thread as policies and hooks see it."""
        tenant = await self._service.sessions.tenant(principal.tenant)
        policies, now = self._service.policies, self._service.clock.now_ms()
        digest = (await policies.find_active(tenant.id)).digest
        thread = Session(
            id=thread_id, tenant=tenant.id, user=principal.user, language=Language.SHELL, policy=digest,
            created_at=now, updated_at=now, last_used_at=now,
        )  # fmt: skip
        return await policies.gate(tenant, thread, principal), thread

    async def require_path(self, principal: Principal, thread_id: str, event: str, path: str, **more: Any) -> tuple[Gate, str]:
        """Asks the policy about the path as programs see it (`/workspace/…`), and returns both. A path outside of what the thread
        may reach is refused before."""
        binding = (await self._service.runners.pool.lease(principal.tenant, thread_id)).binding
        check_path(path)
        top = binding.workspace.rstrip("/")
        full = posixpath.normpath(posixpath.join(top or "/", path))
        below = make_relative(top, full)
        if below is None and (event != "fs.read" or all(make_relative(root, full) is None for root in binding.read_roots)):
            raise outside(path, thread_id)
        seen = full if below is None else posixpath.normpath(f"/workspace/{below}")  # a read root: the policy must name it
        gate, _ = await self.gate(principal, thread_id)
        gate.require(event, {"path": seen, **more})
        return gate, seen

    async def start(self, principal: Principal, thread_id: str, command: Command) -> Tracked | WaitingCommand:
        """The whole way of a command. Its id is claimed on this way, also while hooks see it or its session is made, or while it
        waits for an approval."""
        tenant, waiting = principal.tenant, self._service.waiting
        with self._service.runners.claim_command(tenant, thread_id, command.command_id):
            before = await waiting.find(tenant, thread_id, command.command_id)
            if before is not None and before.refused is None:
                raise in_use(command.command_id)
            turn = await self._turn(principal, thread_id)
            decision, original = turn.decide(command), command
            command, decision = await turn.prepare(command, decision)
            asked = WaitingCommand(
                thread_id=thread_id, wait_id=uuid7(), asked=original, command=command, asker=principal,
                since_ms=self._service.clock.now_ms(),
                place=digest_place((await self._service.runners.pool.lease(tenant, thread_id)).binding),
            )  # fmt: skip
            try:
                return await self._begin(turn, asked, decision)
            except Asking as asking:
                asked = msgspec.structs.replace(asked, approvals=tuple(one.id for one in asking.approvals))
                await waiting.put(tenant, asked)
                return asked

    async def go_on(self, tenant: str, asked: WaitingCommand) -> None:
        """Begin a command that has waited: decided again, under the policy that is in force now. Its hooks have seen it."""
        with self._service.runners.claim_command(tenant, asked.thread_id, asked.command.command_id):
            binding = (await self._service.runners.pool.lease(tenant, asked.thread_id)).binding
            if digest_place(binding) != asked.place:
                raise Forbidden("PERMISSION_DENIED", "the thread was bound to another place while the command waited")
            turn = await self._turn(asked.asker, asked.thread_id)
            try:
                await self._begin(turn, asked, turn.decide(asked.command))
            except Asking as asking:
                known = {*asked.approvals, *(one.id for one in asking.approvals)}
                await self._service.waiting.put(tenant, msgspec.structs.replace(asked, approvals=tuple(sorted(known))))
            except GatewayError as refused:
                if not turn.is_begun:
                    raise
                await self._service.waiting.put(tenant, msgspec.structs.replace(asked, refused=refused.error))

    async def _turn(self, principal: Principal, thread_id: str) -> _Turn:
        gate, thread = await self.gate(principal, thread_id)
        return _Turn(self._service, principal, thread, gate)

    async def _begin(self, turn: _Turn, asked: WaitingCommand, decision: Decision) -> Tracked:
        """Raises `Asking` if an approver must still decide."""
        command, thread = bound_limits(asked.command, decision), turn.thread
        counted = turn.gate.count("run", decision)
        try:
            await turn.begin(command, decision, asked)
        except Asking:
            counted.give_back()  # it counts when it is begun
            raise
        runners, after = self._service.runners, None
        try:
            if command.on_restart != "end":
                after = await self._store(turn, asked.asked, command)
            oversight = await turn.oversee(command, decision, after)
            begun = await runners.start(thread.tenant, thread.id, command, oversight)
        except GatewayError as refused:
            turn.fail(command, refused)
            if after is not None:
                await after()
            raise
        begun.task.add_done_callback(lambda _: turn.conclude(begun))
        return begun

    async def _store(self, turn: _Turn, asked: Command, command: Command) -> After:
        """The next gateway comes back to it, until it has ended."""
        thread_id, principal = turn.thread.id, turn.principal
        session = await self._service.runners.use(principal.tenant, thread_id)
        session._check(command)
        lasting = LastingCommand(
            thread_id=thread_id,
            session_id=session.id,
            principal=principal,
            asked=asked,
            command=command,
            started_ms=now_ms(),  # by the clock that its session ends it by, in the next gateway too
            policy=turn.gate.policy.digest,
        )
        await self._service.runners.lasting.put(lasting)
        return partial(self._service.runners.lasting.delete, lasting)

    async def resume(self, tenant: str | None = None) -> None:
        """When the gateway starts, or claims a tenant: come back to the commands that were to last."""
        found = [one async for one in self._service.runners.lasting.list(tenant)]
        await asyncio.gather(*(self._resume(one) for one in found))

    async def _resume(self, lasting: LastingCommand) -> None:
        tenant, thread_id, runners = lasting.principal.tenant, lasting.thread_id, self._service.runners
        try:
            state = (await runners.pool.lease(tenant, thread_id)).state
            if state is None or state.session_id != lasting.session_id:
                raise stale(lasting.session_id)
            session = await runners.use(tenant, thread_id)
            if session.id != lasting.session_id:
                raise stale(lasting.session_id)
            if lasting.command.on_restart == "keep":
                await self._watch_on(lasting, session)
            else:
                await self._require_token(lasting.principal)
                begun = await self.start(lasting.principal, thread_id, lasting.asked)  # stored again, in the place of this one
                if isinstance(begun, WaitingCommand):
                    await runners.lasting.delete(lasting)
        except GatewayError as failed:
            _log.warning("a command of %s that was to last could not be resumed: %s", tenant, failed)
            if not isinstance(failed, Unavailable):  # its place may be there again the next time
                await runners.lasting.delete(lasting)

    async def _require_token(self, principal: Principal) -> None:
        """THREAT[TM-HTTP-TOKEN]: what was begun with a token that was revoked since does not last."""
        async for stored in walk(self._service.store.tokens, principal.tenant):
            if stored.token.id == principal.token_id and stored.token.revoked_at is not None:
                raise Forbidden("PERMISSION_DENIED", "the token that the command was begun with was revoked")

    async def _watch_on(self, lasting: LastingCommand, session: RunnerSession) -> None:
        """What the policy in force refuses is ended, and what was begun with a token that was revoked."""
        gate, thread = await self.gate(lasting.principal, lasting.thread_id)
        turn, command = _Turn(self._service, lasting.principal, thread, gate), lasting.command
        after = partial(self._service.runners.lasting.delete, lasting)
        start = partial(session.start, command, resumed_ms=lasting.started_ms)
        try:
            await self._require_token(lasting.principal)
            decision = turn.decide(command)
            if not is_permitted(decision) and gate.policy.digest != lasting.policy:
                raise refusal("run", decision)  # what an approver permitted was permitted under another policy
            await turn.begin(command, decision, status="resumed")
            oversight = await turn.oversee(command, decision, after)
        except GatewayError:
            start(Oversight(after=after, streams=False)).control.ask("cancelled")
            raise
        begun = start(oversight)
        begun.task.add_done_callback(lambda _: turn.conclude(begun))

    async def snapshot(self, principal: Principal, thread_id: str) -> SnapshotRef | None:
        """As large as it may be: its size is not known before."""
        gate, _ = await self.gate(principal, thread_id)
        gate.require("snapshot.take", {"bytes": 0})
        return await self._service.runners.snapshot(principal.tenant, thread_id)


def language_of(command: Command) -> str:
    name = command.program.rpartition("/")[2]
    name = "python" if name.startswith("python") else "node" if name == "nodejs" else name
    return NAME_OF[LANGUAGE_OF_COMMAND.get(name, Language.SHELL)]


def bound_limits(command: Command, decision: Decision) -> Command:
    """The command, with the policy's limits as the ceiling of its own."""
    most = dict(decision.limits)
    lower: dict[str, int] = {}
    for field, limit, default in (
        ("timeout_ms", "wall_ms", DEFAULT_TIMEOUT_MS),
        ("max_output_bytes", "output_bytes", MAX_OUTPUT_BYTES),
        ("cpu_ms", "cpu_ms", None),
        ("memory_bytes", "memory_bytes", None),
    ):
        asked = getattr(command, field) if getattr(command, field) is not None else default
        if limit in most and (asked is None or most[limit] < asked):
            lower[field] = most[limit]
    return msgspec.structs.replace(command, **lower) if lower else command


class _Turn:
    """One command on its way."""

    def __init__(self, service: Service, principal: Principal, thread: Session, gate: Gate) -> None:
        self._service, self.principal, self.thread, self.gate = service, principal, thread, gate
        self._audit: list[AppendAudit] = []
        self.is_begun = self._is_ended = False

    def note(self, kind: str, subject: str, **data: Any) -> None:
        now = self._service.clock.now_ms()
        self._audit.append(AppendAudit(at=now, kind=kind, actor=self.principal.name, subject=subject, data=data))

    def _describe(self, decision: Decision) -> dict[str, Any]:
        return {"event": "run", "verdict": decision.verdict, "rule": decision.rule, "policy": self.gate.policy.digest}

    def decide(self, command: Command) -> Decision:
        size = sum(len(text.encode("utf-8", "replace")) for text in (command.program, *command.args, command.stdin))
        decision = self.gate.decide("run", {"language": language_of(command), "bytes": size})
        if decision.verdict != "deny":
            return decision
        self.note("decision", self.thread.id, **self._describe(decision))
        self._flush()
        raise refusal("run", decision)

    def _flush(self) -> None:
        for record in self._audit:
            self.gate.audit(record)
        self._audit.clear()

    async def prepare(self, command: Command, decision: Decision) -> tuple[Command, Decision]:
        """The command as the hooks left it, and the decision about that one. Raises if one blocks."""
        inputs = {"cwd": command.cwd, "env": dict(command.env), "stdin": command.stdin}
        data = {"language": language_of(command), "code": shlex.join([command.program, *command.args]), "inputs": inputs}
        if not await self._service.hooks.has(HookEvent.BEFORE_RUN, self.thread.tenant, decision.hooks, "run"):
            return command, decision
        try:
            left = await self._fire(HookEvent.BEFORE_RUN, data, decision)
        except GatewayError:
            self._flush()
            raise
        if left == data:
            return command, decision
        if left["inputs"] != inputs:
            self._flush()
            raise Forbidden("HOOK_BLOCKED", "a hook rewrote more than the command line, which a runner cannot follow")
        rewritten = _parse_line(command, left["code"])
        return rewritten, self.decide(rewritten)  # THREAT[TM-HOOK-007]: a rewritten command is a new request

    async def _fire(self, event: HookEvent, data: Mapping[str, Any], decision: Decision) -> Mapping[str, Any]:
        async with self._aside() as session:
            recheck = self._recheck if event is HookEvent.BEFORE_RUN else None
            listed = decision.hooks
            fired = await self._service.hooks.fire(
                event, session, self.principal, data, listed, note=self.note, target="run", recheck=recheck
            )
        return fired.data

    def _recheck(self, data: Mapping[str, Any]) -> str | None:
        """Asked after every hook that rewrote the command: may it still be run?"""
        try:
            self.decide(_parse_line(Command(command_id="rewritten", program="sh"), data["code"]))
        except GatewayError as refused:
            return refused.error.message
        return None

    @contextlib.asynccontextmanager
    async def _aside(self) -> AsyncIterator[Session]:
        """An empty session for hooks to run next to. Its id is no thread's: a thread may be called like a session."""
        session = msgspec.structs.replace(self.thread, id=f"thread-{uuid7()}")
        opening = Opening(session_id=session.id, language=session.language, limits=session.limits)
        try:
            worker = await self._service.workers.of(session.tenant)
            await worker.open(opening)
        except (WorkerLost, RequestError):
            raise Unavailable(
                "WORKER_LOST", "no worker process could be had for the hooks of this command", "try again"
            ) from None
        try:
            yield session
        finally:
            with contextlib.suppress(WorkerLost, RequestError):
                await worker.close(session.id)

    async def begin(
        self, command: Command, decision: Decision, asked: WaitingCommand | None = None, status: str = "begun"
    ) -> None:
        """Write down that it is begun: one write with the use of its approvals, if it needs some, and the end of its waiting.
        One that was begun before (`asked` is None) has used them."""
        hooks, self._audit = self._audit, []
        argv = "\0".join([command.program, *command.args])
        digest = hashlib.sha256(argv.encode("utf-8", "surrogatepass")).hexdigest()
        told = {"command": command.command_id, "program": display(command.program), "digest": digest}
        self.note("command", self.thread.id, status=status, **told, decision=self._describe(decision))
        changes: list[Change] = [*hooks, *self._audit]
        self._audit = []
        try:
            if asked is not None:
                changes.append(self._service.waiting.end(asked.key))
            if asked is None or is_permitted(decision):
                await self._service.store.write(self.thread.tenant, changes)
            else:
                wanted = describe_asked(self.thread, asked.command, asked.place, asked.wait_id, self.principal)
                await self._service.approvals.gate(wanted, decision, self.gate.policy.digest, changes)
        except (Asking, ToolError) as waits:
            self._audit = hooks
            self._flush()
            if isinstance(waits, Asking):
                raise
            raise Forbidden(waits.code, waits.message) from None
        self.is_begun = True

    async def oversee(self, command: Command, decision: Decision, after: After | None) -> Oversight:
        """What is done with a result before a caller sees it, whether output may be shown before, and what it may reach."""

        async def finish(result: CommandResult) -> CommandResult:
            self._is_ended = True
            try:
                return await self._conclude(result, command, decision)
            finally:
                told = {"command": command.command_id, "exit_code": result.exit_code, "dropped_bytes": result.dropped_bytes}
                self.note("command", self.thread.id, status=result.status, **told)
                self._flush()

        is_redacted = await self._service.hooks.has(HookEvent.AFTER_RUN, self.thread.tenant, decision.hooks, "run")
        return Oversight(finish, after, not is_redacted, gate_connections(self.gate))

    def conclude(self, begun: Tracked) -> None:
        failed = None if begun.task.cancelled() else begun.task.exception()
        if isinstance(failed, GatewayError) and begun.control.reason != "left":
            self.fail(begun.command, failed)

    def fail(self, command: Command, refused: GatewayError) -> None:
        """It was begun, and its place did not take it or could not carry it out."""
        if not self._is_ended:
            self.note("command", self.thread.id, status="failed", command=command.command_id, code=refused.code)
            self._flush()

    async def _conclude(self, result: CommandResult, command: Command, decision: Decision) -> CommandResult:
        if not await self._service.hooks.has(HookEvent.AFTER_RUN, self.thread.tenant, decision.hooks, "run"):
            return result
        data = {
            "language": language_of(command), "status": "ok" if result.status == "exited" else result.status,
            "stdout": result.stdout, "stderr": result.stderr, "result": None, "error": None, "exit_code": result.exit_code,
        }  # fmt: skip
        left = await self._fire(HookEvent.AFTER_RUN, data, decision)
        if left["error"] is not None:
            raise Forbidden("HOOK_BLOCKED", f"a hook withheld the result: {str(left['error'])[:500]}")
        return msgspec.structs.replace(result, stdout=str(left["stdout"]), stderr=str(left["stderr"]))


def _parse_line(command: Command, line: str) -> Command:
    try:
        program, *arguments = shlex.split(line)
    except ValueError:
        raise invalid("a hook rewrote the command into something that is no command line") from None
    return msgspec.structs.replace(command, program=program, args=arguments)
