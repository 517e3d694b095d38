"""`hatchway remote`: a gateway from the command line. Verbs are rows of the clients' table (`client.verb_names`), or functions of
`verbs` where more than one request is made or a person is asked.

Rules: output is for people; --json is for programs. The options of `client.tls` and --json may stand before the verb or after it.
The exit status of `run` and `result` is that of `hatchway run`: 126 for one that waits.
"""

from __future__ import annotations

import argparse
from typing import Any

from hatchway.cli.options import add_on_limit, add_parser, parse_count
from hatchway.client import tls
from hatchway.client.client import Client
from hatchway.client.verb_names import verbs
from hatchway.remote import hints, table_verbs
from hatchway.remote import verbs as functions
from hatchway.remote.table_verbs import add_arguments
from sandbox.errors import RequestError
from sandbox.languages import OFFERED

_GROUPS = {
    "snapshots": "list, download, upload and compare snapshots",
    "policy": "deploy, check, compare and explain policies, and see what was decided",
    "tenants": "list, make, change and delete tenants",
    "tokens": "list, create and revoke tokens",
    "capabilities": "list and look at what programs may call",
    "hooks": "list, add, remove and mute hooks, and keep their programs",
    "audit": "read, check and export the audit log",
    "runtimes": "list, add and remove runtimes of workers",
    "workers": "list, spawn, talk to and stop workers",
    "runners": "bind threads to runners, and run commands there",
    "call": "any other operation of the gateway, by its name in OpenAPI",
}


def add_command(commands: Any) -> None:
    remote = add_parser(
        commands,
        "remote",
        description="Use a running gateway. Its address: --url or HATCHWAY_URL; your token: HATCHWAY_TOKEN or --token.",
        epilog="examples:\n  hatchway remote run -c 'print(1 + 1)'\n  hatchway remote create notes --durable\n"
        "  hatchway remote run --session notes -c 'x = 1'\n  hatchway remote put notes data.csv\n"
        "  hatchway remote grep notes TODO\n  hatchway remote approvals\n  hatchway remote decide APPROVAL approve\n"
        "  hatchway remote result RUN\n  hatchway remote set-secret hooks/signing < key.txt\n"
        "  hatchway remote --tenant acme policy deploy acme.hatch\n"
        "  hatchway remote --tenant acme tokens create ci --role runner\n"
        "  hatchway remote audit tail -n 20\n  hatchway remote sessions --json\n  hatchway remote retention",
    )
    _add_common(remote, is_after_verb=False)
    added = _Verbs(remote)
    _add_runs(added)
    _add_sessions(added)
    _add_files(added)
    _add_approvals(added)
    _add_values(added)
    _add_runners(added)
    added.add_rest()
    tail = added.add("audit tail", "the newest records of the audit log, the oldest of them first")
    tail.add_argument("-n", "--limit", type=parse_count, default=20, metavar="N", help="at most N (default 20)")


def _add_common(parser: argparse.ArgumentParser, *, is_after_verb: bool) -> None:
    """A default is set before the verb only: what stands there is not undone by a verb that says nothing."""
    tls.add_options(parser, argparse.SUPPRESS if is_after_verb else None)
    unset = argparse.SUPPRESS if is_after_verb else False
    parser.add_argument("--json", default=unset, action="store_true", help="machine-readable")


class _Verbs:
    """The verbs of the command, some of them in groups."""

    def __init__(self, remote: argparse.ArgumentParser) -> None:
        self._common = argparse.ArgumentParser(add_help=False)
        _add_common(self._common, is_after_verb=True)
        self._verbs = remote.add_subparsers(dest="verb", metavar="VERB", required=True)
        self._groups: dict[str, Any] = {}
        self._left = list(verbs())

    def add(self, name: str, about: str, *words: str) -> argparse.ArgumentParser:
        """A verb and the words it cannot be without."""
        group, _, last = name.rpartition(" ")
        among = self._group(group) if group else self._verbs
        verb = self._make(among, last, about)
        for word in words:
            verb.add_argument(word, metavar=word.upper())
        verb.set_defaults(operation=name)
        return verb

    def _make(self, among: Any, name: str, about: str) -> argparse.ArgumentParser:
        description = about[0].upper() + about[1:] + "."
        made: argparse.ArgumentParser = among.add_parser(name, help=about, description=description, parents=[self._common])
        return made

    def add_rows(self, *names: str) -> None:
        """These rows of the table."""
        for name in names:
            add_arguments(self.add(name, verbs()[name].about), verbs()[name])
            self._left.remove(name)

    def add_rest(self) -> None:
        """The rows that were not named yet."""
        self.add_rows(*list(self._left))

    def _group(self, name: str) -> Any:
        """A group by itself does what its `list` does."""
        if name not in self._groups:
            about, listing = _GROUPS[name], verbs().get(f"{name} list")
            group = self._make(self._verbs, name, about)
            if listing is not None:
                add_arguments(group, listing)
                group.set_defaults(operation=listing.name)
            self._groups[name] = group.add_subparsers(dest="action", metavar="VERB", required=listing is None)
        return self._groups[name]


