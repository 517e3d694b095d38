"""Workers of every kind, for tests of what they have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from sandbox.workers.interface import Workers
from sandbox.workers.local.worker import LocalWorkers
from sandbox.workers.process_pool import ProcessWorkers
from tests.sandbox.workers.scenes import Play, Scene


@pytest.fixture(scope="module", params=["local", "process"])
def stage(request: pytest.FixtureRequest) -> Iterator[tuple[asyncio.Runner, Workers]]:
    """Workers of one kind, and the event loop they are used on."""
    with asyncio.Runner() as runner:
        workers: Workers = LocalWorkers(cores=2) if request.param == "local" else ProcessWorkers()
        yield runner, workers
        runner.run(workers.aclose())


@pytest.fixture
def play(stage: tuple[asyncio.Runner, Workers], request: pytest.FixtureRequest) -> Play:
    """Plays a scene with a worker of a tenant that nobody else is."""
    runner, workers = stage

    def played(scene: Scene) -> None:
        async def main() -> None:
            await asyncio.wait_for(scene(await workers.of(request.node.name)), 60)

        runner.run(main())

    return played
