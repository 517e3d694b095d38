"""A lowered policy: the canonical form, its tests, and where each part stands in the source, which is never in that form."""

from __future__ import annotations

from dataclasses import dataclass, field

from policy.model import ir
from policy.model.catalog import Catalog
from policy.solver.effort import Effort
from policy.text.sources import Source, Span

Part = tuple[ir.Expr, Span]


@dataclass(frozen=True, slots=True)
class TestCase:
    """One request of a test block, with the verdict it must get."""

    title: str
    request: ir.Request
    verdict: str
    span: Span


@dataclass(slots=True)
class Program:
    ir: ir.Policy
    catalog: Catalog
    source: Source
    tests: list[TestCase] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)
    parts: dict[str, list[Part]] = field(default_factory=dict)
    autos: dict[str, Span] = field(default_factory=dict)
    claim_texts: dict[str, str] = field(default_factory=dict)
    clean: bool = True
    effort: Effort = field(default_factory=Effort)
