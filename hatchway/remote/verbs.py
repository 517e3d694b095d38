"""The verbs of `hatchway remote` that are more than a row of the table: each asks the gateway and shows what it answered.

Rules: a verb is a function `run_VERB(client, options)` that answers the exit status. With --json only JSON goes to standard
output, an object a line; what is copied goes there as it is. A run that waits says which run it is, and for which approvals.
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import getpass
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from hatchway.arguments import RunOptions
from hatchway.cli.host_files import read_bytes, write_bytes
from hatchway.cli.program import parse_inputs, read_program, read_stdin
from hatchway.cli.run import choose_exit_status, show_result
from hatchway.cli.terminal import printable, show_table, write_output
from hatchway.client import requests, url_paths
from hatchway.client.async_runner import CommandOptions
from hatchway.client.client import Client
from hatchway.client.operations import request
from hatchway.client.requests import ApprovalInfo, Ask, Refused, RunInfo, Unreachable
from hatchway.client.run_requests import run_request
from hatchway.remote import attachment
from sandbox.errors import RequestError, SandboxError
from sandbox.wire import Matches, RunResult

_UNKNOWN = "\ufffd"


def _show(options: argparse.Namespace, items: Iterable[Any], line: Callable[[Any], str]) -> int:
    for item in items:
        print(msgspec.json.encode(item).decode() if options.json else line(item))
    return 0


def run_run(client: Client, options: argparse.Namespace) -> int:
    program = read_program(options)
    asked: RunOptions = {
        "language": program.language if program.filename else options.language,
        "filename": program.filename,
        "timeout_ms": options.timeout_ms,
        "inputs": parse_inputs(options),
        "stdin": read_stdin(options),
        "on_limit": options.on_limit,
    }
    watched = WatchedRun(client, is_alone=options.session is None, is_shown=not options.json)
    return _show_run(client, options, watched.run(run_request(options.session, program.code, asked, is_streamed=True)), watched)


class WatchedRun:
    """A run whose output is shown as it comes. Interrupting the command, or closing its pipe, cancels the run; a session of
    its own goes with the run, unless something is still to be read there."""

    def __init__(self, client: Client, *, is_alone: bool, is_shown: bool) -> None:
        self._client, self._is_alone, self._is_shown = client, is_alone, is_shown
        self._begun: dict[str, str] = {}
        self._said = ["", ""]
        self._shown_bytes = [0, 0]

    def run(self, ask: Ask) -> RunInfo:
        try:
            for event in self._client.watch(ask):
                if event.kind == "started":
                    self._begun = event.data
                elif event.kind in requests.STREAMS:
                    self._tell(requests.STREAMS.index(event.kind), event.data)
                elif event.kind == "error":
                    raise requests.read_failure(event.data)
                elif requests.is_last(event):
                    return msgspec.convert(event.data, RunInfo)
        except (KeyboardInterrupt, OSError):  # or the reader of its output has gone
            self._cancel()
            raise
        raise Unreachable("the stream ended before the run did")

    def _tell(self, stream: int, text: str) -> None:
        """What may stand for bytes that are no text is not shown before the end, when those are known."""
        is_exact = _UNKNOWN not in self._said[stream]
        self._said[stream] += text
        if self._is_shown and is_exact:
            self._write(stream, text.partition(_UNKNOWN)[0].encode("utf-8", "replace"))

    def _write(self, stream: int, data: bytes) -> None:
        self._shown_bytes[stream] += len(data)
        write_output(stream, data)

    def end(self, run: RunInfo) -> None:
        """Show what was not told while it ran: all of it, where a hook had to look at it first."""
        is_whole = self._show_rest(requests.get_result(run)) if self._is_shown else True
        if not is_whole:
            print(f"some of its output was not shown; all of it: hatchway remote result {run.id}", file=sys.stderr)
        elif run.state == "finished":
            self._forget()

    def _show_rest(self, done: RunResult) -> bool:
        """Whether all that was written has now been shown."""
        texts = (done.stdout, done.stderr)
        for stream, (text, data) in enumerate(zip(texts, (done.stdout_bytes, done.stderr_bytes), strict=True)):
            if text.startswith(self._said[stream]):
                self._write(stream, data[self._shown_bytes[stream] :])
        return all(text.startswith(said) for text, said in zip(texts, self._said, strict=True))

    def _cancel(self) -> None:
        with contextlib.suppress(SandboxError):
            if self._begun:
                self._client.ask(request("cancel_run", run_id=self._begun["id"]))
        self._forget()

    def _forget(self) -> None:
        with contextlib.suppress(SandboxError):
            if self._is_alone and self._begun:
                self._client.ask(request("delete_session", session_id=self._begun["session_id"]))


def run_result(client: Client, options: argparse.Namespace) -> int:
    return _show_run(client, options, client.get_run(options.run))


def _show_run(client: Client, options: argparse.Namespace, run: RunInfo, watched: WatchedRun | None = None) -> int:
    """`watched` has shown of its output what there was to see."""
    done = requests.get_result(run)
    waits_for = list(client.approvals(run_id=run.id)) if run.state == "waiting" else []
    if watched is None and not options.json:
        for stream, data in enumerate((done.stdout_bytes, done.stderr_bytes)):
            write_output(stream, data)
    elif watched is not None:
        watched.end(run)
    if options.json:
        told = {**msgspec.to_builtins(done), "run_id": run.id, "session_id": run.session_id}
        if run.state == "waiting":
            told["approvals"] = [item.id for item in waits_for]
        print(msgspec.json.encode(told).decode())
    elif run.state == "waiting":
        _show_waiting(run, waits_for)
    else:
        show_result(done)
    return choose_exit_status(done)


def _show_waiting(run: RunInfo, waits_for: list[ApprovalInfo]) -> None:
    for item in waits_for:
        print(f"the run {run.id} waits for the approval {item.id}: {_describe_question(item)}", file=sys.stderr)
        print(f"decide it with:     hatchway remote decide {item.id} approve", file=sys.stderr)
    if not waits_for:
        print(f"the run {run.id} waits for an approval", file=sys.stderr)
    print(f"then its result is: hatchway remote result {run.id}", file=sys.stderr)


def _describe_question(item: ApprovalInfo) -> str:
    return f"{item.capability}({item.arguments})  for {item.requested_by}, by {item.approver}"


def run_create(client: Client, options: argparse.Namespace) -> int:
    if options.id and options.session and options.id != options.session:
        raise RequestError("INVALID_ARGUMENT", f"two ids are given: {options.session} and {options.id}", "leave out --id")
    named = options.session or options.id
    made = client.sandbox(id=named, language=options.language, template=options.template, durable=options.durable)
    return _show(options, [made.info], lambda item: item.id)


def run_restore(client: Client, options: argparse.Namespace) -> int:
    try:
        made = client.restore(options.snapshot)
    except Refused as refused:
        labelled = [item.id for item in client.snapshots() if item.label == options.snapshot] if refused.status == 404 else []
        if not labelled:
            raise
        hint = f"a snapshot is named by its id; this is the label of {', '.join(labelled[:3])}"
        raise RequestError(refused.error.code, refused.error.message, hint) from None
    return _show(options, [made.info], lambda item: item.id)


def run_ls(client: Client, options: argparse.Namespace) -> int:
    files = client.session(options.session).files
    found = files.list(options.path)
    if not found and url_paths.path(options.path) != url_paths.path("/"):
        at = files.stat(options.path)
        found = [] if at.is_directory else [at]
    return _show(options, found, lambda item: f"{item.size_bytes:>10}  {printable(item.path)}{'/' if item.is_directory else ''}")


def run_get(client: Client, options: argparse.Namespace) -> int:
    data = client.session(options.session).files.read(options.path)
    write_bytes(options.to or Path(options.path).name, data)
    return 0


def run_put(client: Client, options: argparse.Namespace) -> int:
    name = "" if options.file == "-" else Path(options.file).name
    path = options.path or ""
    if not path or path.endswith("/"):
        path += name
    if not path or path.endswith("/"):
        raise RequestError("INVALID_ARGUMENT", "standard input has no file name, and no PATH is given", "put SESSION - PATH")
    made = client.session(options.session).files.write(path, read_bytes(options.file))
    return _show(options, [made], lambda item: item.path)


def run_rm(client: Client, options: argparse.Namespace) -> int:
    client.session(options.session).files.remove(options.path, options.recursive)
    return 0


def run_grep(client: Client, options: argparse.Namespace) -> int:
    files = client.session(options.session).files
    searched = files.search(options.text, options.path) if options.regex else files.grep(options.text, options.path)
    found = searched if isinstance(searched, Matches) else searched.matches
    _show(options, found, lambda item: f"{item.path}:{item.line_number}:{item.line}")
    if not searched.complete:
        print(f"not everything was looked at: a bound was met ({searched.skipped} files left out)", file=sys.stderr)
        return 2
    return 0 if found else 1


def run_approvals(client: Client, options: argparse.Namespace) -> int:
    def line(item: ApprovalInfo) -> str:
        return f"{item.id}  {_describe_question(item)}" + (f"  {item.verdict}" if item.verdict else "")

    return _show(options, client.approvals(pending=not options.all), line)


def run_set_value(client: Client, options: argparse.Namespace) -> int:
    client.do("put_value", session_id=options.session, key=options.key, file=sys.stdin.buffer.read())
    return 0


def run_secrets(client: Client, options: argparse.Namespace) -> int:
    return _show(options, _do_with_secrets(client, options, "list_{}secrets"), lambda item: str(item["name"]))


def run_set_secret(client: Client, options: argparse.Namespace) -> int:
    """Not an argument: what is typed there is seen by every user of the machine."""
    value = getpass.getpass("value: ") if sys.stdin.isatty() else sys.stdin.read().removesuffix("\n")
    _do_with_secrets(client, options, "put_{}secret", name=options.name, value=value)
    return 0


def run_delete_secret(client: Client, options: argparse.Namespace) -> int:
    _do_with_secrets(client, options, "delete_{}secret", name=options.name)
    return 0


def _do_with_secrets(client: Client, options: argparse.Namespace, operation: str, **arguments: str) -> Any:
    """With a session's secrets if one is named, or with the tenant's."""
    if options.session is None:
        return client.do(operation.format(""), **arguments)
    return client.do(operation.format("session_"), session_id=options.session, **arguments)


def run_audit_tail(client: Client, options: argparse.Namespace) -> int:
    def is_beyond(number: int) -> bool:
        """Whether nothing comes after this record."""
        return not client.ask(request("list_audit", kind=requests.Items, limit=1, cursor=number)).items

    newest = 1
    while not is_beyond(newest):
        newest *= 2
    newest = bisect.bisect_left(range(newest), True, key=is_beyond)
    found = list(client.pages("/v1/audit", {"limit": "200", "cursor": str(max(0, newest - options.limit))}, dict[str, Any]))
    if not options.json:
        show_table(found[-options.limit :], ("sequence", "at", "kind", "actor", "subject", "data"))
        return 0
    return _show(options, found[-options.limit :], str)


def run_retention(client: Client, options: argparse.Namespace) -> int:
    if options.collect:
        return _show(options, [client.do("collect_retention")], _list_counts)
    return _show(options, [client.do("get_retention")], _describe_retention)


def _describe_retention(found: Any) -> str:
    lines = ["kept for"]
    for name, kept_ms in found["rules"].items():
        lines.append(f"  {name.removesuffix('_ms').replace('_', ' '):22} {_format_duration(kept_ms)}")
    lines += ["would go now", _list_counts(found["counts"])]
    lines += [f"  session {name}" for name in found["sessions"]] + [f"  worker {name}" for name in found["workers"]]
    return "\n".join(lines)


def _list_counts(counts: dict[str, int]) -> str:
    return "\n".join(f"  {kind:22} {count}" for kind, count in counts.items() if count) or "  nothing"


def _format_duration(kept_ms: int | None) -> str:
    if kept_ms is None:
        return "ever"
    for name, length_ms in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        if kept_ms % length_ms == 0:
            return f"{kept_ms // length_ms} {name}{'s' if kept_ms != length_ms else ''}"
    return f"{kept_ms} ms"


def run_runners_run(client: Client, options: argparse.Namespace) -> int:
    """Interrupting it, or closing its pipe, cancels the command: its caller has left."""
    told: list[int] = []

    def tell(stream: int, data: bytes) -> None:
        told.append(stream)
        write_output(stream, data)

    asked: CommandOptions = {"env": dict(pair.partition("=")[::2] for pair in options.env)}
    if options.cwd:
        asked["cwd"] = options.cwd
    if options.timeout_ms:
        asked["timeout_ms"] = options.timeout_ms
    if options.stdin:
        asked["stdin"] = sys.stdin.read() if options.stdin == "-" else options.stdin
    command = [options.program, *options.arguments]
    done = client.runner(options.thread).run(command, on_output=None if options.json else tell, **asked)
    if options.json:
        print(msgspec.json.encode(done).decode())
        return 1 if done.exit_code is None else done.exit_code
    if not told:  # a hook had to look at it first
        write_output(0, done.stdout.encode())
        write_output(1, done.stderr.encode())
    for warning in done.warnings:
        print(f"warning: {printable(warning)}", file=sys.stderr)
    if done.status == "waiting":
        print(f"the command {done.command_id} waits for approval: {', '.join(done.approvals)}", file=sys.stderr)
    elif done.status != "exited":
        print(f"the command did not end by itself: {done.status}", file=sys.stderr)
    return 1 if done.exit_code is None else done.exit_code


def run_runners_terminal(client: Client, options: argparse.Namespace) -> int:
    return attachment.begin(client, options)


def run_runners_attach(client: Client, options: argparse.Namespace) -> int:
    return attachment.join(client, options)


def run_runners_logs(client: Client, options: argparse.Namespace) -> int:
    command = client.runner(options.thread).command(options.command)
    for event in command.watch(options.after) if options.follow else command.logs(options.after).events:
        if options.json:
            print(msgspec.json.encode(event).decode())
        elif event.kind in requests.STREAMS:
            write_output(requests.STREAMS.index(event.kind), event.data.encode())
    return 0
