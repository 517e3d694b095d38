"""`hatchway remote`: a gateway from the command line.

Rules: where it is and who asks come from --url and HATCHWAY_TOKEN (or --token). Output is for people; --json is for programs. The
exit status of `run` is the program's. Imports happen inside of functions: every command reads this file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchway.parsers import add_parser

if TYPE_CHECKING:
    from hatchway.client import Client
    from hatchway.verbs import RunOptions


def add_command(commands: Any) -> None:
    remote = add_parser(
        commands,
        "remote",
        help="use a gateway: run programs, files, forks, snapshots, approvals",
        description="Use a gateway. Where it is: --url or HATCHWAY_URL; who asks: HATCHWAY_TOKEN or --token.",
        epilog="examples:\n  hatchway remote run -c 'print(1 + 1)'\n  hatchway remote create --id notes --durable\n"
        "  hatchway remote run --session notes -c 'x = 1'\n  hatchway remote put notes data.csv\n"
        "  hatchway remote approvals\n  hatchway remote decide APPROVAL approve\n"
        "  hatchway remote set-secret hooks/signing < key.txt\n  hatchway remote retention",
    )
    remote.add_argument("--url", metavar="URL", help="the gateway (default HATCHWAY_URL, or http://127.0.0.1:8484)")
    remote.add_argument("--token", metavar="TOKEN", help="an API token (default HATCHWAY_TOKEN, which others cannot see)")
    remote.add_argument("--json", action="store_true", help="machine-readable")
    verbs = remote.add_subparsers(dest="verb", metavar="VERB", required=True)
    run_ = verbs.add_parser("run", help="run a program, in a session or in one of its own")
    run_.add_argument("path", nargs="?", metavar="FILE", help="the program; - reads it from standard input")
    run_.add_argument("-c", "--code", metavar="CODE", help="the program itself")
    run_.add_argument("-l", "--language", metavar="L", help="python, javascript, typescript or shell")
    run_.add_argument("--session", metavar="ID", help="a session that is there already")
    run_.add_argument("--input", action="append", default=[], metavar="NAME=JSON", help="set a variable first (repeatable)")
    run_.add_argument("--timeout-ms", type=int, metavar="N", help="wall clock limit")
    verbs.add_parser("sessions", help="list sessions")
    create = verbs.add_parser("create", help="make a session")
    create.add_argument("--id", metavar="ID")
    create.add_argument("--language", metavar="L")
    create.add_argument("--template", metavar="NAME")
    create.add_argument("--durable", action="store_true", help="keep its variables even if the service dies")
    simple = {
        "fork": "fork a session",
        "cancel": "stop what a session has under way",
        "delete": "delete a session",
    }
    for name, about in simple.items():
        verbs.add_parser(name, help=about).add_argument("session", metavar="SESSION")
    save = verbs.add_parser("save", help="save a snapshot")
    save.add_argument("session", metavar="SESSION")
    save.add_argument("--label", default="", metavar="TEXT", help="a name for it; one without is not kept for ever")
    restore = verbs.add_parser("restore", help="a session from a snapshot")
    restore.add_argument("snapshot", metavar="SNAPSHOT")
    files = verbs.add_parser("ls", help="list files")
    files.add_argument("session", metavar="SESSION")
    files.add_argument("path", nargs="?", default="/", metavar="PATH")
    get = verbs.add_parser("get", help="copy a file here, or to standard output with -")
    get.add_argument("session", metavar="SESSION")
    get.add_argument("path", metavar="PATH")
    get.add_argument("to", nargs="?", metavar="FILE")
    put = verbs.add_parser("put", help="copy a file into a session")
    put.add_argument("session", metavar="SESSION")
    put.add_argument("file", metavar="FILE")
    put.add_argument("path", nargs="?", metavar="PATH")
    verbs.add_parser("approvals", help="what waits for somebody")
    decide = verbs.add_parser("decide", help="decide an approval")
    decide.add_argument("approval", metavar="APPROVAL")
    decide.add_argument("decision", choices=["approve", "approve_always", "reject", "reject_always", "cancel"])
    decide.add_argument("--reason", default="", metavar="TEXT")
    listed = verbs.add_parser("secrets", help="list secrets: names, never values")
    set_ = verbs.add_parser("set-secret", help="keep a secret; its value is read from standard input")
    forget = verbs.add_parser("delete-secret", help="forget a secret")
    for verb in (set_, forget):
        verb.add_argument("name", metavar="NAME")
    for verb in (listed, set_, forget):
        verb.add_argument("--session", metavar="ID", help="a session's own (default: the tenant's)")
    retention = verbs.add_parser("retention", help="how long things are kept, and what would go now")
    retention.add_argument("--collect", action="store_true", help="let it go now, and say how much went")


def run(options: argparse.Namespace) -> int:
    from hatchway.client import Client

    with Client(options.url, options.token) as client:
        return int(globals()[f"run_{options.verb.replace('-', '_')}"](client, options))


def _show(options: argparse.Namespace, items: Iterable[Any], line: Any) -> int:
    import msgspec

    for one in items:
        print(msgspec.json.encode(one).decode() if options.json else line(one))
    return 0


def run_run(client: Client, options: argparse.Namespace) -> int:
    import msgspec

    from hatchway.cli import complain
    from hatchway.running import parse_input, read_program

    program, language, filename = read_program(options)
    code = program.decode("utf-8", "replace") if isinstance(program, bytes) else program
    asked: RunOptions = {
        "language": language if filename else options.language,
        "filename": filename,
        "timeout_ms": options.timeout_ms,
        "inputs": dict(parse_input(text) for text in options.input),
    }
    if options.session and not options.json:
        done = client.session(options.session).run(code, on_output=_write, **asked)
    else:
        done = (client.session(options.session) if options.session else client).run(code, **asked)
    if options.json:
        print(msgspec.json.encode(done).decode())
        return done.exit_code
    if not options.session:
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
    if done.result is not None:
        print(msgspec.json.encode(done.result).decode())
    if done.error is not None:
        complain(f"{done.error.code}: {done.error.message}", done.error.hint)
    return done.exit_code


def _write(stream: int, data: bytes) -> None:
    """Output as it comes."""
    target = sys.stderr if stream else sys.stdout
    target.write(data.decode("utf-8", "replace"))
    target.flush()


def run_sessions(client: Client, options: argparse.Namespace) -> int:
    return _show(options, client.sessions(), lambda one: f"{one.id:40} {one.language:12} {one.title}")


def run_create(client: Client, options: argparse.Namespace) -> int:
    made = client.sandbox(id=options.id, language=options.language, template=options.template, durable=options.durable)
    return _show(options, [made.info], lambda one: one.id)


def run_fork(client: Client, options: argparse.Namespace) -> int:
    return _show(options, [client.session(options.session).fork().info], lambda one: one.id)


def run_cancel(client: Client, options: argparse.Namespace) -> int:
    if client.session(options.session).cancel():
        return 0
    print("nothing is under way", file=sys.stderr)
    return 1


def run_delete(client: Client, options: argparse.Namespace) -> int:
    client.session(options.session).close()
    return 0


def run_save(client: Client, options: argparse.Namespace) -> int:
    return _show(options, [client.session(options.session).save(options.label)], lambda one: one.id)


def run_restore(client: Client, options: argparse.Namespace) -> int:
    return _show(options, [client.restore(options.snapshot).info], lambda one: one.id)


def run_ls(client: Client, options: argparse.Namespace) -> int:
    found = client.session(options.session).files.list(options.path)
    return _show(options, found, lambda one: f"{one.size_bytes:>10}  {one.path}{'/' if one.is_directory else ''}")


def run_get(client: Client, options: argparse.Namespace) -> int:
    data = client.session(options.session).files.read(options.path)
    if options.to == "-":
        sys.stdout.buffer.write(data)
    else:
        Path(options.to or Path(options.path).name).write_bytes(data)
    return 0


def run_put(client: Client, options: argparse.Namespace) -> int:
    source = Path(options.file)
    made = client.session(options.session).files.write(options.path or source.name, source.read_bytes())
    return _show(options, [made], lambda one: one.path)


def run_approvals(client: Client, options: argparse.Namespace) -> int:
    def line(one: Any) -> str:
        return f"{one.id}  {one.capability}({one.arguments})  for {one.requested_by}, by {one.approver}"

    return _show(options, client.approvals(), line)


def run_decide(client: Client, options: argparse.Namespace) -> int:
    decided = client.decide(options.approval, options.decision, options.reason)
    return _show(options, [decided], lambda one: f"{one.id} {one.verdict}")


def run_secrets(client: Client, options: argparse.Namespace) -> int:
    from hatchway import verbs
    from hatchway.asking import SecretInfo

    return _show(options, client.pages(verbs.secrets_of(options.session), {}, SecretInfo), lambda one: one.name)


def run_set_secret(client: Client, options: argparse.Namespace) -> int:
    """Not an argument: what is typed there is seen by everybody on the machine."""
    import getpass

    from hatchway import verbs

    value = getpass.getpass("value: ") if sys.stdin.isatty() else sys.stdin.read().removesuffix("\n")
    client.ask(verbs.set_secret(options.session, options.name, value))
    return 0


def run_delete_secret(client: Client, options: argparse.Namespace) -> int:
    from hatchway import verbs

    client.ask(verbs.delete_secret(options.session, options.name))
    return 0


def run_retention(client: Client, options: argparse.Namespace) -> int:
    from hatchway import verbs

    if options.collect:
        return _show(options, [client.ask(verbs.collect())], _forgotten)
    return _show(options, [client.ask(verbs.retention())], _kept)


def _kept(found: Any) -> str:
    lines = ["kept for"]
    for name, kept_ms in found.rules.items():
        lines.append(f"  {name.removesuffix('_ms').replace('_', ' '):22} {_duration(kept_ms)}")
    lines += ["would go now", _forgotten(found.counts)]
    lines += [f"  session {one}" for one in found.sessions] + [f"  worker {one}" for one in found.workers]
    return "\n".join(lines)


def _forgotten(counts: dict[str, int]) -> str:
    return "\n".join(f"  {kind:22} {count}" for kind, count in counts.items() if count) or "  nothing"


def _duration(kept_ms: int | None) -> str:
    if kept_ms is None:
        return "ever"
    for name, length_ms in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        if kept_ms % length_ms == 0:
            return f"{kept_ms // length_ms} {name}{'s' if kept_ms != length_ms else ''}"
    return f"{kept_ms} ms"
