"""Shared parts of the policy tests: the sample catalog and a way to judge a text."""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "policy" / "samples"


@pytest.fixture(scope="session")
def samples() -> Path:
    return SAMPLES
