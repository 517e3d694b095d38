"""Equipment: what programs can call here, from the operator's file and from code.

    [[endpoints]]                         a web service as a capability
    name = "rates"
    url = "https://api.acme.example/rates/{currency}"

    [[servers]]                           an MCP server: each of its tools is a capability
    name = "notes"
    command = ["notes-mcp"]

Rules: declaring is not permitting: every call is decided by the policy of its session, every connection by `net.connect`, every
secret by `secret.use`. A mistake in the file is a `ConfigurationError`. Nobody waits for servers: each is connected to in the
background, and tried again while it cannot be reached; the rest works.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from gateway.capabilities.builtins import BuiltinSource, Files
from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.endpoints import EndpointSource, EndpointSpec
from gateway.capabilities.functions import FunctionSource
from gateway.capabilities.mcp_servers import ServerSource, ServerSpec
from gateway.capabilities.sources import Caller, ServerState
from gateway.configuration import ConfigurationError
from gateway.egress import Decide, Egress, EgressRefused
from gateway.errors import GatewayError
from gateway.policies.gate import Gate
from gateway.tenants.vault import Vault
from sandbox.capabilities.registry import ToolError
from sandbox.errors import RequestError


class Equipment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The operator's file. `allow_private` are networks and `host:port` that may be reached although they are not public."""

    endpoints: list[EndpointSpec] = []
    servers: list[ServerSpec] = []
    allow_private: list[str] = []
    ports: tuple[int, ...] = (80, 443)


def load_equipment(path: str) -> Equipment:
    if not path:
        return Equipment()
    try:
        return msgspec.convert(tomllib.loads(Path(path).read_text("utf-8")), Equipment)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"{path}: {error}") from None


def guarded(equipment: Equipment) -> Egress:
    return Egress(ports=equipment.ports, allow_private=equipment.allow_private)


def connecting(gate: Gate) -> Decide:
    """A session's policy on connections. Each that is permitted counts towards its rates."""

    def decide(host: str, port: int, scheme: str) -> None:
        try:
            gate.require("net.connect", {"host": host, "port": port})
        except GatewayError as refused:
            raise EgressRefused(refused.code, f"{refused} ({host}:{port})") from None

    return decide


def decide_for(caller: Caller) -> Decide:
    return connecting(caller.context.gate)


class PolicedSecrets:
    """Secrets on a program's behalf, as its policy allows. The program never sees them."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def use(self, caller: Caller, name: str, host: str) -> str:
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


async def equip(
    catalogue: Catalogue,
    equipment: Equipment,
    egress: Egress,
    vault: Vault,
    files: Files,
    functions: Sequence[tuple[Any, Callable[..., Any]]] = (),
) -> list[ServerSource]:
    """Offer everything: built-ins, functions, endpoints, servers; those are on their way."""
    secrets = PolicedSecrets(vault)
    await catalogue.add("builtins", BuiltinSource(catalogue.tools, files, egress, decide_for, secrets))
    if functions:
        await catalogue.add("functions", FunctionSource(functions))
    try:
        if equipment.endpoints:
            await catalogue.add("endpoints", EndpointSource(equipment.endpoints, egress, decide_for, secrets))
        return await _connect(catalogue, equipment.servers, egress, secrets) if equipment.servers else []
    except RequestError as wrong:
        raise ConfigurationError(f"the equipment cannot be used: {wrong.error.message}") from None


def states(catalogue: Catalogue, servers: Sequence[ServerSource]) -> dict[str, ServerState]:
    """How far each server is, by its name."""
    hidden = catalogue.hidden()
    return {one.spec.name: replace(one.state, hidden=len(hidden.get(_source_name(one), ()))) for one in servers}


def _source_name(server: ServerSource) -> str:
    """What the catalogue calls it."""
    return f"server {server.spec.name}"


async def _connect(
    catalogue: Catalogue, servers: Sequence[ServerSpec], egress: Egress, secrets: PolicedSecrets
) -> list[ServerSource]:
    from gateway.capabilities.mcp_http import connect_to  # a second of imports, which only those pay who have servers

    names = [spec.name for spec in servers]
    for name in names:
        if names.count(name) > 1:
            raise RequestError("INVALID_ARGUMENT", f"the server {name!r} is declared twice")
    sources = [ServerSource(spec, connect_to(spec, egress, None, secrets), keeps_trying=True) for spec in servers]
    for source in sources:
        await catalogue.add(_source_name(source), source)
    return sources
