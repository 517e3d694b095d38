"""Commands that wait for an approval: what a policy's `ask run` leaves in the store until an approver has decided.

    runner.waiting   thread/command_id   the command as hooks left it, who asked, its approvals; or why it was not begun

Rules: what waits has begun nothing and holds nothing; it survives a restart, and keeps its id. Its approvals are bound to exact
argv, cwd, env, stdin and limits, to the thread, the place it is bound to and the policy (`describe_asked`); the use of one, the
end of the waiting and the audit record that it is begun are one write. Of what was refused, expired or could not be begun the
reason is kept for callers that come back, as much as of commands that ended. THREAT[TM-RUN-LEAK]: it is sealed for its tenant.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from gateway.errors import Conflict, Forbidden, GatewayError, StoreFailed, TooMany, Unavailable
from gateway.records import Approval, Principal, Record, RegistryEntry, Session
from gateway.runners import wire
from gateway.runners.errors import display
from gateway.runs.approvals import Approvals, Asked, show
from gateway.stores.changes import AppendAudit, Change, DeleteEntry, PutEntry
from gateway.stores.pages import walk
from gateway.stores.store import Store
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.wire import ErrorObject

WAITING: Final = "runner.waiting"
_KEPT_MAX: Final = 64
_FIRST_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_MAX: Final = 30.0
_log = logging.getLogger("hatchway.runners")


class WaitingCommand(Record, frozen=True, kw_only=True):
    """`wait_id` is what its approvals are for, as for a run; `place` the digest of where its thread was bound to. `refused` is
    there when it waits no more, and was not begun. `asked` is the command before hooks had seen it."""

    thread_id: str
    wait_id: str
    command: wire.Command
    asker: Principal
    place: str
    asked: wire.Command
    since_ms: int
    approvals: tuple[str, ...] = ()
    refused: ErrorObject | None = None

    @property
    def key(self) -> str:
        return name_entry(self.thread_id, self.command.command_id)

    @property
    def status(self) -> str:
        return "waiting" if self.refused is None else "refused"

    def describe(self) -> wire.CommandInfo:
        name, program = self.command.command_id, self.command.program
        return wire.CommandInfo(command_id=name, program=program, status=self.status, started_ms=self.since_ms)

    def answer(self) -> wire.CommandResult:
        """What a caller is told that asks for its end."""
        if self.refused is not None:
            raise Forbidden(self.refused.code, self.refused.message, self.refused.hint)
        return wire.CommandResult(command_id=self.command.command_id, status="waiting", approvals=[*self.approvals])


Resume = Callable[[str, WaitingCommand], Awaitable[None]]
"""Begin a command that has waited; raises what refuses it."""


def name_entry(thread_id: str, command_id: str) -> str:
    return f"{thread_id}/{command_id}"


def digest_place(binding: wire.Binding) -> str:
    return hashlib.sha256(msgspec.json.encode(binding, order="sorted")).hexdigest()


def describe_asked(thread: Session, command: wire.Command, place: str, wait_id: str, asker: Principal) -> Asked:
    """What an approver sees: names of variables, not their values. What it is bound to is everything but the command's id."""
    exact = msgspec.json.encode([msgspec.structs.replace(command, command_id=""), thread.id, place], order="sorted")
    seen: dict[str, Any] = {
        "thread": thread.id,
        "program": show(command.program),
        "args": [show(one) for one in command.args],
    }
    more = {"cwd": command.cwd, "env": [name for name, _ in command.env], "stdin_bytes": len(command.stdin.encode())}
    more |= {"terminal": command.terminal is not None, "open_stdin": command.open_stdin}  # what is typed later is not seen
    asked = msgspec.structs.replace(thread, id=f"thread:{thread.id}")
    return Asked(
        session=asked, run_id=wait_id, capability="run", declaration=hashlib.sha256(exact).hexdigest(),
        arguments=seen | {name: value for name, value in more.items() if value}, requested_by=asker.name,
        command=name_entry(thread.id, command.command_id),
    )  # fmt: skip


