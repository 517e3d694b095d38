"""What tests of workers need: requests, openings, and a place to run them."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from sandbox.capabilities.registry import Capability
from sandbox.wire import DEFAULT_LIMITS, Language, RunRequest, RunResult, SessionLimits
from sandbox.workers.interface import FileName, Opening, RunOutcome, Worker

Scene = Callable[[Worker], Awaitable[None]]
Play = Callable[[Scene], None]
"""Plays a scene with a worker of a tenant that nobody else is."""


def request(code: str, session_id: str = "s", language: Language = Language.PYTHON, **more: Any) -> RunRequest:
    more = {"inputs": {}, "return_snapshot": False, "validate_only": False, **more}
    return RunRequest(session_id=session_id, language=language, code=code, **more)


def opening(session_id: str = "s", limits: SessionLimits = DEFAULT_LIMITS, tools: Sequence[str] = (), **more: Any) -> Opening:
    declared = [Capability(name=name, input_schema={}) for name in tools]
    return Opening(session_id=session_id, language=Language.PYTHON, limits=limits, tools=declared, **more)


async def run(worker: Worker, code: str, session_id: str = "s", language: Language = Language.PYTHON, **more: Any) -> RunOutcome:
    return await worker.run(request(code, session_id, language), **more)


async def value(worker: Worker, code: str, session_id: str = "s") -> Any:
    """The result of a run that goes well."""
    result = (await run(worker, code, session_id)).result
    assert result.ok, result
    return result.result


def code_of(result: RunResult) -> str | None:
    return result.error.code if result.error else None


class Shelf:
    """Contents by digest, and which were fetched."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.tree = [FileName(path=path, digest=hashlib.sha256(data).digest()) for path, data in files.items()]
        self.contents = {hashlib.sha256(data).digest(): data for data in files.values()}
        self.fetched: list[bytes] = []

    async def fetch(self, digests: Sequence[bytes]) -> Mapping[bytes, bytes]:
        self.fetched.extend(self.contents[one] for one in digests)
        return {one: self.contents[one] for one in digests}


_HELLO = """
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\\08\\00\\00\\00\\06\\00\\00\\00hello\\0a")
  (func (export "_start")
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))
    (call $exit (i32.const 3))))
"""


def compile_hello() -> bytes:
    """Native code of a module that says hello and leaves with 3."""
    import wasmtime

    from sandbox.engine.wasmtime import Engine

    return Engine().compile(bytes(wasmtime.wat2wasm(_HELLO)))
