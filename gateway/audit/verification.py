"""A tenant's audit log, for its operator: read page by page, exported, and verified: what was changed, removed, reordered or made
unreadable.

What a chain cannot show by itself: that its newest records were cut off, or that all of it was written again. A head
(`sequence:digest`, as `verify` reports it) that is kept elsewhere shows that too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Final

import msgspec

from gateway.errors import BadRequest
from gateway.records import AuditRecord
from gateway.stores.audit_chain import CHECKPOINT, UNREADABLE, body_of, canonical
from gateway.stores.changes import digest_of
from gateway.stores.store import Store
from gateway.stores.stored import Page

LINE_BYTES_MAX: Final = 1 << 20
_FINDINGS_MAX: Final = 100


class Finding(msgspec.Struct, frozen=True):
    """Something wrong at a place of the chain. `problem` is changed, missing, reordered or unreadable."""

    sequence: int
    problem: str
    message: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    records: int
    first: int
    head: str
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        return not self.findings


class Verifier:
    """Follows one tenant's chain, record by record. `known` is a head that an auditor kept: it must be on the way."""

    def __init__(self, known: tuple[int, str] | None = None) -> None:
        self._known = known
        self._findings: list[Finding] = []
        self._count = 0
        self._first: AuditRecord | None = None
        self._last: AuditRecord | None = None
        self._checkpoints: dict[int, str] = {}

    def add(self, record: AuditRecord) -> None:
        self._count += 1
        if not _is_as_digested(record):
            is_read = record.kind != UNREADABLE
            why = "is not what its digest says" if is_read else f"cannot be read: {record.data.get('problem')}"
            self._find(record.sequence, "changed" if is_read else "unreadable", f"record {record.sequence} {why}")
        last = self._last
        if last is None:
            self._first = record
        elif record.tenant != last.tenant:
            self._find(record.sequence, "reordered", f"record {record.sequence} is of another tenant")
        elif record.sequence <= last.sequence:
            self._find(record.sequence, "reordered", f"record {record.sequence} stands after {last.sequence}")
        elif record.sequence > last.sequence + 1:
            self._find(last.sequence + 1, "missing", f"records {last.sequence + 1} to {record.sequence - 1} are missing")
        elif record.previous != last.digest:
            self._find(record.sequence, "changed", f"record {record.sequence} does not follow the one before it")
        if self._known is not None and record.sequence == self._known[0] and record.digest != self._known[1]:
            self._find(record.sequence, "changed", f"record {record.sequence} is not the one that was there")
        if record.kind == CHECKPOINT:
            through, digest = record.data.get("through"), record.data.get("digest")
            if isinstance(through, int) and isinstance(digest, str):
                self._checkpoints[through] = digest
        self._last = record

    def note_unreadable(self, place: int, why: str) -> None:
        self._find(place, "unreadable", why)

    def finish(self, head: tuple[int, str] | None = None) -> Verdict:
        """`head` is where the store says the chain has got to."""
        first, last = self._first, self._last
        if first is not None:
            self._check_beginning(first)
        end = (last.sequence, last.digest) if last is not None else (0, "")
        reached = max((known[0] for known in (head, self._known) if known is not None), default=0)
        if end[0] < reached:
            self._find(end[0] + 1, "missing", f"records {end[0] + 1} to {reached} are missing")
        elif head is not None and end[0] == head[0] and end[1] != head[1]:
            self._find(head[0], "changed", f"record {head[0]} is not the one the store's head names")
        return Verdict(
            records=self._count,
            first=first.sequence if first is not None else 0,
            head=f"{end[0]}:{end[1]}",
            findings=self._findings,
        )

    def _check_beginning(self, first: AuditRecord) -> None:
        expected = "" if first.sequence == 1 else self._checkpoints.get(first.sequence - 1)
        if expected is None:
            message = f"records 1 to {first.sequence - 1} are missing, and no checkpoint vouches for them"
            self._find(1, "missing", message)
        elif first.previous != expected:
            self._find(first.sequence, "changed", f"record {first.sequence} does not follow what its checkpoint says")

    def _find(self, sequence: int, problem: str, message: str) -> None:
        if len(self._findings) < _FINDINGS_MAX:
            self._findings.append(Finding(sequence, problem, message))


def _is_as_digested(record: AuditRecord) -> bool:
    try:
        return digest_of(body_of(record)) == record.digest
    except BadRequest:  # it holds what no record could have been made of
        return False


class AuditLog:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, tenant: str, after: int, limit: int) -> Page[AuditRecord]:
        """Records after a sequence; `next` is the last one's."""
        records = await self._store.audit(tenant, after=after, limit=limit)
        return Page(records, str(records[-1].sequence) if len(records) == limit else None)

    async def export(self, tenant: str, after: int = 0, limit: int | None = None) -> AsyncIterator[bytes]:
        """The records as JSON lines: all of them, or the first `limit`."""
        async for record in self._store.walk_audit(tenant, after):
            yield canonical(record) + b"\n"
            if limit is not None:
                limit -= 1
                if not limit:
                    return

    async def verify(self, tenant: str, known: tuple[int, str] | None = None) -> Verdict:
        """`known` is a head that an auditor kept."""
        # The head comes first: records appended while we read are then more than it promises, not fewer.
        head = await self._store.audit_head(tenant)
        verifier = Verifier(known)
        async for record in self._store.walk_audit(tenant):
            verifier.add(record)
        return verifier.finish(head)


def verify_lines(lines: Iterable[bytes], known: tuple[int, str] | None = None) -> dict[str, Verdict]:
    """What an export holds, by tenant. `known` is checked for each."""
    verifiers: dict[str, Verifier] = {}
    for number, record in enumerate(_records(lines), start=1):
        if isinstance(record, str):
            verifiers.setdefault("", Verifier()).note_unreadable(number, f"line {number}: {record}")
        else:
            verifiers.setdefault(record.tenant, Verifier(known)).add(record)
    return {tenant: verifier.finish() for tenant, verifier in verifiers.items()}


def _records(lines: Iterable[bytes]) -> Iterator[AuditRecord | str]:
    decoder = msgspec.json.Decoder(AuditRecord)
    for line in lines:
        if len(line) > LINE_BYTES_MAX:
            yield "too long"
        elif line.strip():
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                yield str(error)[:200]
