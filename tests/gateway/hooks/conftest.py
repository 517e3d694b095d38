"""A stage for every test that fires hooks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.hooks.stage import Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()
