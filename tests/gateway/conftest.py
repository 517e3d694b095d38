"""A PostgreSQL server for the tests that need a database."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.gateway.stores.servers import Server, find_binaries, hold, is_alive


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all workers of a test run: the first to ask starts it, and it ends with the last."""
    if find_binaries() is None:
        pytest.skip("no PostgreSQL here: pip install pgserver")
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    folder = tmp_path_factory.getbasetemp().parent if worker else tmp_path_factory.getbasetemp()
    note = folder / "postgres.json"
    with _locked(folder):
        facts: dict[str, Any] = json.loads(note.read_text()) if note.exists() else {}
        if facts and is_alive(facts["pid"]):
            held = hold(Path(facts["folder"]))
        else:
            server = Server()
            server.start()
            held = server.held
            facts = {"folder": str(server.folder), "pid": server.pid, "url": server.url_of("{}")}
            note.write_text(json.dumps(facts))
    database = f"worker_{worker or 'alone'}"
    asyncio.run(execute(facts["url"].format("postgres"), f"CREATE DATABASE {database}"))
    try:
        yield facts["url"].format(database)
    finally:
        with _locked(folder):
            os.close(held)


class _locked:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "postgres.lock"

    def __enter__(self) -> None:
        self._file = self._path.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


async def execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
