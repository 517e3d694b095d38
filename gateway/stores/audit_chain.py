"""The audit chain: append-only records, each of which vouches for the one before it.

Rules: a record's digest is SHA-256 over the canonical JSON (keys sorted, no spaces, UTF-8) of everything in it but the digest,
the digest of the record before it included. Each tenant has a chain of its own, from sequence 1. Retention cuts the beginning
off; a checkpoint record, itself in the chain, then vouches for the digest at which the rest begins. THREAT[TM-STORE-AUDIT]: a
record is read as its row says: where columns and body disagree, the digest does not fit. A body that cannot be read is a record
too, of the kind UNREADABLE, so that one damaged record hides no other. `gateway.audit.verification` follows a chain.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from gateway.errors import BadRequest, TooLarge
from gateway.records import AuditRecord
from gateway.stores.changes import AppendAudit, digest_of

CHECKPOINT: Final = "audit.checkpoint"
UNREADABLE: Final = "audit.unreadable"


def canonical(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value, order="deterministic")
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise BadRequest("INVALID_ARGUMENT", f"this cannot be kept as JSON: {error}") from None


def link(tenant: str, sequence: int, previous: str, entry: AppendAudit, *, data_bytes_max: int) -> tuple[bytes, str]:
    """The stored body of the record after `previous`, and its digest."""
    data = canonical(entry.data)
    if len(data) > data_bytes_max:
        raise TooLarge("AUDIT_TOO_LARGE", f"an audit record has {len(data)} bytes; {data_bytes_max} are allowed")
    body = canonical(
        {
            "sequence": sequence,
            "tenant": tenant,
            "at": entry.at,
            "kind": entry.kind,
            "actor": entry.actor,
            "subject": entry.subject,
            "data": msgspec.Raw(data),
            "previous": previous,
        }
    )
    return body, digest_of(body)


def body_of(record: AuditRecord) -> bytes:
    """What the digest covers."""
    facts = msgspec.structs.asdict(record)
    del facts["digest"]
    return canonical(facts)


def decode(tenant: str, sequence: int, at: int, body: bytes, digest: str) -> AuditRecord:
    """What a row of the audit table says."""
    columns: dict[str, Any] = {"tenant": tenant, "sequence": sequence, "at": at, "digest": digest}
    try:
        return msgspec.convert({**msgspec.json.decode(body, type=dict[str, Any]), **columns}, AuditRecord)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        told = {"problem": str(error)[:200], "bytes": len(body)}
        return AuditRecord(**columns, kind=UNREADABLE, actor="", subject="", data=told, previous="")
