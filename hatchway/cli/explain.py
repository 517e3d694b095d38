"""`hatchway explain CODE`: what an error code means, why it comes and what to do about it.

Rules: the entries come from `gateway.codes`, and for the policy compiler's HPnnn codes from `policy.text.diagnostics`.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from gateway.codes import Code, find, suggest, table
from hatchway.cli.options import add_parser
from hatchway.cli.terminal import complain, say
from policy.text.diagnostics import CHECKS


class _Suggested(tuple[str, ...]):
    """Words for tab completion. Any other word is accepted too: the command answers it with suggestions."""

    def __contains__(self, word: object) -> bool:
        return True


def add_command(commands: Any) -> None:
    command = add_parser(
        commands,
        "explain",
        description="Print cause and remedy of an error code; without a code, list all codes.",
        epilog="examples:\n  hatchway explain SESSION_WAITING\n  hatchway explain HP021\n  hatchway explain --json",
    )
    codes = _Suggested([*table(), *(check.code for check in CHECKS.values())])
    command.add_argument("code", nargs="?", metavar="CODE", choices=codes, help="such as SESSION_NOT_FOUND or HP021")
    command.add_argument("--json", action="store_true", help="print the entry, or all entries, as JSON")


def run(options: argparse.Namespace) -> int:
    if options.code is None:
        _list_all(options.json)
        return 0
    row = find(options.code)
    check = CHECKS.get(options.code.strip().upper())
    if row is not None:
        say(json.dumps(row._asdict()) if options.json else _tell(row))
    elif check is not None:
        entry = {"code": check.code, "severity": check.severity, "cause": check.title, "why": check.why}
        text = f"{check.code}  ({check.severity} of the policy compiler)\n  cause   {check.title}\n  why     {check.why}"
        say(json.dumps(entry) if options.json else text)
    else:
        near = suggest(options.code)
        hint = f"did you mean {' or '.join(near)}?" if near else "hatchway explain lists all codes"
        complain(f"there is no error code {options.code[:80]!r}", hint)
        return 2
    return 0


def _list_all(is_json: bool) -> None:
    if is_json:
        say(json.dumps([row._asdict() for row in table().values()]))
        return
    area = ""
    for row in table().values():
        if row.area != area:
            area = row.area
            say(f"{area}:")
        say(f"  {row.code:31} {row.cause}")
    say("The policy compiler's codes (HPnnn) are in docs/policy-reference.md.")


def _tell(row: Code) -> str:
    status = f"  (HTTP {', '.join(map(str, row.statuses))})" if row.statuses else ""
    return f"{row.code}{status}\n  cause   {row.cause}\n  remedy  {row.remedy}"
