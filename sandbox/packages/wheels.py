"""Wheels: what a package's archive holds, read without trust.

Rules: only pure wheels; nothing of an archive is believed before it was checked, and what is wrong with it is said by name. Sizes
and numbers are capped before anything is read. Every file must stand in RECORD with its hash, and RECORD names no other.
THREAT[TM-PKG-ARCHIVE]: an archive that expands, leads out, links, holds devices, or whose names differ by case alone. `unpack`
is called in a child that can be killed, because zlib and zipfile are what reads the bytes.

Does not know: where wheels come from, sessions.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from typing import Final

from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.filesystem.paths import DEPTH_MAX, name_too_long

WHEEL_BYTES_MAX: Final = 64 << 20
"""Of an archive."""
FILES_BYTES_MAX: Final = 256 << 20
"""Of all its files together."""
FILES_MAX: Final = 20_000
_PATH_BYTES_MAX: Final = 1024
_METADATA_BYTES_MAX: Final = 1 << 20
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NATIVE: Final = (".so", ".pyd", ".dll", ".dylib", ".a", ".o")
_ENCRYPTED: Final = 0x1
TOO_MUCH: Final = "takes too much time or memory to unpack"
_NOT_RECORDED: Final = ("RECORD", "RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True)
class Wheel:
    """`files` are by their paths below `site-packages`."""

    name: str
    version: str
    files: dict[str, bytes]


def refuse(name: str, why: str, hint: str = "") -> RequestError:
    return RequestError("PACKAGE_REFUSED", f"the wheel {excerpt(name)} {why}", hint or None)


def unpack(request: bytes) -> bytes:
    """A child's answer to a file name, a line feed and an archive: a line of JSON, then the files' bytes; or what is wrong."""
    return _answer(request, write_files)


def unpack_metadata(request: bytes) -> bytes:
    """The same, and only METADATA."""
    return _answer(
        request, lambda wheel: next(data for path, data in wheel.files.items() if path.endswith(".dist-info/METADATA"))
    )


def _answer(request: bytes, write: Callable[[Wheel], bytes]) -> bytes:
    name, _, data = request.partition(b"\n")
    try:
        return write(read_wheel(name.decode(), data))
    except RequestError as refused:
        error = refused.error
        return json.dumps({"refused": [error.code, error.message, error.hint]}).encode() + b"\n"


def write_files(wheel: Wheel) -> bytes:
    """Files one after the other, behind a line that says which and how large they are."""
    sizes = {path: len(data) for path, data in wheel.files.items()}
    head = json.dumps({"name": wheel.name, "version": wheel.version, "files": sizes}).encode()
    return b"".join((head, b"\n", *wheel.files.values()))


def read_wheel(file_name: str, data: bytes) -> Wheel:
    if len(data) > WHEEL_BYTES_MAX:
        raise refuse(file_name, f"has more than {WHEEL_BYTES_MAX >> 20} MiB")
    if _count_entries(data) > FILES_MAX:
        raise refuse(file_name, f"has more than {FILES_MAX} files")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = _read_members(file_name, archive)
    except RequestError:
        raise
    except MemoryError:
        raise refuse(file_name, TOO_MUCH) from None
    except Exception as error:  # whatever zipfile and zlib make of it
        raise refuse(file_name, f"cannot be read: {type(error).__name__}: {excerpt(str(error))[1:-1]}") from None
    return _check_contents(file_name, found)


def _count_entries(data: bytes) -> int:
    """As the archive's end says, before the list itself is read. One that says it elsewhere is found out when it is read."""
    end = data.rfind(b"PK\x05\x06", max(0, len(data) - 65_557))
    count = int.from_bytes(data[end + 10 : end + 12], "little") if end >= 0 else 0
    return FILES_MAX + 1 if count == 0xFFFF else count


def _read_members(file_name: str, archive: zipfile.ZipFile) -> dict[str, bytes]:
    members = archive.infolist()
    if len(members) > FILES_MAX:
        raise refuse(file_name, f"has more than {FILES_MAX} files")
    if sum(member.file_size for member in members) > FILES_BYTES_MAX:
        raise refuse(file_name, f"has more than {FILES_BYTES_MAX >> 20} MiB of files")
    found: dict[str, bytes] = {}
    for member in members:
        path = member.filename
        _check_path(file_name, path.removesuffix("/"))
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise refuse(file_name, f"holds {excerpt(path)}, which is neither a file nor a directory")
        if member.is_dir():
            continue
        if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
            raise refuse(file_name, f"holds {excerpt(path)}, packed in a way that wheels do not use")
        if path in found:
            raise refuse(file_name, f"holds {excerpt(path)} twice")
        with archive.open(member) as file:
            found[path] = file.read(member.file_size + 1)
        if len(found[path]) != member.file_size:
            raise refuse(file_name, f"holds {excerpt(path)}, whose size is not what the archive says")
    return found


