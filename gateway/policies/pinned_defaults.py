"""Defaults that sessions are pinned to, in the store.

Theory: a session keeps the policy it was opened with. A tenant's own policies are in the store for ever; the default is read from
the operator's file and from what there is to call, so another start may read another one. Therefore a default is kept with each
tenant that has a session under it, in its canonical form, with its catalog and the programs of its hooks.

Rules: what is kept never changes; one that does not have the digest it is kept under is not used. It is kept before a session
under it does anything, as well as the store lets it; and goes when no session of the tenant is pinned to it any more.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from gateway.errors import Conflict, GatewayError
from gateway.policies.compiler import Compiled, policy_of
from gateway.records import RegistryEntry, StoredPolicy
from gateway.stores.changes import ABSENT, Change, DeleteEntry, PutEntry
from gateway.stores.pages import walk
from gateway.stores.store import Store
from policy import Policy

KIND: Final = "default_policy"
_log = logging.getLogger("hatchway.policies")


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`record` is what may be read of it; `programs` are those of its hooks, in base64."""

    record: StoredPolicy
    compiled: Compiled
    programs: dict[str, str]


class Pins:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: set[tuple[str, str]] = set()

    def has(self, tenant: str, digest: str) -> bool:
        return (tenant, digest) in self._kept

    async def keep(self, record: StoredPolicy, policy: Policy, programs: Mapping[str, bytes]) -> None:
        """A store that refuses it is asked again the next time."""
        compiled = Compiled(findings=[], policy=policy.ir, catalog=policy.catalog)
        texts = {name: base64.b64encode(program).decode() for name, program in programs.items()}
        body: dict[str, Any] = msgspec.to_builtins(_Kept(record=record, compiled=compiled, programs=texts))
        at = record.created_at
        entry = RegistryEntry(tenant=record.tenant, kind=KIND, id=policy.digest, body=body, created_at=at, updated_at=at)
        try:
            await self._store.write(record.tenant, [PutEntry(entry=entry, expect=ABSENT)])
        except Conflict:
            pass  # it is there
        except GatewayError as error:
            _log.warning("the default policy cannot be kept for the sessions of %s: %s", record.tenant, error)
            return
        self._kept.add((record.tenant, policy.digest))

    async def policy(self, tenant: str, digest: str) -> Policy | None:
        kept = await self._read(tenant, digest)
        return policy_of(kept.compiled) if kept else None

    async def record(self, tenant: str, digest: str) -> StoredPolicy | None:
        kept = await self._read(tenant, digest)
        return msgspec.structs.replace(kept.record, state="retired") if kept else None

    async def program(self, tenant: str, digest: str, name: str) -> bytes | None:
        kept = await self._read(tenant, digest)
        return base64.b64decode(kept.programs[name]) if kept and name in kept.programs else None

    async def _read(self, tenant: str, digest: str) -> _Kept | None:
        found = await self._store.entry(tenant, KIND, digest)
        if found is None:
            return None
        try:
            kept = msgspec.convert(found.body, _Kept)
            if policy_of(kept.compiled).digest == digest:
                return kept
            _log.error("a default policy of %s is not what it was kept as: %s", tenant, digest)
        except (msgspec.ValidationError, GatewayError) as error:
            _log.error("a default policy of %s cannot be read any more: %s", tenant, error)
        return None

    async def collect(self, tenant: str, current: Collection[str]) -> None:
        """Delete those under which no session of the tenant is, but for the `current` ones."""
        page = walk(self._store.entries, tenant, KIND, limit=20)
        found = {entry.id async for entry in page} - set(current)
        if not found:
            return
        async for session in walk(self._store.sessions, tenant):
            found.discard(session.policy)
        changes: list[Change] = [DeleteEntry(kind=KIND, id=digest) for digest in found]
        if changes:
            await self._store.write(tenant, changes)
            self._kept.difference_update((tenant, digest) for digest in found)

    def forget(self, tenant: str) -> None:
        self._kept = {key for key in self._kept if key[0] != tenant}
