"""A session's files: read, write, list, search, and whole trees as tar.

A file's ETag is the digest of its content; `If-Match` and `If-None-Match` guard writes, in the store, so that two writers cannot
both win.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from gateway.errors import Conflict
from gateway.files.files import show
from gateway.http.api.etags import CHANGED, GUARDS, check, is_guarded, is_unchanged, make_etag
from gateway.http.api.operation import Answer, Call, Chunks, Operation, Raw, in_session
from gateway.http.api.pagination import Page, PageQuery, paginate
from gateway.records import FileInfo, FileStat, GrepMatch, InitialFile, SessionFile
from gateway.service import Service
from gateway.stores.text_search import Searched

TAR = "application/x-tar"
_SESSION = "/v1/sessions/{session_id}"
Path = Annotated[str, Meta(max_length=4096)]


class PathQuery(msgspec.Struct, frozen=True, kw_only=True):
    path: Path = "/"


class ListQuery(PageQuery, frozen=True, kw_only=True):
    path: Path = "/"


class GrepQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`pattern` is a substring, case-sensitive; `path` a part of the paths to look at."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1000)]
    path: Path | None = None


class SearchQuery(GrepQuery, frozen=True, kw_only=True):
    """With `regex` false, `pattern` is a substring."""

    regex: bool = True


class DeleteQuery(msgspec.Struct, frozen=True, kw_only=True):
    recursive: bool = False


class Directory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]


class Mode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    mode: Annotated[int, Meta(ge=0, le=0o7777)]


class Unpacked(msgspec.Struct, frozen=True):
    entries: int


def operations(service: Service) -> list[Operation]:
    return [*_single_files(service), *_trees(service)]


def _single_files(service: Service) -> list[Operation]:
    async def get_file(call: Call) -> Answer:
        found, content = await service.workspace.read_bytes(*in_session(call), "/" + call.path["path"])
        if found.is_directory:
            raise Conflict("IS_A_DIRECTORY", f"a directory: {found.path}", "list it with ?path=, or take it as an archive")
        tag = {"etag": make_etag(found.digest)}
        if is_unchanged(call.headers, found.digest):
            return Answer(None, 304, tag)
        kind = "text/plain; charset=utf-8" if found.encoding == "text" else "application/octet-stream"
        return Answer(Raw(content, kind), headers={**tag, "content-security-policy": "sandbox; default-src 'none'"})

    async def put_file(call: Call) -> Answer:
        path = "/" + call.path["path"]
        made = await service.workspace.write(*in_session(call), path, call.body, await _check_guards(service, call, path))
        return Answer(show(made, FileInfo), headers={"etag": make_etag(made.digest)})

    async def delete_file(call: Call) -> None:
        path, recursive = "/" + call.path["path"], call.query.recursive
        expect = await _check_guards(service, call, path) if "if-match" in call.headers else None
        if await service.workspace.delete(*in_session(call), path, recursive=recursive, expect=expect):
            return
        found = await service.workspace.stat(*in_session(call), path)
        if not found.is_directory:
            raise Conflict("NOT_DELETED", f"read-only: {found.path}", "nothing but seeding can change it")
        if found.path == "/":
            raise Conflict("NOT_DELETED", "the root cannot be deleted", "name what is in it")
        if recursive:
            raise Conflict("NOT_DELETED", f"a file below {found.path} is read-only", "nothing but seeding can change that file")
        raise Conflict("NOT_DELETED", f"a directory with entries: {found.path}", "recursive=true deletes them with it")

    async def seed_file(call: Call) -> FileInfo:
        return show(await service.workspace.seed(*in_session(call), call.body), FileInfo)

    row, file = partial(Operation, tag="files"), _SESSION + "/files/{path...}"
    return [
        row("GET", _SESSION + "/files", "List a directory",
            paginate(lambda call: service.workspace.list(*in_session(call), call.query.path, **call.query.window)),
            name="list_files", query=ListQuery, answer=Page[FileInfo]),
        row("GET", file, "A file's content", get_file, answer=bytes, answer_types=("text/plain", "application/octet-stream"),
            statuses={304: "You have it.", 409: "It is a directory."}, headers={"If-None-Match": "The ETag you have."}),
        row("PUT", file, "Write a file", put_file, body=bytes, body_types=("*/*",), answer=FileInfo, statuses=CHANGED,
            headers=GUARDS, finishes=True),
        row("DELETE", file, "Delete a file or directory", delete_file, query=DeleteQuery, finishes=True,
            statuses={409: "It is read-only, or a directory with entries.", **CHANGED},
            headers={"If-Match": GUARDS["If-Match"]}),
        row("GET", _SESSION + "/stat", "What is at a path",
            lambda call: service.workspace.stat(*in_session(call), call.query.path), name="stat_file", query=PathQuery,
            answer=FileStat),
        row("POST", _SESSION + "/chmod", "Change permissions",
            lambda call: service.workspace.chmod(*in_session(call), call.body.path, call.body.mode),
            name="chmod_file", body=Mode, answer=FileInfo, finishes=True),
        row("GET", _SESSION + "/file", "A file as JSON, with its encoding",
            lambda call: service.workspace.read(*in_session(call), call.query.path),
            name="read_file", query=PathQuery, answer=SessionFile, large=True),
        row("POST", _SESSION + "/seed", "Put a file there, read-only if wanted", seed_file, body=InitialFile, answer=FileInfo,
            finishes=True),
    ]  # fmt: skip


def _trees(service: Service) -> list[Operation]:
    async def grep_files(call: Call) -> Answer:
        """The contract's answer is a bare list, so headers say what is not in it."""
        found = await service.workspace.search(*in_session(call), call.query.pattern, call.query.path, regex=False)
        said = {"hatchway-complete": "true" if found.complete else "false", "hatchway-skipped": str(found.skipped)}
        return Answer(found.matches, headers=said)

    async def export_files(call: Call) -> Chunks:
        data, skipped = await service.workspace.export(*in_session(call), call.query.path)
        return Chunks(data, TAR, {"hatchway-skipped": str(skipped)})

    async def import_files(call: Call) -> Unpacked:
        return Unpacked(await service.workspace.take_in(*in_session(call), call.body, call.query.path))

    row = partial(Operation, tag="files")
    return [
        row("POST", _SESSION + "/directories", "Make a directory",
            lambda call: service.workspace.mkdir(*in_session(call), call.body.path),
            name="make_directory", body=Directory, answer=FileInfo, status=201, finishes=True),
        row("GET", _SESSION + "/grep", "Lines that hold a text", grep_files, query=GrepQuery, answer=list[GrepMatch]),
        row("GET", _SESSION + "/search", "Lines that match a regular expression (RE2) or hold a text, and whether that is all",
            lambda call: service.workspace.search(
                *in_session(call), call.query.pattern, call.query.path, regex=call.query.regex),
            name="search_files", query=SearchQuery, answer=Searched),
        row("GET", _SESSION + "/archive", "A directory as tar", export_files, query=PathQuery, answer=bytes,
            answer_types=(TAR,)),
        row("POST", _SESSION + "/archive", "Unpack a tar into a directory", import_files, query=PathQuery, body=bytes,
            body_types=(TAR, "application/octet-stream"), upload=True, answer=Unpacked, finishes=True),
    ]  # fmt: skip


async def _check_guards(service: Service, call: Call, path: str) -> str | None:
    """What the store must find there, if the caller's guards hold now."""
    if not is_guarded(call.headers):
        return None
    digest, expected = await service.workspace.version(*in_session(call), path)
    check(call.headers, f"file {path[:200]}", digest)
    return expected
