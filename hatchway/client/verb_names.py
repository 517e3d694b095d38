"""How operations are called and shown on the command line and by `Client.do`: an overlay on the gateway's table.

Rules: a row names a verb, or a group and a verb in it, and its operation; a group by itself is its `list`. What a row does not
say comes from the table: arguments, choices, defaults, help. An operation without a row is `call NAME`. Order is that of --help.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from msgspec.structs import replace

from hatchway.client.operations import Field, Kind, Operation, api_operations
from sandbox.errors import RequestError
from sandbox.languages import OFFERED

_COMMAND: Final = {"arguments": "args", "command_id": "command_id"}
_HERE: Final = {"runtime": "embedded-worker-runtime"}


@dataclass(frozen=True, slots=True)
class Verb:
    """`words` are fields that stand without an option; `names` gives fields another name: the verb's to the API's; `about`
    replaces the operation's summary. `query` is what its query always has; `hides` are fields that the verb has no option for."""

    name: str
    operation: str
    columns: str = ""
    words: str = ""
    about: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    hides: str = ""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is the same for a field wherever it occurs."""

    about: str = ""
    kind: Kind | None = None
    option: str = ""
    choices: tuple[str, ...] = ()


_FIELDS: Final = {
    "arguments": _Shape("its arguments; -- begins them"),
    "attributes": _Shape("fields of the request and facts about the caller", "attributes"),
    "count": _Shape("how many"),
    "command_id": _Shape("an id for it (default: a new one)", "id"),
    "dry_run": _Shape("change nothing; list what would change"),
    "cwd": _Shape("the folder it runs in"),
    "env": _Shape("a variable of its environment (repeatable)", "pairs"),
    "end": _Shape("delete the sessions with everything in them instead"),
    "facts": _Shape("a fact that policies may ask about (repeatable)", "attributes", "--fact"),
    "file": _Shape("a file; - reads standard input"),
    "destination_id": _Shape("a runner's destination, to be there"),
    "entry": _Shape("the program that reads its inputs, in place of its profile's"),
    "fingerprint": _Shape("two requests with the same one make one worker"),
    "groups": _Shape("a group of the user (repeatable)", option="--group"),
    "label": _Shape("a name for it"),
    "labels": _Shape("a label (repeatable)", "attributes", "--label"),
    "language": _Shape("the language of its programs", choices=OFFERED),
    "lasts_ms": _Shape("it expires after this many milliseconds (default: never)"),
    "limit": _Shape("at most N"),
    "main": _Shape("the file to begin with, if PATH is a folder (default policy.hatch, or the only one)"),
    "patterns": _Shape("an id or a glob"),
    "plan": _Shape("what it pays for"),
    "profile": _Shape("its role profile; `workers options` lists them"),
    "quotas": _Shape("what it may have, such as sessions_max=100 (repeatable)", "attributes", "--quota"),
    "reason": _Shape("what for"),
    "repin": _Shape("put it under the policy in force"),
    "role": _Shape("what it may do"),
    "runtime": _Shape("the runtime"),
    "session": _Shape("the id of a session"),
    "shadow": _Shape("let it watch next to the policy that decides"),
    "stdin": _Shape("what it reads from standard input"),
    "sources": _Shape("the policy: a file, sent with what it needs, or a folder", "sources"),
    "timeout_ms": _Shape("wall clock limit"),
    "user": _Shape("who uses it: a user cannot approve what the same user asked for"),
}

_VERBS: Final = (
    Verb("sessions", "list_sessions", "id language title", hides="singles"),
    Verb("fork", "fork_session", "id", hides="ids"),
    Verb("cancel", "cancel_session"),
    Verb("delete", "delete_session"),
    Verb("save", "take_snapshot", "id"),
    Verb("decide", "decide_approval", words="decision", about="decide an approval; then the run goes on"),
    Verb("runs", "list_runs", "id state result.status language session_id", defaults={"limit": 50}),
    Verb("values", "list_values", "key"),
    Verb("get-value", "get_value", about="write a value to standard output, or to FILE"),
    Verb("delete-value", "delete_value"),
    Verb("snapshots list", "list_snapshots", "id size_bytes session_id label", about="list snapshots, the newest first"),
    Verb("snapshots show", "get_snapshot"),
    Verb("snapshots download", "export_snapshot", about="download a snapshot, sealed: only this tenant can upload it again"),
    Verb("snapshots upload", "import_snapshot", "id", about="upload a snapshot that was downloaded"),
    Verb("snapshots diff", "diff_snapshots", words="new", names={"old": "snapshot_id"},
         about="what changed from one snapshot to another"),
    Verb("delete-snapshot", "delete_snapshot"),
    Verb("policy list", "list_policies", "digest state name version created_at created_by", about="list deployed policies"),
    Verb("policy show", "get_policy", about="look at a policy and its files"),
    Verb("policy check", "check_policy", words="sources"),
    Verb("policy diff", "diff_policies", words="sources", names={"sources": "new.sources", "main": "new.main"},
         about="what would change if a policy were put in force; status 1 if more is permitted"),
    Verb("policy deploy", "deploy_policy", words="sources"),
    Verb("policy repin", "repin_sessions", about="put all sessions under the policy in force, or end them"),
    Verb("policy explain", "explain_decision", words="capability attributes", names={"capability": "event", "policy": "sources"}),
    Verb("policy decisions", "list_decisions", "at verdict event rule session_id attributes", defaults={"limit": 50}),
    Verb("policy differences", "list_differences", "at event verdict candidate attributes", defaults={"limit": 50}),
    Verb("me", "who_am_i"),
    Verb("tenants list", "list_tenants", "id plan created_at name"),
    Verb("tenants show", "get_tenant"),
    Verb("tenants usage", "get_usage"),
    Verb("tenants create", "create_tenant", "id", words="tenant_id", names={"tenant_id": "id"}, hides="birth"),
    Verb("tenants change", "update_tenant", about="change a tenant; what is not named stays"),
    Verb("tenants delete", "delete_tenant"),
    Verb("tokens list", "list_tokens", "id role user created_at expires_at revoked_at name",
         about="list tokens; their texts are kept nowhere"),
    Verb("tokens create", "create_token", words="name", about="create a token; its text is shown this once"),
    Verb("tokens revoke", "revoke_token", "id"),
    Verb("capabilities list", "list_capabilities", "name description", about="list what programs may call"),
    Verb("capabilities show", "get_capability"),
    Verb("hooks list", "list_hooks", "id event executor.type timeout_ms on_error description"),
    Verb("hooks add", "put_hook", "id"),
    Verb("hooks remove", "delete_hook"),
    Verb("hooks muted", "get_muted"),
    Verb("hooks mute", "put_muted", words="patterns", about="say which hooks do not fire: all that are given, none if none is"),
    Verb("hooks programs", "list_programs", "name size_bytes updated_at"),
    Verb("hooks get-program", "get_program"),
    Verb("hooks put-program", "put_program", "name"),
    Verb("hooks remove-program", "delete_program"),
    Verb("audit export", "export_audit", names={"after": "cursor"}, about="all of the audit log, one JSON object a line"),
    Verb("audit verify", "verify_audit",
         about="check that nothing was changed, removed or reordered; status 1 if something was"),
    Verb("runtimes list", "list_runtimes", "runtime_id kind status label"),
    Verb("runtimes show", "get_runtime"),
    Verb("runtimes add", "add_runtime", words="file", names={"file": "*"}),
    Verb("runtimes remove", "remove_runtime"),
    Verb("runtimes test", "test_runtime", about="ask a remote runtime whether it is there"),
    Verb("hosts", "list_hosts", "host_id runtime_id status label"),
    Verb("workers options", "list_launch_options", about="what workers can be spawned as: profiles, destinations, templates"),
    Verb("workers list", "list_workers", "worker_id runtime_id state status label", about="list the workers of all runtimes"),
    Verb("workers show", "get_worker", defaults=_HERE),
    Verb("workers spawn", "spawn_worker", names={"name": "requested_worker_name"}, defaults=_HERE,
         fixed={"intent": {"kind": "workspace_companion"}, "acceptance": {"kind": "run_accepted", "expected_segments": 0}}),
    Verb("workers input", "send_worker_input", words="content", defaults=_HERE,
         about="give a worker a program; its turn comes after what it was given before"),
    Verb("workers transcript", "get_worker_transcript", defaults=_HERE),
    Verb("workers stop", "stop_worker", defaults=_HERE, about="stop a worker after its turn; --mode force: at once"),
    Verb("workers cancel", "cancel_worker", defaults=_HERE),
    Verb("workers restore", "restore_worker", defaults=_HERE),
    Verb("workers delete", "delete_worker", defaults=_HERE),
    Verb("runners list", "list_runners"),
    Verb("runners add", "add_destination", "id", words="file", names={"file": "*"}),
    Verb("runners remove", "remove_destination"),
    Verb("runners bind", "select_runner", words="destination"),
    Verb("runners show", "get_runner_session"),
    Verb("runners threads", "list_runner_sessions", "thread_id status destination_id provider_id"),
    Verb("runners keep-alive", "keep_runner_session_alive"),
    Verb("runners ls", "list_runner_files", "path kind size_bytes mode"),
    Verb("runners stat", "stat_runner_file", words="path"),
    Verb("runners grep", "search_runner_files", words="pattern"),
    Verb("runners artifacts", "list_artifacts", "artifact_id path"),
    Verb("runners delete-artifact", "delete_artifact"),
    Verb("runners start", "run_command", "command_id", words="program arguments", names=_COMMAND, query={"mode": "async"},
         hides="terminal stdin", about="start a command, which runs on by itself"),
    Verb("runners commands", "list_commands", "command_id status exit_code program"),
    Verb("runners wait", "wait_for_command", about="wait for a command, and show what came of it"),
    Verb("runners signal", "signal_command", words="signal"),
    Verb("runners input", "write_to_command", words="data", about="write to a command's terminal or open stdin; --end: no more"),
    Verb("runners cancel", "cancel_command"),
    Verb("runners ports", "list_runner_ports", "port url", about="list exposed ports, with addresses that show them for an hour"),
    Verb("runners expose", "expose_runner_port", "url", words="port", about="expose a port to previews, and say its address"),
    Verb("runners withdraw", "withdraw_runner_port"),
    Verb("runners pause", "pause_runner_session"),
    Verb("runners resume", "resume_runner_session"),
    Verb("runners detach", "detach_runner_session"),
    Verb("runners rejoin", "rejoin_runner_session"),
    Verb("runners snapshot", "snapshot_runner_session"),
    Verb("runners restore", "restore_runner_session", words="snapshot"),
    Verb("runners fork", "fork_runner_session", "thread_id", words="new_thread"),
    Verb("runners stop", "stop_runner_session", about="end what runs in a thread; its next use finds its files again"),
    Verb("runners delete", "delete_runner_session", about="delete a thread's session with all it has"),
)  # fmt: skip


@functools.cache
def verbs() -> dict[str, Operation]:
    """The operations under the names, and with the arguments, that people use."""
    shown = {row.name: _present(row) for row in _VERBS}
    named = {row.operation for row in _VERBS}
    others = (name for name, operation in api_operations().items() if name not in named and operation.answers != "events")
    return shown | {f"call {name.replace('_', '-')}": _present(Verb(f"call {name.replace('_', '-')}", name)) for name in others}


def find_operation(name: str) -> Operation:
    """By its name on the command line, or in OpenAPI."""
    found = verbs().get(name) or api_operations().get(name)
    if found is None:
        meant = get_close_matches(name, [*verbs(), *api_operations()], 1)
        hint = f"did you mean {meant[0]!r}?" if meant else "`hatchway remote --help` lists them"
        raise RequestError("INVALID_ARGUMENT", f"there is no operation {name[:80]!r}", hint)
    return found


def _present(row: Verb) -> Operation:
    operation = api_operations()[row.operation]
    about = row.about or operation.about[:1].lower() + operation.about[1:]
    fields = [_shape(param, operation, row) for param in _rename(operation, row)]
    own = row.words.split()
    fields.sort(key=lambda param: (param.place != "path", not param.is_word, own.index(param.name) if param.name in own else -1))
    return replace(
        operation, name=row.name, about=about, fields=tuple(fields), columns=tuple(row.columns.split()), fixed=row.fixed,
        query=row.query,
    )  # fmt: skip


def _rename(operation: Operation, row: Verb) -> Iterator[Field]:
    """The operation's fields under the row's names; those of an object in the body by themselves, if the row names them."""
    if "*" in row.names.values():
        yield from (param for param in operation.fields if param.place != "body")
        yield Field("file", "*", "body", "object", is_required=True)
        return
    for param in operation.fields:
        for name, at in row.names.items():
            outer, _, inner = at.partition(".")
            if outer == param.at:
                is_required = param.is_required and (param.place == "path" or name in row.words.split())
                yield replace(param, name=name, at=at, kind="text" if inner else param.kind, is_required=is_required)
        if param.at not in {at.partition(".")[0] for at in row.names.values()} | {
            "cursor",
            *row.hides.split(),
            *row.fixed,
            *row.query,
        }:
            yield replace(param, name=param.name.removesuffix("_id"))


def _shape(param: Field, operation: Operation, row: Verb) -> Field:
    known = _FIELDS.get(param.at.rpartition(".")[2], _FIELDS.get(param.name, _Shape()))
    kind = known.kind or param.kind
    if param.place == "path":
        known, kind = _FIELDS["runtime"] if param.name in row.defaults else _Shape(), param.kind
    if param.name == "limit" and operation.answers == "list":
        kind, param = "count", replace(param, stated="all")  # the clients read page after page
    default = row.defaults.get(param.name)
    is_word = default is None and (param.is_word or param.name in row.words.split())
    stated, about = default or param.stated, known.about or param.about
    if stated and not is_word and "default" not in about:
        about = f"{about} (default {stated})".strip()
    return replace(
        param,
        kind="text" if known.choices else kind,
        about=about,
        is_required=param.is_required and default is None and kind != "id",
        is_word=is_word,
        default=default,
        choices=known.choices or param.choices,
        option="" if param.name in row.names else known.option,
    )
