"""`hatchway tokens`: a token for the machine's owner, when no other is left.

Rules: it works on the store itself, so it is for a gateway that is stopped: one that serves the store keeps it (STORE_IN_USE).
The token's text is printed once, alone on standard output, and kept nowhere. That it was made, and by whom, is in the tenant's
audit log. The first tenant is made again if it was deleted; any other must be there.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from hatchway.cli.options import add_data, add_parser


def add_command(commands: Any) -> None:
    tokens = add_parser(
        commands,
        "tokens",
        description="Tokens for the machine's owner, while the gateway is stopped. When it runs: hatchway remote tokens create.",
        epilog="examples:\n  hatchway tokens new\n"
        "  hatchway tokens new --data ./hatchway-data --tenant acme --role operator --name 'after the holidays'",
    )
    verbs = tokens.add_subparsers(dest="verb", metavar="VERB", required=True)
    new = verbs.add_parser("new", help="make a token, and print it once")
    add_data(new, "DIR", "the gateway's data folder")
    new.add_argument("--database-url", metavar="URL", help="the store, if it is not in the folder")
    new.add_argument("--tenant", default="default", metavar="ID", help="whose token (default: default, the first tenant)")
    roles = ["admin", "operator", "approver", "author", "runner"]
    new.add_argument("--role", default="admin", choices=roles, help="what it may do (default: admin)")
    new.add_argument("--name", default="made at the command line", metavar="TEXT", help="what it is for, as lists show it")


def run(options: argparse.Namespace) -> int:
    from hatchway.cli.store_access import run_or_complain

    return run_or_complain(_create_token(options))


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
