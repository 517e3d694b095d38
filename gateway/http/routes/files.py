"""A session's files: read, write, list, search, and whole trees as tar.

A file's ETag is the digest of its content; `If-Match` and `If-None-Match` guard writes, in the store, so that two writers cannot
both win.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from gateway.errors import Conflict
from gateway.http.api.etags import CHANGED, GUARDS, check, etag_of, is_guarded, unchanged
from gateway.http.api.operation import Answer, Call, Chunks, Operation, Raw
from gateway.http.api.pagination import Page, PageQuery, make_cursor
from gateway.records import FileInfo, FileStat, GrepMatch, InitialFile, SessionFile
from gateway.stores.changes import digest_of
from gateway.stores.text_search import Searched

if TYPE_CHECKING:
    from gateway.service import Service

TAR = "application/x-tar"


class PathQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4096)] = "/"


class ListQuery(PageQuery, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4096)] = "/"


class GrepQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`pattern` is a substring, case-sensitive; `path` a part of the paths to look at."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1000)]
    path: Annotated[str, Meta(max_length=4096)] | None = None


class DeleteQuery(msgspec.Struct, frozen=True, kw_only=True):
    recursive: bool = False


class Directory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]


class Unpacked(msgspec.Struct, frozen=True):
    entries: int


class _Files:
    """Handlers."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_files(self, call: Call) -> Page[FileInfo]:
        asked: ListQuery = call.query
        page = await self._service.workspace.list(
            call.principal, call.path["session_id"], asked.path, after=asked.after, limit=asked.limit
        )
        return Page(page.items, make_cursor(page.next))

    async def get_file(self, call: Call) -> Answer:
        found, content = await self._service.workspace.read_bytes(
            call.principal, call.path["session_id"], "/" + call.path["path"]
        )
        if found.is_directory:
            raise Conflict("IS_A_DIRECTORY", f"a directory: {found.path}", "list it with ?path=, or take it as an archive")
        etag = etag_of(found.digest)
        if unchanged(call.headers, etag):
            return Answer(None, 304, {"etag": etag})
        kind = "text/plain; charset=utf-8" if found.encoding == "text" else "application/octet-stream"
        return Answer(Raw(content, kind), headers={"etag": etag, "content-security-policy": "sandbox; default-src 'none'"})

    async def put_file(self, call: Call) -> Answer:
        session_id, path = call.path["session_id"], "/" + call.path["path"]
        expect = await _expected(self._service, call, path)
        made = await self._service.workspace.write(call.principal, session_id, path, call.body, expect)
        return Answer(_info(made), 200, {"etag": etag_of(digest_of(call.body))})

    async def delete_file(self, call: Call) -> None:
        session_id, path = call.path["session_id"], "/" + call.path["path"]
        expect = await _expected(self._service, call, path) if "if-match" in call.headers else None
        if await self._service.workspace.delete(call.principal, session_id, path, recursive=call.query.recursive, expect=expect):
            return
        found = await self._service.workspace.stat(call.principal, session_id, path)
        if not found.is_directory:
            raise Conflict("NOT_DELETED", "it is read-only", "nothing but seeding can change it")
        if found.path == "/":
            raise Conflict("NOT_DELETED", "the root cannot be deleted")
        if call.query.recursive:
            raise Conflict("NOT_DELETED", "something in it is read-only")
        raise Conflict("NOT_DELETED", "it is a directory with entries", "recursive=true deletes them with it")

    async def stat_file(self, call: Call) -> FileStat:
        return await self._service.workspace.stat(call.principal, call.path["session_id"], call.query.path)

    async def read_file(self, call: Call) -> SessionFile:
        return await self._service.workspace.read(call.principal, call.path["session_id"], call.query.path)

    async def seed_file(self, call: Call) -> FileInfo:
        return _info(await self._service.workspace.seed(call.principal, call.path["session_id"], call.body))

    async def make_directory(self, call: Call) -> Answer:
        return Answer(await self._service.workspace.mkdir(call.principal, call.path["session_id"], call.body.path), 201)

    async def grep_files(self, call: Call) -> Answer:
        """The contract's answer is a bare list, so headers say what is not in it."""
        asked: GrepQuery = call.query
        found = await self._service.workspace.search(
            call.principal, call.path["session_id"], asked.pattern, asked.path, regex=False
        )
        said = {"hatchway-complete": "true" if found.complete else "false", "hatchway-skipped": str(found.skipped)}
        return Answer(found.matches, headers=said)

    async def search_files(self, call: Call) -> Searched:
        return await self._service.workspace.search(call.principal, call.path["session_id"], call.query.pattern, call.query.path)

    async def export_files(self, call: Call) -> Chunks:
        data, skipped = await self._service.workspace.export(call.principal, call.path["session_id"], call.query.path)
        return Chunks(data, TAR, {"hatchway-skipped": str(skipped)})

    async def import_files(self, call: Call) -> Unpacked:
        return Unpacked(
            await self._service.workspace.take_in(call.principal, call.path["session_id"], call.body, call.query.path)
        )


