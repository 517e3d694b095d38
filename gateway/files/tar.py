"""Tar archives of a session's files: written as a stream, read with suspicion.

Rules: THREAT[TM-STORE-TAR]: an archive is untrusted. It is read in a child (`gateway.children`) that says what is where in it, in
one pass over bytes that are already capped, and refused whole at the first thing that is not a file, directory or symbolic link
with a path inside: absolute paths and `..`, links that lead out, hard links, devices, sparse files, compressed archives, numbers
that are negative or too large. Nothing in it is followed. What is written can be read again: a link to an absolute path inside is
written as a relative one, and one that leads out is not written.
"""

from __future__ import annotations

import tarfile
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from gateway.children import Overrun, run_in_child
from gateway.errors import BadRequest, TooLarge
from gateway.stores.changes import Encoding, Kind, detect_encoding, digest_of
from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.paths import DEPTH_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX, WORKSPACE, normalize_store_path

BLOCK: Final = 512
_HEADER_BYTES_MAX: Final = 64 << 10
_FILE, _FILES_OLD, _SYMLINK, _DIRECTORY = b"0", b"\0", b"2", b"5"
_READONLY: Final = "HATCHWAY.readonly"
_LONG_NAME, _LONG_LINK, _EXTENDED, _GLOBAL = b"L", b"K", b"x", b"g"


@dataclass(frozen=True, slots=True)
class Member:
    """`path` is as a store spells it; `content` is a file's bytes or a link's target. `start` is where a file's bytes are in the
    archive it was read from. `readonly`, which a header of our own carries, is a file that no guest may change."""

    path: str
    kind: str
    content: bytes
    mode: int
    modified_ms: int = 0
    readonly: bool = False
    start: int = 0


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """A member without a file's bytes, which are in the archive, and what the store wants to know of them."""

    path: str
    kind: Kind
    readonly: bool
    mode: int
    target: bytes
    start: int
    size: int
    encoding: Encoding
    digest: str

    def cut(self, archive: bytes) -> bytes:
        return archive[self.start : self.start + self.size] if self.kind == "file" else self.target


def describe_entry(entry: Entry) -> dict[str, Any]:
    """What a runner's session wants to know of a member."""
    kind = {"symlink": "link"}.get(entry.kind, entry.kind)
    target = entry.target.decode() if kind == "link" else None
    path = entry.path.lstrip("/")
    return {"path": path, "kind": kind, "size_bytes": entry.size, "mode": entry.mode, "modified_ms": 0, "target": target}


def pack(member: Member) -> Iterator[bytes]:
    """A member's header, content and padding: the content as it is, because to copy megabytes takes milliseconds."""
    info = tarfile.TarInfo(member.path.lstrip("/"))
    info.mtime, info.mode = member.modified_ms // 1000, member.mode
    if member.kind == "directory":
        info.type = tarfile.DIRTYPE
    elif member.kind == "symlink":
        info.type, info.linkname = tarfile.SYMTYPE, member.content.decode("utf-8", "replace")
    else:
        info.size, info.pax_headers = len(member.content), {_READONLY: "1"} if member.readonly else {}
    yield info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
    if info.size:
        yield member.content
        if info.size % BLOCK:
            yield bytes(-info.size % BLOCK)


END: Final = b"\0" * (2 * BLOCK)


def carry_link(path: str, target: bytes, base: str = "") -> bytes | None:
    """The target of a link as an archive of the folder `base` carries it; None if it leads out. Both paths are as a store spells
    them, `path` below `base`."""
    try:
        text = target.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if text.startswith("/"):
        top = WORKSPACE + base
        if text != top and not text.startswith(top + "/"):
            return None
        text = "../" * (path.count("/") - 1) + (text[len(top) :].lstrip("/") or ".")
    return None if _leads_out(path, text) else text.encode()


async def read(tenant: str, archive: bytes, *, members_max: int, bytes_max: int) -> list[Entry]:
    """What is in an archive. Waits for a child."""
    try:
        return await run_in_child(tenant, list_entries, archive, members_max, bytes_max)
    except Overrun:
        raise _refuse_archive("it takes too long to read") from None


def list_entries(archive: bytes, members_max: int, bytes_max: int) -> list[Entry]:
    """In the child."""
    return [
        Entry(
            member.path,
            member.kind,  # type: ignore[arg-type]
            member.readonly,
            member.mode,
            b"" if member.kind == "file" else member.content,
            member.start,
            len(member.content),
            detect_encoding(member.content),
            digest_of(member.content),
        )
        for member in unpack(archive, members_max=members_max, bytes_max=bytes_max)
    ]


