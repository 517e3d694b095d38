"""The verbs of `hatchway remote`: each asks the gateway and shows what it answered.

Rules: a verb is a function `run_VERB(client, options)` that answers the exit status. With --json only JSON goes to standard
output, an object a line; what is copied goes there as it is. A run that waits says which run it is, and for which approvals.
"""

from __future__ import annotations

import argparse
import getpass
import itertools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from hatchway import asking, verbs
from hatchway.arguments import text_of
from hatchway.asking import ApprovalInfo, MatchInfo, RunInfo, SecretInfo, ValueInfo
from hatchway.client import Client
from hatchway.programs import inputs_of, read_program, read_stdin
from hatchway.running import exit_status, show_result
from hatchway.verbs import RunOptions
from sandbox.errors import RequestError


def _show(options: argparse.Namespace, items: Iterable[Any], line: Callable[[Any], str]) -> int:
    for one in items:
        print(msgspec.json.encode(one).decode() if options.json else line(one))
    return 0


def run_run(client: Client, options: argparse.Namespace) -> int:
    program = read_program(options)
    code = text_of(program.code)
    asked: RunOptions = {
        "language": program.language if program.filename else options.language,
        "filename": program.filename,
        "timeout_ms": options.timeout_ms,
        "inputs": inputs_of(options),
        "stdin": read_stdin(options),
    }
    if options.session is None:
        return _show_run(client, options, client.ask(verbs.run_once(code, asked)))
    if options.json:
        return _show_run(client, options, client.ask(verbs.run_in(options.session, code, asked)))
    box = client.session(options.session)
    box.run(code, on_output=_write, **asked)
    assert box.last_run is not None
    return _show_run(client, options, box.last_run, is_printed=True)


def run_result(client: Client, options: argparse.Namespace) -> int:
    return _show_run(client, options, client.get_run(options.run))


def _show_run(client: Client, options: argparse.Namespace, run: RunInfo, *, is_printed: bool = False) -> int:
    """`is_printed`: its output was shown while it ran."""
    done = asking.result_of(run)
    waits_for = list(client.approvals(run_id=run.id)) if run.state == "waiting" else []
    if options.json:
        told = {**msgspec.to_builtins(done), "run_id": run.id, "session_id": run.session_id}
        if run.state == "waiting":
            told["approvals"] = [one.id for one in waits_for]
        print(msgspec.json.encode(told).decode())
        return exit_status(done)
    if not is_printed:
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
    if run.state == "waiting":
        _show_waiting(run, waits_for)
    else:
        show_result(done)
    return exit_status(done)


def _show_waiting(run: RunInfo, waits_for: list[ApprovalInfo]) -> None:
    for one in waits_for:
        print(f"the run {run.id} waits for the approval {one.id}: {_question(one)}", file=sys.stderr)
        print(f"decide it with:     hatchway remote decide {one.id} approve", file=sys.stderr)
    if not waits_for:
        print(f"the run {run.id} waits for an approval", file=sys.stderr)
    print(f"then its result is: hatchway remote result {run.id}", file=sys.stderr)


def _question(one: ApprovalInfo) -> str:
    return f"{one.capability}({one.arguments})  for {one.requested_by}, by {one.approver}"


def _write(stream: int, data: bytes) -> None:
    """Output as it comes."""
    target = sys.stderr if stream else sys.stdout
    target.write(data.decode("utf-8", "replace"))
    target.flush()


def run_runs(client: Client, options: argparse.Namespace) -> int:
    def line(one: RunInfo) -> str:
        status = one.result.status.value if one.result is not None else ""
        return f"{one.id}  {one.state:9} {status:22} {one.language:12} {one.session_id}"

    return _show(options, itertools.islice(client.runs(options.session), max(options.limit, 0)), line)


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


