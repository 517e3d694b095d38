"""Executors: the ways a hook can be run, and the one table that tells them apart.

Rules: an executor never raises. Whatever goes wrong is an `Error` output with the contract's words, and the hook's
`on_error` decides. Executors know nothing of merging, policies and audits. Each type is one file: `programs` (bash, shell,
python, javascript, wasm), `webhooks`; `ports` says what an executor needs of the service.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from gateway.hooks.executors.ports import Decide, Egress, ExecutorOpts, Programs, Ran, SigningKeys
from gateway.hooks.executors.programs import run_program
from gateway.hooks.executors.webhooks import run_webhook
from gateway.hooks.jobs import Changes, Forks
from gateway.hooks.outputs import Error
from gateway.hooks.payloads import HookPayload, seal
from gateway.hooks.specs import UserHookSpec

__all__ = ["Executors", "Ran"]


class Executors(msgspec.Struct, frozen=True, kw_only=True):
    """Everything hooks of one tenant are run with. What is None was not wired: hooks that need it fail and say so. `connecting`
    gives the policy's word on where webhooks may go."""

    forks: Forks | None = None
    programs: Programs | None = None
    egress: Egress | None = None
    keys: SigningKeys | None = None
    connecting: Callable[[], Awaitable[Decide]] | None = None

    async def run(self, spec: UserHookSpec, payload: HookPayload, opts: ExecutorOpts, changes: tuple[Changes, ...] = ()) -> Ran:
        """Run one hook. `changes` are files that earlier hooks of this firing left."""
        try:
            letter = seal(payload)
            if spec.executor.type == "webhook":
                # The policy in force has said yes to its own webhooks; it is asked about everybody else's.
                decide = await self.connecting() if self.connecting is not None and spec.source != "policy" else None
                return await run_webhook(spec, letter, opts, self.egress, self.keys, decide)
            return await run_program(spec, payload.session_id, letter, opts, self.forks, self.programs, changes)
        except Exception as error:
            # INVARIANT: an executor never raises; a bug in one is the hook's failure and `on_error` decides.
            return Ran(Error(str(error) or type(error).__name__))
