"""Texts and requests that several policy test files use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from policy import Catalog, load_catalog
from policy.checker import Checked, check
from policy.lowering.loading import Memory

SAMPLES = Path(__file__).parent.parent.parent / "policy" / "samples"
SAMPLE = (SAMPLES / "acme.prod.hatch").read_text(encoding="utf-8")
TOOLS: Catalog = load_catalog((SAMPLES / "tools.catalog.json").read_bytes())
PASSING_TEST = 'test "nothing is open by accident" { as { tenant nobody } session.fork { count 1 } => deny }\n'


def judge(text: str, files: Mapping[str, str] | None = None, catalog: Catalog | None = TOOLS) -> Checked:
    return check("p.hatch", Memory({**(files or {}), "p.hatch": text}), catalog)


def errors(text: str, files: Mapping[str, str] | None = None, catalog: Catalog | None = TOOLS) -> list[str]:
    return [d.code for d in judge(text, files, catalog).diagnostics if d.severity == "error"]


def small(body: str) -> str:
    """A policy with a header and a passing test around `body`."""
    return f"policy p v 1\n{body}\n{PASSING_TEST}"
