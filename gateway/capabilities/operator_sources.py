"""The operator's sources of capabilities: what programs can call here, from the operator's file and from code.

    [[endpoints]]                         a web service as a capability
    name = "rates"
    url = "https://api.acme.example/rates/{currency}"

    [[servers]]                           an MCP server: each of its tools is a capability
    name = "notes"
    command = ["notes-mcp"]

Rules: declaring is not permitting: every call is decided by the policy of its session, connections and secrets by
`gateway.capabilities.policy_gates`. A mistake in the file is a `ConfigurationError`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from gateway.capabilities.builtins import BuiltinSource
from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.endpoints import EndpointSource, EndpointSpec, WebClient
from gateway.capabilities.functions import FunctionSource
from gateway.capabilities.mcp_servers import ServerSource, ServerSpec
from gateway.capabilities.policy_gates import PolicedSecrets, decide_for
from gateway.capabilities.session_files import SessionFiles
from gateway.capabilities.sources import ServerState
from gateway.configuration import ConfigurationError
from gateway.egress import Egress
from gateway.tenants.vault import Vault
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


def make_egress(equipment: Equipment) -> Egress:
    return Egress(ports=equipment.ports, allow_private=equipment.allow_private)


async def equip(
    catalogue: Catalogue,
    equipment: Equipment,
    egress: Egress,
    vault: Vault,
    files: SessionFiles,
    clock_ms: Callable[[], int],
    functions: Sequence[tuple[Any, Callable[..., Any]]],
    on_change: Callable[[], None],
) -> list[ServerSource]:
    """Offer built-ins, functions, endpoints and servers. Servers connect in the background; `on_change` is told when one of them
    offers something else."""
    secrets = PolicedSecrets(vault)
    client = WebClient(egress, decide_for, secrets)
    await catalogue.add("builtins", BuiltinSource(catalogue.tools, files, client, clock_ms))
    if functions:
        await catalogue.add("functions", FunctionSource(functions))
    try:
        if equipment.endpoints:
            await catalogue.add("endpoints", EndpointSource(equipment.endpoints, client))
        return await _connect(catalogue, equipment.servers, egress, secrets, on_change) if equipment.servers else []
    except RequestError as wrong:
        raise ConfigurationError(f"the equipment cannot be used: {wrong.error.message}") from None


def list_states(catalogue: Catalogue, servers: Sequence[ServerSource]) -> dict[str, ServerState]:
    """The state of each server, by its name."""
    hidden = catalogue.list_hidden()
    return {
        server.spec.name: replace(server.state, hidden=len(hidden.get(f"server {server.spec.name}", ()))) for server in servers
    }


async def _connect(
    catalogue: Catalogue, servers: Sequence[ServerSpec], egress: Egress, secrets: PolicedSecrets, on_change: Callable[[], None]
) -> list[ServerSource]:
    from gateway.capabilities.mcp_connections import connect_to  # a second of imports, which only those pay who have servers

    names = [spec.name for spec in servers]
    for name in names:
        if names.count(name) > 1:
            raise RequestError("INVALID_ARGUMENT", f"the server {name!r} is declared twice")
    sources = [ServerSource(spec, connect_to(spec, egress, secrets), on_change=on_change) for spec in servers]
    for source in sources:
        await catalogue.add(f"server {source.spec.name}", source)
    return sources
