"""Recorded decisions against a new policy: what would have been answered differently.

A record is one JSON object per line: `event`, `attributes`, `verdict`, and optionally `rule`. Every line is judged or refused
with its number; nothing is skipped in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from policy.errors import PolicyError
from policy.model.decisions import RANK, Decision
from policy.policies import Policy

MAX_LINE_BYTES = 1_000_000


class Record(msgspec.Struct, frozen=True):
    event: str
    attributes: dict[str, Any]
    verdict: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Divergence:
    line: int
    record: Record
    decision: Decision

    @property
    def loosens(self) -> bool:
        return RANK[self.decision.verdict] < RANK[self.record.verdict]


@dataclass(slots=True)
class Replay:
    """How many decisions were replayed, and the ones that came out differently (all counted, the first `keep` kept)."""

    total: int = 0
    changed: int = 0
    loosened: int = 0
    kept: list[Divergence] = field(default_factory=list)


def read_records(lines: Iterable[bytes]) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line[:MAX_LINE_BYTES], type=Record)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise PolicyError(f"line {number} is not a recorded decision: {error}") from error
        if record.verdict not in RANK:
            raise PolicyError(f"line {number}: {record.verdict!r} is not a verdict")
        yield number, record


def replay(policy: Policy, lines: Iterable[bytes], *, keep: int = 100) -> Replay:
    result = Replay()
    for number, record in read_records(lines):
        decision = policy.decide(record.event, record.attributes)
        result.total += 1
        if decision.verdict != record.verdict:
            found = Divergence(number, record, decision)
            result.changed += 1
            result.loosened += found.loosens
            # What loosens matters more than what tightens, so it is kept even when the list is full of the latter.
            if len(result.kept) < keep or (found.loosens and len(result.kept) < 2 * keep):
                result.kept.append(found)
    return result
