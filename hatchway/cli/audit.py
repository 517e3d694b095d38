"""`hatchway audit`: check and export the audit log.

Rules: `verify` answers with status 0 if every chain is whole, 1 if a record was changed, is missing or stands in the wrong
place, 2 if it could not look. It reads a store (a folder, a file, or a database's URL) or an export. Nothing is written but
the export. Imports happen inside of functions: every command of `hatchway` reads this file.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchway.cli.options import add_data, add_parser

if TYPE_CHECKING:
    from gateway.audit.verification import Verdict


def add_command(commands: Any) -> None:
    audit = add_parser(
        commands,
        "audit",
        help="check and export the audit log",
        description="The audit log: records in which each vouches for the one before it.",
        epilog="examples:\n  hatchway audit verify\n"
        "  hatchway audit export --data . --tenant acme -o acme.jsonl\n  hatchway audit verify --data acme.jsonl",
    )
    verbs = audit.add_subparsers(dest="verb", metavar="VERB", required=True)
    verify = verbs.add_parser("verify", help="find changed, missing and reordered records")
    verify.add_argument("--head", metavar="N:DIGEST", help="a head that an earlier verify showed: the log must have got that far")
    verify.add_argument("--json", action="store_true", help="machine-readable")
    export = verbs.add_parser("export", help="write the log as JSON lines")
    export.add_argument("-o", "--output", metavar="FILE", help="write it there (default: standard output)")
    export.add_argument("--after", type=int, default=0, metavar="N", help="only records after this number")
    for verb in (verify, export):
        add_data(verb, "PLACE", "a data folder, a store's file or URL, or an export (.jsonl)")
        verb.add_argument("--tenant", metavar="ID", help="only this tenant (default: all)")


def run(options: argparse.Namespace) -> int:
    from gateway.errors import GatewayError
    from hatchway.cli.terminal import complain

    try:
        return run_verify(options) if options.verb == "verify" else run_export(options)
    except GatewayError as error:
        complain(str(error), error.error.hint)
    except OSError as error:
        complain(str(error))
    return 2


def run_verify(options: argparse.Namespace) -> int:
    import msgspec

    from gateway.audit.verification import verify_lines

    head = _parse_head(options.head)
    path = Path(options.data)
    if path.is_file() and not _is_database(path):
        with path.open("rb") as lines:
            found = verify_lines(_bounded(lines), head)
        verdicts = {name: one for name, one in found.items() if options.tenant in (None, name)}
    else:
        verdicts = asyncio.run(_verify_store(options.data, options.tenant, head))
    if options.json:
        print(msgspec.json.encode({name: msgspec.to_builtins(one) for name, one in verdicts.items()}).decode())
    else:
        for name, one in verdicts.items():
            _show(name, one)
        if not verdicts:
            print("there are no records")
    return 0 if all(one.ok for one in verdicts.values()) else 1


async def _verify_store(place: str, tenant: str | None, head: tuple[int, str] | None) -> dict[str, Verdict]:
    from gateway.audit.verification import verify
    from gateway.errors import missing
    from gateway.stores.factory import open_store
    from gateway.stores.pages import tenant_ids

    store = await open_store(place, create=False)
    try:
        names = [tenant] if tenant is not None else [one async for one in tenant_ids(store)]
        if tenant is not None and await store.tenant(tenant) is None:
            raise missing("tenant", tenant)
        return {name: await verify(store, name, head) for name in names}
    finally:
        await store.close()


def run_export(options: argparse.Namespace) -> int:
    asyncio.run(_export(options))
    return 0


async def _export(options: argparse.Namespace) -> None:
    from gateway.audit.verification import export
    from gateway.errors import missing
    from gateway.stores.factory import open_store
    from gateway.stores.pages import tenant_ids

    store = await open_store(options.data, create=False)
    try:
        if options.tenant is not None and await store.tenant(options.tenant) is None:
            raise missing("tenant", options.tenant)
        names = [options.tenant] if options.tenant is not None else [one async for one in tenant_ids(store)]
        with open(options.output, "xb") if options.output else contextlib.nullcontext(sys.stdout.buffer) as file:
            for name in names:
                async for line in export(store, name, after=options.after):
                    file.write(line)
            file.flush()
    finally:
        await store.close()


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _bounded(file: Any) -> Any:
    """Lines of an export; one that has no end is given in pieces, which are no records."""
    from gateway.audit.verification import LINE_BYTES_MAX

    while line := file.readline(LINE_BYTES_MAX + 1):
        yield line


def _parse_head(text: str | None) -> tuple[int, str] | None:
    from gateway.errors import BadRequest

    if text is None:
        return None
    number, colon, digest = text.partition(":")
    if not (colon and number.isascii() and number.isdigit()):
        raise BadRequest("INVALID_ARGUMENT", f"--head {text!r} is not N:DIGEST", "copy what `hatchway audit verify` showed")
    return int(number), digest


def _show(name: str, verdict: Verdict) -> None:
    state = "whole" if verdict.ok else "BROKEN"
    span = f"records {verdict.first} to {verdict.head.partition(':')[0]}" if verdict.records else "no records"
    print(f"{name or '(unreadable)'}: {state}, {span}, head {verdict.head}")
    for finding in verdict.findings:
        print(f"  {finding.problem}: {finding.message}")
