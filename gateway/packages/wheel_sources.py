"""Sources of packages: indexes, and folders of wheels (wheel houses).

Rules: everything leaves through the guarded client (`gateway.egress`), with caps on what comes back. Sources are asked in their
order, and the first that has a project is the only one that is asked for it: THREAT[TM-PKG-CONFUSION]: a package of an own index
cannot be replaced by one of the same name elsewhere. A young release is not taken (`cooldown_days`). What is fetched has the
digest that the index, or the lock, has told, or it is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name

from gateway.egress.client import Egress, Response
from gateway.egress.errors import EgressError
from gateway.packages.simple_pages import ACCEPT, Found, Project, read_file_name, read_page
from sandbox.errors import RequestError
from sandbox.packages.wheels import WHEEL_BYTES_MAX

PAGE_BYTES_MAX: Final = 64 << 20
METADATA_BYTES_MAX: Final = 1 << 20
_PAGE_MS, _WHEEL_MS = 30_000, 300_000


def refuse(code: str, message: str, hint: str | None = None) -> RequestError:
    return RequestError(code, message, hint)


class Source:
    """Where wheels are. Raises `RequestError` (`PACKAGE_SOURCE_FAILED`)."""

    async def find(self, project: str) -> Project:
        """What there is of a project; nothing if it is not known here."""
        raise NotImplementedError

    async def fetch(self, url: str, bytes_max: int) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True)
class Index(Source):
    """`url` is that of its simple pages."""

    url: str
    egress: Egress
    cooldown_days: float = 0
    _headers: Mapping[str, str] = field(default_factory=lambda: {"accept": ACCEPT})

    async def find(self, project: str) -> Project:
        url = f"{self.url.rstrip('/')}/{canonicalize_name(project)}/"
        answer = await self._get(url, PAGE_BYTES_MAX, _PAGE_MS)
        if answer.status == 404:
            return Project()
        if answer.status != 200:
            raise refuse("PACKAGE_SOURCE_FAILED", f"the index answered {answer.status} when asked for {project}")
        try:
            found = read_page(project, answer.body, answer.header("content-type") or "", answer.url)
        except ValueError as error:
            raise refuse("PACKAGE_SOURCE_FAILED", f"the index's page of {project} cannot be read: {error}") from None
        old_enough = tuple(file for file in found.files if self._is_old_enough(file))
        return Project(old_enough, found.others + len(found.files) - len(old_enough))

    def _is_old_enough(self, file: Found) -> bool:
        """A file without a time is young: an index that tells none cannot be used with a cooldown."""
        if not self.cooldown_days:
            return True
        return file.uploaded_at is not None and datetime.now(UTC) - file.uploaded_at >= timedelta(days=self.cooldown_days)

    async def fetch(self, url: str, bytes_max: int) -> bytes:
        answer = await self._get(url, bytes_max, _WHEEL_MS)
        if answer.status != 200:
            raise refuse("PACKAGE_SOURCE_FAILED", f"the index answered {answer.status} when asked for {_last(url)}")
        return answer.body

    async def _get(self, url: str, bytes_max: int, timeout_ms: int) -> Response:
        try:
            return await self.egress.request(
                "GET", url, headers=self._headers, timeout_ms=timeout_ms, max_response_bytes=bytes_max
            )
        except EgressError as error:
            is_private = error.code == "ADDRESS_REFUSED"
            hint = "a host with a private address has to be allowed: --allow HOST:PORT" if is_private else "check the address"
            raise refuse("PACKAGE_SOURCE_FAILED", f"{_last(url)}: {error}", hint) from None


@dataclass(frozen=True)
class WheelHouse(Source):
    """A folder of wheels."""

    folder: Path

    async def find(self, project: str) -> Project:
        return await asyncio.to_thread(self._find, project)

    def _find(self, project: str) -> Project:
        files, others = [], 0
        prefix = canonicalize_name(project).replace("-", "_")
        try:
            names = sorted(entry.name for entry in self.folder.iterdir() if entry.is_file())
        except OSError as error:
            told = f"the folder of wheels {str(self.folder)!r} cannot be read: {error.strerror}"
            raise refuse("PACKAGE_SOURCE_FAILED", told) from None
        for name in names:
            if canonicalize_name(name.partition("-")[0]).replace("-", "_") != prefix:
                continue
            found = read_file_name(project, name)
            if found is None:
                others += 1
                continue
            data = self._read(name, WHEEL_BYTES_MAX)
            digest = hashlib.sha256(data).hexdigest()
            files.append(replace(found, url=(self.folder / name).resolve().as_uri(), digest=digest, size_bytes=len(data)))
        return Project(tuple(files), others)

    async def fetch(self, url: str, bytes_max: int) -> bytes:
        return await asyncio.to_thread(self._read, _last(url), bytes_max)

    def _read(self, name: str, bytes_max: int) -> bytes:
        try:
            with (self.folder / Path(name).name).open("rb") as file:
                data = file.read(bytes_max + 1)
        except OSError as error:
            raise refuse("PACKAGE_SOURCE_FAILED", f"{name} cannot be read: {error.strerror}") from None
        if len(data) > bytes_max:
            raise refuse("PACKAGE_SOURCE_FAILED", f"{name} has more than {bytes_max} bytes")
        return data


class Sources:
    """All of them, in their order."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._projects: dict[str, asyncio.Task[tuple[Project, Source | None]]] = {}

    async def find(self, project: str) -> tuple[Project, Source | None]:
        """What the first source that knows the project has of it. Asked once."""
        name = canonicalize_name(project)
        if name not in self._projects:
            self._projects[name] = asyncio.create_task(self._find(name))
        return await self._projects[name]

    async def _find(self, project: str) -> tuple[Project, Source | None]:
        for source in self._sources:
            found = await source.find(project)
            if found.files or found.others:
                return found, source
        return Project(), None

    async def fetch_wheel(self, found: Found) -> bytes:
        _, source = await self.find(found.name)
        assert source is not None
        return check_digest(found.file_name, await source.fetch(found.url, WHEEL_BYTES_MAX), found.digest)

    async def fetch_metadata(self, found: Found) -> bytes | None:
        """METADATA that stands alone; None if the wheel has to be fetched for it."""
        if found.metadata_url is None:
            return None
        _, source = await self.find(found.name)
        assert source is not None
        return await source.fetch(found.metadata_url, METADATA_BYTES_MAX)


def check_digest(file_name: str, data: bytes, digest: str) -> bytes:
    """THREAT[TM-PKG-SWAP]: bytes that are not those that were locked."""
    if hashlib.sha256(data).hexdigest() != digest:
        hint = "the source gave another file than the one that was locked: do not use it before you know why"
        raise refuse("PACKAGE_MISMATCH", f"{file_name} does not have the SHA-256 {digest[:16]}… that is expected of it", hint)
    return data


def _last(url: str) -> str:
    return unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])
