"""Changes: what may be written to a store, as plain data.

Rules: a write is a list of these, applied in order, all or none, in one transaction: `await store.write(tenant, changes)`. A
change holds no behaviour and never names a tenant: the write does. An expectation that does not hold fails the whole list. `at`
is the caller's clock in unix milliseconds; the store has none.

`expect` of a change is None (whatever is there), ABSENT (nothing may be there), or what must be there: the content's digest for
files and values (`digest_of`), `updated_at` for records. A record that is there already is a Conflict (…_EXISTS); everything else
that is not as expected is PreconditionFailed (…_CHANGED, …_EXISTS).
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from gateway.records import Approval, RegistryEntry, Run, Session, Snapshot, StoredPolicy, StoredToken, Tenant

ABSENT: Final = "absent"
Kind = Literal["file", "directory", "symlink"]
Encoding = Literal["text", "base64"]
_PIECE_BYTES: Final = 64 << 10
"""What is decoded in one call, which holds the interpreter's lock: other threads have their turn in between."""


def digest_of(content: bytes) -> str:
    """The name of a content: lowercase hex SHA-256."""
    return hashlib.sha256(content).hexdigest()


def detect_encoding(content: bytes) -> Encoding:
    """How bytes travel: as text if they are text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(content), _PIECE_BYTES):
            decoder.decode(content[at : at + _PIECE_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "base64"
    return "base64" if b"\0" in content else "text"


class Change(msgspec.Struct, frozen=True):
    pass


class PutRecord(Change, frozen=True):
    """A record of any table that has no rules of its own (`gateway.stores.tables`)."""

    record: msgspec.Struct
    expect: str | int | None = None


class DeleteRecord(Change, frozen=True):
    """`key` is the record's key without its tenant. Nothing happens if it is not there."""

    kind: type[msgspec.Struct]
    key: tuple[str | int, ...]


class PutTenant(Change, frozen=True):
    """The only change that may come to a tenant that does not exist yet. It also sets the tenant's quotas."""

    tenant: Tenant
    expect: str | int | None = None


class DeleteTenant(Change, frozen=True):
    """Everything of the tenant goes, its audit log too. Must stand alone in its write."""


class PutSession(Change, frozen=True):
    session: Session
    expect: str | int | None = None


class DeleteSession(Change, frozen=True):
    """With its files, values, secrets, runs, approvals and snapshots, except those saved and what other snapshots build on.
    Nothing happens if there is no such session."""

    session_id: str


class PutFile(Change, frozen=True):
    """`path` is normalised already. Missing parents are made. An existing entry keeps its id and `created_at`.

    `content` is the bytes of a file or the target of a link (UTF-8). `readonly` None leaves the flag of an existing file as it
    is. With `protect` a read-only file is not replaced (Forbidden, FILE_READ_ONLY); without, it is: seeds and guests' own
    trees. `keep` leaves an existing entry, whatever it is, untouched: how directories are made. `digest` is the content's, where
    it is known: else it is computed while other writes wait. Without `mode` an entry keeps its permissions, and a new one has the
    usual; of an entry that is kept, only a directory gets those that are given.
    """

    session_id: str
    path: str
    id: str
    at: int
    content: bytes = b""
    kind: Kind = "file"
    encoding: Encoding = "text"
    readonly: bool | None = False
    protect: bool = False
    keep: bool = False
    expect: str | None = None
    digest: str = ""
    mode: int | None = None


class ChangeMode(Change, frozen=True):
    """Other permissions for what is at a path. A read-only file keeps its own (Forbidden, FILE_READ_ONLY)."""

    session_id: str
    path: str
    mode: int


class DeleteFile(Change, frozen=True):
    """The entry and all below it. Nothing happens if it is not there, unless `expect` is a digest. Without `recursive` a
    directory that is not empty is a Conflict (DIRECTORY_NOT_EMPTY). With `protect` a read-only entry itself is Forbidden, with
    `protect_below` one anywhere below it too."""

    session_id: str
    path: str
    recursive: bool = True
    protect: bool = False
    expect: str | None = None
    protect_below: bool = False


