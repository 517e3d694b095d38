"""`hatchway snapshot`: save, look at, compare and replay sessions from the command line.

Rules: a snapshot is named by a file, by the beginning of its id in the history, or by its label there. Everything is sealed with
this user's own keys unless the environment names others (HATCHWAY_KEYS). Output is plain text; --json prints the same facts.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

import msgspec

from hatchway.arguments import check_label
from hatchway.box import Sandbox
from hatchway.cli import snapshot_inspect
from hatchway.cli.host_files import read_bytes, write_bytes
from hatchway.cli.options import add_many, add_parser, add_program
from hatchway.cli.program import choose_limits, parse_json, read_program, run_program
from hatchway.cli.run import choose_exit_status, show_result
from hatchway.cli.snapshot_inspect import format_age, format_size
from hatchway.cli.terminal import complain, printable, show_differences, show_progress, write_output
from hatchway.local_arguments import start_limits
from sandbox.encoding.sealing import local_keys, purpose_of, rotate_local_keys
from sandbox.engine.limits import MOST
from sandbox.errors import RequestError
from sandbox.sessions.session import Session
from sandbox.snapshots.diff import diff
from sandbox.snapshots.history import History, default_path
from sandbox.snapshots.recordings import Recording, replay
from sandbox.snapshots.snapshot_format import Origin, Snapshot, open_snapshot, thaw


def add_command(commands: Any) -> None:
    snapshot = add_parser(
        commands,
        "snapshot",
        description="Save sessions as files, or in a history on this machine; inspect, compare and replay them.",
        epilog="examples:\n  hatchway snapshot save -c 'x = 41' --label start\n"
        "  hatchway snapshot save -c 'x += 1' --from start\n  hatchway snapshot diff start 3f2a\n"
        "  hatchway snapshot record -c 'import random; random.random()' -o run.rec\n"
        "  hatchway snapshot replay run.rec",
    )
    verbs = snapshot.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, text in (
        ("save", "run a program and keep the session"),
        ("record", "run a program and keep all it takes to replay it"),
    ):
        verb = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        add_program(verb)
        verb.add_argument("--from", dest="start", metavar="SNAPSHOT", help="start from this snapshot instead of a fresh session")
        verb.add_argument("--label", default="", metavar="TEXT", help="a name for people")
        verb.add_argument("-o", "--output", metavar="FILE", required=name == "record", help="write it there, not to the history")
    inspect = verbs.add_parser("inspect", help="what is in a snapshot or recording")
    inspect.add_argument("snapshot", metavar="SNAPSHOT")
    inspect.add_argument("--json", action="store_true", help="machine-readable")
    again = verbs.add_parser("replay", help="run a recording again and compare, bit for bit")
    again.add_argument("recording", metavar="FILE")
    add_many(again, "--answer", "N=JSON", "what if call N had answered this?")
    again.add_argument("--json", action="store_true", help="print the whole result as JSON")
    compare = verbs.add_parser("diff", help="files, pages and variables in which two snapshots differ")
    compare.add_argument("old", metavar="OLD")
    compare.add_argument("new", metavar="NEW")
    compare.add_argument("--json", action="store_true", help="machine-readable")
    log = verbs.add_parser("log", help="the history, newest first")
    log.add_argument("--json", action="store_true", help="machine-readable")
    remove = verbs.add_parser("rm", help="forget a snapshot of the history")
    remove.add_argument("snapshot", metavar="SNAPSHOT")
    verbs.add_parser("gc", help="delete pages that no snapshot of the history needs")
    verbs.add_parser("rotate-keys", help="seal with a new key from now on; older ones still open")


def run(options: argparse.Namespace) -> int:
    verb = options.verb.replace("-", "_")
    return int(globals()[f"run_{verb}"](options))


def _open_history() -> History:
    return History(default_path(), local_keys())


def _check_place(output: str | None) -> None:
    """Before a program runs: what it leaves could be written there."""
    if output is not None and not (Path(output).parent.is_dir() and not Path(output).is_dir()):
        raise RequestError("INVALID_ARGUMENT", f"cannot write {output}: there is no such folder, or it is one itself")


def _find(name: str) -> Snapshot:
    """A snapshot from a file or from the history."""
    if Path(name).is_file():
        return open_snapshot(read_bytes(Path(name)), local_keys(), memory_mb=MOST.memory_mb)
    history = _open_history()
    return history.load(history.find(name))


def _start(options: argparse.Namespace, *, record: bool) -> tuple[Sandbox, str | None]:
    """The sandbox a program runs in, and the id of the snapshot it starts from."""
    limits = start_limits(choose_limits(options))
    if options.start is None:
        chosen = {"language": options.language, "template": options.template, "packages": options.packages}
        return Sandbox(record=record, limits=limits, progress=show_progress, **chosen), None
    found = _find(options.start)
    was = found.manifest
    session = Session(was.session_id, language=was.language, limits=limits, metered=was.metered, state=thaw(found))
    box = Sandbox._around(session, show_progress)
    box.record = record
    return box, found.id


def _run_program(box: Sandbox, options: argparse.Namespace) -> int | None:
    """How it ended, as an exit status; None if there is no program."""
    if options.path is None and options.code is None:
        return None
    result = run_program(box, read_program(options), options, write_output)
    show_result(result)
    return choose_exit_status(result)


def run_save(options: argparse.Namespace) -> int:
    check_label(options.label)
    _check_place(options.output)
    box, parent = _start(options, record=False)
    with box:
        status = _run_program(box, options)
        if status:
            complain("the program failed; nothing was saved")
            return status
        if options.output:
            blob = box.snapshot(label=options.label)
            write_bytes(Path(options.output), blob)
            print(f"{options.output}: {len(blob) / 1e3:.0f} kB", file=sys.stderr)
            return 0
        session, history = box._session, _open_history()
        if parent is not None and Path(options.start).is_file():
            history.add(read_bytes(Path(options.start)))
        print(history.save(session.freeze(), Origin(session.id, session.limits, label=options.label, parent=parent)))
    return 0


def run_record(options: argparse.Namespace) -> int:
    """A program that failed is recorded like any other, and the exit status is the one it has with `hatchway run`."""
    check_label(options.label)
    _check_place(options.output)
    box, _ = _start(options, record=True)
    with box:
        status = _run_program(box, options)
        if box.recording is None:
            complain("there is nothing to record", "give a FILE or -c CODE")
            return 2
        blob = box.recording.seal()
    write_bytes(Path(options.output), blob)
    print(f"{options.output}: {len(box.recording.journal.events)} entries, {len(blob) / 1e3:.0f} kB", file=sys.stderr)
    return status or 0


def _open_recording(path: str) -> Recording:
    return Recording.open(read_bytes(Path(path)))


def run_replay(options: argparse.Namespace) -> int:
    recording = _open_recording(options.recording)
    changes = {}
    for pair in options.answer:
        number, equals, value = pair.partition("=")
        if not (equals and number.isdigit()):
            known = "; ".join(f"{n}: {call['name']}" for n, (call, _) in recording.calls().items()) or "none"
            raise RequestError("INVALID_ARGUMENT", f"--answer {pair!r} is not N=JSON", f"the calls of this run: {known}")
        changes[int(number)] = parse_json(value)
    done = replay(recording, changes=changes, on_output=None if options.json else write_output)
    done.session.close()
    if options.json:
        print(msgspec.json.encode(done.result).decode())
    else:
        show_result(done.result)
        memory = f"memory {done.recording.ending.memory.hex()[:16]}"
        print(f"{_describe_verdict(recording, len(done.recording.journal.events), bool(changes))}: {memory}", file=sys.stderr)
    return 0


def _describe_verdict(recording: Recording, played: int, is_changed: bool) -> str:
    """What a replay that found no difference has shown."""
    ending = recording.ending
    if is_changed:
        return "what would have happened"
    if not ending.is_from_outside:
        return "the same, bit for bit"
    return (
        f"the recorded run ended with {ending.code} ({ending.message}), which depends on the moment; of its journal {played} of "
        f"{len(recording.journal.events)} entries were played; memory and files are the same, output and end were not compared"
    )


def run_diff(options: argparse.Namespace) -> int:
    found = msgspec.to_builtins(diff(_find(options.old), _find(options.new)))
    if options.json:
        print(msgspec.json.encode(found).decode())
    else:
        show_differences(found)
    return 0


def run_log(options: argparse.Namespace) -> int:
    entries = _open_history().log()
    if options.json:
        print(msgspec.json.encode([dataclasses.asdict(entry) for entry in entries]).decode())
        return 0
    for entry in entries:
        parent = entry.parent[:12] if entry.parent else "-"
        label = f"  {printable(entry.label)}" if entry.label else ""
        age, size = format_age(entry.created_at), format_size(entry.own_bytes)
        print(f"{entry.id[:12]}  {parent:12}  {age:>8}  {size:>9}  {entry.language.value}{label}")
    return 0


def run_rm(options: argparse.Namespace) -> int:
    history = _open_history()
    history.remove(history.find(options.snapshot))
    return 0


def run_gc(options: argparse.Namespace) -> int:
    count, freed = _open_history().collect()
    print(f"deleted {count} pages and chunks, {format_size(freed)}")
    return 0


def run_rotate_keys(options: argparse.Namespace) -> int:
    print(f"sealing with key {rotate_local_keys().current} from now on")
    return 0


def run_inspect(options: argparse.Namespace) -> int:
    path = Path(options.snapshot)
    if not path.is_file():
        facts = snapshot_inspect.read_saved_facts(_open_history(), options.snapshot)
    elif purpose_of(blob := read_bytes(Path(path))) == "recording":
        facts = snapshot_inspect.read_recording_facts(_open_recording(options.snapshot))
    else:
        facts = snapshot_inspect.read_file_facts(blob)
    snapshot_inspect.show(facts, options.json)
    return 0
