"""`hatchway hook test`: what a hook would do with an event, step by step, in a sandbox that is thrown away.

Rules: programs that specs name (`executor.program`) are read from the folder of SPEC. A webhook is shown and sent only with
`--send`. Exit status: 0 if the event would go on, 3 if it would be blocked or withheld, 2 for a mistake.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hatchway.cli.host_files import read_bytes, read_json, walk
from hatchway.cli.options import add_many, add_parser
from hatchway.cli.terminal import show_progress
from sandbox.errors import RequestError
from sandbox.guests.images import images
from sandbox.languages import GUEST_OF, LANGUAGE_OF_HOOK
from sandbox.wire import DEFAULT_LIMITS, Language
from sandbox.workers.interface import Aside, AsideOutcome, FileChanges, FileEntry, Opening, Worker
from sandbox.workers.local.worker import LocalWorker

if TYPE_CHECKING:
    from gateway.hooks.executors.programs import LoadProgram, RunAside
    from gateway.hooks.firing import Fired, Outcome
    from gateway.hooks.outputs import Ran
    from gateway.hooks.payloads import HookPayload, Occasion
    from gateway.hooks.specs import UserHookSpec

_SESSION_ID = "test"
_FILE_BYTES_MAX = 10 << 20
_SHOWN_CHARACTERS = 100


def add_command(commands: Any) -> None:
    hook = add_parser(
        commands,
        "hook",
        description="Hooks: programs that may refuse or rewrite what a session does.",
        epilog="example:\n  hatchway hook test guard.json --event event.json --files ./workspace\n"
        'where guard.json is   {"event": "pre_tool_use", "executor": {"type": "bash", "command": "exit 1"}}\n'
        'and event.json is     {"event": "pre_tool_use", "data": {"tool_name": "db.query", "arguments": {}}}',
    )
    verbs = hook.add_subparsers(dest="verb", metavar="VERB", required=True)
    test = verbs.add_parser("test", help="fire an event at hooks, step by step", description="Fire an event at hooks.")
    test.add_argument("spec", metavar="SPEC", help="JSON: a hook, or a list of hooks")
    event = "JSON: {event, data, session_id?, turn_id?, org_id?, agent_id?}"
    test.add_argument("--event", required=True, metavar="FILE", help=event)
    test.add_argument("--files", metavar="DIR", help="copy a folder's files into /workspace first")
    add_many(test, "--mute", "ID", "mute hooks by id or glob")
    test.add_argument("--send", action="store_true", help="really send webhooks")
    test.add_argument("--json", action="store_true", help="machine-readable")


def run(options: argparse.Namespace) -> int:
    specs, occasion = _read_specs(Path(options.spec)), _read_event(Path(options.event))
    _load_images(specs)
    fired, seen = asyncio.run(_fire(options, specs, occasion, _read_files(options.files)))
    if options.json:
        _print_json(fired, seen)
    else:
        _print_steps(specs, occasion, fired, seen)
    return 3 if fired.blocked is not None or fired.withheld is not None else 0


def _read_specs(path: Path) -> tuple[UserHookSpec, ...]:
    from gateway.hooks.specs import InvalidHooks, check_specs

    raw = read_json(path)
    try:
        return check_specs(raw if isinstance(raw, list) else [raw])
    except InvalidHooks as invalid:
        told = "\n  ".join([f"{path}:", *map(str, invalid.mistakes)])
        raise RequestError("INVALID_ARGUMENT", told, "see docs/hooks.md") from None


def _read_event(path: Path) -> Occasion:
    from gateway.hooks.payloads import Occasion

    raw = read_json(path)
    try:
        return msgspec.convert({"session_id": "test", "data": {}, **raw} if isinstance(raw, dict) else raw, Occasion)
    except msgspec.ValidationError as error:
        raise RequestError("INVALID_ARGUMENT", f"{path} is not an event: {error}", "it needs event and data") from None


def _load_images(specs: tuple[UserHookSpec, ...]) -> None:
    """What has to be compiled on this machine first is not in any hook's time."""
    for guest in {GUEST_OF[LANGUAGE_OF_HOOK[spec.executor.type]] for spec in specs if spec.executor.type in LANGUAGE_OF_HOOK}:
        images.get(guest, progress=show_progress)


def _read_files(folder: str | None) -> FileChanges:
    """A folder's files, as those of a workspace."""
    if folder is None:
        return FileChanges()
    if not Path(folder).is_dir():
        raise RequestError("INVALID_ARGUMENT", f"{folder} is not a folder")
    files = [(path, place) for path, place in walk(Path(folder), "") if path.is_file()]
    return FileChanges(written=[FileEntry(path=place, data=read_bytes(path)) for path, place in files])


def _read_programs(folder: Path) -> LoadProgram:
    """Programs in the folder of the specs."""
    top = folder.resolve()

    async def load(source: str, name: str) -> bytes | None:
        path = (top / name).resolve()
        if not path.is_relative_to(top) or not path.is_file() or path.stat().st_size > _FILE_BYTES_MAX:
            return None
        return path.read_bytes()

    return load


async def _find_test_key(name: str) -> bytes | None:
    return b"hatchway hook test"


class _NotSending:
    """Shows what would be sent, in place of the guarded client."""

    async def request(self, method: str, url: str, *, headers: Mapping[str, str] | None = None, **rest: Any) -> Any:
        from gateway.egress.errors import EgressRefused

        raise EgressRefused("NOT_SENT", f"{method} {url} was not sent; add --send to send it")


@dataclasses.dataclass(frozen=True, slots=True)
class _Seen:
    """Why a hook fired, the environment its program had (a webhook has none), and what came of it."""

    why: str
    environment: Mapping[str, str]
    ran: Ran


