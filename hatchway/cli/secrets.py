"""`hatchway secrets`: new keys for the secrets of a gateway's tenants.

Rules: no value is ever shown. What was rotated, and by whom, is in each tenant's audit log. A tenant's data key is replaced, and
its secrets sealed again, also while the gateway runs: it asks the store for keys each time. A new master key is for a gateway
that is stopped: the one that runs would not know it.
"""

from __future__ import annotations

import argparse
import getpass
import os
from pathlib import Path
from typing import Any

from hatchway.cli.options import add_data, add_parser
from sandbox.encoding.sealing import rotate_local_keys
from sandbox.errors import RequestError


def add_command(commands: Any) -> None:
    secrets = add_parser(
        commands,
        "secrets",
        description="New keys for the secrets that a gateway keeps.",
        epilog="examples:\n  hatchway secrets rotate\n"
        "  hatchway secrets rotate --data ./hatchway-data --new-master     while the gateway is stopped",
    )
    verbs = secrets.add_subparsers(dest="verb", metavar="VERB", required=True)
    rotate = verbs.add_parser("rotate", help="give tenants a new data key, and seal their secrets with it")
    add_data(rotate, "DIR", "the gateway's data folder, where its keys are")
    rotate.add_argument("--database-url", metavar="URL", help="the store, if it is not in the folder")
    rotate.add_argument("--tenant", metavar="ID", help="only this tenant (default: all)")
    rotate.add_argument("--new-master", action="store_true", help="make a new master key first, and wrap all data keys under it")


def run(options: argparse.Namespace) -> int:
    from hatchway.cli.store_access import run_or_complain

    if options.new_master and options.tenant:
        raise RequestError("INVALID_ARGUMENT", "a new master key is for all tenants", "leave --tenant out")
    return run_or_complain(_rotate(options))


async def _rotate(options: argparse.Namespace) -> int:
    from gateway.tenants.vault import Vault, choose_master, find_keys
    from hatchway.cli.store_access import open_tenants

    folder, by = Path(options.data), f"{_find_user()} at the command line"
    place = options.database_url or str(folder)
    async with open_tenants(place, options.tenant, own=options.new_master) as (store, tenants):
        keys = await find_keys(folder / "keys", store)
        keys = rotate_local_keys(folder / "keys") if options.new_master else keys
        vault = Vault(store, choose_master(keys, os.environ))
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
