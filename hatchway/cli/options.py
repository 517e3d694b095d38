"""Parsers of commands: what all of them have in common."""

from __future__ import annotations

import argparse
import os
from typing import Any

from sandbox.limits import LIMITS


def add_parser(commands: Any, name: str, **texts: str) -> argparse.ArgumentParser:
    """A command. Its examples are shown as they are written; `options.function` is its name."""
    parser: argparse.ArgumentParser = commands.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
    parser.set_defaults(function=name)
    return parser


def add_data(parser: argparse.ArgumentParser, metavar: str, help: str) -> None:
    """Where a gateway keeps what it knows: the same place as `hatchway serve` would, unless another is named."""
    place = os.environ.get("HATCHWAY_DATA") or "hatchway-data"
    parser.add_argument("--data", default=place, metavar=metavar, help=f"{help} (default: as for serve)")


def at_least_one(text: str) -> int:
    """How many of something."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of things: it must be 1 or more")
    return int(text)


def add_program(parser: argparse.ArgumentParser) -> None:
    """A program and everything it is given (`hatchway.cli.program`)."""
    parser.add_argument(
        "path", nargs="?", metavar="FILE", help="the program; its ending tells the language; - reads it from standard input"
    )
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="ARGUMENT",
        help="what the program finds in sys.argv, process.argv or $1 …; -- begins them too",
    )
    parser.add_argument("-c", "--code", metavar="CODE", help="the program itself")
    parser.add_argument("-l", "--language", metavar="L", help="python (default), javascript, typescript or shell")
    parser.add_argument(
        "--input", action="append", default=[], metavar="NAME=JSON", help="set a variable before the program starts (repeatable)"
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="HOST[:GUEST]",
        help="copy a file or a folder into /workspace first (repeatable)",
    )
    parser.add_argument("--template", metavar="NAME", help="start from a template (hatchway template build)")
    for limit in LIMITS.values():
        if limit.option is not None:
            option, help = "--" + limit.option.replace("_", "-"), f"{limit.help} (default {limit.default})"
            parser.add_argument(option, type=int, metavar="N", help=help)
