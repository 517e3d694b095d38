"""The table of operations that `Client.do` and `hatchway remote` know beside those with functions of their own.

Rules: a name is a verb, or a group and a verb in it; a group's `list` is what the group does by itself. Order is that of --help.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from hatchway.client.operations import Field, Operation
from sandbox.errors import RequestError
from sandbox.languages import OFFERED

ROLES: Final = ("runner", "author", "approver", "operator", "admin")
_SOURCES = Field("sources", "the policy: a file, with what it needs beside it, or a folder", "sources", is_word=True)
_MAIN = Field("main", "the file to begin with, if PATH is a folder (default policy.hatch, or the only one)")
_SESSION = Field("session", "a session's (default: all)", at="session_id")
_FACTS = Field("facts", "what policies may ask about it (repeatable)", "attributes", option="--fact")
_QUOTAS = Field("quotas", "what it may have, such as sessions_max=100 (repeatable)", "attributes", option="--quota")
_RUNTIME = Field("runtime", "the runtime (default embedded-worker-runtime)", default="embedded-worker-runtime")
_FILE = Field("file", "a file; - reads standard input", "bytes", is_word=True)
_JSON = Field("file", "a file of JSON; - reads standard input", "object", at="*", is_word=True)
_WORKER = "/v1/registry/runtimes/{runtime}/workers/{worker}"
_THREAD = "/v1/runners/threads/{thread}"


def _count(default: int) -> Field:
    return Field("limit", f"so many (default {default})", "count", default=default)


_SESSIONS: Final = (
    Operation("sessions", "list sessions", "GET", "/v1/sessions", answers="list", columns=("id", "language", "title")),
    Operation("delete", "delete a session", "DELETE", "/v1/sessions/{session}", answers="nothing"),
    Operation("runs", "list runs, the newest first", "GET", "/v1/runs", (_SESSION, _count(50)), "list",
              ("id", "state", "result.status", "language", "session_id")),
    Operation("values", "list the keys of a session's values", "GET", "/v1/sessions/{session}/values", answers="list",
              columns=("key",)),
    Operation("delete-value", "forget a value", "DELETE", "/v1/sessions/{session}/values/{key...}", answers="nothing"),
    Operation("snapshots list", "list snapshots, the newest first", "GET", "/v1/snapshots",
              (Field("session", "a session's (default: all that are kept)", at="session_id"),), "list",
              ("id", "size_bytes", "session_id", "label")),
    Operation("snapshots show", "look at a snapshot", "GET", "/v1/snapshots/{snapshot}"),
    Operation("snapshots download", "carry a snapshot away: sealed, for this tenant only", "GET",
              "/v1/snapshots/{snapshot}/content", answers="bytes"),
    Operation("snapshots upload", "bring a snapshot in that was carried away", "POST", "/v1/snapshots",
              (_FILE, Field("label", "a name for it")), columns=("id",)),
    Operation("snapshots diff", "what changed from one snapshot to another", "GET", "/v1/snapshots/{old}/diff",
              (Field("new", "", is_word=True),)),
    Operation("delete-snapshot", "delete a snapshot", "DELETE", "/v1/snapshots/{snapshot}", answers="nothing"),
)  # fmt: skip

_POLICY: Final = (
    Operation("policy list", "list deployed policies", "GET", "/v1/policies", (Field("name", "only those of this name"),),
              "list", ("digest", "state", "name", "version", "created_at", "created_by")),
    Operation("policy show", "look at a policy and its files", "GET", "/v1/policies/{digest}"),
    Operation("policy check", "compile, test and prove a policy, no more", "POST", "/v1/policies/check", (_SOURCES, _MAIN)),
    Operation("policy diff", "what would change if a policy were put in force; status 1 if more is permitted", "POST",
              "/v1/policies/diff",
              (Field("sources", _SOURCES.about, "sources", at="new.sources", is_word=True),
               Field("main", _MAIN.about, at="new.main"))),
    Operation("policy deploy", "put a policy in force, or into the shadow", "POST", "/v1/policies",
              (_SOURCES, _MAIN, Field("shadow", "let it watch beside the one that decides", "flag"))),
    Operation("policy explain", "what would be decided, and why", "POST", "/v1/policies/explain",
              (Field("capability", "", at="event", is_word=True),
               Field("attributes", "fields of the request and facts about the caller", "attributes", is_word=True),
               Field("sources", "ask this policy: a file or a folder (default: the one in force)", "sources", option="--policy"),
               _MAIN)),
    Operation("policy decisions", "the newest decisions", "GET", "/v1/policies/decisions", (_count(50),), "list",
              ("at", "verdict", "event", "rule", "session_id", "attributes")),
    Operation("policy differences", "what the policy in the shadow would have decided otherwise", "GET",
              "/v1/policies/differences", (_count(50),), "list", ("at", "event", "verdict", "candidate", "attributes")),
)  # fmt: skip

_TENANTS: Final = (
    Operation("me", "whose token this is, and what its tenant may have and has", "GET", "/v1/me"),
    Operation("tenants list", "list tenants", "GET", "/v1/tenants", answers="list",
              columns=("id", "plan", "created_at", "name")),
    Operation("tenants show", "look at a tenant", "GET", "/v1/tenants/{tenant_id}"),
    Operation("tenants usage", "what a tenant has", "GET", "/v1/tenants/{tenant_id}/usage"),
    Operation("tenants create", "make a tenant", "POST", "/v1/tenants",
              (Field("tenant_id", "", at="id", is_word=True), Field("name", "what people call it"),
               Field("plan", "what it pays for (default team)"), _FACTS, _QUOTAS), columns=("id",)),
    Operation("tenants change", "change a tenant; what is not named stays", "PATCH", "/v1/tenants/{tenant_id}",
              (Field("name", "what people call it"), Field("plan", "what it pays for"), _FACTS, _QUOTAS)),
    Operation("tenants delete", "delete a tenant with everything of it", "DELETE", "/v1/tenants/{tenant_id}", answers="nothing"),
    Operation("tokens list", "list tokens; their texts are kept nowhere", "GET", "/v1/tokens", answers="list",
              columns=("id", "role", "user", "created_at", "expires_at", "revoked_at", "name")),
    Operation("tokens create", "mint a token; its text is shown this once", "POST", "/v1/tokens",
              (Field("name", "", is_word=True), Field("role", "what it may do (default runner)", choices=ROLES),
               Field("user", "who uses it: whoever asks cannot approve"),
               Field("groups", "a group of the user (repeatable)", "texts", option="--group"),
               Field("lasts_ms", "it expires after so many milliseconds (default: never)", "number"))),
    Operation("tokens revoke", "revoke a token, now and for ever", "DELETE", "/v1/tokens/{token_id}", columns=("id",)),
    Operation("capabilities list", "list what programs may call", "GET", "/v1/capabilities", answers="list",
              columns=("name", "description")),
    Operation("capabilities show", "look at a capability", "GET", "/v1/capabilities/{name}"),
)  # fmt: skip

_HOOKS: Final = (
    Operation("hooks list", "list hooks", "GET", "/v1/hooks", answers="list",
              columns=("id", "event", "executor.type", "timeout_ms", "on_error", "description")),
    Operation("hooks add", "add a hook, or replace the one with its id", "POST", "/v1/hooks", (_JSON,), columns=("id",)),
    Operation("hooks remove", "remove a hook", "DELETE", "/v1/hooks/{hook}", answers="nothing"),
    Operation("hooks muted", "which hooks do not fire", "GET", "/v1/hooks/muted"),
    Operation("hooks mute", "say which hooks do not fire: all that are given, none if none is", "PUT", "/v1/hooks/muted",
              (Field("patterns", "an id or a glob", "texts", is_word=True),)),
    Operation("hooks programs", "list the programs that are kept for hooks", "GET", "/v1/hooks/programs", answers="list",
              columns=("name", "size_bytes", "updated_at")),
    Operation("hooks get-program", "a program that is kept for hooks", "GET", "/v1/hooks/programs/{name...}", answers="bytes"),
    Operation("hooks put-program", "keep a program for hooks", "PUT", "/v1/hooks/programs/{name...}", (_FILE,),
              columns=("name",)),
    Operation("hooks remove-program", "forget a program for hooks", "DELETE", "/v1/hooks/programs/{name...}", answers="nothing"),
)  # fmt: skip

_AUDIT: Final = (
    Operation("audit export", "all of the audit log, one JSON object a line", "GET", "/v1/audit/export",
              (Field("after", "only records after this number", "number", at="cursor"),), "bytes"),
    Operation("audit verify", "check that nothing was changed, removed or reordered; status 1 if something was", "GET",
              "/v1/audit/verify"),
)  # fmt: skip

_REGISTRY: Final = (
    Operation("runtimes list", "list runtimes", "GET", "/v1/registry/runtimes", answers="list",
              columns=("runtime_id", "kind", "status", "label")),
    Operation("runtimes show", "look at a runtime", "GET", "/v1/registry/runtimes/{runtime}"),
    Operation("runtimes add", "add a runtime of another gateway", "POST", "/v1/registry/runtimes", (_JSON,)),
    Operation("runtimes remove", "remove a runtime of another gateway", "DELETE", "/v1/registry/runtimes/{runtime}",
              answers="nothing"),
    Operation("hosts", "list hosts", "GET", "/v1/registry/hosts", answers="list",
              columns=("host_id", "runtime_id", "status", "label")),
    Operation("workers list", "list the workers of all runtimes", "GET", "/v1/registry/workers", answers="list",
              columns=("worker_id", "runtime_id", "state", "status", "label")),
    Operation("workers show", "look at a worker", "GET", _WORKER, (_RUNTIME,)),
    Operation("workers spawn", "spawn a worker", "POST", "/v1/registry/runtimes/{runtime}/workers",
              (_RUNTIME, Field("name", "what it is called", at="requested_worker_name"),
               Field("language", "of its programs (default python)", choices=OFFERED),
               Field("fingerprint", "two requests with the same one make one worker")),
              fixed={"intent": {"kind": "workspace_companion"},
                     "acceptance": {"kind": "run_accepted", "expected_segments": 0}}),
    Operation("workers input", "give a worker a program; it has its turn after what it was given before", "POST",
              _WORKER + "/input", (Field("content", "", is_word=True), _RUNTIME)),
    Operation("workers transcript", "what was said to a worker, and what it said", "GET", _WORKER + "/transcript",
              (_RUNTIME, Field("start", "begin behind so many (default 0)", "number"))),
    Operation("workers stop", "stop a worker after its turn; --mode force: at once", "POST", _WORKER + "/stop",
              (_RUNTIME, Field("mode", "how (default graceful)", choices=("graceful", "force")),
               Field("reason", "what for"))),
    Operation("workers cancel", "cancel a worker and its turn", "POST", _WORKER + "/cancel", (_RUNTIME,)),
    Operation("workers restore", "let a stopped worker take input again", "POST", _WORKER + "/restore", (_RUNTIME,)),
    Operation("workers delete", "delete a worker with all it said", "DELETE", _WORKER, (_RUNTIME,)),
)  # fmt: skip

_RUNNERS: Final = (
    Operation("runners list", "list providers, destinations and bound threads", "GET", "/v1/runners"),
    Operation("runners add", "add a destination, or replace it", "POST", "/v1/runners/destinations", (_JSON,), columns=("id",)),
    Operation("runners remove", "remove a destination", "DELETE", "/v1/runners/destinations/{destination}", answers="nothing"),
    Operation("runners bind", "bind a thread to a destination; nothing is started yet", "PUT", _THREAD,
              (Field("destination", "", at="destination_id", is_word=True),
               Field("workspace", "its folder there (default /workspace)"))),
    Operation("runners show", "look at a thread's session", "GET", _THREAD),
    Operation("runners run", "run a command in a thread and wait for its end", "POST", _THREAD + "/commands",
              (Field("command_id", "an id for it (default: a new one)", "id"), Field("program", "", is_word=True),
               Field("arguments", "its arguments; -- begins them", "texts", at="args", is_word=True),
               Field("timeout_ms", "wall clock limit", "number"))),
    Operation("runners ports", "list exposed ports, with addresses that show them for an hour", "GET", _THREAD + "/ports",
              answers="list", columns=("port", "url")),
    Operation("runners expose", "expose a port to previews, and say its address", "POST", _THREAD + "/ports",
              (Field("port", "", "number", is_word=True), Field("label", "what it is")), columns=("url",)),
    Operation("runners withdraw", "withdraw a port from previews", "DELETE", _THREAD + "/ports/{port}", answers="nothing"),
    *(Operation(f"runners {verb}", about, "POST", f"{_THREAD}/{verb}")
      for verb, about in (("pause", "pause a session"), ("resume", "let a paused session go on"),
                          ("detach", "let a session go on by itself"), ("rejoin", "come back to a detached session"),
                          ("snapshot", "take a snapshot of a session"))),
    Operation("runners stop", "end a thread's session and forget its binding", "DELETE", _THREAD, answers="nothing"),
)  # fmt: skip

OPERATIONS: Final[dict[str, Operation]] = {
    one.name: one for one in (*_SESSIONS, *_POLICY, *_TENANTS, *_HOOKS, *_AUDIT, *_REGISTRY, *_RUNNERS)
}


def operation_named(name: str) -> Operation:
    found = OPERATIONS.get(name)
    if found is None:
        meant = get_close_matches(name, OPERATIONS, 1)
        hint = f"did you mean {meant[0]!r}?" if meant else "`hatchway remote --help` lists them"
        raise RequestError("INVALID_ARGUMENT", f"there is no operation {name[:80]!r}", hint)
    return found