def _add_runs(added: _Verbs) -> None:
    run_ = added.add("run", "run a program, in a session or in one of its own; standard input goes to the program")
    run_.add_argument("path", nargs="?", metavar="FILE", help="the program; - reads it from standard input")
    run_.add_argument("-c", "--code", metavar="CODE", help="the program itself")
    run_.add_argument("-l", "--language", metavar="L", help="python, javascript, typescript or shell")
    run_.add_argument("--session", metavar="ID", help="a session that is there already")
    run_.add_argument("--input", action="append", default=[], metavar="NAME=JSON", help="set a variable first (repeatable)")
    run_.add_argument("--timeout-ms", type=parse_count, metavar="N", help="wall clock limit")
    add_on_limit(run_)
    added.add_rows("runs")
    added.add("result", "what a run printed and what came of it, or what it waits for", "run")


def _add_sessions(added: _Verbs) -> None:
    added.add_rows("sessions")
    create = added.add("create", "make a session")
    create.add_argument("session", nargs="?", metavar="SESSION", help="its id (default: a new one)")
    create.add_argument("--id", metavar="SESSION", help="the same")
    create.add_argument("--language", choices=OFFERED, metavar="L", help="python (default), javascript, typescript or shell")
    create.add_argument("--template", metavar="NAME", help="start from a template")
    create.add_argument("--durable", action="store_true", help="keep its variables even if the service dies")
    added.add_rows("fork", "cancel", "delete", "save")
    added.add("restore", "make a session of a snapshot", "snapshot")
    added.add_rows(*(name for name in verbs() if "snapshot" in name.split(" ")[0]))


def _add_files(added: _Verbs) -> None:
    added.add("ls", "list files", "session").add_argument("path", nargs="?", default="/", metavar="PATH")
    get = added.add("get", "copy a file here, or to standard output with -", "session", "path")
    get.add_argument("to", nargs="?", metavar="FILE")
    put = added.add("put", "copy a file into a session; - reads standard input", "session", "file")
    put.add_argument("path", nargs="?", metavar="PATH", help="where to (default: its name); PATH/ is a directory to put it into")
    rm = added.add("rm", "delete a file or a directory", "session", "path")
    rm.add_argument("-r", "--recursive", action="store_true", help="a directory with its entries")
    grep = added.add(
        "grep",
        "lines of a session's files that hold a text; status 1 if there is none, 2 if not all was looked at",
        "session",
        "text",
    )
    grep.add_argument("path", nargs="?", metavar="PART", help="only files whose path has this in it")
    grep.add_argument("-E", "--regex", action="store_true", help="TEXT is a regular expression (RE2)")


def _add_approvals(added: _Verbs) -> None:
    approvals = added.add("approvals", "list approvals that wait for a decision")
    approvals.add_argument("--all", action="store_true", help="what was decided, too")
    added.add_rows("decide")


def _add_values(added: _Verbs) -> None:
    added.add_rows("values", "get-value")
    added.add("set-value", "keep a value; it is read from standard input", "session", "key")
    added.add_rows("delete-value")
    secrets = [
        added.add("secrets", "list secrets: names, never values"),
        added.add("set-secret", "keep a secret; its value is read from standard input", "name"),
        added.add("delete-secret", "forget a secret", "name"),
    ]
    for verb in secrets:
        verb.add_argument("--session", metavar="ID", help="a session's own (default: the tenant's)")
    retention = added.add("retention", "how long things are kept, and what would go now")
    retention.add_argument("--collect", action="store_true", help="delete it now, and say how much went")


def _add_runners(added: _Verbs) -> None:
    added.add_rows(*(name for name in verbs() if name.startswith("runners ")))
    run_ = added.add("runners run", "run a command in a thread, show what it writes, and wait for its end", "thread", "program")
    run_.add_argument("--stdin", default="", metavar="TEXT", help="what it reads from standard input; - passes ours on")
    for verb in (run_, _add_terminal(added)):
        verb.add_argument("arguments", nargs="*", metavar="ARGUMENTS", help="its arguments; -- begins them")
        verb.add_argument("--cwd", metavar="PATH", help="the folder it runs in")
        verb.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable (repeatable)")
        verb.add_argument("--timeout-ms", type=parse_count, metavar="N", help="wall clock limit")
    attach = added.add("runners attach", "connect this terminal to a command's; ^] leaves it", "thread", "command")
    attach.add_argument("--after", type=int, default=0, metavar="N", help="after this event (default: from the first)")
    logs = added.add("runners logs", "what a command has written", "thread", "command")
    logs.add_argument("-f", "--follow", action="store_true", help="and what it still writes, until it ends")
    logs.add_argument("--after", type=int, default=0, metavar="N", help="after this event (default: from the first)")


def _add_terminal(added: _Verbs) -> argparse.ArgumentParser:
    terminal = added.add("runners terminal", "run a program in a terminal, connected to this one; ^] leaves it", "thread")
    terminal.add_argument("program", nargs="?", default="sh", metavar="PROGRAM", help="default: sh")
    return terminal


def run(options: argparse.Namespace) -> int:
    name: str = options.operation
    try:
        with Client(options.url, options.token, tenant=options.tenant, verify=options.ca, cert=options.cert) as client:
            if name in verbs():
                return table_verbs.run(client, verbs()[name], options)
            return int(getattr(functions, f"run_{name.replace('-', '_').replace(' ', '_')}")(client, options))
    except RequestError as error:
        raise hints.reword(error, name) from None
