"""`hatchway run --policy FILE`: a local run under a policy.

How: a whole gateway in this process, with its store in memory and the policy as its default, runs one program and is gone.

Rules: a refusal is a result with the contract's code, and nothing was run. There is no approver: a run that would wait for an
approval ends with WAITING_FOR_APPROVAL. Facts for the policy are the command line's (`--fact`); its user owns the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.clock import now_ms
from gateway.configuration import Configuration, ConfigurationError
from gateway.errors import GatewayError
from gateway.events import STREAMS
from gateway.records import Principal, Run, Tenant
from gateway.runs.runs import RunBody
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from hatchway.cli.host_files import list_pairs, read_bytes
from hatchway.cli.program import parse_pair
from hatchway.cli.terminal import complain, show_progress, write_output
from hatchway.local_arguments import start_limits
from policy import PolicyError
from sandbox.encoding.sealing import Keys
from sandbox.errors import RequestError, failure
from sandbox.guests.images import images
from sandbox.languages import GUEST_OF
from sandbox.wire import Diagnostic, Language, RunResult, RunStatus, Severity
from sandbox.workers.local.worker import LocalWorkers

TENANT: Final = "local"
_SESSION: Final = "local"
_NO_APPROVER: Final = "a local run has no approver: run it through a gateway (hatchway remote run)"


def run(options: argparse.Namespace, body: RunBody, limits: dict[str, int]) -> tuple[RunResult, bool]:
    """The result, and whether all files were copied that were asked for."""
    for name in ("template", "packages", "metered"):
        if getattr(options, name):
            raise RequestError("INVALID_ARGUMENT", f"--{name} does not go together with --policy")
    images.get(GUEST_OF[body.language or Language.PYTHON], progress=show_progress)
    try:
        return asyncio.run(_run(options, body, limits))
    except PolicyError as error:
        raise RequestError("INVALID_ARGUMENT", f"--fact: {error}", "hatchway policy catalog shows what there is") from None
    except ConfigurationError as error:
        raise RequestError("INVALID_ARGUMENT", str(error), f"hatchway policy check {options.policy}") from None
    except GatewayError as refused:
        return failure(refused.error), True


async def _run(options: argparse.Namespace, body: RunBody, limits: dict[str, int]) -> tuple[RunResult, bool]:
    facts = dict(parse_pair("--fact", pair, "--fact tenant=acme") for pair in options.fact)
    if not facts.get("tenant", TENANT):
        raise RequestError("INVALID_ARGUMENT", "--fact tenant= names no tenant", "for example --fact tenant=acme")
    async with _open_gateway(options.policy, facts) as (service, principal):
        asked = CreateSession(
            id=_SESSION,
            language=body.language or Language.PYTHON,
            limits=start_limits(limits),
        )
        await service.sessions.create(principal, asked)
        for path, place in list_pairs(options.file):
            await service.workspace.write(principal, _SESSION, place, read_bytes(path))
        result = await _watch(service, principal, body, live=not options.json)
        copied = [await _get(service, principal, pair) for pair in options.get]
        await service.sessions.delete(principal, _SESSION)
        return result, all(copied)


@asynccontextmanager
async def _open_gateway(policy: str, facts: dict[str, Any]) -> AsyncIterator[tuple[Service, Principal]]:
    now, own = now_ms(), {"tenant", "plan", "user", "session.role"}
    tenant = Tenant(
        id=str(facts.get("tenant", TENANT)),
        plan=str(facts.get("plan", "team")),
        facts={name: value for name, value in facts.items() if name not in own},
        created_at=now,
        updated_at=now,
    )
    role: Any = facts.get("session.role", "operator")
    principal = Principal(tenant=tenant.id, role=role, user=str(facts.get("user", getpass.getuser())))
    store = MemoryStore()
    service = Service(store, LocalWorkers(), Keys.of(secrets.token_bytes(32)), Configuration(policy=policy))
    try:
        await store.write(tenant.id, [PutTenant(tenant=tenant)])
        await service.start()
        yield service, principal
    finally:
        await service.stop(0)


async def _watch(service: Service, principal: Principal, body: RunBody, *, live: bool) -> RunResult:
    """Run it, and show what it writes as it comes; what a hook had to look at first, at the end."""
    begun = await service.runs.start(principal, _SESSION, body)
    feed = service.runs.watch(principal.tenant, begun.id)
    assert feed is not None
    shown = False
    async for event in feed.events():
        if event.kind in STREAMS and live:
            write_output(STREAMS.index(event.kind), event.data.encode())
            shown = True
    done: Run = await service.runs.get(principal, begun.id)
    assert done.result is not None
    if live and not shown:
        for stream, text in enumerate((done.result.stdout, done.result.stderr)):
            write_output(stream, text.encode())
    return _reword_refusal(done.result)


def _reword_refusal(result: RunResult) -> RunResult:
    """What was not allowed, as the command line tells it."""
    if result.error is not None and result.error.code == "HOOK_BLOCKED":
        return msgspec.structs.replace(result, status=RunStatus.PERMISSION_DENIED)
    if result.status is not RunStatus.WAITING_FOR_APPROVAL or result.error is None:
        return result
    error = msgspec.structs.replace(result.error, hint=_NO_APPROVER)
    said = Diagnostic(severity=Severity.ERROR, code=error.code, message=error.message, hint=_NO_APPROVER)
    return msgspec.structs.replace(result, error=error, diagnostics=[said])


async def _get(service: Service, principal: Principal, pair: str) -> bool:
    guest, _, host = pair.partition(":")
    try:
        _, data = await service.workspace.read_bytes(principal, _SESSION, guest)
        Path(host or Path(guest).name).write_bytes(data)
    except GatewayError as refused:
        complain(f"cannot copy {guest} out of the sandbox: {refused}", refused.error.hint)
    except OSError as error:
        complain(f"cannot copy {guest} out of the sandbox: {error}")
    else:
        return True
    return False
