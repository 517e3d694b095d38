"""Files of a runner's session: read, written, listed, searched, watched, moved, packed and unpacked, exported.

Rules: the tenant's policy is asked first (`gateway.runs.governed_commands`): `fs.read` and `fs.write` with the path as
programs see it. THREAT[TM-STORE-BESIDE]: a folder is asked about file by file: what may not be read is neither listed nor
exported, and nothing is changed that reaches what may not be changed.
"""

from __future__ import annotations

import posixpath
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest
from gateway.events import Event
from gateway.files import tar
from gateway.http.api.operation import Call, Events, Operation, Raw, in_thread
from gateway.http.routes.files import TAR
from gateway.http.routes.runners import BUSY, TAG, THREAD
from gateway.pools import iterate_fairly
from gateway.runners import wire
from gateway.runners.artifacts import MAX_ARTIFACT_BYTES, Permitted
from gateway.runners.beneath import NAMES
from gateway.runners.errors import too_large
from gateway.runs.governed_commands import Governor
from gateway.service import Service
from gateway.stores.text_search import Searched, search_texts

_SEARCHED_BYTES_MAX: Final = 5 << 20
_JSON_BYTES_MAX: Final = 8 << 20


class FileQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4096)] = ""


class FolderQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)] = "."


class EntriesQuery(FolderQuery, frozen=True, kw_only=True):
    recursive: bool = False


class Folder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]


