"""The command line for policy authors: `hatchway policy …`, also `python -m policy …`. What a command does is in `actions.py`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

_STATUSES = "exit status: 0 all is well; 1 the policy or the change is refused; 2 the command could not be carried out"
Argument = tuple[tuple[str, ...], dict[str, Any]]


class Command(NamedTuple):
    """One verb: what it does in a line, more for its own help, and its arguments."""

    name: str
    summary: str
    more: str = ""
    arguments: tuple[Argument, ...] = ()


def _take(*names: str, **options: Any) -> Argument:
    return names, options


def _switch(name: str, help: str) -> Argument:
    return _take(name, action="store_true", help=help)


_FILE = _take("file", metavar="FILE.hatch")
_FILES = _take("files", nargs="+", metavar="FILE.hatch")
_CATALOG = _take("--catalog", metavar="FILE.json", help="use this catalog instead of the one next to the policy")
COMMANDS = (
    Command(
        "check",
        "find every mistake: names, types, dead rules, false claims, failing tests",
        "Everything that must hold before a policy may be deployed.",
        (
            _FILES,
            _switch("--json", "findings as a JSON list"),
            _switch("--sarif", "findings as SARIF 2.1.0, for code scanners"),
            _switch("--strict", "warnings count as errors"),
            _CATALOG,
        ),
    ),
    Command(
        "test",
        "run the tests written in a policy",
        "A policy without tests fails.",
        (
            _FILE,
            _switch("--coverage", "show which rules are both hit and missed by tests"),
            _switch("--mutants", "flip each condition in turn and show the flips no test notices"),
            _take("--match", metavar="TEXT", help="only tests whose title contains TEXT; none matching is a failure"),
            _CATALOG,
        ),
    ),
    Command(
        "fmt",
        "lay out policies in the one standard way",
        "Comments stay; meaning never changes. `-` formats standard input.",
        (
            _FILES,
            _switch("--check", "change nothing; fail if a file is not laid out this way"),
            _switch("--diff", "change nothing; show what would change"),
        ),
    ),
    Command(
        "explain",
        "show why a request is allowed, asked or denied",
        "For a denial: the nearest rule that would have allowed it, and what is missing.\n\n"
        "  hatchway policy explain acme.hatch payments.refund tenant=acme amount=900 currency=eur session.risk=50",
        (
            _FILE,
            _take("event", metavar="CAPABILITY"),
            _take("fields", nargs="*", metavar="FIELD=VALUE"),
            _switch("--json", "the decision and its trace as JSON"),
            _CATALOG,
        ),
    ),
    Command(
        "prove",
        "settle every `prove` claim, and claims given here",
        "A false claim comes with a concrete request that refutes it.\n\n"
        '  hatchway policy prove acme.hatch --claim "no net.connect when port != 443"',
        (
            _FILE,
            _take("--claim", action="append", default=[], metavar="'no … when …'", help="also settle this claim"),
            _CATALOG,
        ),
    ),
    Command(
        "diff",
        "show every class of request whose answer changes between two policies",
        "Each with a concrete request. Fails when something new is permitted.",
        (
            _take("old", metavar="OLD.hatch"),
            _take("new", metavar="NEW.hatch"),
            _switch("--json", "changes as a JSON list"),
            _CATALOG,
        ),
    ),
    Command(
        "bundle",
        "sign a checked policy for deployment, or verify a bundle",
        "A policy that fails any check cannot be bundled.\n\n"
        "  hatchway policy bundle --new-key release            # writes release.key and release.pub\n"
        "  hatchway policy bundle acme.hatch --key release.key -o acme.bundle\n"
        "  hatchway policy bundle --verify acme.bundle --trust release.pub",
        (
            _take("file", nargs="?", metavar="FILE.hatch"),
            _take("--key", metavar="FILE", help="Ed25519 private key (PEM) to sign with"),
            _take("-o", "--output", metavar="FILE", help="where to write the bundle"),
            _take("--verify", metavar="BUNDLE", help="verify this bundle instead"),
            _take("--trust", action="append", default=[], metavar="FILE", help="trusted public key (PEM)"),
            _take("--new-key", metavar="NAME", help="make a key pair NAME.key, NAME.pub instead"),
            _CATALOG,
        ),
    ),
    Command(
        "replay",
        "put recorded decisions to a policy and show what changes",
        "Records are JSON lines with event, attributes and verdict. Fails when something new is permitted.",
        (
            _FILE,
            _take("records", metavar="RECORDS.jsonl"),
            _switch("--strict", "fail on any change"),
            _CATALOG,
        ),
    ),
    Command(
        "catalog",
        "show what a catalog defines and the digest to pin",
        "The file holds capability definitions with JSON Schemas.",
        (_take("file", nargs="?", metavar="FILE.json", help="without a file: the built-in capabilities"),),
    ),
    Command("lsp", "serve editors over standard input and output (Language Server Protocol)"),
)


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for command in COMMANDS:
        parser = subparsers.add_parser(
            command.name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}. {command.more}".strip(),
            epilog=_STATUSES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(run=partial(_run, command.name))
        for names, options in command.arguments:
            parser.add_argument(*names, **options)


def _run(name: str, arguments: argparse.Namespace) -> int:
    """Carry out a command. Imports happen here: listing commands must cost nothing."""
    from policy.tools import actions

    return actions.attempt(lambda: getattr(actions, name)(arguments))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="hatchway policy", description="Write, check, test, prove and ship policies.", epilog=_STATUSES
    )
    add_commands(parser.add_subparsers(title="commands", metavar="COMMAND", required=True))
    arguments = parser.parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    return run(arguments)
