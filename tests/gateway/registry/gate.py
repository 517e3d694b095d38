"""A real gateway with its registry in a process of its own, that can be killed and started again on the same port.

    with gate(tmp_path / "b") as b: b.url, b.token …

Started as a program it serves until it is ended, and prints its address and, at the first start, a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.configuration import Configuration
from gateway.http.assembly import Face
from gateway.service import Service
from gateway.telemetry import Telemetry


async def serve(data: str, port: int, equipment: str) -> None:
    configuration = Configuration(data=data, port=port, equipment=equipment, workers="in-process", access_log=False)
    service = await Service.open(configuration)
    face = Face(service, configuration, Telemetry())
    await face.server.start()
    print(json.dumps({"url": face.server.url, "token": await service.issue_first_token()}), flush=True)
    await asyncio.Event().wait()


@dataclass(slots=True)
class Gate:
    url: str
    token: str
    data: Path
    process: subprocess.Popen[str]

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text, status = answer.read(), answer.status
        except urllib.error.HTTPError as error:
            with error:
                text, status = error.read(), error.code
        return status, json.loads(text) if text else None

    def kill(self) -> None:
        """As by SIGKILL: nothing is finished, nothing is said."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        port = int(self.url.rsplit(":", 1)[1])
        self.process = _start(self.data, port, "")
        assert _first_line(self.process)["url"] == self.url


@contextlib.contextmanager
def gate(data: Path, equipment: str = "") -> Iterator[Gate]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    process = _start(data, port, equipment)
    opened = None
    try:
        said = _first_line(process)
        opened = Gate(said["url"], said["token"], data, process)
        yield opened
    finally:
        last = opened.process if opened is not None else process
        last.kill()
        last.wait()
        for one in {process, last}:
            assert one.stdout is not None
            one.stdout.close()


def _start(data: Path, port: int, equipment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.gateway.registry.gate", str(data), str(port), equipment]
    with data.with_suffix(".log").open("ab") as errors:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)


def _first_line(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the gateway did not start"
    return json.loads(line)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