class _WatchedExecutors:
    """Executors that remember what every hook was told and said."""

    def __init__(self, run_aside: RunAside, options: argparse.Namespace) -> None:
        from gateway.egress import Egress
        from gateway.hooks.executors import Executors

        egress: Any = Egress() if options.send else _NotSending()
        self.seen: dict[str, _Seen] = {}
        self._run_aside = run_aside
        self._environment: Mapping[str, str] = {}
        load_program = _read_programs(Path(options.spec).parent)
        self._executors = Executors(
            run_aside=self._note_environment, load_program=load_program, egress=egress, find_key=_find_test_key
        )

    async def _note_environment(self, session_id: str, aside: Aside, uses: Sequence[str]) -> AsideOutcome:
        self._environment = aside.env
        return await self._run_aside(_SESSION_ID, aside, uses)

    async def run(self, spec: UserHookSpec, payload: HookPayload, changes: tuple[FileChanges, ...] = ()) -> Ran:
        from gateway.hooks.matchers import match

        self._environment = {}
        ran = await self._executors.run(spec, payload, changes)
        self.seen[spec.id] = _Seen(match(spec.matcher, spec.event, payload.data).why, self._environment, ran)
        return ran


async def _fire(
    options: argparse.Namespace, specs: tuple[UserHookSpec, ...], occasion: Occasion, files: FileChanges
) -> tuple[Fired, dict[str, _Seen]]:
    from gateway.clock import now_ms
    from gateway.hooks.executors.programs import WorkerForks
    from gateway.hooks.firing import fire

    worker = LocalWorker()

    async def this_worker() -> Worker:
        return worker

    watched = _WatchedExecutors(WorkerForks(this_worker).run, options)
    try:
        await worker.open(Opening(session_id=_SESSION_ID, language=Language.SHELL, limits=DEFAULT_LIMITS))
        await worker.apply(_SESSION_ID, files)
        return await fire(occasion, specs, watched.run, muted=tuple(options.mute), clock_ms=now_ms), watched.seen
    finally:
        await worker.aclose()


def _print_steps(specs: tuple[UserHookSpec, ...], occasion: Occasion, fired: Fired, seen: Mapping[str, _Seen]) -> None:
    print(f"event {fired.event.value}")
    _print_data(occasion.data)
    skipped, outcomes = dict(fired.skipped), {outcome.hook_id: outcome for outcome in fired.outcomes}
    for number, spec in enumerate(specs, 1):
        print(f"\n{number}. {spec.id} ({spec.executor.type}, {spec.timeout_ms} ms, on_error {spec.on_error})")
        if spec.id in skipped:
            print(f"   does not fire: {skipped[spec.id]}")
        elif spec.id in outcomes:
            _print_hook(outcomes[spec.id], seen.get(spec.id))
        else:
            print(f"   not reached: {fired.blocked_by} blocked")
    print()
    _print_end(fired)


def _print_hook(outcome: Outcome, seen: _Seen | None) -> None:
    if seen is None:  # it never came back: the firing gave it up
        print(f"   fires\n   decision: {outcome.decision} ({outcome.reason})\n   effect: {outcome.effect} by on_error")
        return
    ran = seen.ran
    print(f"   fires: {seen.why}")
    if seen.environment:
        print("   environment (and the same with the prefix HATCHWAY_HOOK_):")
    for name, value in seen.environment.items():
        if not name.startswith("HATCHWAY_HOOK_"):
            print(f"     {name}={_shorten(value)}")
    for name, text in (("stdout", ran.stdout), ("stderr", ran.stderr)):
        for line in text.splitlines()[:20]:
            print(f"   {name}: {_shorten(line)}")
    attempts = f", {ran.attempts} attempts" if ran.attempts > 1 else ""
    print(f"   exit status {ran.exit_code}, {outcome.duration_ms:.1f} ms{attempts}")
    print(f"   decision: {outcome.decision}" + (f" ({outcome.reason})" if outcome.reason else ""))
    print(f"   effect: {outcome.effect.replace('_', ' ')}" + (" by on_error" if outcome.decision == "error" else ""))
    for file in ran.changes.written if outcome.changed_files else ():
        print(f"   keeps /workspace{file.path}")


def _print_end(fired: Fired) -> None:
    if fired.blocked is not None:
        print(f"result: blocked by {fired.blocked_by}: {fired.blocked}")
    elif fired.withheld is not None:
        print(f"result: withheld: {fired.withheld}")
    else:
        print("result: goes on" + (", rewritten" if fired.rewrote else ""))
    for message in fired.user_messages:
        print(f"to the user: {message}")
    _print_data(fired.data)


def _print_data(data: Mapping[str, Any]) -> None:
    for name, value in data.items():
        print(f"  {name}: {_shorten(msgspec.json.encode(value).decode())}")


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + f"… ({len(text)} characters)"


def _print_json(fired: Fired, seen: Mapping[str, _Seen]) -> None:
    said = ("stdout", "stderr", "exit_code", "output")
    hooks = {
        hook_id: {"why": hook.why, "environment": hook.environment, **{name: getattr(hook.ran, name) for name in said}}
        for hook_id, hook in seen.items()
    }
    facts = {name: getattr(fired, name) for name in fired.__struct_fields__ if name != "changes"}
    facts["files"] = sorted({f"/workspace{file.path}" for change in fired.changes for file in change.written})
    facts["removed"] = sorted({f"/workspace{path}" for change in fired.changes for path in change.removed})
    sys.stdout.write(msgspec.json.encode({**facts, "hooks": hooks}).decode() + "\n")
