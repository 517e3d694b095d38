"""The command line for policy authors: `hatchway policy …`, also `python -m policy …`.

Rules: only names, options and help stand here; what a command does is in `actions.py`. All share their exit statuses.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

_STATUSES = "exit status: 0 all is well; 1 the policy or the change is refused; 2 the command could not be carried out"


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Mount check, test, fmt, explain, prove, diff, bundle, replay, catalog and lsp."""

    def command(name: str, summary: str, more: str = "") -> argparse.ArgumentParser:
        parser = subparsers.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}. {more}".strip(),
            epilog=_STATUSES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(run=partial(_run, name))
        return parser

    c = command(
        "check",
        "find every mistake: names, types, dead rules, false claims, failing tests",
        "Everything that must hold before a policy may be deployed.",
    )
    c.add_argument("files", nargs="+", metavar="FILE.hatch")
    c.add_argument("--json", action="store_true", help="findings as a JSON list")
    c.add_argument("--sarif", action="store_true", help="findings as SARIF 2.1.0, for code scanners")
    c.add_argument("--strict", action="store_true", help="warnings count as errors")

    t = command("test", "run the tests written in a policy", "A policy without tests fails.")
    t.add_argument("file", metavar="FILE.hatch")
    t.add_argument("--coverage", action="store_true", help="show which rules are both hit and missed by tests")
    t.add_argument("--mutants", action="store_true", help="flip each condition in turn and show the flips no test notices")
    t.add_argument("--match", metavar="TEXT", help="only tests whose title contains TEXT; none matching is a failure")

    f = command(
        "fmt",
        "lay out policies in the one standard way",
        "Comments stay; meaning never changes. `-` formats standard input.",
    )
    f.add_argument("files", nargs="+", metavar="FILE.hatch")
    f.add_argument("--check", action="store_true", help="change nothing; fail if a file is not laid out this way")
    f.add_argument("--diff", action="store_true", help="change nothing; show what would change")

    e = command(
        "explain",
        "show why a request is allowed, asked or denied",
        "For a denial: the nearest rule that would have allowed it, and what is missing.\n\n"
        "  hatchway policy explain acme.hatch payments.refund tenant=acme amount=900 currency=eur session.risk=50",
    )
    e.add_argument("file", metavar="FILE.hatch")
    e.add_argument("event", metavar="CAPABILITY")
    e.add_argument("fields", nargs="*", metavar="FIELD=VALUE")
    e.add_argument("--json", action="store_true", help="the decision and its trace as JSON")

    p = command(
        "prove",
        "settle every `prove` claim, and claims given here",
        "A false claim comes with a concrete request that refutes it.\n\n"
        '  hatchway policy prove acme.hatch --claim "no net.connect when port != 443"',
    )
    p.add_argument("file", metavar="FILE.hatch")
    p.add_argument("--claim", action="append", default=[], metavar="'no … when …'", help="also settle this claim")

    d = command(
        "diff",
        "show every class of request whose answer changes between two policies",
        "Each with a concrete request. Fails when something new is permitted.",
    )
    d.add_argument("old", metavar="OLD.hatch")
    d.add_argument("new", metavar="NEW.hatch")
    d.add_argument("--json", action="store_true", help="changes as a JSON list")

    b = command(
        "bundle",
        "sign a checked policy for deployment, or verify a bundle",
        "A policy that fails any check cannot be bundled.\n\n"
        "  hatchway policy bundle --new-key release            # writes release.key and release.pub\n"
        "  hatchway policy bundle acme.hatch --key release.key -o acme.bundle\n"
        "  hatchway policy bundle --verify acme.bundle --trust release.pub",
    )
    b.add_argument("file", nargs="?", metavar="FILE.hatch")
    b.add_argument("--key", metavar="FILE", help="Ed25519 private key (PEM) to sign with")
    b.add_argument("-o", "--output", metavar="FILE", help="where to write the bundle")
    b.add_argument("--verify", metavar="BUNDLE", help="verify this bundle instead")
    b.add_argument("--trust", action="append", default=[], metavar="FILE", help="trusted public key (PEM)")
    b.add_argument("--new-key", metavar="NAME", help="make a key pair NAME.key, NAME.pub instead")

    r = command(
        "replay",
        "put recorded decisions to a policy and show what changes",
        "Records are JSON lines with event, attributes and verdict. Fails when something new is permitted.",
    )
    r.add_argument("file", metavar="FILE.hatch")
    r.add_argument("records", metavar="RECORDS.jsonl")
    r.add_argument("--strict", action="store_true", help="fail on any change")

    k = command(
        "catalog",
        "show what a catalog defines and the digest to pin",
        "The file holds capability definitions with JSON Schemas.",
    )
    k.add_argument("file", nargs="?", metavar="FILE.json", help="without a file: the built-in capabilities")

    for parser in (c, t, e, p, d, b, r):
        parser.add_argument("--catalog", metavar="FILE.json", help="use this catalog instead of the one beside the policy")

    command("lsp", "serve editors over standard input and output (Language Server Protocol)")


def _run(name: str, arguments: argparse.Namespace) -> int:
    """Carry out a command. Imports happen here: listing commands must cost nothing."""
    from policy.tools import actions

    return actions.perform(name, arguments)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="hatchway policy", description="Write, check, test, prove and ship policies.", epilog=_STATUSES
    )
    add_commands(parser.add_subparsers(title="commands", metavar="COMMAND", required=True))
    arguments = parser.parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    return run(arguments)
