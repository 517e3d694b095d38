"""inspect-ai's own checks of sandboxes, against `Sandbox`: 43 of 44 pass. `test_exec_as_user` does not: a session has one user.

inspect-ai is no dependency. In an environment that has it, Hatchway and pytest-asyncio:
    pytest -o asyncio_mode=auto tests/hatchway/inspect_check.py
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from inspect_ai.util import (  # type: ignore[import-not-found]
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
)
from inspect_ai.util._sandbox.self_check import *  # type: ignore[import-not-found]  # noqa: F403

from hatchway import Sandbox, VfsError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.limits import MOST

ERRORS: dict[str, type[OSError]] = {
    "ENOENT": FileNotFoundError,
    "ENOTDIR": FileNotFoundError,
    "EACCES": PermissionError,
    "EPERM": PermissionError,
    "EISDIR": IsADirectoryError,
}


@contextlib.contextmanager
def as_os_errors(path: str) -> Iterator[None]:
    try:
        yield
    except VfsError as error:
        told = "is a directory" if error.name == "EISDIR" else error.name
        raise ERRORS.get(error.name, OSError)(f"{path}: {told}") from None


class Environment(SandboxEnvironment):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        limits = {"memory_mb": 1024, "wall_ms": MOST.wall_ms, "cpu_ms": MOST.cpu_ms, "max_stdout_bytes": 10 << 20}
        self.box = Sandbox(language="shell", limits=limits, files=VfsLimits(total_bytes=400 << 20, file_bytes=200 << 20))

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        **options: Any,
    ) -> Any:
        if user is not None:
            raise SandboxUserUnsupportedError(f"a session has one user, and not {user}")
        code = shlex.join(cmd) if cwd is None else f"cd {shlex.quote(cwd)} && {shlex.join(cmd)}"
        timeout_ms = None if timeout is None else timeout * 1000
        done = await asyncio.to_thread(self.box.run, f"( {code} )", stdin=input or "", env=env, timeout_ms=timeout_ms)
        if done.status == "timeout":
            raise TimeoutError(done.error.message if done.error else "")
        if done.exit_code == 126:
            raise PermissionError(done.stderr)
        if any(one.code == "STDOUT_EXCEEDED" for one in done.diagnostics):
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, done.stdout)
        return ExecResult(done.ok, done.exit_code, done.stdout, done.stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        with as_os_errors(file):
            self.box.files.write_file(file, contents.encode() if isinstance(contents, str) else contents)

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        with as_os_errors(file):
            data = self.box.files.read_file(file)
        if len(data) > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return data.decode() if text else data

    @classmethod
    async def sample_cleanup(cls, *given: Any, **more: Any) -> None:
        pass


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    made = Environment()
    yield made
    made.box.close()


@pytest.fixture
def sandbox_env(environment: Environment) -> Environment:
    return environment
