"""Options of commands: what several of them share, and all of `hatchway run`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from sandbox.limits import LIMITS


def add_parser(commands: Any, name: str, **texts: str) -> argparse.ArgumentParser:
    """A command. Its examples are shown as they are written."""
    parser: argparse.ArgumentParser = commands.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
    return parser


def add_data(parser: argparse.ArgumentParser, metavar: str, help: str) -> None:
    """Where a gateway keeps what it knows: the same place as `hatchway serve` would, unless another is named."""
    place = os.environ.get("HATCHWAY_DATA") or "hatchway-data"
    parser.add_argument("--data", default=place, metavar=metavar, help=f"{help} (default: as for serve)")


def parse_count(text: str) -> int:
    """How many of something."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count: it must be 1 or more")
    return int(text)


def add_many(parser: argparse.ArgumentParser, option: str, metavar: str, help: str) -> None:
    """An option that may be given more than once."""
    parser.add_argument(option, action="append", default=[], metavar=metavar, help=f"{help} (repeatable)")


def add_program(parser: argparse.ArgumentParser) -> None:
    """A program and everything it is given (`hatchway.cli.program`): for `run`, `snapshot save` and `snapshot record`."""
    add = parser.add_argument
    add("path", nargs="?", metavar="FILE", help="the program; its ending tells the language; - reads it from standard input")
    words = "what the program finds in sys.argv, process.argv or $1 …; -- begins them too"
    add("arguments", nargs="*", metavar="ARGUMENT", help=words)
    add("-c", "--code", metavar="CODE", help="the program itself")
    add("-l", "--language", metavar="L", help="python (default), javascript, typescript or shell")
    add_many(parser, "--input", "NAME=JSON", "set a variable before the program starts")
    add_many(parser, "--file", "HOST[:GUEST]", "copy a file or a folder into /workspace first")
    add("--template", metavar="NAME", help="start from a template (hatchway template build)")
    for limit in LIMITS.values():
        if limit.option is not None:
            option, help = "--" + limit.option.replace("_", "-"), f"{limit.help} (default {limit.default})"
            add(option, type=int, metavar="N", help=help)


def add_run(commands: Any) -> None:
    """`hatchway run`: a program, and what only a run can do with it."""
    run = add_parser(
        commands,
        "run",
        description="Run a file, or code given with -c, in a fresh sandbox. Standard input goes to the program.",
        epilog="examples:\n  hatchway run -c 'import pandas as pd; print(pd.Series([1,2,3]).sum())'\n"
        "  hatchway run -c 'echo hi | tr a-z A-Z' --language shell\n  hatchway run app.ts --file data.json --timeout-ms 10000\n"
        "  hatchway run -c 'x * 2' --input x=21 --json\n  hatchway run app.py --timeout-ms 10000 -- --verbose data.csv\n"
        "  hatchway run app.py --policy acme.hatch --fact tenant=acme --fact session.role=lead\n"
        "under a policy a gateway's rules hold: whether the program may run and with which limits, which tools it may call\n"
        "(tools.fetch_json, …), where it may connect, which files --file and --get may copy, what hooks do; refused: status 126",
    )
    add_program(run)
    add = run.add_argument
    add_many(run, "--get", "GUEST[:HOST]", "copy a file out of the sandbox afterwards")
    add("--policy", metavar="FILE", help="a .hatch file that decides about the run and all it does (default: none)")
    add_many(run, "--fact", "NAME=JSON", "what the policy is told: tenant, plan, user, session.NAME, …; with --policy")
    add("--displays", metavar="DIR", help="save figures and other displays there")
    add("--check", action="store_true", help="only check the program, run nothing")
    add("--metered", action="store_true", help="count instructions (slower; compiles separate images the first time)")
    add("--json", action="store_true", help="print the whole result as JSON")
