"""Decisions lately: what a tenant's policy decided, and what a candidate in its shadow would have decided otherwise.

Rules: a bounded ring, of bounded records. All the fields that its catalog knows of a request are logged, not only those that the
policy in force looks at: the next policy may look at others. Fields that the catalog calls sensitive are masked and long texts
cut; a record with such a field cannot be replayed and says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from gateway.records import Record
from policy import Decision, Policy

KEPT_DECISIONS: Final = 2000
SHOWN_CHARS_MAX: Final = 256
_MASK: Final = "***"
_FIELDS_KEPT: Final = 4096
_ABSENT: Final = object()
T = TypeVar("T")
_Fields = tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...], Callable[[str], str] | None], ...]]
"""Which fields of an event are hidden, where in its arguments each of its fields is, and how it is spelt when it is judged."""


class Decided(Record, frozen=True, kw_only=True):
    """A decision as it is shown and replayed."""

    at: int
    session_id: str
    event: str
    attributes: dict[str, Any]
    verdict: str
    rule: str
    policy: str
    masked: bool = False


class Difference(Record, frozen=True, kw_only=True):
    """What a candidate in shadow would have decided otherwise."""

    at: int
    event: str
    attributes: dict[str, Any]
    verdict: str
    candidate: str


class Decisions:
    """One tenant's."""

    def __init__(self, clock_ms: Callable[[], int]) -> None:
        self._clock_ms = clock_ms
        self.shadow: Policy | None = None
        self.recent: deque[Decided] = deque(maxlen=KEPT_DECISIONS)
        self.differences: deque[Difference] = deque(maxlen=KEPT_DECISIONS)
        self._fields: dict[tuple[str, str], _Fields] = {}

    def note(
        self,
        policy: Policy,
        session_id: str,
        event: str,
        facts: Mapping[str, Any],
        arguments: Mapping[str, Any],
        decision: Decision,
    ) -> dict[str, Any]:
        """Log a decision. What of its arguments may be shown elsewhere, too, without the facts."""
        shown, masked = self._mask(policy, event, facts, arguments)
        at = self._clock_ms()
        self.recent.append(
            Decided(
                at=at,
                session_id=session_id,
                event=event,
                attributes=shown,
                verdict=decision.verdict,
                rule=decision.rule,
                policy=policy.digest,
                masked=masked,
            )
        )
        if self.shadow is not None:
            other = self.shadow.decide(event, {**facts, **self.shadow.attributes(event, facts, arguments)})
            if other.verdict != decision.verdict:
                self.differences.append(
                    Difference(at=at, event=event, attributes=shown, verdict=decision.verdict, candidate=other.verdict)
                )
        _, fields = self._fields[policy.catalog.digest, event]
        return {name.removeprefix("args."): shown[name] for name, _, _ in fields if name in shown}

    def count_before(self, at: int) -> int:
        """How many were made before a time."""
        return sum(1 for log in (self.recent, self.differences) for logged in log if logged.at < at)

    def forget_before(self, at: int) -> int:
        """Those go; how many."""
        count = self.count_before(at)
        self.recent = deque((decided for decided in self.recent if decided.at >= at), KEPT_DECISIONS)
        self.differences = deque((difference for difference in self.differences if difference.at >= at), KEPT_DECISIONS)
        return count

    def _mask(
        self, policy: Policy, event: str, facts: Mapping[str, Any], arguments: Mapping[str, Any]
    ) -> tuple[dict[str, Any], bool]:
        """The request as it may be logged, and whether something of it is missing. Facts are the operator's own words: short."""
        hidden, fields = self._fields.get((policy.catalog.digest, event)) or self._learn(policy, event)
        found, masked = dict(facts), False
        for name, path, normalise in fields:
            value: Any = arguments
            for part in path:
                value = value.get(part, _ABSENT) if isinstance(value, Mapping) else _ABSENT
            if normalise is not None and value.__class__ is str:
                value = normalise(value)
            if value.__class__ is int or (value.__class__ is str and len(value) <= SHOWN_CHARS_MAX):
                found[name] = value
            elif value is not _ABSENT:
                found[name], masked = _cut(value), masked or not isinstance(value, bool | float)
        for name in hidden:
            if name in found:
                found[name], masked = _MASK, True
        return found, masked

    def _learn(self, policy: Policy, event: str) -> _Fields:
        catalog = policy.catalog
        capability = catalog.capabilities.get(event)
        fields = tuple(capability.fields.values()) if capability is not None else ()
        hidden = tuple(field.name for field in (*catalog.context.values(), *fields) if field.sensitive)
        places = tuple((field.name, tuple(field.name.removeprefix("args.").split(".")), field.type.normalise) for field in fields)
        if len(self._fields) >= _FIELDS_KEPT:
            self._fields.clear()
        self._fields[catalog.digest, event] = hidden, places
        return hidden, places


def _cut(value: Any) -> Any:
    if isinstance(value, bool | float):
        return value
    return value[:SHOWN_CHARS_MAX] + "…" if isinstance(value, str) else f"({type(value).__name__})"


def take_newest(found: Sequence[T], limit: int) -> list[T]:
    return [found[-1 - number] for number in range(min(limit, len(found)))]
