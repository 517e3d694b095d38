"""Executors: the ways a hook can be run: `programs` (bash, shell, python, javascript, wasm) and `webhooks`.

Rules: an executor never raises. Whatever goes wrong is an `Error` output with the contract's words, and the hook's `on_error`
decides. Executors know nothing of merging, policies and audits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from gateway.egress import Decide, Egress
from gateway.hooks.executors.programs import LoadProgram, RunAside, run_program
from gateway.hooks.executors.webhooks import Begin, FindKey, run_webhook
from gateway.hooks.outputs import Error, Ran
from gateway.hooks.payloads import HookPayload, seal
from gateway.hooks.specs import UserHookSpec
from sandbox.workers.interface import FileChanges


class Executors(msgspec.Struct, frozen=True, kw_only=True):
    """Everything hooks of one tenant are run with. Without `run_aside` programs are refused in the contract's words; `connecting`
    gives the policy's word on where webhooks may go; `begin` records that one is about to be told, or raises."""

    run_aside: RunAside | None
    load_program: LoadProgram
    egress: Egress
    find_key: FindKey
    connecting: Callable[[], Awaitable[Decide]] | None = None
    begin: Begin | None = None

    async def run(self, spec: UserHookSpec, payload: HookPayload, changes: tuple[FileChanges, ...] = ()) -> Ran:
        """Run one hook. `changes` are files that earlier hooks of this firing left."""
        try:
            letter = seal(payload)
            if spec.executor.type == "webhook":
                # The policy in force has said yes to its own webhooks; it is asked about all others.
                decide = await self.connecting() if self.connecting is not None and spec.source != "policy" else None
                return await run_webhook(spec, letter, self.egress, self.find_key, decide, self.begin)
            return await run_program(spec, payload.session_id, letter, self.run_aside, self.load_program, changes)
        except Exception as error:
            # INVARIANT: an executor never raises; a bug in one is the hook's failure and `on_error` decides.
            return Ran(Error(str(error) or type(error).__name__))
