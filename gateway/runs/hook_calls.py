"""What a hook's program may call: the capabilities that its policy lists under `uses`.

Rules: such a call is decided like any other of the session, but belongs to no run: it cannot wait for an approval. What a hook
writes with `write_text` is one of its changes, like what it writes into its own copy of the files: it is stored only if the hook
succeeded.

Does not know: how hooks are run (`gateway.hooks.worker_jobs`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from gateway.audit.buffer import AuditBuffer
from gateway.policies.gate import Gate
from gateway.records import Principal, Session
from gateway.runs.calls import CallContext, Calls
from gateway.stores.changes import AppendAudit
from sandbox.capabilities.registry import Capability
from sandbox.workers.interface import CallReply, FileChanges, OnCall

ACTOR: Final = "hook"


class HookCalls:
    """`find_gate` gives the policy in force for a session."""

    def __init__(
        self, calls: Calls, audit: AuditBuffer, find_gate: Callable[[Session], Awaitable[Gate]], clock_ms: Callable[[], int]
    ) -> None:
        self._calls = calls
        self._audit = audit
        self._find_gate = find_gate
        self._clock_ms = clock_ms

    def open(self, session: Session, names: Sequence[str]) -> tuple[list[Capability], OnCall, list[FileChanges]]:
        """The capabilities, what answers calls of them, and the list that receives the files they write."""
        tools = [tool for tool in self._calls.tools(session.tenant) if tool.name in names]
        principal = Principal(tenant=session.tenant, role="runner", user=ACTOR)
        left: list[FileChanges] = []

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            noted: list[AppendAudit] = []

            def note(kind: str, subject: str, **told: Any) -> None:
                noted.append(AppendAudit(at=self._clock_ms(), kind=kind, actor=ACTOR, subject=subject, data=told))

            gate = await self._find_gate(session)
            context = CallContext(principal=principal, session=session, run_id=None, gate=gate, note=note, noted=noted, left=left)
            try:
                return await self._calls.answering(context)(name, args, kwargs)
            finally:
                self._audit.extend(session.tenant, noted)

        return tools, answer, left
