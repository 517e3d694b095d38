"""Resolution: which versions satisfy requirements together. The search is resolvelib's; here is what it asks.

Rules: what guests have already (`gateway.packages.bundled`) is as it is, and asks for nothing. Newer versions come first; those
that their makers have withdrawn only if a requirement names just that version, and early ones only if it asks for such. A wheel
that does not fit the guests' Python is no candidate. What cannot be satisfied is told with who asks for what.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.parser import BytesHeaderParser
from typing import Any, Final, TypeAlias

import resolvelib
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gateway.packages.bundled import list_bundled
from gateway.packages.simple_pages import Found, Project
from gateway.packages.wheel_sources import Sources, refuse
from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.packages.locks import ENVIRONMENT
from sandbox.packages.mounting import LAYERS_MAX
from sandbox.packages.unpacking import read_metadata

ROUNDS_MAX: Final = 2000
_PYTHON: Final = Version(ENVIRONMENT["python_full_version"])
Key: TypeAlias = tuple[str, frozenset[str]]
"""A project's canonical name, and extras."""
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """`file` is None for what guests have already."""

    name: str
    version: Version
    extras: frozenset[str]
    file: Found | None


class _Provider(resolvelib.AbstractProvider[Requirement, Candidate, Key]):
    """Called on a thread of its own; what has to be awaited is awaited by the event loop."""

    def __init__(self, sources: Sources, loop: asyncio.AbstractEventLoop, progress: Progress) -> None:
        self._sources, self._loop, self._progress = sources, loop, progress
        self._bundled = list_bundled()
        self._needed: dict[str, list[Requirement]] = {}
        self.known: dict[str, Project] = {}
        """Projects that were asked for."""

    def identify(self, requirement_or_candidate: Requirement | Candidate) -> Key:
        one = requirement_or_candidate
        return canonicalize_name(one.name), frozenset(canonicalize_name(extra) for extra in one.extras)

    def get_preference(
        self,
        identifier: Key,
        resolutions: Mapping[Key, Candidate],
        candidates: Mapping[Key, Iterator[Candidate]],
        information: Mapping[Key, Iterator[Any]],
        backtrack_causes: Sequence[Any],
    ) -> tuple[bool, bool, str]:
        """What failed before comes first, then what is pinned."""
        is_cause = any(identifier == self.identify(cause.requirement) for cause in backtrack_causes)
        is_pinned = any(spec.operator == "==" for told in information[identifier] for spec in told.requirement.specifier)
        return not is_cause, not is_pinned, identifier[0]

    def find_matches(
        self,
        identifier: Key,
        requirements: Mapping[Key, Iterator[Requirement]],
        incompatibilities: Mapping[Key, Iterator[Candidate]],
    ) -> Iterable[Candidate]:
        name, extras = identifier
        wanted = list(requirements[identifier])
        bad = {candidate.version for candidate in incompatibilities[identifier]}
        bundled = self._bundled.get(name)
        if bundled is not None:
            found = [Candidate(name, bundled, extras, None)]
        else:
            project = self._find(name)
            self.known[name] = project
            found = [Candidate(name, file.version, extras, file) for file in project.files if _fits(file, wanted)]
        fitting = [one for one in found if one.version not in bad and all(self.is_satisfied_by(need, one) for need in wanted)]
        finals = [one for one in fitting if not one.version.is_prerelease]
        early = any(need.specifier.prereleases for need in wanted)
        chosen = fitting if early or not finals else finals
        return sorted(chosen, key=lambda one: (one.version, one.file.file_name if one.file else ""), reverse=True)

    def _find(self, name: str) -> Project:
        self._progress(f"looking for {name}")
        return self._await(self._sources.find(name))[0]  # type: ignore[no-any-return]

    def is_satisfied_by(self, requirement: Requirement, candidate: Candidate) -> bool:
        return requirement.specifier.contains(candidate.version, prereleases=True)

    def get_dependencies(self, candidate: Candidate) -> Iterable[Requirement]:
        if candidate.file is None:
            return []
        needed = self._needed.get(candidate.file.digest)
        if needed is None:
            needed = self._needed[candidate.file.digest] = _read_requirements(candidate.file, self._read(candidate.file))
        extras = [{"extra": extra} for extra in sorted(candidate.extras)] or [{"extra": ""}]
        applying = [
            need for need in needed if need.marker is None or any(need.marker.evaluate({**ENVIRONMENT, **one}) for one in extras)
        ]
        if candidate.extras:
            applying.append(Requirement(f"{candidate.name}=={candidate.version}"))
        return applying

    def _read(self, file: Found) -> bytes:
        self._progress(f"reading {file.name} {file.version}")
        alone = self._await(self._sources.fetch_metadata(file))
        if alone is not None:
            return alone  # type: ignore[no-any-return]
        return read_metadata(file.file_name, self._await(self._sources.fetch_wheel(file)))

    def _await(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _fits(file: Found, wanted: Sequence[Requirement]) -> bool:
    if file.requires_python is not None and not file.requires_python.contains(_PYTHON, prereleases=True):
        return False
    return file.yanked is None or any(spec.operator in ("==", "===") for need in wanted for spec in need.specifier)


def _read_requirements(file: Found, metadata: bytes) -> list[Requirement]:
    headers = BytesHeaderParser().parsebytes(metadata)
    try:
        return [Requirement(str(text)) for text in headers.get_all("Requires-Dist", [])]
    except InvalidRequirement as error:
        raise refuse("PACKAGE_REFUSED", f"{file.file_name} asks for something that cannot be read: {error}") from None


def read_requirements(lines: Iterable[str]) -> list[Requirement]:
    """Of a requirements file, or of a command line. Options and addresses are refused: where wheels come from is not theirs."""
    found = []
    for number, line in enumerate(lines, 1):
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        text = text.partition(" --hash")[0].rstrip("\\ ")
        try:
            one = Requirement(text)
        except InvalidRequirement as error:
            hint = "a requirement is such as rich>=15 or requests[socks]; options of pip are not taken"
            raise refuse("INVALID_ARGUMENT", f"line {number}, {excerpt(text)}, is no requirement: {error}", hint) from None
        if one.url is not None:
            raise refuse("INVALID_ARGUMENT", f"line {number}, {excerpt(text)}, names an address", "name a version instead")
        if one.marker is None or one.marker.evaluate(ENVIRONMENT):
            found.append(replace_marker(one))
    return found


def replace_marker(one: Requirement) -> Requirement:
    one.marker = None
    return one


async def resolve(
    requirements: Sequence[Requirement], sources: Sources, progress: Progress = lambda what: None
) -> list[Candidate]:
    """A version of each package that is needed, bundled ones too, by name. Raises `RequestError` (`PACKAGES_UNRESOLVED`)."""
    provider = _Provider(sources, asyncio.get_running_loop(), progress)
    resolver: Any = resolvelib.Resolver(provider, resolvelib.BaseReporter())
    try:
        done = await asyncio.to_thread(resolver.resolve, requirements, max_rounds=ROUNDS_MAX)
    except resolvelib.ResolutionImpossible as error:
        raise _explain(error, provider) from None
    except resolvelib.ResolutionTooDeep:
        message = f"after {ROUNDS_MAX} tries there is no set of versions that fit together"
        raise refuse("PACKAGES_UNRESOLVED", message, "name versions of some packages") from None
    chosen = {candidate.name: replace(candidate, extras=frozenset()) for candidate in done.mapping.values()}
    if sum(candidate.file is not None for candidate in chosen.values()) > LAYERS_MAX:
        raise refuse("PACKAGES_UNRESOLVED", f"{len(chosen)} packages are more than a session can have ({LAYERS_MAX})")
    return [chosen[name] for name in sorted(chosen)]


def _explain(error: Any, provider: _Provider) -> RequestError:
    """Who asks for what of the package that cannot be had."""
    causes = list(error.causes)
    asked = sorted({(str(cause.requirement), cause.parent and f"{cause.parent.name} {cause.parent.version}") for cause in causes},
                   key=str)  # fmt: skip
    told = ", ".join(f"{parent} needs {need}" if parent else f"{need} is asked for" for need, parent in asked[:8])
    name = canonicalize_name(causes[0].requirement.name) if causes else ""
    return refuse("PACKAGES_UNRESOLVED", f"there is no set of versions that fit together: {told}", _advise(name, provider))


def _advise(name: str, provider: _Provider) -> str:
    bundled, project = list_bundled().get(name), provider.known.get(name, Project())
    if bundled is not None:
        return f"{name} {bundled} is part of the sandbox's Python and cannot be another version"
    usable = [file.version for file in project.files if _fits(file, ())]
    if usable:
        return f"the newest {name} that can be used here is {max(usable)}"
    if project.files or project.others:
        return f"{name} has no wheel that can be used here: they are not pure, too young, withdrawn, or not for Python 3.15"
    return f"no source knows {name}"
