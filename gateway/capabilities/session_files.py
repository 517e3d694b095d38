"""The session's files for capabilities: what `read_text`, `write_text` and `list_dir` see.

Rules: they see what API clients see: the stored files, as the last finished run left them, and what this run wrote through
`write_text`, which is stored together with the run. So nothing reaches into a running guest's memory behind its back, and a run
that is replayed finds the world as it was. Every access is decided as `fs.read` or `fs.write` as well. Of a session that is bound
to a runner's thread they are the thread's files, and what is written there is written at once.
"""

from __future__ import annotations

from typing import Any

from gateway.capabilities.sources import Caller
from gateway.errors import GatewayError
from gateway.files.files import Files, Permitted, normalize
from gateway.files.governed_files import FindFiles
from gateway.pools import iterate_fairly
from sandbox.capabilities.registry import ToolError
from sandbox.filesystem.paths import StorePath, workspace_path
from sandbox.workers.interface import FileChanges, FileEntry

_ROOT = "/workspace"


class SessionFiles:
    """Raises `ToolError` for what is not there or not allowed (NOT_FOUND, PERMISSION_DENIED)."""

    def __init__(self, find_files: FindFiles) -> None:
        self._find_files = find_files

    def _of(self, caller: Caller) -> Files:
        return self._find_files(caller.context.session)

    async def read(self, caller: Caller, path: str, max_bytes: int) -> bytes:
        key = _require(caller, "fs.read", path)
        for changes in reversed(caller.context.left):
            for file in changes.written:
                if file.path == key:
                    return bytes(file.data)
        found = await self._of(caller).read_bytes(key, _make_filter(caller))
        if found is None:
            raise ToolError("NOT_FOUND", f"there is no file {path[:200]!r}")
        if len(found[1]) > max_bytes:
            raise ToolError("TOOL_ERROR", f"the file has more than {max_bytes} bytes")
        return found[1]

    async def write(self, caller: Caller, path: str, data: bytes) -> None:
        key = _require(caller, "fs.write", path, bytes=len(data))
        files = self._of(caller)
        stat = await files.stat(key)
        if key == "/" or (stat is not None and (stat.is_readonly or stat.is_directory)):
            raise ToolError("PERMISSION_DENIED", f"{path[:200]!r} cannot be written")
        if caller.context.session.thread_id is not None:
            await files.write_bytes(key, data)
            return
        layers = files.put_under(caller.context.left)
        if (obstacle := await layers.obstacle(key)) is not None:
            raise ToolError("PERMISSION_DENIED", f"{path[:200]!r} cannot be written: {obstacle}")
        mode = None if stat is None else stat.mode
        if mode is not None and not mode & 0o200:
            raise ToolError("PERMISSION_DENIED", f"{path[:200]!r} cannot be written: its permissions are {mode:o}")
        caller.context.left.append(FileChanges(written=[FileEntry(path=key, data=data, mode=mode)]))

    async def names(self, caller: Caller, path: str) -> list[str]:
        key = _require(caller, "fs.read", path)
        permitted = _make_filter(caller)
        listed = await self._of(caller).list(key)
        found = {file.name async for file in iterate_fairly(listed) if permitted(file.path)}
        above = key.rstrip("/") + "/"
        for changes in caller.context.left:
            found |= {file.path.removeprefix(above).split("/")[0] for file in changes.written if file.path.startswith(above)}
        return sorted(found)


def _make_filter(caller: Caller) -> Permitted:
    """For what a link leads to, and what a directory holds."""
    return lambda key: caller.context.gate.permits("fs.read", {"path": workspace_path(StorePath(key))})


def _require(caller: Caller, event: str, path: str, **more: Any) -> str:
    """The path as the store has it, if the policy lets this caller at it."""
    if path.startswith("/") and path != _ROOT and not path.startswith(_ROOT + "/"):
        raise ToolError("PERMISSION_DENIED", f"{path[:200]!r} is not under {_ROOT}")
    try:
        key = str(normalize(path))
    except GatewayError as wrong:
        raise ToolError("PERMISSION_DENIED", str(wrong)) from None
    try:
        caller.context.gate.require(event, {"path": workspace_path(StorePath(key)), **more})
    except GatewayError as refused:
        raise ToolError(refused.code, f"{refused} ({path[:200]!r})") from None
    return key
