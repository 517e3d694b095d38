"""Fixtures that every test may use: real sandboxes with the contract's default limits.

Hypothesis measures no time here: how long an example takes says how busy the machine is. What collecting the tests made stays to
the end, so Python's collector need not look at it, neither then nor in every test after it.

A shell starts background jobs with SIGINT ignored, and programs inherit that. Tests that interrupt programs they start need the
ordinary disposition, so it is restored here: once in pytest, once in each worker of pytest-xdist.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import hatchway

settings.register_profile("hatchway", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hatchway")
gc.disable()
signal.signal(signal.SIGINT, signal.default_int_handler)

NewBox = Callable[..., hatchway.Sandbox]
LONGEST = {"test_api_schema.py", "test_gateway_crashes.py", "test_examples.py"}
"""Files with tests of many seconds. They come first: at the end, the other workers would have nothing left to do beside them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


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
