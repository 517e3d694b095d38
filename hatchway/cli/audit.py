"""`hatchway audit`: check and export the audit log, of a store (a folder, a file, or a database's URL) or an export.

Rules: `verify` answers with status 0 if every chain is whole, 1 if a record was changed, is missing or stands in the wrong place,
2 if it could not look. Nothing is written but the export.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any

import msgspec

from hatchway.cli.options import add_data, add_parser
from hatchway.cli.owner import open_tenants, run_or_complain
from hatchway.cli.terminal import show_verdict


def add_command(commands: Any) -> None:
    audit = add_parser(
        commands,
        "audit",
        description="Check or export the audit log, a chain in which each record authenticates the one before it.",
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
    return run_or_complain(_verify(options) if options.verb == "verify" else _export(options))


async def _verify(options: argparse.Namespace) -> int:
    from gateway.audit.verification import AuditLog, verify_lines

    head = _parse_head(options.head)
    path = Path(options.data)
    if path.is_file() and not _is_database(path):
        with path.open("rb") as lines:
            found = verify_lines(_read_lines(lines), head)
        # A line that cannot be read may have been any tenant's.
        verdicts = {name: verdict for name, verdict in found.items() if options.tenant is None or name in ("", options.tenant)}
    else:
        async with open_tenants(options.data, options.tenant) as (store, tenants):
            verdicts = {name: await AuditLog(store).verify(name, head) for name in tenants}
    if options.json:
        print(msgspec.json.encode({name: msgspec.to_builtins(verdict) for name, verdict in verdicts.items()}).decode())
    else:
        for name, verdict in verdicts.items():
            show_verdict(msgspec.to_builtins(verdict), f"{name or '(unreadable)'}: ")
        if not verdicts:
            print("there are no records" if head is None else f"missing: there are no records, and record {head[0]} was there")
    is_cut_off = head is not None and not any(verdicts)
    return 1 if is_cut_off or not all(verdict.ok for verdict in verdicts.values()) else 0


async def _export(options: argparse.Namespace) -> int:
    from gateway.audit.verification import AuditLog

    async with open_tenants(options.data, options.tenant) as (store, tenants):
        with open(options.output, "xb") if options.output else contextlib.nullcontext(sys.stdout.buffer) as file:
            for name in tenants:
                async for line in AuditLog(store).export(name, options.after):
                    file.write(line)
            file.flush()
    return 0


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _read_lines(file: Any) -> Any:
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