def run_snapshots(client: Client, options: argparse.Namespace) -> int:
    found = client.snapshots(options.session)
    return _show(options, found, lambda one: f"{one.id}  {one.size_bytes:>10}  {one.session_id:40} {one.label}")


def run_restore(client: Client, options: argparse.Namespace) -> int:
    return _show(options, [client.restore(options.snapshot).info], lambda one: one.id)


def run_delete_snapshot(client: Client, options: argparse.Namespace) -> int:
    client.ask(verbs.forget_snapshot(options.snapshot))
    return 0


def run_ls(client: Client, options: argparse.Namespace) -> int:
    found = client.session(options.session).files.list(options.path)
    return _show(options, found, lambda one: f"{one.size_bytes:>10}  {one.path}{'/' if one.is_directory else ''}")


def run_get(client: Client, options: argparse.Namespace) -> int:
    data = client.session(options.session).files.read(options.path)
    if options.to == "-":
        sys.stdout.buffer.write(data)
        return 0
    target = Path(options.to or Path(options.path).name)
    try:
        target.write_bytes(data)
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot write {target}: {error.strerror}") from None
    return 0


def run_put(client: Client, options: argparse.Namespace) -> int:
    source = Path(options.file)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot read {source}: {error.strerror}") from None
    made = client.session(options.session).files.write(options.path or source.name, data)
    return _show(options, [made], lambda one: one.path)


def run_rm(client: Client, options: argparse.Namespace) -> int:
    client.session(options.session).files.remove(options.path, options.recursive)
    return 0


def run_grep(client: Client, options: argparse.Namespace) -> int:
    files = client.session(options.session).files
    found: list[MatchInfo]
    if options.regex:
        searched = files.search(options.text, options.path)
        found = searched.matches
        if not searched.complete:
            print(f"not everything was looked at: a bound was met ({searched.skipped} files left out)", file=sys.stderr)
    else:
        found = files.grep(options.text, options.path)
    _show(options, found, lambda one: f"{one.path}:{one.line_number}:{one.line}")
    return 0 if found else 1


def run_approvals(client: Client, options: argparse.Namespace) -> int:
    def line(one: ApprovalInfo) -> str:
        return f"{one.id}  {_question(one)}" + (f"  {one.verdict}" if one.verdict else "")

    return _show(options, client.approvals(pending=not options.all), line)


def run_decide(client: Client, options: argparse.Namespace) -> int:
    decided = client.decide(options.approval, options.decision, options.reason)
    return _show(options, [decided], lambda one: f"{one.id} {one.verdict}")


def run_values(client: Client, options: argparse.Namespace) -> int:
    return _show(options, client.pages(verbs.values_of(options.session), {}, ValueInfo), lambda one: one.key)


def run_get_value(client: Client, options: argparse.Namespace) -> int:
    sys.stdout.buffer.write(client.ask(verbs.get_value(options.session, options.key)))
    return 0


def run_set_value(client: Client, options: argparse.Namespace) -> int:
    client.ask(verbs.set_value(options.session, options.key, sys.stdin.buffer.read()))
    return 0


def run_delete_value(client: Client, options: argparse.Namespace) -> int:
    client.ask(verbs.delete_value(options.session, options.key))
    return 0


def run_secrets(client: Client, options: argparse.Namespace) -> int:
    return _show(options, client.pages(verbs.secrets_of(options.session), {}, SecretInfo), lambda one: one.name)


def run_set_secret(client: Client, options: argparse.Namespace) -> int:
    """Not an argument: what is typed there is seen by everybody on the machine."""
    value = getpass.getpass("value: ") if sys.stdin.isatty() else sys.stdin.read().removesuffix("\n")
    client.ask(verbs.set_secret(options.session, options.name, value))
    return 0


def run_delete_secret(client: Client, options: argparse.Namespace) -> int:
    client.ask(verbs.delete_secret(options.session, options.name))
    return 0


def run_retention(client: Client, options: argparse.Namespace) -> int:
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
