"""A stage for hooks: a real session in a real worker, stored programs, and one call that fires."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gateway.clock import now_ms
from gateway.egress import Egress
from gateway.hooks.events import HookEvent
from gateway.hooks.executors import Executors
from gateway.hooks.executors.programs import WorkerForks
from gateway.hooks.firing import Fired, Recheck, fire
from gateway.hooks.payloads import Occasion
from gateway.hooks.specs import UserHookSpec, check_specs
from sandbox.capabilities.registry import Capability
from sandbox.guests.images import images
from sandbox.wire import DEFAULT_LIMITS, Language, RunRequest, RunResult
from sandbox.workers.interface import FileChanges, FileEntry, OnCall, Opening, Worker
from sandbox.workers.local.worker import LocalWorker

DATA: dict[str, dict[str, Any]] = {
    "session_start": {"agent_id": "a1"},
    "session_end": {"reason": "done"},
    "user_prompt_submit": {"message": "hello"},
    "pre_tool_use": {"tool_name": "db.query", "tool_call_id": "c1", "arguments": {"table": "orders", "rows": 10}},
    "post_tool_use": {
        "tool_name": "db.query", "tool_call_id": "c1", "arguments": {}, "result": {"rows": 1}, "error": None, "success": True,
    },
    "turn_end": {"success": True, "tool_calls": 1},
    "before_run": {"language": "python", "code": "1+1", "inputs": {"x": 1}},
    "after_run": {
        "language": "python", "status": "ok", "stdout": "out", "stderr": "err", "result": 2, "error": None, "exit_code": 0,
    },
}  # fmt: skip


class StoredPrograms:
    """Programs by (source, name), as a tenant's store would have them."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], bytes] = {}

    async def load(self, source: str, name: str) -> bytes | None:
        return self.files.get((source, name))


async def find_no_key(name: str) -> bytes | None:
    return None


class Stage:
    """`tools` are the capabilities that hooks may be granted, and `on_call` answers them."""

    def __init__(self) -> None:
        for name in ("shell", "python", "javascript"):
            images.get(name)  # compiled anew after a change of a guest, which is no hook's time
        self.runner = asyncio.Runner()
        self.worker = LocalWorker()
        self.tools: list[Capability] = []
        self.on_call: OnCall | None = None
        self.programs = StoredPrograms()
        self.executors = Executors(
            run_aside=WorkerForks(self._of, self._uses).run,
            load_program=self.programs.load,
            egress=Egress(),
            find_key=find_no_key,
        )
        self.open()

    def open(self, total_bytes: int = 100 << 20) -> None:
        """A new session, whose files may have so many bytes."""
        opening = Opening(session_id="s1", language=Language.SHELL, limits=DEFAULT_LIMITS, total_bytes=total_bytes)
        self.runner.run(self.worker.open(opening))

    async def _of(self) -> Worker:
        return self.worker

    def _uses(self, names: Sequence[str]) -> tuple[list[Capability], OnCall | None, list[FileChanges]]:
        return [tool for tool in self.tools if tool.name in names], self.on_call, []

    def write(self, path: str, text: str) -> None:
        self.apply(FileChanges(written=[FileEntry(path=path.removeprefix("/workspace"), data=text.encode())]))

    def apply(self, changes: FileChanges) -> None:
        self.runner.run(self.worker.apply("s1", changes))

    def files(self) -> dict[str, str]:
        """The session's own files: contents by path."""
        tree = self.runner.run(self.worker.tree("s1"))
        return {f"/workspace{one.path}": one.data.decode() for one in tree.written if one.kind == "file"}

    def run(self, code: str, language: Language = Language.SHELL) -> RunResult:
        """A program of the session's own."""
        request = RunRequest(session_id="s1", language=language, code=code, inputs={}, return_snapshot=False, validate_only=False)
        return self.runner.run(self.worker.run(request)).result

    def fire(
        self,
        event: str,
        *hooks: dict[str, Any] | UserHookSpec,
        data: Mapping[str, Any] | None = None,
        recheck: Recheck | None = None,
        muted: tuple[str, ...] = (),
        executors: Executors | None = None,
        **ids: str,
    ) -> Fired:
        raw = [{"event": event, **hook} for hook in hooks if isinstance(hook, dict)]
        specs = check_specs(raw) if raw else tuple(hook for hook in hooks if isinstance(hook, UserHookSpec))
        occasion = Occasion(event=HookEvent(event), session_id="s1", data=DATA[event] if data is None else data, **ids)
        return self.runner.run(fire(occasion, specs, (executors or self.executors).run, recheck, muted=muted, clock_ms=now_ms))

    def close(self) -> None:
        self.runner.run(self.worker.aclose())
        self.runner.close()


def bash(command: str, **fields: Any) -> dict[str, Any]:
    """A bash hook, as people write one."""
    return {"executor": {"type": "bash", "command": command}, **fields}


def answer(**fields: Any) -> str:
    """A bash program that answers with these fields."""
    text = msgspec.json.encode(fields).decode().replace("'", "'\\''")
    return f"echo '{text}'"
