"""The provider table: which runners there are, what an operator sets to offer each, and how one is made for a tenant.

A new provider is a module in `providers/`, a row in `PROVIDERS` and, if an operator must allow it, a setting in
`gateway.configuration` that `RunnerSettings` reads.

Rules: providers are imported when they are made: asyncssh alone takes a quarter of a second.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.configuration import Configuration
from gateway.runners.interface import Provider, Supplies
from sandbox.encoding.sealing import Keys

VOLUMES: Final = ".volumes"
SOURCES: Final = ".sources"


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """`folder` has a folder for each tenant, `.volumes/{tenant}` for what outlives sessions, and `.sources/{tenant}`, where the
    files of manifests come from. The first two are deleted with their tenant, the third is the operator's."""

    folder: Path | None = None
    ssh_hosts: tuple[str, ...] = ()
    docker_images: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    disk_bytes: int = 0

    @classmethod
    def read(cls, configuration: Configuration) -> RunnerSettings:
        return cls(
            folder=Path(configuration.runners_folder) if configuration.runners_folder else None,
            ssh_hosts=configuration.runners_ssh_hosts,
            docker_images=configuration.runners_docker_images,
            domains=configuration.runners_domains,
            disk_bytes=configuration.runners_disk_bytes,
        )


def make_providers(tenant: str, settings: RunnerSettings, keys: Keys, supplies: Supplies) -> Iterator[Provider[Any]]:
    """Those that a tenant of this gateway has."""
    folder = settings.folder
    if folder is not None:
        # THREAT[TM-RUN-TENANT]: volumes are named by destinations, and two tenants may name theirs alike.
        sources = folder / SOURCES / tenant
        supplies = {**supplies, "volumes": folder / VOLUMES / tenant, "sources": sources if sources.is_dir() else None}
    for offer in PROVIDERS.values():
        arguments = offer.choose(tenant, settings, keys)
        if arguments is not None:
            module, _, name = offer.place.partition(":")
            yield getattr(importlib.import_module(f"gateway.runners.providers.{module}"), name)(**arguments, **supplies)


def _make_base(tenant: str, settings: RunnerSettings) -> dict[str, Any] | None:
    if settings.folder is None:
        return None
    base = settings.folder / tenant
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    return {"base": base, "disk_bytes": settings.disk_bytes}


def _choose_unix_local(tenant: str, settings: RunnerSettings, _: Keys) -> dict[str, Any] | None:
    """Read roots lie among the operator's files for the tenant."""
    base = _make_base(tenant, settings)
    return base and {**base, "read_bases": [base["base"].parent / SOURCES / tenant]}


def _choose_docker(tenant: str, settings: RunnerSettings, _: Keys) -> dict[str, Any] | None:
    base = _make_base(tenant, settings) if settings.docker_images else None
    return None if base is None else {**base, "images": settings.docker_images}


@dataclass(frozen=True, slots=True)
class Offer:
    """`place` is its module and class. `choose` says what it is made with besides the supplies; None: the operator does not offer
    it. `setting` is what an operator sets to offer it; "": it is always there."""

    place: str
    choose: Callable[[str, RunnerSettings, Keys], dict[str, Any] | None]
    setting: str = ""


PROVIDERS: Final[Mapping[str, Offer]] = {
    "wasm": Offer("wasm:Wasm", lambda _, __, keys: {"keys": keys}),
    "hatchway": Offer("gateway:Hatchway", lambda *_: {}),
    "unix-local": Offer("unix_local:UnixLocal", _choose_unix_local, "runners_folder"),
    "docker": Offer("docker:Docker", _choose_docker, "runners_folder and runners_docker_images"),
    "ssh": Offer(
        "ssh:Ssh", lambda _, settings, __: {"hosts": settings.ssh_hosts} if settings.ssh_hosts else None, "runners_ssh_hosts"
    ),
}
