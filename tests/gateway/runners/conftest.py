"""Servers for all tests of a process, each started by the first test that needs it; and `trial`, every provider in turn."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import pytest

from tests.gateway.runners import dockerd, sshd
from tests.gateway.runners.dockerd import Daemon
from tests.gateway.runners.places import NAMES, Check, Servers, Try, a_place, go
from tests.gateway.runners.sshd import Server

T = TypeVar("T")


@pytest.fixture
def deep_path(tmp_path: Path) -> Iterator[Path]:
    """A folder for trees that are too deep for what cleans up after tests, also after one that failed."""
    place = tmp_path / "deep"
    place.mkdir()
    yield place
    subprocess.run(["rm", "-rf", str(place)], check=True)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with contextlib.ExitStack() as stack:

        def once(start: Callable[[], AbstractContextManager[T]]) -> Callable[[], T]:
            started: list[T] = []

            def get() -> T:
                if not started:
                    started.append(stack.enter_context(start()))
                return started[0]

            return get

        yield Servers(ssh=once(lambda: sshd.serve(tmp_path_factory.mktemp("sshd"))), docker=once(dockerd.serve))


@pytest.fixture(scope="session")
def ssh_server(servers: Servers) -> Callable[[], Server]:
    return servers.ssh


@pytest.fixture(scope="session")
def docker_engine(servers: Servers) -> Callable[[], Daemon]:
    return servers.docker


@pytest.fixture(params=NAMES)
def trial(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Try:
    """Runs a check in an open session of the provider."""

    def run_check(check: Check) -> None:
        async def main() -> None:
            async with a_place(request.param, tmp_path, servers) as place:
                await place.open()
                await check(place)

        go(main())

    return run_check
