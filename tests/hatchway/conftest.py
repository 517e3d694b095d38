"""A gateway for all tests of this folder, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hatchway import Client
from tests.gateway.serving import Gateway, serving


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with serving(tmp_path_factory.mktemp("served") / "data") as gateway:
        yield gateway


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with Client(gateway.url, gateway.token) as client:
        yield client
