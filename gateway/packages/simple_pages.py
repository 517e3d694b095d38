"""Simple pages: what an index says of one project (PEP 503, 691, 592, 658, 700), as JSON or HTML.

Rules: pure; bytes in, files out. What is no wheel for every platform is left out and counted, so that a message can say why there
is nothing. A file without a SHA-256 is left out: what is locked is locked by it. Does not know: how a page is fetched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from sandbox.packages.locks import tags

FILES_MAX: Final = 50_000
JSON: Final = "application/vnd.pypi.simple.v1+json"
ACCEPT: Final = f"{JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_OURS: Final = frozenset(tags())


@dataclass(frozen=True, slots=True)
class Found:
    """A wheel that could be used. `yanked` says why its maker has withdrawn it; `metadata_url` is where METADATA stands alone."""

    name: str
    version: Version
    file_name: str
    url: str
    digest: str
    requires_python: SpecifierSet | None = None
    yanked: str | None = None
    size_bytes: int | None = None
    uploaded_at: datetime | None = None
    metadata_url: str | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """`others` counts files that cannot be used here: of other platforms, sources, without a hash."""

    files: tuple[Found, ...] = ()
    others: int = 0


class _Json(msgspec.Struct, rename="kebab"):
    class File(msgspec.Struct, rename="kebab"):
        filename: str
        url: str
        hashes: dict[str, str]
        requires_python: str | None = None
        yanked: bool | str = False
        size: int | None = None
        upload_time: str | None = None
        core_metadata: bool | dict[str, str] = False

    files: list[File]


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[dict[str, str]] = []
        self.base: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "base" and self.base is None:
            self.base = given.get("href")
        elif tag == "a" and "href" in given and len(self.links) < FILES_MAX:
            self.links.append(given)


def read_page(project: str, body: bytes, content_type: str, url: str) -> Project:
    """Raises `ValueError` for what is no page of an index."""
    if content_type.partition(";")[0].strip().lower() == JSON:
        try:
            told = msgspec.json.decode(body, type=_Json).files[:FILES_MAX]
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from None
        rows = [
            (
                file.filename, urljoin(url, file.url), file.hashes.get("sha256", ""), file.requires_python or "", file.yanked,
                file.size, file.upload_time, bool(file.core_metadata),
            )
            for file in told
        ]  # fmt: skip
    else:
        rows = _read_html(body, url)
    files = [found for row in rows if (found := _read_file(project, *row)) is not None]
    return Project(tuple(files), len(rows) - len(files))


def _read_html(body: bytes, url: str) -> list[tuple[Any, ...]]:
    parser = _Html()
    parser.feed(body.decode("utf-8", "replace"))
    rows = []
    for link in parser.links:
        target, fragment = urldefrag(urljoin(urljoin(url, parser.base or ""), link["href"]))
        kind, _, digest = fragment.partition("=")
        yanked: bool | str = link.get("data-yanked") or "data-yanked" in link
        told = any(link.get(name, "false") != "false" for name in ("data-core-metadata", "data-dist-info-metadata"))
        name = unquote(urlsplit(target).path.rpartition("/")[2])
        wanted = link.get("data-requires-python", "")
        rows.append((name, target, digest if kind == "sha256" else "", wanted, yanked, None, None, told))
    return rows


def _read_file(
    project: str,
    file_name: str,
    url: str,
    digest: str,
    requires_python: str,
    yanked: bool | str,
    size_bytes: int | None,
    uploaded: str | None,
    has_metadata: bool,
) -> Found | None:
    found = read_file_name(project, file_name)
    if found is None or not _DIGEST.fullmatch(digest.lower()):
        return None
    try:
        wanted = SpecifierSet(requires_python) if requires_python else None
        uploaded_at = None if uploaded is None else datetime.fromisoformat(uploaded)
    except (InvalidSpecifier, ValueError):
        return None
    if uploaded_at is not None and uploaded_at.tzinfo is None:
        uploaded_at = uploaded_at.replace(tzinfo=UTC)
    reason = None if yanked is False else str(yanked) if isinstance(yanked, str) and yanked else "no reason given"
    return replace(
        found,
        url=url,
        digest=digest.lower(),
        requires_python=wanted,
        yanked=reason,
        size_bytes=size_bytes,
        uploaded_at=uploaded_at,
        metadata_url=f"{url}.metadata" if has_metadata else None,
    )


def read_file_name(project: str, file_name: str) -> Found | None:
    """A wheel for every platform, by its name; None for anything else."""
    try:
        name, version, _, its_tags = parse_wheel_filename(file_name)
    except (InvalidWheelFilename, ValueError):
        return None
    if name != canonicalize_name(project) or _OURS.isdisjoint(its_tags):
        return None
    return Found(str(name), version, file_name, "", "")