@dataclass(eq=False)
class WaitingCommands:
    _store: Store
    _approvals: Approvals
    _resume: Resume
    _keys: Keys
    _clock_ms: Callable[[], int]
    _tasks: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)
    _beginning: dict[tuple[str, str], WaitingCommand] = field(default_factory=dict)
    """Those that wait no more and are not at their place yet."""

    async def find(self, tenant: str, thread_id: str, command_id: str) -> WaitingCommand | None:
        key = name_entry(thread_id, command_id)
        return await self._find(tenant, key) or self._beginning.get((tenant, key))

    async def _find(self, tenant: str, key: str) -> WaitingCommand | None:
        found = await self._store.entry(tenant, WAITING, key)
        return None if found is None else self._open(found)

    def _open(self, entry: RegistryEntry) -> WaitingCommand:
        plain = open_seal(base64.b64decode(entry.body["sealed"]), self._keys, tenant=entry.tenant, purpose=WAITING)
        return msgspec.json.decode(plain, type=WaitingCommand)

    async def list(self, tenant: str, thread_id: str) -> Sequence[WaitingCommand]:
        """The oldest first."""
        own = [one for one in await self._list_all(tenant) if one.thread_id == thread_id]
        return sorted(own, key=lambda one: one.since_ms)

    async def _list_all(self, tenant: str) -> Sequence[WaitingCommand]:
        return [self._open(entry) async for entry in walk(self._store.entries, tenant, WAITING)]

    async def put(self, tenant: str, waiting: WaitingCommand) -> None:
        told: dict[str, Any] = {"command": waiting.command.command_id, "status": waiting.status}
        told["program"] = display(waiting.command.program)
        told |= {"approvals": [*waiting.approvals]} if waiting.refused is None else {"code": waiting.refused.code}
        sealed = seal(msgspec.json.encode(waiting), self._keys, tenant=tenant, purpose=WAITING)
        now, body = self._clock_ms(), {"sealed": base64.b64encode(sealed).decode()}
        entry = RegistryEntry(tenant=tenant, kind=WAITING, id=waiting.key, body=body, created_at=now, updated_at=now)
        audit = AppendAudit(at=now, kind="command.waits", actor=waiting.asker.name, subject=waiting.thread_id, data=told)
        over = [one for one in await self.list(tenant, waiting.thread_id) if one.refused is not None][:-_KEPT_MAX]
        await self._store.write(tenant, [PutEntry(entry=entry), audit, *(DeleteEntry(kind=WAITING, id=one.key) for one in over)])

    def end(self, key: str) -> Change:
        return DeleteEntry(kind=WAITING, id=key)

    async def require_begun(self, tenant: str, thread_id: str, command_id: str) -> None:
        """Raises if the command waits, or was refused: there is nothing yet to speak to."""
        found = await self.find(tenant, thread_id, command_id)
        if found is not None and not found.answer().exit_code:
            hint = f"it begins when {', '.join(found.approvals)} is approved"
            raise Conflict("RUNNER_WAITING", f"command {display(command_id)} waits for an approval", hint)

    async def cancel(self, principal: Principal, thread_id: str, command_id: str) -> bool:
        """Whether it waited. Its approvals are cancelled with it."""
        found = await self.find(principal.tenant, thread_id, command_id)
        if found is None or found.refused is not None:
            return False
        await self._withdraw(principal, found)
        return True

    async def withdraw_all(self, principal: Principal, thread_id: str) -> None:
        """The thread is deleted, or bound to another place."""
        for found in await self.list(principal.tenant, thread_id):
            await self._withdraw(principal, found)

    async def _withdraw(self, principal: Principal, found: WaitingCommand) -> None:
        told = {"command": found.command.command_id, "status": "cancelled"}
        audit = AppendAudit(at=self._clock_ms(), kind="command.waits", actor=principal.name, subject=found.thread_id, data=told)
        changes = [self.end(found.key), audit]
        await self._approvals.write_end(principal.tenant, found.wait_id, changes, found.approvals, principal.name)

    # Going on

    def schedule(self, tenant: str, key: str) -> None:
        """One of its approvals was decided or has expired."""
        before = self._tasks.get((tenant, key))
        task = asyncio.get_running_loop().create_task(self._go_on(tenant, key, before))
        self._tasks[tenant, key] = task
        task.add_done_callback(lambda _: self._tasks.pop((tenant, key)) if self._tasks.get((tenant, key)) is task else None)

    async def _go_on(self, tenant: str, key: str, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        pause_seconds, said = _FIRST_PAUSE_SECONDS, ""
        while (found := await self._find(tenant, key)) is not None and found.refused is None:
            try:
                self._beginning[tenant, key] = found
                await self._resume(tenant, found)
                return
            except (TooMany, Unavailable, StoreFailed) as error:
                if str(error) != said:
                    said = str(error)
                    _log.warning("the command %s of %s cannot be begun yet: %s", key, tenant, said)
            except GatewayError as refused:
                with contextlib.suppress(GatewayError):
                    await self.put(tenant, msgspec.structs.replace(found, refused=refused.error))
                return
            finally:
                self._beginning.pop((tenant, key), None)
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _PAUSE_SECONDS_MAX)

    async def recover(self, tenant: str) -> None:
        """Those without a pending approval go on: the gateway stopped between a decision and what it was for."""
        undecided: set[str] | None = None
        for found in await self._list_all(tenant):
            if found.refused is None and (tenant, found.key) not in self._tasks:
                undecided = await self._approvals.list_undecided(tenant) if undecided is None else undecided
                if found.wait_id not in undecided:
                    self.schedule(tenant, found.key)

    def go_on(self, settled: Approval) -> None:
        assert settled.command
        self.schedule(settled.tenant, settled.command)

    async def forget(self, tenant: str) -> None:
        """Another gateway serves the tenant from now on."""
        tasks = [task for (owner, _), task in self._tasks.items() if owner == tenant]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
