"""`hatchway packages`: pure Python packages, locked, brought here once, and shared by all sessions that name the lock.

Rules: wheels come from the index or folders that are named, through the guarded client, and a program never fetches one. A lock
names every wheel by its SHA-256. Nothing of a package is run to install it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from hatchway.cli.host_files import read_bytes
from hatchway.cli.options import add_many, add_parser
from hatchway.cli.terminal import say
from sandbox.errors import RequestError, SetupError
from sandbox.packages.layers import layers
from sandbox.packages.locks import Lock, read_lock, read_lock_file

if TYPE_CHECKING:
    from gateway.packages.wheel_sources import Source

T = TypeVar("T")
_INDEX: str = "HATCHWAY_PACKAGE_INDEX"


def add_command(commands: Any) -> None:
    packages = add_parser(
        commands,
        "packages",
        description="Packages of pure Python, locked and brought here once, for programs to import.",
        epilog="example:\n  hatchway packages lock requirements.txt --index https://pypi.example/simple\n"
        "  hatchway run --packages pylock.toml -c 'import rich; rich.print(1)'",
    )
    verbs = packages.add_subparsers(dest="verb", metavar="VERB", required=True)
    lock = add_parser(
        verbs,
        "lock",
        help="choose versions, write a lock file, and bring its packages here",
        description="Choose versions of packages and of what they need, and write them to a lock file (pylock.toml, PEP 751).",
        epilog="example:\n  hatchway packages lock requirements.txt\n  hatchway packages lock 'rich>=15' sqlalchemy",
    )
    lock.add_argument("requirements", nargs="+", metavar="FILE|REQUIREMENT", help="a requirements file, or such as rich>=15")
    lock.add_argument("-o", "--output", default="pylock.toml", metavar="FILE", help="the lock file (default pylock.toml)")
    lock.add_argument("--no-fetch", action="store_true", help="write the lock file only")
    _add_sources(lock)
    fetch = verbs.add_parser("fetch", help="bring what a lock names to this machine", description="Bring what a lock names here.")
    fetch.add_argument("lock", metavar="LOCK")
    _add_sources(fetch)
    add = verbs.add_parser("add", help="unpack wheels that are files here", description="Unpack and compile wheels.")
    add.add_argument("wheels", nargs="+", metavar="WHEEL")
    verbs.add_parser("list", help="packages on this machine")
    remove = verbs.add_parser("rm", help="delete a package from this machine", description="Delete packages from this machine.")
    remove.add_argument("names", nargs="+", metavar="NAME[==VERSION]|SHA256")


def _add_sources(parser: argparse.ArgumentParser) -> None:
    help = f"the address of an index's simple pages (default ${_INDEX})"
    add_many(parser, "--index", "URL", help)
    add_many(parser, "--find-links", "FOLDER", "a folder of wheels, looked at before the index")
    add_many(parser, "--allow", "HOST:PORT", "a host with a private address that an index may refer to")
    parser.add_argument("--offline", action="store_true", help="use folders only")
    parser.add_argument("--cooldown-days", type=float, default=0, metavar="N", help="take no release that is younger (default 0)")


def run(options: argparse.Namespace) -> int:
    return {"lock": _lock, "fetch": _fetch, "add": _add, "list": _list, "rm": _remove}[options.verb](options)


def _lock(options: argparse.Namespace) -> int:
    from gateway.packages.locking import lock
    from gateway.packages.resolution import read_requirements

    lines: list[str] = []
    for given in options.requirements:
        is_file = given.endswith(".txt") or Path(given).is_file()
        lines += read_bytes(Path(given)).decode("utf-8", "replace").splitlines() if is_file else [given]
    text, chosen = _finish(lock(read_requirements(lines), _list_sources(options), _tell))
    try:
        Path(options.output).write_text(text, "utf-8")
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot write {options.output}: {error.strerror}") from None
    for candidate in chosen:
        note = "" if candidate.file else "  (part of the sandbox's Python)"
        say(f"{candidate.name} {candidate.version}{note}")
    wanted = read_lock(text.encode())
    print(f"{options.output}: {len(wanted.packages)} packages, sha256 {wanted.digest}", file=sys.stderr)
    return 0 if options.no_fetch else _fetch_missing(wanted, options, Path(options.output).parent)


def _fetch(options: argparse.Namespace) -> int:
    return _fetch_missing(read_lock_file(Path(options.lock)), options, Path(options.lock).parent)


def _fetch_missing(wanted: Lock, options: argparse.Namespace, folder: Path) -> int:
    from gateway.packages.locking import fetch

    is_whole = all(layers.find(locked.digest) for locked in wanted.packages)
    brought = [] if is_whole else _finish(fetch(wanted, _list_sources(options), layers, folder, _tell))
    print(f"{len(brought)} packages brought here, {len(wanted.packages) - len(brought)} were here", file=sys.stderr)
    return 0


def _list_sources(options: argparse.Namespace) -> list[Source]:
    from gateway.egress.client import Egress
    from gateway.packages.wheel_sources import Index, WheelHouse

    sources: list[Source] = [WheelHouse(Path(folder)) for folder in options.find_links]
    if not options.offline:
        urls = options.index or [url for url in (os.environ.get(_INDEX),) if url]
        for url in urls:
            target = urlsplit(url)
            if target.scheme not in ("http", "https") or not target.hostname:
                raise RequestError(
                    "INVALID_ARGUMENT", f"{url!r} is not the address of an index", "such as https://pypi.example/simple"
                )
            port = target.port or (443 if target.scheme == "https" else 80)
            # The index is named by who runs this command, who may reach it anyway; what it refers to is guarded.
            egress = Egress(ports=(80, 443, port), allow_private=[f"{target.hostname}:{port}", *options.allow])
            sources.append(Index(url, egress, options.cooldown_days))
    if not sources:
        hint = f"name an index with --index URL (or {_INDEX}), or a folder of wheels with --find-links FOLDER"
        raise RequestError("INVALID_ARGUMENT", "no source of packages is named", hint)
    return sources


def _add(options: argparse.Namespace) -> int:
    for wheel in options.wheels:
        layer = layers.add(Path(wheel).name, read_bytes(Path(wheel)), _tell)
        say(f"{layer.name} {layer.version}  sha256 {layer.digest}")
    return 0


def _list(options: argparse.Namespace) -> int:
    for stored in layers.list():
        say(f"{stored.name:28} {stored.version:14} {stored.size_bytes / 1e6:8.1f} MB  {stored.digest}")
    return 0


def _remove(options: argparse.Namespace) -> int:
    stored = layers.list()
    for name in options.names:
        found = [one for one in stored if name in (one.digest, one.name, f"{one.name}=={one.version}")]
        if not found:
            raise RequestError("INVALID_ARGUMENT", f"there is no package {name!r} here", "hatchway packages list")
        for one in found:
            layers.remove(one.digest)
    return 0


def _finish(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except ModuleNotFoundError as error:
        raise SetupError(f"{error.name} is missing; install it with: pip install 'hatchway[gateway]'") from None


def _tell(what: str) -> None:
    """On a terminal, over the line before."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)
