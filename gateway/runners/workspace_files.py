"""The files of a runner's session, for all providers: everything is made of a few operations on one path (`_perform`).

Rules: what was changed is settled (`_settle`: persisted, written back to mounted stores) before the caller is told. What is not
`Permitted` is not read. A file that has other names, or is gone since it was listed, is left out of archives and searches.
"""

from __future__ import annotations

import abc
import asyncio
import posixpath
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from gateway.errors import GatewayError, NotFound
from gateway.pools import iterate_fairly
from gateway.runners import wire
from gateway.runners.artifacts import MAX_ARTIFACT_BYTES, Permitted, pack_tree, permit_all
from gateway.runners.command_life import CommandLife, check_path
from gateway.runners.errors import busy, too_large, unavailable

MAX_SEARCHED_BYTES = 512 << 10
_LOOK_SECONDS = 0.5


class WorkspaceFiles(CommandLife):
    async def read_file(self, request: wire.ReadFile) -> wire.FileContents:
        return wire.FileContents(path=request.path, contents=wire.Octets(await self._do("read", request.path)))

    async def write_file(self, request: wire.WriteFile) -> None:
        if len(request.contents) > wire.MAX_FILE_BYTES:  # it could never be read again
            raise too_large(f"path {request.path[:200]}", wire.MAX_FILE_BYTES)
        await self._change("write", request.path, bytes(request.contents))

    async def _do(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        self._check_open()
        check_path(path)
        return await self._perform(verb, path, contents, **options)

    async def _change(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> None:
        await self._do(verb, path, contents, **options)
        if warnings := await self._settle():
            raise unavailable(warnings[0])

    @abc.abstractmethod
    async def _perform(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        """A file operation, as `gateway.runners.beneath.answer` has them."""

    async def make_directory(self, path: str) -> None:
        await self._change("mkdir", path)

    async def move(self, path: str, target: str) -> None:
        check_path(target)
        await self._change("move", path, target=target)

    async def delete(self, path: str, *, recursive: bool) -> None:
        await self._change("delete", path, recursive=recursive)

    async def list_entries(self, path: str, *, recursive: bool) -> list[wire.FileEntry]:
        return msgspec.json.decode(await self._do("list", path, recursive=recursive), type=list[wire.FileEntry])

    async def stat(self, path: str) -> wire.FileEntry:
        return msgspec.json.decode(await self._do("stat", path), type=wire.FileEntry)

    async def read_texts(self, path: str, permitted: Permitted) -> AsyncIterator[tuple[str, bytes | None]]:
        """The files below a folder that may be searched; None for what is too large or could not be read."""
        async for entry in iterate_fairly(await self.list_entries(path, recursive=True)):
            if entry.kind == "file" and permitted(entry.path):
                is_small = entry.size_bytes <= MAX_SEARCHED_BYTES
                yield entry.path, await self._read_below(path, entry.path) if is_small else None

    async def watch(self, path: str, permitted: Permitted) -> AsyncIterator[wire.FileChange]:
        """What is made, changed and deleted below a folder from now on, as often as it is looked at."""
        known = await self._survey(path, permitted)
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            found = await self._survey(path, permitted)
            for name in sorted(known.keys() | found.keys()):
                if known.get(name) != found.get(name):
                    kind = "created" if name not in known else "deleted" if name not in found else "changed"
                    yield wire.FileChange(kind=kind, path=name)
            known = found

    async def _survey(self, path: str, permitted: Permitted) -> dict[str, wire.FileEntry]:
        try:
            listed = iterate_fairly(await self.list_entries(path, recursive=True))
            found = [entry async for entry in listed if permitted(entry.path)]
            return {entry.path: _still(entry) for entry in found}
        except NotFound as refused:
            if refused.code != "PATH_NOT_FOUND":
                raise
            return {}

    async def archive(self, path: str, permitted: Permitted = permit_all) -> bytes:
        """A folder as tar, with modes and links; what is not `permitted` in it is not in the archive.

        THREAT[TM-RUN-OUTPUT]: sizes are summed before contents are read, for files with holes cost their owner nothing."""
        self._check_open()
        check_path(path)
        members, room_bytes = [], MAX_ARTIFACT_BYTES
        async for entry in iterate_fairly(await self.list_entries(path, recursive=True)):
            if entry.kind != "other" and permitted(entry.path):
                if entry.kind == "file" and entry.size_bytes > room_bytes:
                    raise too_large("an archive", MAX_ARTIFACT_BYTES)
                contents = await self._read_below(path, entry.path) if entry.kind == "file" else b""
                if contents is not None:
                    members.append((entry, contents))
                    room_bytes -= len(contents)
        return await asyncio.to_thread(pack_tree, members)

    async def unpack(self, path: str, members: Sequence[tuple[wire.FileEntry, bytes]]) -> None:
        """Put the members of an archive into a folder."""
        self._check_idle()
        for entry, contents in members:
            await self._put(posixpath.join(path, entry.path), entry, contents)
        if warnings := await self._settle():
            raise unavailable(warnings[0])

    async def _put(self, path: str, entry: wire.FileEntry, contents: bytes) -> None:
        verb = {"directory": "mkdir", "link": "link"}.get(entry.kind, "write")
        await self._perform(verb, path, (entry.target or "").encode() or contents, mode=entry.mode)

    async def _read_below(self, path: str, name: str) -> bytes | None:
        """None: it has other names, or is gone since it was listed."""
        try:
            return await self._perform("read", f"{path}/{name}")
        except GatewayError as refused:
            if refused.code in ("PATH_NOT_A_FILE", "PATH_NOT_FOUND"):
                return None
            raise

    def _check_idle(self) -> None:
        self._check_open()
        if self._running:
            raise busy("commands of this session are under way", "wait for them, or cancel them")


def _still(entry: wire.FileEntry) -> wire.FileEntry:
    """A folder is changed with what is in it, which is told by itself."""
    return msgspec.structs.replace(entry, modified_ms=0, size_bytes=0) if entry.kind == "directory" else entry
