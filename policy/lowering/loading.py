"""Which files make up a policy: the main file, what it imports, the base it narrows, the catalog it pins.

THREAT[TM-POL-002]: files are found only through a `Library`; an import cannot climb out (`..`, absolute paths, links are
refused), and the number of files is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from lark import Token

from policy.model.catalog import Catalog, CatalogError, builtin_catalog, load_catalog
from policy.syntax import tree as s
from policy.syntax.parser import MAX_TEXT_CHARS, parse
from policy.text.diagnostics import Findings
from policy.text.sources import Source, Span

MAX_FILES = 64
MAX_FILE_BYTES = 16 * 1024 * 1024
_PIN = re.compile(r"([A-Za-z_][\w.-]*)@sha256:([0-9a-f]{16,64})\Z")


class Library(Protocol):
    """Where files come from. `read` gives None for what does not exist or may not be read."""

    def read(self, path: str) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Folder:
    root: Path

    def read(self, path: str) -> bytes | None:
        try:
            place = (self.root / path).resolve(strict=True)
            if not place.is_relative_to(self.root.resolve()) or not place.is_file():
                return None
            return place.read_bytes() if place.stat().st_size <= MAX_FILE_BYTES else None
        except (OSError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class Memory:
    """Files held in memory, as in a bundle or a test."""

    files: Mapping[str, str | bytes]

    def read(self, path: str) -> bytes | None:
        data = self.files.get(path)
        return data.encode("utf-8", "replace") if isinstance(data, str) else data


@dataclass(frozen=True, slots=True)
class Replaced:
    """A library in which one file holds something else."""

    path: str
    data: bytes | None
    library: Library

    def read(self, path: str) -> bytes | None:
        return self.data if path == self.path else self.library.read(path)


@dataclass(frozen=True, slots=True)
class Base:
    """Where bases come from, if not from next to the policies that narrow them: the operator's own files and types.

    THREAT[TM-POL-BASE]: a base that this library has is never read from what the policy's author sends.
    """

    library: Library
    catalog: Catalog | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    source: Source
    tree: s.File
    path: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """`units` in reading order: what is imported comes before what imports it; the main file is last. `library` is where they,
    and the programs of their hooks, come from. Without `typed`, the catalog named by the policy could not be read."""

    units: tuple[Unit, ...]
    catalog: Catalog
    base: Loaded | None
    broken: bool
    library: Library
    typed: bool = True

    @property
    def main(self) -> Unit:
        return self.units[-1]


def load(
    path: str,
    library: Library,
    findings: Findings,
    catalog: Catalog | None = None,
    bases: Base | None = None,
    *,
    follow_base: bool = True,
) -> Loaded:
    """Read and parse `path` and everything it needs; mistakes go to `findings`. A given `catalog` replaces the one named, and
    `bases` what lies next to the policy under the name of its base."""
    errors_before = findings.errors
    units = load_units(path, library, findings)
    main = units[-1]
    header = main.tree.header
    types, typed = _catalog(main, library, findings, catalog)
    for unit in units[:-1]:
        _check_promises(unit, header, types, findings)
    base: Loaded | None = None
    if header is not None and header.narrows is not None and follow_base:
        base = _base(main, header.narrows, library, findings, catalog, bases)
    broken = (findings.errors > errors_before and not typed) or main.tree.header is None
    return Loaded(tuple(units), types, base, broken, library, typed)


def load_units(path: str, library: Library, findings: Findings) -> list[Unit]:
    """A file and all it imports. Depth first with an explicit stack; a file already read is not read again."""
    done: dict[str, Unit] = {}
    first = _read_unit(path, library, findings, None)
    stack = [(first, _imports(first))]
    known = {path}
    while stack:
        unit, left = stack[-1]
        token = next(left, None)
        if token is None:
            done[unit.path] = unit
            stack.pop()
            continue
        place = _import_path(unit.path, token, unit.source, findings)
        if place is None or place in done:
            continue
        span = Span(unit.source, *s.offsets(token))
        if place in known:
            chain = [opened.path for opened, _ in stack] + [place]
            findings.add(
                "HP011", "these files import each other: " + " → ".join(chain), span, "move what both need to a third file"
            )
        elif len(known) >= MAX_FILES:
            findings.add("HP010", f"more than {MAX_FILES} files", span)
        elif library.read(place) is None:
            findings.add("HP010", f"cannot read {place}", span, "the path is relative to this file")
        else:
            known.add(place)
            imported = _read_unit(place, library, findings, span)
            stack.append((imported, _imports(imported)))
    return list(done.values())


def _imports(unit: Unit) -> Iterator[Token]:
    return (item.path for item in unit.tree.items if isinstance(item, s.Import))


def _import_path(importer: str, token: Token, source: Source, findings: Findings) -> str | None:
    text = str(token)[1:-1]
    wanted = PurePosixPath(text)
    if wanted.is_absolute() or ".." in wanted.parts or "\\" in text or wanted.suffix != ".hatch":
        findings.add(
            "HP010", f"{text} is not a relative path to a .hatch file below this folder", Span(source, *s.offsets(token))
        )
        return None
    return str(PurePosixPath(importer).parent / wanted)


def _read_unit(path: str, library: Library, findings: Findings, at: Span | None) -> Unit:
    data = library.read(path)
    if data is None:
        findings.add("HP005", f"cannot read {path}", at)
        return Unit(Source(path, ""), s.File(None, ()), path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        findings.add("HP005", f"{path} is not UTF-8 text (byte {error.start})", at or Span(Source(path, ""), 0, 0))
        return Unit(Source(path, ""), s.File(None, ()), path)
    source = Source(path, text if len(text) <= MAX_TEXT_CHARS + 1 else text[: MAX_TEXT_CHARS + 1])
    return Unit(source, parse(source, findings), path)


def _catalog(main: Unit, library: Library, findings: Findings, given: Catalog | None) -> tuple[Catalog, bool]:
    header = main.tree.header
    if header is None or header.catalog is None:
        return given or builtin_catalog(), True
    span = Span(main.source, *s.offsets(header.catalog))
    text = str(header.catalog)[1:-1]
    pin = _PIN.match(text)
    name = pin.group(1) if pin else text.split("@")[0]
    found = given
    if found is None:
        data = library.read(f"{name}.catalog.json") if re.fullmatch(r"[A-Za-z_][\w.-]*", name) else None
        if data is None or len(data) > MAX_FILE_BYTES:
            findings.add("HP013", f"cannot read {name}.catalog.json", span, "put it next to the policy")
            return builtin_catalog(), False
        try:
            found = load_catalog(data)
        except CatalogError as error:
            findings.add("HP015", f"{name}.catalog.json: {error}", span)
            return builtin_catalog(), False
    if pin is None or not found.digest.startswith(pin.group(2)):
        short = "" if pin or not re.search(r"@sha256:[0-9a-f]{1,15}\Z", text) else "; a pin has at least 16 digits"
        hint = f'pin it: "{name}@sha256:{found.digest[:32]}"'
        findings.add("HP014", f"the catalog's digest is {found.digest[:32]}…{short}", span, hint)
    return found, True


def _check_promises(unit: Unit, importer: s.Header | None, catalog: Catalog, findings: Findings) -> None:
    """An imported file may pin a catalog and name a base too; then they must be those of what imports it.

    THREAT[TM-POL-011]: a promise in an imported header would otherwise be one that nothing checks.
    """
    header = unit.tree.header
    pin = _PIN.match(str(header.catalog)[1:-1]) if header and header.catalog else None
    if header and header.catalog and (pin is None or not catalog.digest.startswith(pin.group(2))):
        span = Span(unit.source, *s.offsets(header.catalog))
        findings.add("HP014", "this file was written against another catalog than the one that imports it", span)
    if header and header.narrows and (importer is None or str(importer.narrows) != str(header.narrows)):
        message = f"this file narrows `{header.narrows}`, and the policy that imports it does not"
        span = Span(unit.source, *s.offsets(header.narrows))
        findings.add("HP012", message, span, f"write `narrows {header.narrows}` in the header of the importing policy")


def _base(
    main: Unit, token: Token, library: Library, findings: Findings, given: Catalog | None, bases: Base | None
) -> Loaded | None:
    span = Span(main.source, *s.offsets(token))
    path = str(PurePosixPath(main.path).parent / f"{token}.hatch")
    if bases is not None and bases.library.read(f"{token}.hatch") is not None:
        path, library, given = f"{token}.hatch", bases.library, bases.catalog or given
    if main.tree.header is not None and str(main.tree.header.name) == str(token):
        findings.add("HP012", "a policy cannot narrow itself", span, "name the policy it may not exceed")
        return None
    if library.read(path) is None:
        findings.add("HP012", f"cannot read {path}", span, "put the base next to the policy, in a file with its name")
        return None
    inner = Findings()
    base = load(path, library, inner, given, follow_base=False)
    if inner.errors or base.broken:
        first = inner.sort()[0]
        findings.add("HP012", f"the base does not compile: {first.message}", span, f"see {first.location()}")
        return None
    if base.main.tree.header is not None and str(base.main.tree.header.name) != str(token):
        findings.add("HP012", f"{path} holds the policy `{base.main.tree.header.name}`", span)
        return None
    return base
