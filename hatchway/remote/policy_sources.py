"""A policy on this machine's disk, as a gateway wants it, and what a gateway found in it, as `hatchway policy check` shows it.

Rules: of a file that is named, only what it needs is sent: what it imports, its base, its catalog, the programs of its hooks. Of
a folder that is named, everything is, without links and hidden files. What is no text is sent as base64.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hatchway.cli import host_files
from policy.lowering.loading import Folder, Loaded, load
from policy.syntax import tree
from policy.text.diagnostics import CHECKS, Diagnostic, Findings
from policy.text.render import to_text
from policy.text.sources import Source, Span
from sandbox.errors import RequestError

MAIN: Final = "policy.hatch"


def read_sources(place: Path, main: str | None = None) -> tuple[dict[str, str], str]:
    """Files by name, and the main one."""
    if place.is_dir():
        files = {name: _encode(host_files.read_bytes(path)) for path, name in _list_below(place)}
        return files, _choose_main(place, files, main)
    if main is not None and main != place.name:
        raise RequestError("INVALID_ARGUMENT", f"--main {main} is for a folder, and {place} is none", "name its folder")
    if not place.is_file():
        raise RequestError("INVALID_ARGUMENT", f"cannot read {place}: no such file or folder")
    library = _NotingLibrary(Folder(place.parent))
    loaded = load(place.name, library, Findings())
    for name in _list_programs(loaded):
        library.read(name)
    return {name: _encode(data) for name, data in library.found.items()}, place.name


class _NotingLibrary:
    """A library that remembers what was read."""

    def __init__(self, library: Folder) -> None:
        self._library = library
        self.found: dict[str, bytes] = {}

    def read(self, path: str) -> bytes | None:
        data = self._library.read(path)
        if data is not None:
            self.found[path] = data
        return data


def _list_programs(loaded: Loaded) -> Iterator[str]:
    """Of hooks, wherever they stand. Webhooks have none."""
    for unit in loaded.units:
        for item in unit.tree.items:
            for rule in item.items if isinstance(item, tree.Scope) else (item,):
                if isinstance(rule, tree.Hook) and rule.executor != "webhook":
                    yield str(rule.program)[1:-1]


def _list_below(folder: Path) -> Iterator[tuple[Path, str]]:
    for path, _ in host_files.walk(folder, ""):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not any(part.startswith(".") for part in name.split("/")):
            yield path, name


def _choose_main(folder: Path, files: Mapping[str, str], main: str | None) -> str:
    tops = [name for name in files if name.endswith(".hatch") and "/" not in name]
    if main is None and MAIN not in files and len(tops) == 1:
        return tops[0]
    wanted = MAIN if main is None else main
    if wanted not in files:
        hint = f"--main names the file to begin with: {', '.join(sorted(tops))}" if tops else "a policy is a .hatch file"
        raise RequestError("INVALID_ARGUMENT", f"there is no {wanted} in {folder}", hint)
    return wanted


def _encode(data: bytes) -> str:
    try:
        if b"\0" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    return base64.b64encode(data).decode()


def render(findings: list[Any], sources: Mapping[str, str], place: Path, *, colour: bool) -> str:
    """What a gateway found, with the lines it is about. Files are named as the command line named them."""
    folder = place if place.is_dir() else place.parent
    texts = {name: Source(os.path.join(folder, name), text) for name, text in sources.items()}
    return "\n".join(_render_finding(finding, texts, colour) for finding in findings)


def _render_finding(finding: Mapping[str, Any], texts: Mapping[str, Source], colour: bool) -> str:
    if finding["code"] in CHECKS:
        notes = tuple(finding.get("notes") or ())
        span = _find_span(finding.get("place"), texts)
        return to_text([Diagnostic(finding["code"], finding["message"], span, finding.get("hint"), notes)], colour=colour)
    hint = f"    = hint: {finding['hint']}\n" if finding.get("hint") else ""
    return f"{finding['severity']}[{finding['code']}]: {finding['message']}\n{hint}"


def _find_span(place: Mapping[str, Any] | None, texts: Mapping[str, Source]) -> Span | None:
    source = texts.get(place["file"]) if place else None
    if place is None or source is None:
        return None
    return Span(source, source.offset(place["line"], place["column"]), source.offset(place["end_line"], place["end_column"]))


def is_coloured(stream: Any = None) -> bool:
    return bool((stream or sys.stdout).isatty()) and "NO_COLOR" not in os.environ
