"""Records for tests, with everything they need and nothing more; and what a store says to a change it refuses."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from gateway.errors import GatewayError
from gateway.ids import uuid7
from gateway.records import Approval, Quotas, RegistryEntry, Run, Session, Snapshot, StoredPolicy, StoredToken, Tenant, Token
from gateway.stores.changes import Change, PutFile, PutSession
from gateway.stores.store import Store
from sandbox.wire import Language

AT = 1_700_000_000_000
_numbers = itertools.count(1)


def tenant(name: str = "t1", *, at: int = AT, **quotas: int) -> Tenant:
    return Tenant(id=name, name=name, quotas=Quotas(**quotas), created_at=at, updated_at=at)


def session(name: str = "s1", of: str = "t1", **more: Any) -> Session:
    return Session(id=name, tenant=of, **{"created_at": AT, "updated_at": AT, "last_used_at": AT, **more})


def put_session(name: str = "s1", of: str = "t1", **more: Any) -> PutSession:
    return PutSession(session(name, of, **more))


def put_file(path: str, content: bytes | str = b"", session_id: str = "s1", **more: Any) -> PutFile:
    data = content.encode() if isinstance(content, str) else content
    return PutFile(session_id=session_id, path=path, content=data, **{"id": uuid7(), "at": AT, **more})


def run(name: str, session_id: str = "s1", of: str = "t1", **more: Any) -> Run:
    facts: dict[str, Any] = {
        "language": Language.PYTHON,
        "state": "finished",
        "code_digest": "d",
        "created_at": AT,
        "updated_at": AT,
    }
    return Run(id=name, tenant=of, session_id=session_id, **{**facts, **more})


def snapshot(name: str, session_id: str = "s1", of: str = "t1", **more: Any) -> Snapshot:
    facts: dict[str, Any] = {"kind": "run", "language": Language.PYTHON, "size_bytes": 1, "created_at": AT + next(_numbers)}
    return Snapshot(id=name, tenant=of, session_id=session_id, **{**facts, **more})


def approval(name: str, *, of: str = "t1", **more: Any) -> Approval:
    facts: dict[str, Any] = {
        "session_id": "s1", "run_id": "r1", "capability": "pay", "arguments": {"sum": 3}, "binding": "b1", "policy": "p",
        "approver": "team", "rule": "r", "created_at": AT, "expires_at": AT + 1000,
    }  # fmt: skip
    return Approval(id=name, tenant=of, **{**facts, **more})


def policy(name: str, version: int, *, of: str = "t1", **more: Any) -> StoredPolicy:
    facts: dict[str, Any] = {"digest": f"{name}{version}", "main": "a.hatch", "sources": {"a.hatch": ""}, "state": "active"}
    return StoredPolicy(tenant=of, name=name, version=version, **{**facts, "created_at": AT + version, **more})


def entry(kind: str, name: str, *, of: str = "t1", at: int = AT, **body: Any) -> RegistryEntry:
    return RegistryEntry(tenant=of, kind=kind, id=name, body=body, created_at=at, updated_at=at)


def token(name: str, digest: str, *, of: str = "t1", **more: Any) -> StoredToken:
    return StoredToken(token=Token(id=name, tenant=of, name=name, role="member", created_at=AT, **more), digest=digest)


async def code_of(store: Store, *changes: Change, tenant: str = "t1") -> str:
    """Of the error that the changes meet, which they must."""
    with pytest.raises(GatewayError) as caught:
        await store.write(tenant, changes)
    return caught.value.code
