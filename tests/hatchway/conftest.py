"""A gateway for all tests of this folder, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hatchway import Client
from tests.gateway.serving import Gateway, serving
from tests.hatchway.commanding import Command
from tests.hatchway.surfaces import NAMES, REMOTE, Library, Surface


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with serving(tmp_path_factory.mktemp("served") / "data") as gateway:
        yield gateway


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


@pytest.fixture
def remote(gateway: Gateway, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`hatchway remote`, of an admin."""
    environment = {"HATCHWAY_TOKEN": gateway.token, "HATCHWAY_URL": gateway.url}
    return Command(monkeypatch, capsys, "remote", environment=environment)


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with Client(gateway.url, gateway.token) as client:
        yield client


@pytest.fixture(scope="session")
def surfaces(gateway: Gateway) -> Iterator[dict[str, Surface]]:
    opened = {name: kind(gateway.url, gateway.token) for name, kind in REMOTE.items()}
    yield {Library.name: Library(), **opened}
    for surface in opened.values():
        surface.close()


@pytest.fixture(params=NAMES)
def surface(request: pytest.FixtureRequest, surfaces: dict[str, Surface]) -> Iterator[Surface]:
    """The library, HTTP, and both clients, one after the other."""
    yield surfaces[request.param]
    surfaces[request.param].close_boxes()
