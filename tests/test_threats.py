"""THREATS.md, the code and the tests name the same threats."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = ("sandbox", "policy", "hatchway", "gateway", "wasm_modules")


def sources(*folders: str) -> list[Path]:
    return [p for f in folders for p in (ROOT / f).rglob("*") if p.suffix in (".py", ".c", ".h") and "build" not in p.parts]


def listed() -> set[str]:
    return set(re.findall(r"^\| (TM-[A-Z]+-[A-Z0-9]+) \|", (ROOT / "THREATS.md").read_text("utf-8"), re.MULTILINE))


def test_every_threat_is_cited_at_its_mitigation_and_every_citation_is_listed() -> None:
    cited = {
        found for path in sources(*CODE) for found in re.findall(r"THREAT\[(TM-[A-Z]+-[A-Z0-9]+)\]", path.read_text("utf-8"))
    }
    assert cited == listed()


def test_every_threat_has_a_test_named_after_it_and_every_such_test_has_a_threat() -> None:
    text = "\n".join(path.read_text("utf-8") for path in sources("tests"))
    named = {found.replace("_", "-").upper() for found in re.findall(r"def test_(tm_[a-z]+_[a-z0-9]+)_", text)}
    assert named == listed()