def _check_path(file_name: str, path: str) -> None:
    parts = path.split("/")
    plain = path.isprintable() and "\\" not in path and len(path.encode("utf-8", "replace")) <= _PATH_BYTES_MAX
    if not plain or any(part in ("", ".", "..") or name_too_long(part) for part in parts) or len(parts) > DEPTH_MAX // 2:
        raise refuse(file_name, f"holds a file under the name {excerpt(path)}, which no package needs")


def _check_contents(file_name: str, found: dict[str, bytes]) -> Wheel:
    _check_clashes(file_name, found)
    folders = {path.partition("/")[0] for path in found if path.partition("/")[0].endswith(".dist-info")}
    if len(folders) != 1:
        raise refuse(file_name, "has no .dist-info, or more than one: it is no wheel")
    info = folders.pop()
    for needed in ("METADATA", "WHEEL", "RECORD"):
        if f"{info}/{needed}" not in found:
            raise refuse(file_name, f"has no {needed}: it is no wheel")
    _check_record(file_name, info, found)
    _check_pure(file_name, found[f"{info}/WHEEL"], found)
    name, version = _read_identity(file_name, found[f"{info}/METADATA"])
    files = {placed: data for path, data in found.items() if (placed := _place(path)) is not None}
    files[f"{info}/INSTALLER"] = b"hatchway\n"
    _check_clashes(file_name, files)
    return Wheel(name, version, dict(sorted(files.items())))


def _check_clashes(file_name: str, files: dict[str, bytes]) -> None:
    """No two names that are one where case does not count, and no file that is a directory as well."""
    seen: dict[str, str] = {}
    for path in files:
        if seen.setdefault(path.casefold(), path) != path:
            raise refuse(file_name, f"holds {excerpt(path)} and {excerpt(seen[path.casefold()])}: the same name in another case")
    for path in files:
        above = path
        while above := above.rpartition("/")[0]:
            if above in files:
                raise refuse(file_name, f"holds {excerpt(above)} as a file and as a directory")


def _check_record(file_name: str, info: str, found: dict[str, bytes]) -> None:
    try:
        rows = list(csv.reader(io.StringIO(found[f"{info}/RECORD"].decode(), newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise refuse(file_name, "has a RECORD that cannot be read") from None
    hashes = {row[0]: row[1] for row in rows if len(row) == 3}
    for path, data in found.items():
        if path in (f"{info}/{name}" for name in _NOT_RECORDED):
            continue
        kind, _, told = hashes.get(path, "").partition("=")
        if kind not in ("sha256", "sha384", "sha512"):
            raise refuse(file_name, f"holds {excerpt(path)}, which has no hash in its RECORD")
        digest = hashlib.new(kind, data).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != told.rstrip("="):
            raise refuse(file_name, f"holds {excerpt(path)}, which is not what its RECORD says")
    missing = [path for path in hashes if path not in found and not path.startswith(f"{info}/RECORD")]
    if missing:
        raise refuse(file_name, f"lacks {excerpt(min(missing))}, which its RECORD names")


def _check_pure(file_name: str, told: bytes, found: dict[str, bytes]) -> None:
    headers = BytesHeaderParser().parsebytes(told[:_METADATA_BYTES_MAX])
    native = next((path for path in found if path.endswith(_NATIVE)), None)
    if native is not None:
        raise refuse(file_name, f"holds native code ({excerpt(native)}), which cannot run here", "only pure Python packages can")
    if not any(str(tag).endswith("-none-any") for tag in headers.get_all("Tag", [])):
        raise refuse(file_name, "is for one platform only", "only wheels for py3-none-any can be used")


def _read_identity(file_name: str, told: bytes) -> tuple[str, str]:
    from packaging.utils import InvalidName, canonicalize_name
    from packaging.version import InvalidVersion, Version

    headers = BytesHeaderParser().parsebytes(told[:_METADATA_BYTES_MAX])
    try:
        return canonicalize_name(str(headers["Name"]), validate=True), str(Version(str(headers["Version"])))
    except (InvalidName, InvalidVersion):
        raise refuse(file_name, "does not say its name and version in METADATA") from None


def _place(path: str) -> str | None:
    """Where a file of the archive goes below `site-packages`; None for scripts, headers and data of other places."""
    top, _, rest = path.partition("/")
    if not top.endswith(".data"):
        return path
    scheme, _, inner = rest.partition("/")
    return inner if scheme in ("purelib", "platlib") and inner else None
