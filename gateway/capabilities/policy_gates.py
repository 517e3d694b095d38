"""Policy gates of capabilities: every connection is decided as `net.connect`, every secret as `secret.use`."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.capabilities.sources import Caller
from gateway.egress import Decide, EgressRefused
from gateway.errors import GatewayError
from gateway.policies.gate import Gate
from gateway.tenants.vault import Vault
from sandbox.capabilities.registry import ToolError


def gate_connections(gate: Gate) -> Decide:
    """A session's policy on connections. Each that is permitted counts towards its rates."""

    def decide(host: str, port: int, scheme: str) -> None:
        try:
            gate.require("net.connect", {"host": host, "port": port})
        except GatewayError as refused:
            raise EgressRefused(refused.code, f"{refused} ({host}:{port})") from None

    return decide


def decide_for(caller: Caller) -> Decide:
    return gate_connections(caller.context.gate)


@dataclass(frozen=True, slots=True)
class PolicedSecrets:
    """Secrets on a program's behalf, as its policy allows. The program never sees them."""

    _vault: Vault

    async def use(self, caller: Caller, name: str, host: str) -> str:
        """The value of a secret that is about to be sent to `host`. Raises `ToolError` if it may not be, or is not there."""
        if caller.context is not None:  # a server's own headers are the operator's
            try:
                caller.context.gate.require("secret.use", {"name": name, "caller": caller.capability})
            except GatewayError as refused:
                raise ToolError(refused.code, f"{refused} ({name})") from None
            caller.context.note("secret", name, session=caller.session_id, host=host)
        found = await self._vault.get(caller.tenant, name, caller.session_id) if caller.session_id else None
        found = found or await self._vault.get(caller.tenant, name)
        if found is None:
            raise ToolError("NOT_FOUND", f"there is no secret {name!r}")
        return found.reveal()
