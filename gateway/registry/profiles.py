"""Role profiles: what a worker runs, in which language, within which limits, and where.

    profiles = Profiles(load(Path("profiles.toml")))        # the operator's, over those that are shipped
    profiles.choose(request)                                # what a spawn request gets: its own wishes over its profile's

Rules: a profile is operator configuration: data, in the words of a spawn request. What a worker may do is the policy's to say,
which knows its profile and role as the facts `session.worker` and `session.worker_role`, where its catalog declares them; no
request sets these. With an `entry` each input is what that program reads; without one the input is the program.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from gateway.configuration import Configuration, ConfigurationError
from gateway.errors import BadRequest
from gateway.registry import wire
from gateway.registry.identifiers import is_id
from sandbox.errors import RequestError
from sandbox.sessions.request_checks import check_limits, parse_language
from sandbox.wire import DEFAULT_LIMITS, Language, SessionLimits

SHIPPED: Final = Path(__file__).parents[1] / "samples" / "profiles.toml"
DEFAULT: Final = "runtime_default"


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`limits` are those that are not the usual ones. `destination`: its shell and its files are at that runner."""

    about: str
    language: Language = Language.SHELL
    entry: Annotated[str, Meta(max_length=wire.ENTRY_CHARS_MAX)] = ""
    limits: dict[str, int] = {}
    template: str | None = None
    destination: str | None = None

    def read_limits(self) -> SessionLimits:
        return check_limits(msgspec.convert({**msgspec.to_builtins(DEFAULT_LIMITS), **self.limits}, SessionLimits))


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is made of. `name` is its profile's, as it is shown."""

    name: str
    role: str
    language: Language
    entry: str
    limits: SessionLimits
    template: str | None
    destination: str | None
    labels: dict[str, str]


class Profiles:
    def __init__(self, own: Mapping[str, Profile] | None = None) -> None:
        self._profiles = {**_load_shipped(), **(own or {})}

    def choose(self, request: wire.SpawnRequest) -> Chosen:
        role, name = _read_intent(request.intent)
        name = request.profile or name
        profile = self._profiles.get(name)
        if profile is None:
            raise BadRequest("INVALID_ARGUMENT", f"there is no profile {name[:80]!r}", f"there are: {', '.join(self._profiles)}")
        language = request.language or profile.language
        is_other = language is not profile.language and not request.entry  # its entry is a program of another language
        destination = request.destination_id or profile.destination
        if destination is not None and language is not Language.SHELL:
            raise BadRequest("INVALID_ARGUMENT", "a worker at a runner takes shell", "leave out the language, or the destination")
        return Chosen(
            name=name, role=role, language=language, entry="" if is_other else request.entry or profile.entry,
            limits=request.limits or profile.read_limits(), template=request.template or profile.template,
            destination=destination, labels=request.labels,
        )  # fmt: skip

    def describe(self) -> list[wire.ProfileSummary]:
        return [
            wire.ProfileSummary(
                name=name, about=one.about, language=one.language, takes="message" if one.entry else "program",
                limits=one.read_limits(), destination_id=one.destination, template=one.template,
            )
            for name, one in sorted(self._profiles.items())
        ]  # fmt: skip


def _read_intent(intent: wire.SpawnIntent) -> tuple[str, str]:
    """The role and the profile that an intent asks for."""
    if isinstance(intent, wire.TicketIntent):
        return intent.role, f"builtin:{intent.role}"
    return str(intent.__struct_config__.tag), DEFAULT


@cache
def _load_shipped() -> dict[str, Profile]:
    return load(SHIPPED)


def load_profiles(configuration: Configuration) -> dict[str, Profile]:
    """The operator's."""
    return load(Path(configuration.worker_profiles)) if configuration.worker_profiles else {}


def load(path: Path) -> dict[str, Profile]:
    """Raises `ConfigurationError`, which names the place."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from None
    return {name: _read(path, name, profile) for name, profile in found.items()}


def _read(path: Path, name: str, found: Any) -> Profile:
    hint = "see docs/registry.md"
    if not is_id(name):
        raise ConfigurationError(f"{path}: {name[:120]!r} is no name of a profile", hint)
    try:
        if isinstance(found, dict) and isinstance(found.get("language"), str):
            found = {**found, "language": parse_language(found["language"])}
        profile = msgspec.convert(found, Profile)
        profile.read_limits()
    except (msgspec.ValidationError, RequestError) as error:
        raise ConfigurationError(f"{path}: profile {name}: {error}", hint) from None
    return profile
