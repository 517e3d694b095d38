"""The records the gateway keeps, as they are stored and as clients see them.

Rules: plain immutable data; times are unix milliseconds, ids UUIDv7 strings unless the contract says otherwise. Every record
belongs to a tenant, and every lookup names it: there is no way to ask a store for "session s1" without saying whose. What a
client must not see (hashes, sealed bytes) stands in types of its own that are never encoded for one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sandbox.wire import DEFAULT_LIMITS, SNAPSHOT_VERSION, Language, RunResult, SessionLimits

NIL_UUID = "00000000-0000-0000-0000-000000000000"
Role = Literal["admin", "operator", "approver", "author", "member", "runner"]
"""What a token is for. `runner` is the former name of `member`, taken and never given."""
"""admin: everything, of every tenant. The others belong to one tenant. operator: sessions, secrets, tokens, policies of it;
author: policies and hooks; approver: decide approvals; runner: sessions, runs, files, values."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Quotas(Record, frozen=True, kw_only=True):
    """What one tenant may have at a time."""

    sessions_max: int = 10_000
    live_sessions_max: int = 500
    memory_mb: int = 2048
    concurrent_runs: int = 8
    queued_runs: int = 64
    storage_bytes: int = 1 << 30
    requests_per_min: int = 60_000


class Tenant(Record, frozen=True, kw_only=True):
    """`plan`, and `facts` such as a region, are what policies may ask about. `birth` is random: a tenant that is created again
    under
    an id is another one. Those that are older than births have none."""

    id: str
    birth: str = ""
    name: str = ""
    plan: str = "team"
    facts: dict[str, Any] = {}
    quotas: Quotas = Quotas()
    created_at: int
    updated_at: int


class HasRole(Record, frozen=True, kw_only=True):
    role: Role

    def __post_init__(self) -> None:
        if self.role == "runner":
            msgspec.structs.force_setattr(self, "role", "member")


class Token(HasRole, frozen=True, kw_only=True):
    """An API token, without the token: only its digest is stored, and only `gateway.tenants.tokens` sees it."""

    id: str
    tenant: str
    name: str
    user: str = ""
    groups: tuple[str, ...] = ()
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None


class Principal(HasRole, frozen=True, kw_only=True):
    """Who asks: made from a token by `gateway.http.api.authentication`, or by a program that embeds the service."""

    tenant: str
    role: Role = "operator"
    user: str = ""
    groups: tuple[str, ...] = ()
    token_id: str = ""

    @property
    def name(self) -> str:
        return self.user or self.token_id or self.role


class StoredToken(Record, frozen=True, kw_only=True):
    token: Token
    digest: str


class Session(Record, frozen=True, kw_only=True):
    """A session as it is remembered. `head` is the snapshot its heap is in, if it was frozen; `policy` the digest of the policy
    it was opened with; `parent` the session it was forked from. `facts` are what policies may ask about it (`session.mfa`,
    `session.tainted` …). `is_used`: a run has ended or waits in it. `thread_id`: the runner's thread that it is bound to, where
    its shell runs and its files are."""

    id: str
    tenant: str
    title: str = ""
    language: Language = Language.PYTHON
    limits: SessionLimits = DEFAULT_LIMITS
    template: str | None = None
    durable: bool = False
    policy: str = ""
    facts: dict[str, Any] = {}
    user: str = ""
    head: str | None = None
    parent: str | None = None
    waiting_run: str | None = None
    created_at: int
    updated_at: int
    last_used_at: int
    snapshot_version: int = SNAPSHOT_VERSION
    is_used: bool = False
    thread_id: str | None = None

    def __post_init__(self) -> None:
        """Records of earlier versions have no `is_used`: those sessions were used if they were used after they were made."""
        if not self.is_used and self.last_used_at > self.created_at:
            msgspec.structs.force_setattr(self, "is_used", True)


