"""Governed commands: what policy, hooks and audit have to say about a command, whatever place it runs in.

    decide → hooks before → decide again → count → write down → run within the limits → hooks after → write down → answer

Rules: a command is a program, so the policy's `run` decides about it, for the thread as for a session; the facts of sessions are
unknown, and so have the catalog's cautious defaults. What would have to be asked for is refused. The policy's limits are a
ceiling on what the command asks for. Hooks see the command line as `code`, may rewrite it, and run in an empty session of their
own: the place itself is none of theirs, and files they write are thrown away. Output that a hook may redact is shown to no caller
before it has been.

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

from gateway.clock import SteadyClock, now_ms
from gateway.errors import Forbidden, GatewayError, Unavailable
from gateway.hooks.events import HookEvent
from gateway.hooks.hook_store import HookStore
from gateway.ids import uuid7
from gateway.policies.gate import Gate, is_permitted, refusal
from gateway.policies.in_force import Policies
from gateway.records import Principal, Session
from gateway.runners.bindings import seen_from
from gateway.runners.command_life import After, Finish, Tracked, check_path
from gateway.runners.errors import invalid, outside, shown, stale
from gateway.runners.runner_session import RunnerSession
from gateway.runners.stored_runners import LastingCommand, StoredRunners
from gateway.runners.wire import DEFAULT_TIMEOUT_MS, MAX_OUTPUT_BYTES, Command, CommandResult, SnapshotRef
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import AppendAudit
from gateway.stores.store import Store
from policy import Decision
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
        below = seen_from(top, full)
        if below is None and (event != "fs.read" or all(seen_from(root, full) is None for root in binding.read_roots)):
            raise outside(path, thread_id)
        seen = full if below is None else posixpath.normpath(f"/workspace/{below}")  # a read root: the policy must name it
        gate, _ = await self.gate(principal, thread_id)
        gate.require(event, {"path": seen, **more})
        return gate, seen

    async def start(self, principal: Principal, thread_id: str, command: Command) -> Tracked:
        """The whole way of a command. Its id is claimed on this way, also while hooks see it or its session is made."""
        with self._service.runners.claiming(principal.tenant, thread_id, command.command_id):
            return await self._start(principal, thread_id, command)

    async def _start(self, principal: Principal, thread_id: str, command: Command) -> Tracked:
        gate, thread = await self.gate(principal, thread_id)
        turn, asked = _Turn(self._service, principal, thread, gate), command
        decision = turn.decide(command)
        command, decision = await turn.before(command, decision)
        gate.count("run", decision)
        command = bounded(command, decision)
        await turn.begin(command, decision)
        runners, after = self._service.runners, None
        try:
            if command.on_restart != "end":
                after = await self._store(principal, thread_id, asked, command)
            finish, streams = await turn.finisher(command, decision)
            begun = await runners.start(thread.tenant, thread_id, command, finish, after=after, streams=streams)
        except GatewayError as refused:
            turn.fail(command, refused)
            if after is not None:
                await after()
            raise
        begun.task.add_done_callback(lambda _: turn.conclude(begun))
        return begun

    async def _store(self, principal: Principal, thread_id: str, asked: Command, command: Command) -> After:
        """The next gateway comes back to it, until it has ended."""
        session = await self._service.runners.use(principal.tenant, thread_id)
        session._check(command)
        lasting = LastingCommand(
            thread_id=thread_id, session_id=session.id, principal=principal, asked=asked, command=command, started_ms=now_ms()
        )
        await self._service.runners.lasting.put(lasting)
        return partial(self._service.runners.lasting.delete, lasting)

    async def resume(self) -> None:
        """When the gateway starts: come back to the commands that were to last."""
        found = [one async for one in self._service.runners.lasting.list()]
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
                await self.start(lasting.principal, thread_id, lasting.asked)  # stored again, in the place of this one
        except GatewayError as failed:
            _log.warning("a command of %s that was to last could not be resumed: %s", tenant, failed)
            if not isinstance(failed, Unavailable):  # its place may be there again the next time
                await runners.lasting.delete(lasting)

    async def _watch_on(self, lasting: LastingCommand, session: RunnerSession) -> None:
        """What the policy in force refuses is ended."""
        gate, thread = await self.gate(lasting.principal, lasting.thread_id)
        turn, command = _Turn(self._service, lasting.principal, thread, gate), lasting.command
        after = partial(self._service.runners.lasting.delete, lasting)
        start = partial(session.start, command, after=after, resumed_ms=lasting.started_ms)
        try:
            decision = turn.decide(command)
            await turn.begin(command, decision, "resumed")
            finish, streams = await turn.finisher(command, decision)
        except GatewayError:
            start(streams=False).control.ask("cancelled")
            raise
        begun = start(finish=finish, streams=streams)
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


def bounded(command: Command, decision: Decision) -> Command:
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
        self._service, self._principal, self._thread, self._gate = service, principal, thread, gate
        self._audit: list[AppendAudit] = []
        self._is_ended = False

    def note(self, kind: str, subject: str, **data: Any) -> None:
        now = self._service.clock.now_ms()
        self._audit.append(AppendAudit(at=now, kind=kind, actor=self._principal.name, subject=subject, data=data))

    def _describe(self, decision: Decision) -> dict[str, Any]:
        return {"event": "run", "verdict": decision.verdict, "rule": decision.rule, "policy": self._gate.policy.digest}

    def decide(self, command: Command) -> Decision:
        size = sum(len(text.encode("utf-8", "replace")) for text in (command.program, *command.args, command.stdin))
        decision = self._gate.decide("run", {"language": language_of(command), "bytes": size})
        if is_permitted(decision):
            return decision
        self.note("decision", self._thread.id, **self._describe(decision))
        self._flush()
        raise refusal("run", decision)

    def _flush(self) -> None:
        for record in self._audit:
            self._gate.audit(record)
        self._audit.clear()

    async def before(self, command: Command, decision: Decision) -> tuple[Command, Decision]:
        """The command as the hooks left it, and the decision about that one. Raises if one blocks."""
        inputs = {"cwd": command.cwd, "env": dict(command.env), "stdin": command.stdin}
        data = {"language": language_of(command), "code": shlex.join([command.program, *command.args]), "inputs": inputs}
        if not await self._service.hooks.has(HookEvent.BEFORE_RUN, self._thread.tenant, decision.hooks, "run"):
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
                event, session, self._principal, data, listed, note=self.note, target="run", recheck=recheck
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
        session = msgspec.structs.replace(self._thread, id=f"thread-{uuid7()}")
        opening = Opening(session_id=session.id, language=session.language, limits=session.limits)
        try:
            worker = await self._service.workers.of(session.tenant)
            await worker.open(opening)
        except (WorkerLost, RequestError):
            raise Unavailable("WORKER_LOST", "no worker could be had for the hooks of this command", "try again") from None
        try:
            yield session
        finally:
            with contextlib.suppress(WorkerLost, RequestError):
                await worker.close(session.id)

    async def begin(self, command: Command, decision: Decision, status: str = "begun") -> None:
        argv = "\0".join([command.program, *command.args])
        digest = hashlib.sha256(argv.encode("utf-8", "surrogatepass")).hexdigest()
        told = {"command": command.command_id, "program": shown(command.program), "digest": digest}
        self.note("command", self._thread.id, status=status, **told, decision=self._describe(decision))
        await self._service.store.write(self._thread.tenant, self._audit)
        self._audit.clear()

    async def finisher(self, command: Command, decision: Decision) -> tuple[Finish, bool]:
        """What is done with a result before a caller sees it; and whether output may be shown before."""

        async def finish(result: CommandResult) -> CommandResult:
            self._is_ended = True
            try:
                return await self._after(result, command, decision)
            finally:
                told = {"command": command.command_id, "exit_code": result.exit_code, "dropped_bytes": result.dropped_bytes}
                self.note("command", self._thread.id, status=result.status, **told)
                self._flush()

        is_redacted = await self._service.hooks.has(HookEvent.AFTER_RUN, self._thread.tenant, decision.hooks, "run")
        return finish, not is_redacted

    def conclude(self, begun: Tracked) -> None:
        failed = None if begun.task.cancelled() else begun.task.exception()
        if isinstance(failed, GatewayError) and begun.control.reason != "left":
            self.fail(begun.command, failed)

    def fail(self, command: Command, refused: GatewayError) -> None:
        """It was begun, and its place did not take it or could not carry it out."""
        if not self._is_ended:
            self.note("command", self._thread.id, status="failed", command=command.command_id, code=refused.code)
            self._flush()

    async def _after(self, result: CommandResult, command: Command, decision: Decision) -> CommandResult:
        if not await self._service.hooks.has(HookEvent.AFTER_RUN, self._thread.tenant, decision.hooks, "run"):
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
