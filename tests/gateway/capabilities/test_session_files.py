"""Files that a program writes with `write_text`, beside those it writes itself: what does not fit is an error or a warning, and
never the end of the run."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.configuration import Configuration
from gateway.records import Quotas, Tenant
from gateway.runs.runs import RunBody
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys
from sandbox.wire import RunResult
from sandbox.workers.local.worker import LocalWorkers
from tests.gateway.house import ANN, POLICY, TEST

RULES = "allow fs.read\nallow fs.write\nallow write_text\n"
BEFORE = "import os\nkept = 7\nos.makedirs('/workspace/d')\nopen('/workspace/f', 'w').write('f')\nos.symlink('d', '/workspace/l')"


class Session:
    def __init__(self, service: Service, session_id: str) -> None:
        self.service, self.id = service, session_id

    async def run(self, code: str) -> RunResult:
        done = await self.service.runs.run(ANN, self.id, RunBody(code=code))
        assert done.result is not None
        return done.result

    async def tree(self) -> list[str]:
        return [one.path for one in await self.service.store.tree("acme", self.id)]


@contextlib.asynccontextmanager
async def opened(folder: Path, rules: str = "") -> AsyncIterator[Session]:
    (folder / "p.hatch").write_text(POLICY + RULES + rules + TEST.format(more=""))
    store = MemoryStore()
    await store.write("acme", [PutTenant(tenant=Tenant(id="acme", quotas=Quotas(), created_at=1, updated_at=1))])
    service = Service(store, LocalWorkers(), Keys.of(secrets.token_bytes(32)), Configuration(policy=str(folder / "p.hatch")))
    await service.start()
    try:
        session = Session(service, (await service.sessions.create(ANN, CreateSession())).id)
        assert (await session.run(BEFORE)).ok
        yield session
    finally:
        await service.stop()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("tools.write_text('/workspace/f/x', 'x')", "not a directory: /f"),
        ("tools.write_text('/workspace/l/x', 'x')", "not a directory: /l"),
        ("tools.write_text('/workspace/new', 'x')\ntools.write_text('/workspace/new/x', 'x')", "not a directory: /new"),
        ("tools.write_text('/workspace/new/x', 'x')\ntools.write_text('/workspace/new', 'x')", "a directory: /new"),
    ],
)
def test_a_text_that_cannot_lie_there_is_an_error_of_its_call(tmp_path: Path, code: str, why: str) -> None:
    async def main() -> None:
        async with opened(tmp_path) as session:
            refused = await session.run(code)
            assert refused.status.value == "permission_denied"
            assert refused.error is not None and why in refused.error.message
            assert (await session.run("kept")).result == 7

    asyncio.run(main())


@pytest.mark.parametrize(
    ("code", "why", "tree"),
    [
        ("os.mkdir('/workspace/n')\ntools.write_text('/workspace/n', 'x')", "a directory: /n", ["/d", "/f", "/l", "/n"]),
        ("open('/workspace/n', 'w')\ntools.write_text('/workspace/n/x', 'x')", "not a directory: /n", ["/d", "/f", "/l", "/n"]),
        ("os.rmdir('/workspace/d')\nos.symlink('f', '/workspace/d')\ntools.write_text('/workspace/d/x', 'x')",
         "not a directory: /d", ["/d", "/f", "/l"]),
    ],
)  # fmt: skip
def test_a_text_that_does_not_fit_what_the_program_left_is_a_warning(
    tmp_path: Path, code: str, why: str, tree: list[str]
) -> None:
    async def main() -> None:
        async with opened(tmp_path) as session:
            done = await session.run(f"{code}\nkept += 1\ntools.write_text('/workspace/other', 'o')")
            assert done.ok, done.error
            (warning,) = done.diagnostics
            assert warning.code == "FILE_NOT_KEPT" and why in warning.message
            assert await session.tree() == sorted([*tree, "/other"])
            assert (await session.run("kept, sorted(os.listdir('/workspace'))")).result == [8, sorted(
                [one[1:] for one in [*tree, "/other"]]
            )]  # fmt: skip

    asyncio.run(main())


def test_a_text_is_written_where_the_program_has_made_room(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as session:
            done = await session.run("os.mkdir('/workspace/n')\ntools.write_text('/workspace/n/x', 'x')")
            assert done.ok and done.diagnostics == []
            assert (await session.run("open('/workspace/n/x').read()")).result == "x"

    asyncio.run(main())
