"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from typing import Any

from sandbox.limits import LIBRARY_LIMITS, LIMITS


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


def add_on_limit(parser: argparse.ArgumentParser) -> None:
    help = "what becomes of what the program did until a limit ended it (default undo)"
    parser.add_argument("--on-limit", choices=("undo", "keep"), default="undo", help=help)


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
    add("--packages", metavar="LOCK", help="packages of a lock file can be imported (hatchway packages lock)")
    for name, limit in LIMITS.items():
        if limit.option is not None:
            option, help = "--" + limit.option.replace("_", "-"), f"{limit.help} (default {getattr(LIBRARY_LIMITS, name)})"
            add(option, type=int, metavar="N", help=help)
