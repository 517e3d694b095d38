"""One OpenSSH server for all tests of a process, started by the first that needs it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.gateway.runners.sshd import Server, serve


@pytest.fixture(scope="session")
def ssh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Server]]:
    started: list[Server] = []
    with contextlib.ExitStack() as stack:

        def start() -> Server:
            if not started:
                started.append(stack.enter_context(serve(tmp_path_factory.mktemp("sshd"))))
            return started[0]

        yield start
