"""Fixtures that every test may use: real sandboxes with the contract's default limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hatchway

NewBox = Callable[..., hatchway.Sandbox]


@pytest.fixture
def new_box() -> Iterator[NewBox]:
    """Makes sandboxes, and closes them at the end of the test."""
    made: list[hatchway.Sandbox] = []

    def make(**options: Any) -> hatchway.Sandbox:
        made.append(hatchway.Sandbox(**options))
        return made[-1]

    yield make
    for box in made:
        box.close()


@pytest.fixture
def box(new_box: NewBox) -> hatchway.Sandbox:
    return new_box()
