"""`hatchway remote`: a gateway from the command line. What each verb does is in `remote_verbs`.

Rules: where it is and who asks come from --url and HATCHWAY_TOKEN (or --token). Output is for people; --json is for programs.
These options may stand before the verb or after it. The exit status of `run` and `result` is that of `hatchway run`: 126 for one
that waits. Imports happen inside of functions: every command reads this file.
"""

from __future__ import annotations

import argparse
from typing import Any

from hatchway import trust
from hatchway.parsers import add_parser

_DECISIONS = ["approve", "approve_always", "reject", "reject_always", "cancel"]
_RUNS_SHOWN = 50


def add_command(commands: Any) -> None:
    remote = add_parser(
        commands,
        "remote",
        help="use a gateway: run programs, files, forks, snapshots, approvals",
        description="Use a gateway. Where it is: --url or HATCHWAY_URL; who asks: HATCHWAY_TOKEN or --token.",
        epilog="examples:\n  hatchway remote run -c 'print(1 + 1)'\n  hatchway remote create --id notes --durable\n"
        "  hatchway remote run --session notes -c 'x = 1'\n  hatchway remote put notes data.csv\n"
        "  hatchway remote grep notes TODO\n  hatchway remote approvals\n  hatchway remote decide APPROVAL approve\n"
        "  hatchway remote result RUN\n  hatchway remote set-secret hooks/signing < key.txt\n"
        "  hatchway remote sessions --json\n  hatchway remote retention",
    )
    _add_common(remote, url=None, token=None, json=False, trust=None)
    verbs = _Verbs(remote)
    _add_runs(verbs)
    _add_sessions(verbs)
    _add_files(verbs)
    _add_approvals(verbs)
    _add_small_things(verbs)


def _add_common(parser: argparse.ArgumentParser, **defaults: Any) -> None:
    """A default is set before the verb only: what stands there is not undone by a verb that says nothing."""
    told = {name: defaults.get(name, argparse.SUPPRESS) for name in ("url", "token", "json", "trust")}
    parser.add_argument(
        "--url", default=told["url"], metavar="URL", help="the gateway (default HATCHWAY_URL, or http://127.0.0.1:8484)"
    )
    parser.add_argument(
        "--token", default=told["token"], metavar="TOKEN", help="an API token (default HATCHWAY_TOKEN, which others cannot see)"
    )
    trust.add_options(parser, default=told["trust"])
    parser.add_argument("--json", default=told["json"], action="store_true", help="machine-readable")


class _Verbs:
    """The verbs of the command."""

    def __init__(self, remote: argparse.ArgumentParser) -> None:
        self._verbs = remote.add_subparsers(dest="verb", metavar="VERB", required=True)

    def add(self, name: str, about: str, *words: str) -> argparse.ArgumentParser:
        """A verb and the words it cannot be without."""
        verb = self._verbs.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        _add_common(verb)
        for word in words:
            verb.add_argument(word, metavar=word.upper())
        return verb


def _add_runs(verbs: _Verbs) -> None:
    run_ = verbs.add("run", "run a program, in a session or in one of its own; standard input goes to the program")
    run_.add_argument("path", nargs="?", metavar="FILE", help="the program; - reads it from standard input")
    run_.add_argument("-c", "--code", metavar="CODE", help="the program itself")
    run_.add_argument("-l", "--language", metavar="L", help="python, javascript, typescript or shell")
    run_.add_argument("--session", metavar="ID", help="a session that is there already")
    run_.add_argument("--input", action="append", default=[], metavar="NAME=JSON", help="set a variable first (repeatable)")
    run_.add_argument("--timeout-ms", type=int, metavar="N", help="wall clock limit")
    runs = verbs.add("runs", "list runs, the newest first")
    runs.add_argument("--session", metavar="ID", help="a session's (default: all)")
    runs.add_argument("-n", "--limit", type=int, default=_RUNS_SHOWN, metavar="N", help=f"so many (default {_RUNS_SHOWN})")
    verbs.add("result", "what a run printed and what came of it, or what it waits for", "run")


def _add_sessions(verbs: _Verbs) -> None:
    verbs.add("sessions", "list sessions")
    create = verbs.add("create", "make a session")
    create.add_argument("--id", metavar="ID")
    create.add_argument("--language", metavar="L")
    create.add_argument("--template", metavar="NAME")
    create.add_argument("--durable", action="store_true", help="keep its variables even if the service dies")
    verbs.add("fork", "fork a session", "session")
    verbs.add("cancel", "stop what a session has under way", "session")
    verbs.add("delete", "delete a session", "session")
    save = verbs.add("save", "save a snapshot", "session")
    save.add_argument("--label", default="", metavar="TEXT", help="a name for it; one without is not kept for ever")
    snapshots = verbs.add("snapshots", "list snapshots, the newest first")
    snapshots.add_argument("--session", metavar="ID", help="a session's (default: all that are kept)")
    verbs.add("restore", "a session from a snapshot", "snapshot")
    verbs.add("delete-snapshot", "delete a snapshot", "snapshot")


def _add_files(verbs: _Verbs) -> None:
    verbs.add("ls", "list files", "session").add_argument("path", nargs="?", default="/", metavar="PATH")
    verbs.add("get", "copy a file here, or to standard output with -", "session", "path").add_argument(
        "to", nargs="?", metavar="FILE"
    )
    verbs.add("put", "copy a file into a session", "session", "file").add_argument("path", nargs="?", metavar="PATH")
    rm = verbs.add("rm", "delete a file or a directory", "session", "path")
    rm.add_argument("-r", "--recursive", action="store_true", help="a directory with its entries")
    grep = verbs.add("grep", "lines of a session's files that hold a text; status 1 if there is none", "session", "text")
    grep.add_argument("path", nargs="?", metavar="PART", help="only files whose path has this in it")
    grep.add_argument("-E", "--regex", action="store_true", help="TEXT is a regular expression (RE2)")


def _add_approvals(verbs: _Verbs) -> None:
    approvals = verbs.add("approvals", "what waits for somebody")
    approvals.add_argument("--all", action="store_true", help="what was decided, too")
    decide = verbs.add("decide", "decide an approval", "approval")
    decide.add_argument("decision", choices=_DECISIONS)
    decide.add_argument("--reason", default="", metavar="TEXT")


def _add_small_things(verbs: _Verbs) -> None:
    verbs.add("values", "list the keys of a session's values", "session")
    verbs.add("get-value", "write a value to standard output", "session", "key")
    verbs.add("set-value", "keep a value; it is read from standard input", "session", "key")
    verbs.add("delete-value", "forget a value", "session", "key")
    secrets = [
        verbs.add("secrets", "list secrets: names, never values"),
        verbs.add("set-secret", "keep a secret; its value is read from standard input", "name"),
        verbs.add("delete-secret", "forget a secret", "name"),
    ]
    for verb in secrets:
        verb.add_argument("--session", metavar="ID", help="a session's own (default: the tenant's)")
    retention = verbs.add("retention", "how long things are kept, and what would go now")
    retention.add_argument("--collect", action="store_true", help="let it go now, and say how much went")


def run(options: argparse.Namespace) -> int:
    from hatchway import remote_verbs
    from hatchway.client import Client

    with Client(options.url, options.token, verify=options.ca, cert=options.cert) as client:
        return int(getattr(remote_verbs, f"run_{options.verb.replace('-', '_')}")(client, options))
