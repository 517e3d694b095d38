"""The ledger of one write: the tenant's row and those of its sessions, what they use, and the head of the audit chain.

Rules: rows are loaded once and stored once, at the end. INVARIANT: usage is the sum of what is stored, because each change
charges the difference it makes in the same transaction, audit records too. Quotas are checked at the end and only when something
grew, so that a tenant over its quota can still delete. THREAT[TM-STORE-QUOTA]: audit records alone may use a reserve beyond the
quota, because deleting is audited as well; past it, only those of a write that ends something.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Final

import msgspec

from gateway.errors import TooLarge, TooMany, missing
from gateway.records import Tenant
from gateway.stores import audit_chain
from gateway.stores.changes import AppendAudit
from gateway.stores.row_operations import Get, Put, Steps
from gateway.stores.stored import StoreLimits
from gateway.stores.tables import AUDIT, SESSIONS, TENANTS, Row

AUDIT_RESERVE_BYTES: Final = 64 << 10
"""Beyond a tenant's quota, and an eighth of the quota more."""
_decode_tenant = msgspec.json.Decoder(Tenant).decode


@dataclass(slots=True)
class Head:
    """A row of `tenants`."""

    tenant: str
    updated_at: int
    body: bytes
    bytes: int = 0
    files: int = 0
    vals: int = 0
    sessions: int = 0
    audit_sequence: int = 0
    audit_digest: str = ""


@dataclass(slots=True)
class SessionRow:
    """A row of `sessions`."""

    tenant: str
    id: str
    updated_at: int
    body: bytes
    bytes: int = 0
    files: int = 0
    vals: int = 0


# `dataclasses.astuple` copies deeply, which took a fifth of the writer's CPU time.
_head_row = attrgetter(*(field.name for field in fields(Head)))
_session_row = attrgetter(*(field.name for field in fields(SessionRow)))


class Ledger:
    def __init__(self, tenant: str, limits: StoreLimits) -> None:
        self.tenant = tenant
        self.limits = limits
        self.found: Head | None = None
        """The tenant's row, if there is one."""
        self._sessions: dict[str, SessionRow | None] = {}
        self._before: dict[str, Row] = {}
        self._audits: list[Row] = []
        self._audit_bytes = 0
        self._forgiven = 0
        self._ends_something = False

    def load(self, session_ids: Iterable[str]) -> Steps[None]:
        rows = yield Get(TENANTS, (), [self.tenant])
        if rows:
            self.found = Head(*rows[0])
            self._before[""] = tuple(rows[0])
        yield from self._load_sessions(session_ids)

    def _load_sessions(self, session_ids: Iterable[str]) -> Steps[None]:
        unknown = sorted(set(session_ids) - self._sessions.keys() - {""})
        if not unknown:
            return
        self._sessions.update(dict.fromkeys(unknown))
        for row in (yield Get(SESSIONS, (self.tenant,), unknown)):
            found = self._sessions[row[1]] = SessionRow(*row)
            self._before[found.id] = tuple(row)

    @property
    def head(self) -> Head:
        if self.found is None:
            raise missing("tenant", self.tenant)
        return self.found

    def find_session(self, session_id: str) -> Steps[SessionRow | None]:
        yield from self._load_sessions([session_id])
        return self._sessions.get(session_id)

    def session(self, session_id: str) -> Steps[SessionRow]:
        found = yield from self.find_session(session_id)
        if found is None:
            raise missing("session", session_id)
        return found

    def add_session(self, row: SessionRow) -> None:
        self._sessions[row.id] = row
        self.head.sessions += 1

    def drop_session(self, row: SessionRow) -> None:
        self._sessions[row.id] = None
        self._before.pop(row.id, None)
        self.end_something()
        head = self.head
        head.sessions -= 1
        head.bytes -= row.bytes
        head.files -= row.files
        head.vals -= row.vals

    def charge(self, size: int, *, files: int = 0, values: int = 0, session: SessionRow | None = None) -> None:
        for account in (self.head, session):
            if account is not None:
                account.bytes += size
                account.files += files
                account.vals += values

    def end_something(self, growth: int = 0) -> None:
        """The write ends or deletes something: that growth, and its audit records, may lead over the tenant's quota.
        THREAT[TM-STORE-FULL]: a tenant that is full can still be stopped, refused and shut out, and keeps no service from
        starting."""
        self._forgiven += max(0, growth)
        self._ends_something = True

    def chain(self, entry: AppendAudit) -> None:
        head = self.head
        sequence = head.audit_sequence + 1
        body, digest = audit_chain.link(self.tenant, sequence, head.audit_digest, entry, data_bytes_max=self.limits.audit_bytes)
        self._audits.append((self.tenant, sequence, entry.at, body, digest))
        self._audit_bytes += len(body)
        self._ends_something = self._ends_something or entry.ends
        self.charge(len(body))
        head.audit_sequence, head.audit_digest = sequence, digest

    def flush_audit(self) -> Steps[None]:
        if self._audits:
            yield Put(AUDIT, self._audits)
            self._audits = []

    def flush(self) -> Steps[None]:
        yield from self.flush_audit()
        self._check()
        changed = [
            row for found in self._sessions.values() if found and (row := _session_row(found)) != self._before.get(found.id)
        ]
        if changed:
            yield Put(SESSIONS, changed)
        row = _head_row(self.head)
        if row != self._before.get(""):
            yield Put(TENANTS, [row])

    def _check(self) -> None:
        for session in self._sessions.values():
            if session is not None:
                before = SessionRow(*self._before[session.id]) if session.id in self._before else SessionRow("", "", 0, b"")
                whose = f"session {session.id}"
                _limit(whose, "bytes", session.bytes, before.bytes, self.limits.session_bytes)
                _limit(whose, "files", session.files, before.files, self.limits.session_files)
                _limit(whose, "values", session.vals, before.vals, self.limits.session_values)
        head = self.head
        before_head = Head(*self._before[""]) if "" in self._before else Head("", 0, b"")
        if head.bytes > before_head.bytes or head.sessions > before_head.sessions:
            quotas = _decode_tenant(head.body).quotas
            most, others = quotas.storage_bytes, head.bytes - self._audit_bytes
            _limit("this tenant", "bytes", others, before_head.bytes + self._forgiven, most)
            if not self._ends_something:
                _limit("this tenant", "bytes", head.bytes, before_head.bytes, most + most // 8 + AUDIT_RESERVE_BYTES)
            if head.sessions > before_head.sessions and head.sessions > quotas.sessions_max:
                message = f"this tenant would have {head.sessions} sessions; {quotas.sessions_max} are allowed"
                raise TooMany("QUOTA_EXCEEDED", message, "delete sessions that are not needed any more", retry_after_ms=60_000)


def _limit(whose: str, what: str, now: int, before: int, most: int) -> None:
    if now > before and now > most:
        message = f"{whose} would have {now} {what}; {most} are allowed"
        raise TooLarge("QUOTA_EXCEEDED", message, "delete what is not needed any more, or ask for a larger quota")
