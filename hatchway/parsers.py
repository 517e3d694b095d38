"""Parsers of commands: what all of them have in common."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any, name: str, **texts: str) -> argparse.ArgumentParser:
    """A command. Its examples are shown as they are written; `options.function` is its name."""
    parser: argparse.ArgumentParser = commands.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
    parser.set_defaults(function=name)
    return parser