def unpack(data: bytes, *, members_max: int, bytes_max: int) -> Iterator[Member]:
    if len(data) > bytes_max + (members_max + 2) * 4 * BLOCK:
        raise TooLarge("ARCHIVE_TOO_LARGE", f"the archive has {len(data)} bytes")
    place = count = total = 0
    extended: dict[str, str] = {}
    while place + BLOCK <= len(data):
        header = data[place : place + BLOCK]
        if not any(header):
            return
        _check_sum(header)
        kind, size = header[156:157], _number(header[124:136])
        if kind in (_FILE, _FILES_OLD) and "size" in extended:
            size = _decimal(extended["size"])
        start = place + BLOCK
        body = data[start : start + size]
        if size > bytes_max or len(body) != size:
            raise _refuse_archive("it is cut off, or a size in it is wrong")
        place += BLOCK + size + -size % BLOCK
        if kind in (_LONG_NAME, _LONG_LINK, _EXTENDED, _GLOBAL):
            if kind != _GLOBAL:
                extended |= _extension(kind, body)
            continue
        count, total = count + 1, total + size
        if count > members_max or total > bytes_max:
            raise TooLarge("ARCHIVE_TOO_LARGE", f"the archive has more than {members_max} entries or {bytes_max} bytes")
        member = _member(header, kind, body, extended, start)
        extended = {}
        if member is not None:
            yield member
    raise _refuse_archive("it is cut off, or it is not a tar archive")


def _member(header: bytes, kind: bytes, body: bytes, extended: dict[str, str], start: int) -> Member | None:
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    name = extended.get("path") or (f"{prefix}/" if prefix else "") + _text(header[:100])
    path = _resolve_inside(name)
    mode, modified_ms = _number(header[100:108]) & 0o7777, _number(header[136:148]) * 1000
    if path == "/":
        if kind != _DIRECTORY:
            raise _refuse_archive(f"{name[:100]!r} is the root")
        return None
    if kind == _DIRECTORY or (kind == _FILES_OLD and name.endswith("/")):
        return Member(path, "directory", b"", mode, modified_ms)
    if kind == _SYMLINK:
        target = extended.get("linkpath") or _text(header[157:257])
        if _leads_out(path, target):
            raise _refuse_archive(f"the link {path[:100]!r} leads out of it")
        return Member(path, "symlink", target.encode("utf-8"), 0o777, modified_ms)
    if kind in (_FILE, _FILES_OLD) and not any(key.startswith("GNU.sparse") for key in extended):
        return Member(path, "file", body, mode, modified_ms, _READONLY in extended, start)
    raise _refuse_archive(f"{name[:100]!r} is neither a file, a directory nor a symbolic link")


def _resolve_inside(name: str) -> str:
    if name.startswith("/") or ".." in name.split("/"):
        raise _refuse_archive(f"{name[:100]!r} leads out of it")
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise _refuse_archive(f"the path {name[:100]!r} holds a control character")
    try:
        # Relative on purpose: an entry `workspace/x` is `/workspace/x` in the store.
        return normalize_store_path(name)
    except VfsError:
        raise _refuse_archive(
            f"the path {name[:100]!r} is not valid; {PATH_BYTES_MAX} bytes, {NAME_BYTES_MAX} a name, {DEPTH_MAX} deep"
        ) from None


def _leads_out(path: str, target: str) -> bool:
    """Whether the target, seen from the link's folder, does not stay inside."""
    depth = path.count("/") - 1
    if not target or target.startswith("/") or len(target) > PATH_BYTES_MAX:
        return True
    for part in target.split("/"):
        depth += -1 if part == ".." else int(part not in ("", "."))
        if depth < 0:
            return True
    return False


def _extension(kind: bytes, body: bytes) -> dict[str, str]:
    if len(body) > _HEADER_BYTES_MAX:
        raise _refuse_archive("a header in it is too long")
    if kind != _EXTENDED:
        return {"path" if kind == _LONG_NAME else "linkpath": _text(body)}
    found: dict[str, str] = {}
    place = 0
    while place < len(body):
        digits, space, _ = body[place : place + 10].partition(b" ")
        length = _decimal(digits.decode("ascii", "replace"))
        record = body[place : place + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not (space and equals and length > len(digits) + 2 and record.endswith(b"\n") and len(record) == length):
            raise _refuse_archive("a header in it is damaged")
        found[_text(key)] = _text(value, whole=True)
        place += length
    return found


def _check_sum(header: bytes) -> None:
    text = header[148:156].strip(b" \0")
    if not text.isdigit() or sum(header[:148]) + 8 * 32 + sum(header[156:]) != _number(text):
        raise _refuse_archive("it is damaged, compressed, or not a tar archive")


def _number(field: bytes) -> int:
    text = field.strip(b" \0")
    try:
        value = int(text, 8) if text else 0
    except ValueError:
        value = -1
    if value < 0 or b"_" in text:
        raise _refuse_archive("a number in it is not valid")
    return value


def _decimal(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise _refuse_archive("a number in it is not valid")
    return int(text)


def _text(field: bytes, *, whole: bool = False) -> str:
    try:
        return (field if whole else field.partition(b"\0")[0]).decode("utf-8")
    except UnicodeDecodeError:
        raise _refuse_archive("a name in it is not UTF-8") from None


def _refuse_archive(why: str) -> BadRequest:
    return BadRequest(
        "INVALID_ARCHIVE", f"the archive is refused: {why}", "plain tar with files, directories and links inside of it"
    )
