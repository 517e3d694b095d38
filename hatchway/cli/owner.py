"""What the machine's owner does on a gateway's store itself: `hatchway tokens` and `hatchway secrets`; and the store, opened by a
command.

Rules: a token's text is printed once, alone on standard output, and kept nowhere; no secret's value is ever shown. What was made
or rotated, and by whom, is in the tenant's audit log. A token, and a new master key, are for a gateway that is stopped: one that
serves the store keeps it (STORE_IN_USE). A tenant's data key is replaced, and its secrets sealed again, also while the gateway
runs. The first tenant is made again for a token if it was deleted; any other must be there.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchway.cli.options import add_data, add_parser
from hatchway.cli.terminal import complain
from sandbox.errors import RequestError, SandboxError

if TYPE_CHECKING:
    from gateway.stores.store import Store

_ROLES = ["admin", "operator", "approver", "author", "member"]


def add_command(commands: Any) -> None:
    rotate = _add_verb(
        commands,
        "secrets",
        "Replace the keys that the secrets of a gateway are sealed with.",
        "examples:\n  hatchway secrets rotate\n"
        "  hatchway secrets rotate --data ./hatchway-data --new-master     while the gateway is stopped",
        ("rotate", "give tenants a new data key, and seal their secrets with it"),
    )
    rotate.add_argument("--tenant", metavar="ID", help="only this tenant (default: all)")
    rotate.add_argument("--new-master", action="store_true", help="make a new master key first, and wrap all data keys under it")
    new = _add_verb(
        commands,
        "tokens",
        "Tokens for the machine's owner, while the gateway is stopped. When it runs: hatchway remote tokens create.",
        "examples:\n  hatchway tokens new\n"
        "  hatchway tokens new --data ./hatchway-data --tenant acme --role operator --name 'after the holidays'",
        ("new", "make a token, and print it once"),
    )
    new.add_argument("--tenant", default="default", metavar="ID", help="whose token (default: default, the first tenant)")
    new.add_argument("--role", default="admin", choices=_ROLES, help="what it may do (default: admin)")
    new.add_argument("--name", default="made at the command line", metavar="TEXT", help="what it is for, as lists show it")


def _add_verb(commands: Any, name: str, about: str, examples: str, verb: tuple[str, str]) -> argparse.ArgumentParser:
    command = add_parser(commands, name, description=about, epilog=examples)
    made: argparse.ArgumentParser = command.add_subparsers(dest="verb", metavar="VERB", required=True).add_parser(
        verb[0], help=verb[1]
    )
    add_data(made, "DIR", "the gateway's data folder, where its keys are")
    made.add_argument("--database-url", metavar="URL", help="the store, if it is not in the folder")
    return made


def run(options: argparse.Namespace) -> int:
    if options.command == "tokens":
        return run_or_complain(_create_token(options))
    if options.new_master and options.tenant:
        raise RequestError("INVALID_ARGUMENT", "a new master key is for all tenants", "leave --tenant out")
    return run_or_complain(_rotate(options))


def run_or_complain(work: Coroutine[Any, Any, int]) -> int:
    """The exit status of the work, or 2."""
    from gateway.errors import GatewayError

    try:
        return asyncio.run(work)
    except GatewayError as error:
        complain(f"{error.code}: {error}", error.error.hint)
    except (SandboxError, OSError) as error:
        complain(str(error))
    return 2


@asynccontextmanager
async def open_tenants(place: str, tenant: str | None, *, own: bool = False) -> AsyncIterator[tuple[Store, list[str]]]:
    """The store, and the tenant named or all there are. `own` keeps a gateway from serving it meanwhile."""
    from gateway.errors import missing
    from gateway.stores.factory import open_store
    from gateway.stores.pages import walk

    store = await open_store(place, create=False, own=own)
    try:
        if tenant is not None and await store.tenant(tenant) is None:
            raise missing("tenant", tenant)
        yield store, [tenant] if tenant is not None else [found.id async for found in walk(store.tenants)]
    finally:
        await store.close()


async def _create_token(options: argparse.Namespace) -> int:
    from gateway.clock import SteadyClock
    from gateway.stores.factory import open_store
    from gateway.tenants.tenants import CreateToken, issue, restore_first

    now = SteadyClock().now_ms()
    store = await open_store(options.database_url or options.data, create=False, own=True)
    try:
        await restore_first(store, options.tenant, now)
        asked = CreateToken(name=options.name, role=options.role)
        made = await issue(store, options.tenant, asked, by=f"user {os.getuid()} at the command line", now_ms=now)
    finally:
        await store.close()
    print(f"A token for {options.role} of {options.tenant}, shown this once:", file=sys.stderr)
    print(made.secret)
    return 0


async def _rotate(options: argparse.Namespace) -> int:
    from gateway.clock import now_ms
    from gateway.tenants.vault import Vault, choose_master, find_keys
    from sandbox.encoding.sealing import rotate_local_keys

    folder, by = Path(options.data), f"{_find_user()} at the command line"
    place = options.database_url or str(folder)
    async with open_tenants(place, options.tenant, own=options.new_master) as (store, tenants):
        keys = await find_keys(folder / "keys", store)
        keys = rotate_local_keys(folder / "keys") if options.new_master else keys
        vault = Vault(store, choose_master(keys, os.environ), now_ms)
        for name in tenants:
            count = await vault.rotate(name, by=by)
            wrapped = await vault.rewrap(name, by=by)
            print(f"{name}: {count} secrets sealed again, {wrapped} data keys wrapped")
    return 0


def _find_user() -> str:
    """Who the audit log names."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no user of that number is known here
        return f"user {os.getuid()}"
