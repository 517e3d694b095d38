"""A gateway with its console, as a program: `python -m tests.gateway.console.served DIRECTORY`.

Prints its URL and its first admin token. What `hatchway serve` does.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gateway.configuration import load
from gateway.http.assembly import Face
from gateway.http.transport.server import listen
from gateway.lifecycle.readiness import Images
from gateway.service import Service
from gateway.telemetry import Telemetry, log_to


async def serve(data: Path) -> None:
    configuration = load(None, {}, data=str(data), port=0, workers="in-process")
    log_to(sys.stderr, "warning")
    with listen(configuration) as listening:
        images = Images()
        await images.look()
        service = await Service.open(configuration, readiness=images)
        face = Face(service, configuration, Telemetry(), listening=listening)
        await face.server.start()
        print(face.server.url, await service.issue_first_token(), flush=True)
        preparing = asyncio.create_task(images.prepare(lambda guest, done: None))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        preparing.cancel()
        await asyncio.wait((preparing,))
        await face.server.stop()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