def operations(service: Service) -> list[Operation]:
    do = _Files(service)
    of_session = "/v1/sessions/{session_id}"
    tag: Any = {"tag": "files"}
    return [
        Operation("GET", of_session + "/files", "List a directory", do.list_files, query=ListQuery, answer=Page[FileInfo], **tag),
        Operation("GET", of_session + "/files/{path...}", "A file's content", do.get_file, answer=bytes,
                  answer_types=("text/plain", "application/octet-stream"),
                  statuses={304: "You have it.", 409: "It is a directory."},
                  headers={"If-None-Match": "The ETag you have."}, **tag),
        Operation("PUT", of_session + "/files/{path...}", "Write a file", do.put_file, body=bytes, body_types=("*/*",),
                  answer=FileInfo, statuses=CHANGED, headers=GUARDS, finishes=True, **tag),
        Operation("DELETE", of_session + "/files/{path...}", "Delete a file or directory", do.delete_file, query=DeleteQuery,
                  statuses={409: "It is read-only, or a directory with entries.", **CHANGED}, finishes=True,
                  headers={"If-Match": GUARDS["If-Match"]}, **tag),
        Operation("GET", of_session + "/stat", "What is at a path", do.stat_file, query=PathQuery, answer=FileStat, **tag),
        Operation("GET", of_session + "/file", "A file as JSON, with its encoding", do.read_file, query=PathQuery,
                  answer=SessionFile, **tag),
        Operation("POST", of_session + "/seed", "Put a file there, read-only if wanted", do.seed_file, body=InitialFile,
                  answer=FileInfo, finishes=True, **tag),
        Operation("POST", of_session + "/directories", "Make a directory", do.make_directory, body=Directory, answer=FileInfo,
                  status=201, finishes=True, **tag),
        Operation("GET", of_session + "/grep", "Lines that hold a text", do.grep_files, query=GrepQuery, answer=list[GrepMatch],
                  **tag),
        Operation("GET", of_session + "/search", "Lines that match a regular expression (RE2)", do.search_files, query=GrepQuery,
                  answer=Searched, **tag),
        Operation("GET", of_session + "/archive", "A directory as tar", do.export_files, query=PathQuery, answer=bytes,
                  answer_types=(TAR,), **tag),
        Operation("POST", of_session + "/archive", "Unpack a tar into a directory", do.import_files, query=PathQuery, body=bytes,
                  body_types=(TAR, "application/octet-stream"), upload=True, answer=Unpacked, finishes=True, **tag),
    ]  # fmt: skip


def _info(file: SessionFile) -> FileInfo:
    """Without the content, which the caller has just sent."""
    return FileInfo(**{name: getattr(file, name) for name in FileInfo.__struct_fields__})


async def _expected(service: Service, call: Call, path: str) -> str | None:
    """What the store must find there."""
    if not is_guarded(call.headers):
        return None
    digest, expected = await service.workspace.version(call.principal, call.path["session_id"], path)
    check(call.headers, None if digest is None else etag_of(digest))
    return expected
