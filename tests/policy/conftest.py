"""Shared parts of the policy tests: the sample catalog and a way to judge a text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
SAMPLES = HERE.parent.parent / "policy" / "samples"


@pytest.fixture(scope="session")
def samples() -> Path:
    return SAMPLES
