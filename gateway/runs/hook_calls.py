"""What a hook's program may call: the capabilities that its policy lists under `uses`.

Rules: such a call is decided like any other of the session, but belongs to no run: it cannot wait for an approval. What a hook
writes with `write_text` is one of its changes, like what it writes into its own copy of the files: it is stored only if the hook
succeeded.

Does not know: how hooks are run (`gateway.hooks.executors.programs`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.audit.buffer import AuditBuffer
from gateway.policies.gate import Gate
from gateway.records import Principal, Session
from gateway.runs.calls import CallContext, Calls
from gateway.stores.changes import AppendAudit
from sandbox.capabilities.registry import Capability
from sandbox.workers.interface import CallReply, FileChanges, OnCall

ACTOR: Final = "hook"


@dataclass(eq=False)
class HookCalls:
    """`find_gate` gives the policy in force for a session."""

    _calls: Calls
    _audit: AuditBuffer
    _find_gate: Callable[[Session], Awaitable[Gate]]
    _clock_ms: Callable[[], int]

    def open(self, session: Session, names: Sequence[str]) -> tuple[list[Capability], OnCall, list[FileChanges]]:
        """The capabilities, what answers calls of them, and the list that receives the files they write."""
        tools = [tool for tool in self._calls.tools(session.tenant) if tool.name in names]
        principal = Principal(tenant=session.tenant, role="runner", user=ACTOR)
        left: list[FileChanges] = []

        def note(kind: str, subject: str, **told: Any) -> None:
            record = AppendAudit(at=self._clock_ms(), kind=kind, actor=ACTOR, subject=subject, data=told)
            self._audit.note(session.tenant, record)

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            gate = await self._find_gate(session)
            context = CallContext(principal=principal, session=session, run_id=None, gate=gate, note=note, left=left)
            return await self._calls.answering(context)(name, args, kwargs)

        return tools, answer, left