class FileStat(Record, frozen=True, kw_only=True):
    """`size_bytes` is the contract's, which counts the characters of base64; `size` is what the file has."""

    path: str
    name: str
    is_directory: bool
    is_readonly: bool
    mode: int
    size_bytes: int
    size: int = 0
    created_at: int
    updated_at: int


class FileInfo(FileStat, frozen=True, kw_only=True):
    id: str
    session_id: str


class SessionFile(FileInfo, frozen=True, kw_only=True):
    content: str | None = None
    encoding: str = "text"


class InitialFile(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file as a request brings it. A field that is not known is refused: a misspelt `is_readonly` must not pass for less."""

    path: str
    content: str
    encoding: str = "text"
    is_readonly: bool = False
    mode: Annotated[int, Meta(ge=0, le=0o7777)] | None = None


class GrepMatch(Record, frozen=True, kw_only=True):
    path: str
    line_number: int
    line: str


class KeyInfo(Record, frozen=True, kw_only=True):
    key: str
    created_at: int
    updated_at: int


class SecretInfo(Record, frozen=True, kw_only=True):
    name: str
    created_at: int
    updated_at: int


RunState = Literal["queued", "running", "waiting", "finished"]


class Run(Record, frozen=True, kw_only=True):
    """One run. `result` is there when it is finished or waits. `code` is kept as a digest only: sources may hold secrets."""

    id: str
    tenant: str
    session_id: str
    language: Language
    state: RunState
    code_digest: str
    policy: str = ""
    user: str = ""
    result: RunResult | None = None
    created_at: int
    updated_at: int


class Snapshot(Record, frozen=True, kw_only=True):
    """A snapshot in the store. `base` is the snapshot its pack is a difference to; `kind` says who wanted it: a person (`saved`),
    a durable session after a run (`run`), eviction (`idle`), a template; a `recording` is a run that waits, under the run's
    id."""

    id: str
    tenant: str
    session_id: str
    parent: str | None = None
    base: str | None = None
    depth: int = 0
    kind: Literal["saved", "run", "idle", "template", "recording"]
    label: str = ""
    language: Language
    size_bytes: int
    free_bytes: int = 0
    created_at: int


Verdict = Literal["approved", "rejected", "expired", "cancelled"]


class Approval(Record, frozen=True, kw_only=True):
    """A call that waits for an approval, or did. It is bound to capability, canonical arguments, session and policy digest;
    `uses_left` makes it single-use. `always` decisions answer later calls with the same binding. `command`: what waits is that
    command of a runner's thread (`thread/command_id`), and `run_id` is of no run."""

    id: str
    tenant: str
    session_id: str
    run_id: str
    capability: str
    arguments: dict[str, Any]
    binding: str
    policy: str
    approver: str
    rule: str
    because: str | None = None
    requested_by: str = ""
    created_at: int
    expires_at: int
    verdict: Verdict | None = None
    always: bool = False
    decided_by: str = ""
    decided_at: int | None = None
    reason: str = ""
    uses_left: int = 1
    command: str = ""


class AuditRecord(Record, frozen=True, kw_only=True):
    """`digest` covers everything else here and `previous`, the digest of the tenant's record before it."""

    sequence: int
    tenant: str
    at: int
    kind: str
    actor: str
    subject: str
    data: dict[str, Any]
    previous: str
    digest: str


class StoredPolicy(Record, frozen=True, kw_only=True):
    """A policy as it was deployed: its sources by file name. `state` says whether it decides, only watches, or is history. One
    whose `owner` is the operator is the default that decides for tenants without an active one; it is in no tenant's store."""

    digest: str
    tenant: str
    name: str
    version: int
    main: str
    sources: dict[str, str]
    catalog: str | None = None
    state: Literal["active", "shadow", "retired"]
    owner: Literal["tenant", "operator"] = "tenant"
    created_at: int
    created_by: str = ""


class RegistryEntry(Record, frozen=True, kw_only=True):
    """Something a runner or the registry remembers: kind says what, `body` is its own JSON."""

    tenant: str
    kind: str
    id: str
    body: dict[str, Any]
    created_at: int
    updated_at: int