class Move(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    target: Annotated[str, Meta(min_length=1, max_length=4096)]


class SearchFilesQuery(FolderQuery, frozen=True, kw_only=True):
    """`pattern` is a regular expression (RE2), or with `regex` false a substring; in files of up to 512 KiB."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1000)]
    regex: bool = True


class Unpacked(msgspec.Struct, frozen=True):
    entries: int


def operations(service: Service) -> list[Operation]:
    return [*_files(service), *_trees(service), *_searches(service)]


async def _may_read(service: Service, call: Call, path: str) -> Permitted:
    """Whether a file below a folder may be read, by its path below it; the folder itself may."""
    gate, seen = await Governor(service).require_path(call.principal, call.path["thread_id"], "fs.read", path)
    return lambda name: gate.permits("fs.read", {"path": posixpath.normpath(f"{seen}/{name}")})


def _address(call: Call, made: wire.Artifact) -> wire.Artifact:
    url = f"/v1/runners/threads/{quote(call.path['thread_id'], safe='')}/artifacts/{made.artifact_id}"
    return msgspec.structs.replace(made, url=url)


def _searches(service: Service) -> list[Operation]:
    async def stat_runner_file(call: Call) -> wire.FileEntry:
        await Governor(service).require_path(call.principal, call.path["thread_id"], "fs.read", call.query.path)
        return await (await service.runners.use(*in_thread(call))).stat(call.query.path)

    async def search_runner_files(call: Call) -> Searched:
        asked: SearchFilesQuery = call.query
        permitted = await _may_read(service, call, asked.path)
        session, found, size_bytes, skipped = await service.runners.use(*in_thread(call)), [], 0, 0
        async for path, contents in session.read_texts(asked.path, permitted):
            size_bytes += len(contents or b"")
            if size_bytes > _SEARCHED_BYTES_MAX:
                break
            if contents is None:
                skipped += 1
            else:
                found.append((path, contents))
        searched = await search_texts(call.principal.tenant, asked.pattern, found, regex=asked.regex)
        is_whole = searched.complete and not skipped and size_bytes <= _SEARCHED_BYTES_MAX
        return msgspec.structs.replace(searched, complete=is_whole, skipped=searched.skipped + skipped)

    async def watch_runner_files(call: Call) -> Events:
        permitted = await _may_read(service, call, call.query.path)
        session = await service.runners.use(*in_thread(call))

        async def changes() -> AsyncIterator[Event]:
            number = 0
            async for change in session.watch(call.query.path, permitted):
                number += 1
                yield Event(number, "file", msgspec.to_builtins(change))

        return Events(changes())

    async def export_runner_files(call: Call) -> Raw:
        permitted = await _may_read(service, call, call.query.path)
        return Raw(await (await service.runners.use(*in_thread(call))).export(call.query.path, permitted), TAR)

    async def import_runner_files(call: Call) -> Unpacked:
        path, thread_id = call.query.path, call.path["thread_id"]
        listed = await tar.read(call.principal.tenant, call.body, members_max=NAMES, bytes_max=MAX_ARTIFACT_BYTES)
        gate, seen = await Governor(service).require_path(call.principal, thread_id, "fs.write", path, bytes=0)
        members = [(wire.FileEntry(**tar.describe_entry(entry)), entry.cut(call.body)) for entry in listed]
        for entry, contents in members:
            gate.require("fs.write", {"path": posixpath.normpath(f"{seen}/{entry.path}"), "bytes": len(contents)})
        await (await service.runners.use(*in_thread(call))).unpack(path, members)
        return Unpacked(len(members))

    row = partial(Operation, tag=TAG)
    return [
        row("GET", THREAD + "/stat", "What is at a path", stat_runner_file, query=FileQuery, answer=wire.FileEntry),
        row("GET", THREAD + "/search", "Lines of files that match a regular expression (RE2) or hold a text", search_runner_files,
            query=SearchFilesQuery, answer=Searched),
        row("GET", THREAD + "/watch", "What is created, changed and deleted below a folder, as it happens", watch_runner_files,
            query=FolderQuery, streamed=True),
        row("GET", THREAD + "/archive", "A folder as tar, with modes and links", export_runner_files, query=FolderQuery,
            answer=bytes, answer_types=(TAR,)),
        row("POST", THREAD + "/archive", "Unpack a tar into a folder", import_runner_files, query=FolderQuery, body=bytes,
            body_types=(TAR, "application/octet-stream"), upload=True, answer=Unpacked, finishes=True, statuses=BUSY),
    ]  # fmt: skip


def _files(service: Service) -> list[Operation]:
    async def read_runner_file(call: Call) -> Raw:
        tenant, thread_id = in_thread(call)
        path = call.query.path
        await Governor(service).require_path(call.principal, thread_id, "fs.read", path)
        found = await (await service.runners.use(tenant, thread_id)).read_file(wire.ReadFile(path=path))
        if "application/json" in call.headers.get("accept", ""):
            if len(found.contents) > _JSON_BYTES_MAX // 4:
                raise too_large("a file that is read as JSON", _JSON_BYTES_MAX // 4)
            return Raw(wire.encode(found), "application/json")
        return Raw(bytes(found.contents))

    async def write_runner_file(call: Call) -> None:
        tenant, thread_id = in_thread(call)
        asked = wire.WriteFile(path=call.query.path, contents=wire.Octets(call.body))
        if call.content_type.partition(";")[0].strip().lower() == "application/json":
            asked = _decode_write(call.body)
            if call.query.path not in ("", asked.path):
                raise BadRequest("INVALID_ARGUMENT", "the query and the body name two paths")
        await Governor(service).require_path(call.principal, thread_id, "fs.write", asked.path, bytes=len(asked.contents))
        await (await service.runners.use(tenant, thread_id)).write_file(asked)

    async def export_artifact(call: Call) -> wire.Artifact:
        permitted = await _may_read(service, call, call.body.path)
        return _address(call, await (await service.runners.use(*in_thread(call))).export_artifact(call.body, permitted))

    async def list_artifacts(call: Call) -> list[wire.Artifact]:
        return [_address(call, one) for one in (await service.runners.use(*in_thread(call))).artifacts]

    async def delete_artifact(call: Call) -> None:
        await (await service.runners.use(*in_thread(call))).drop_artifact(call.path["artifact_id"])

    async def get_artifact(call: Call) -> Raw:
        return Raw(await service.runners.read_artifact(*in_thread(call), call.path["artifact_id"]))

    row, forms = partial(Operation, tag=TAG), ("application/octet-stream", "application/json")
    return [
        row("GET", THREAD + "/files", "Read a file: its bytes, or JSON if that is asked for", read_runner_file,
            query=FileQuery, answer=bytes, answer_types=forms),
        row("PUT", THREAD + "/files", "Write a file: its bytes, or JSON", write_runner_file, query=FileQuery, body=bytes,
            body_types=forms, upload=True, finishes=True),
        row("POST", THREAD + "/artifacts", "Keep a file, or a folder as tar", export_artifact, body=wire.ArtifactRequest,
            answer=wire.Artifact, finishes=True, statuses=BUSY),
        row("GET", THREAD + "/artifacts", "List a session's artifacts", list_artifacts, answer=list[wire.Artifact]),
        row("GET", THREAD + "/artifacts/{artifact_id}", "An artifact's bytes", get_artifact, answer=bytes),
        row("DELETE", THREAD + "/artifacts/{artifact_id}", "Delete an artifact", delete_artifact, finishes=True),
    ]  # fmt: skip


def _trees(service: Service) -> list[Operation]:
    async def list_runner_files(call: Call) -> list[wire.FileEntry]:
        path = call.query.path or "."
        permitted = await _may_read(service, call, path)
        listed = await (await service.runners.use(*in_thread(call))).list_entries(path, recursive=call.query.recursive)
        return [one async for one in iterate_fairly(listed) if permitted(one.path)]

    async def make_runner_directory(call: Call) -> None:
        await Governor(service).require_path(call.principal, call.path["thread_id"], "fs.write", call.body.path, bytes=0)
        await (await service.runners.use(*in_thread(call))).make_directory(call.body.path)

    async def require_all(call: Call, event: str, path: str, below: list[wire.FileEntry], **more: Any) -> None:
        gate, seen = await Governor(service).require_path(call.principal, call.path["thread_id"], event, path, **more)
        async for entry in iterate_fairly(below):
            gate.require(event, {"path": posixpath.normpath(f"{seen}/{entry.path}"), **more})

    async def find_below(call: Call, path: str) -> list[wire.FileEntry]:
        """What a change of a folder reaches. THREAT[TM-STORE-BESIDE]: the policy is asked about each; what cannot be listed is
        not changed."""
        await Governor(service).require_path(call.principal, call.path["thread_id"], "fs.write", path, bytes=0)
        above, name = posixpath.split(posixpath.normpath(path))
        session = await service.runners.use(*in_thread(call))
        beside = await session.list_entries(above or ".", recursive=False)
        if any(entry.path == name and entry.kind != "directory" for entry in beside):
            return []
        return await session.list_entries(path, recursive=True)

    async def move_runner_file(call: Call) -> None:
        path, target = call.body.path, call.body.target
        below = await find_below(call, path)
        await require_all(call, "fs.read", path, below)
        for place in (path, target):
            await require_all(call, "fs.write", place, below, bytes=0)
        await (await service.runners.use(*in_thread(call))).move(path, target)

    async def delete_runner_file(call: Call) -> None:
        path = call.query.path
        await require_all(call, "fs.write", path, await find_below(call, path), bytes=0)
        await (await service.runners.use(*in_thread(call))).delete(path, recursive=call.query.recursive)

    row = partial(Operation, tag=TAG)
    return [
        row("GET", THREAD + "/entries", "List a folder: kinds, sizes, modes, times", list_runner_files, query=EntriesQuery,
            answer=list[wire.FileEntry]),
        row("DELETE", THREAD + "/entries", "Delete a file or folder", delete_runner_file, query=EntriesQuery, finishes=True),
        row("POST", THREAD + "/directories", "Make a folder", make_runner_directory, body=Folder, finishes=True),
        row("POST", THREAD + "/move", "Move a file or folder", move_runner_file, body=Move, finishes=True),
    ]  # fmt: skip


def _decode_write(body: bytes) -> wire.WriteFile:
    if len(body) > _JSON_BYTES_MAX:  # an array of integers takes many times the room of the bytes
        raise too_large("a file that is written as JSON", _JSON_BYTES_MAX)
    try:
        return wire.decode(body, wire.WriteFile)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest("INVALID_BODY", f"the body does not fit: {error}"[:300]) from None