class PutValue(Change, frozen=True):
    session_id: str
    key: str
    value: bytes
    at: int
    expect: str | None = None


class DeleteValue(Change, frozen=True):
    """Nothing happens if it is not there, unless `expect` is a digest."""

    session_id: str
    key: str
    expect: str | None = None


class PutSecret(Change, frozen=True):
    """`sealed` by `gateway.tenants.vault`: the store never sees a secret. `session_id` "" is the tenant's own."""

    name: str
    sealed: bytes
    at: int
    session_id: str = ""
    expect: str | None = None


class DeleteSecret(Change, frozen=True):
    name: str
    session_id: str = ""


class PutKey(Change, frozen=True):
    """The tenant's data key, wrapped under a master key (`gateway.tenants.vault`)."""

    id: str
    wrapped: bytes
    at: int
    expect: str | None = None


class PutRun(Change, frozen=True):
    run: Run


class PutSnapshot(Change, frozen=True):
    """The record and its sealed pack. A `base` must be stored already."""

    snapshot: Snapshot
    pack: bytes


class DeleteSnapshot(Change, frozen=True):
    """Conflict (SNAPSHOT_IN_USE) while another snapshot builds on it or a session's heap is in it."""

    id: str


class PutApproval(Change, frozen=True):
    """A decided approval stays as it is decided: another verdict is a Conflict (APPROVAL_DECIDED). With `expect_pending` so is
    the same verdict once more, and an approval that is not there."""

    approval: Approval
    expect_pending: bool = False


class UseApproval(Change, frozen=True):
    """Takes one use of an approved approval, found by `id` or as the oldest usable one of a `binding`; Conflict
    (APPROVAL_MISSING) if there is none. `at`, if given, must be before its end. An `always` approval is not used up."""

    id: str | None = None
    binding: str | None = None
    at: int | None = None


class ExpireApprovals(Change, frozen=True):
    """Undecided ones that are over become `expired`, approved ones lose their uses. Persisted, so that a clock that goes
    back revives nothing."""

    at: int


class PutPolicy(Change, frozen=True):
    """By name and version. With state `active` the policy of this name that was active is retired, in the same way `shadow`."""

    policy: StoredPolicy
    expect: Literal["absent"] | None = None


class PutEntry(Change, frozen=True):
    entry: RegistryEntry
    expect: str | int | None = None


class DeleteEntry(Change, frozen=True):
    kind: str
    id: str


class PutToken(Change, frozen=True):
    """A revoked token stays revoked: Conflict (TOKEN_REVOKED)."""

    token: StoredToken


class PutIdempotency(Change, frozen=True):
    """Without `response`: claims the key, Conflict (IDEMPOTENCY_KEY_USED) if it is there. With: completes the claim of the same
    request (or stores both at once); a completed one is never replaced."""

    key: str
    request_digest: str
    at: int
    response: bytes | None = None


class DeleteIdempotency(Change, frozen=True):
    key: str


class AppendAudit(Change, frozen=True):
    """The store gives it its place in the tenant's chain, in the same transaction. With `ends` it says how something ended that
    was begun, and is written whatever the quota."""

    at: int
    kind: str
    actor: str = ""
    subject: str = ""
    data: dict[str, Any] = {}
    ends: bool = False


class TrimAudit(Change, frozen=True):
    """Forgets the records up to `through`, and appends a checkpoint that vouches for the digest the rest begins with."""

    through: int
    at: int


_DELETING: Final = (
    DeleteRecord, DeleteTenant, DeleteSession, DeleteFile, DeleteValue, DeleteSecret, DeleteSnapshot, DeleteEntry,
    DeleteIdempotency, TrimAudit, AppendAudit,
)  # fmt: skip


def is_deletion(changes: Sequence[Change]) -> bool:
    """Whether a write only deletes, or only says so: it is made on a full disk too."""
    return all(isinstance(change, _DELETING) for change in changes)


def list_contents(changes: Sequence[Change]) -> list[bytes]:
    """The contents of files, snapshots and values that are written."""
    return [content for change in changes for name in ("content", "pack", "value") if (content := getattr(change, name, b""))]
