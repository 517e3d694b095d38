"""The provider table: which runners there are, what an operator sets to offer each, and how one is made for a tenant.

A new provider is a module in `providers/`, a row in `PROVIDERS` and, if an operator must allow it, a setting in
`gateway.configuration` that `RunnerSettings` reads.

Rules: providers are imported when they are made: asyncssh alone takes a quarter of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.configuration import Configuration
from gateway.egress import Egress
from gateway.runners.artifacts import Blobs
from gateway.runners.interface import Provider
from gateway.runners.secret_refs import SecretResolver
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

    @classmethod
    def read(cls, configuration: Configuration) -> RunnerSettings:
        return cls(
            folder=Path(configuration.runners_folder) if configuration.runners_folder else None,
            ssh_hosts=configuration.runners_ssh_hosts,
            docker_images=configuration.runners_docker_images,
        )


@dataclass(frozen=True, slots=True)
class Supplies:
    """What the providers of one tenant are made from."""

    tenant: str
    settings: RunnerSettings
    http: Egress
    secrets: SecretResolver
    blobs: Blobs
    keys: Keys

    @property
    def volumes(self) -> Path | None:
        """THREAT[TM-RUN-TENANT]: volumes are named by destinations, and two tenants may name theirs alike."""
        return None if self.settings.folder is None else self.settings.folder / VOLUMES / self.tenant

    @property
    def sources(self) -> Path | None:
        folder = None if self.settings.folder is None else self.settings.folder / SOURCES / self.tenant
        return folder if folder is not None and folder.is_dir() else None

    def make_base(self, folder: Path) -> Path:
        base = folder / self.tenant
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        return base


def _make_wasm(given: Supplies) -> Provider:
    from gateway.runners.providers.wasm import Wasm

    return Wasm(
        tenant=given.tenant,
        keys=given.keys,
        http=given.http,
        secrets=given.secrets,
        blobs=given.blobs,
        volumes=given.volumes,
        sources=given.sources,
    )


def _make_hatchway(given: Supplies) -> Provider:
    from gateway.runners.providers.gateway import Hatchway

    return Hatchway(http=given.http, secrets=given.secrets, blobs=given.blobs)


def _make_unix_local(given: Supplies) -> Provider | None:
    if given.settings.folder is None:
        return None
    from gateway.runners.providers.unix_local import UnixLocal

    base, secrets, blobs = given.make_base(given.settings.folder), given.secrets, given.blobs
    return UnixLocal(base, http=given.http, secrets=secrets, blobs=blobs, volumes=given.volumes, sources=given.sources)


def _make_docker(given: Supplies) -> Provider | None:
    images, folder = given.settings.docker_images, given.settings.folder
    if folder is None or not images:
        return None
    from gateway.runners.providers.docker import Docker

    base, tenant, blobs = given.make_base(folder), given.tenant, given.blobs
    return Docker(base, tenant=tenant, images=images, blobs=blobs, volumes=given.volumes, sources=given.sources)


def _make_ssh(given: Supplies) -> Provider | None:
    if not given.settings.ssh_hosts:
        return None
    from gateway.runners.providers.ssh import Ssh

    return Ssh(given.settings.ssh_hosts, secrets=given.secrets, blobs=given.blobs, sources=given.sources)


@dataclass(frozen=True, slots=True)
class Offer:
    make: Callable[[Supplies], Provider | None]
    """None: the operator does not offer it."""
    setting: str = ""
    """What an operator sets to offer it; "": it is always there."""


PROVIDERS: Final[Mapping[str, Offer]] = {
    "wasm": Offer(_make_wasm),
    "hatchway": Offer(_make_hatchway),
    "unix-local": Offer(_make_unix_local, "runners_folder"),
    "docker": Offer(_make_docker, "runners_folder and runners_docker_images"),
    "ssh": Offer(_make_ssh, "runners_ssh_hosts"),
}


def make_providers(given: Supplies) -> Iterator[Provider]:
    """Those that a tenant of this gateway has."""
    for offer in PROVIDERS.values():
        provider = offer.make(given)
        if provider is not None:
            yield provider
