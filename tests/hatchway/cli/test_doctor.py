"""`hatchway doctor`: what it says about the engine."""

from __future__ import annotations

import datetime

import pytest

from hatchway.cli import doctor
from sandbox.engine.wasmtime import VERSION


@pytest.mark.parametrize(
    ("version", "ends"), [("36.0.0", "2025-10-20"), ("40.0.0", "2026-02-20"), ("49.0.0", "2026-11-20"), ("50.0.1", "2026-12-20")]
)
def test_a_release_line_of_the_engine_is_fixed_for_two_months(version: str, ends: str) -> None:
    assert doctor.find_end_of_fixes(version) == datetime.date.fromisoformat(ends)


def test_an_engine_without_fixes_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> doctor.Finding:
        return next(found for found in doctor.examine(doctor.images) if found.what == "engine")

    assert f"wasmtime {VERSION}" in look().detail
    monkeypatch.setattr(doctor, "VERSION", "36.0.0")
    assert (look().state, look().detail) == (
        "slow",
        "wasmtime 36.0.0, whose security fixes ended on 2025-10-20: update Hatchway",
    )
