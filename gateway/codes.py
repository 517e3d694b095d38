"""Every error code: where it comes from, its HTTP status, its cause and its remedy. One table.

    find("SESSION_NOT_FOUND").remedy      # "Create the session, or list those there are."

Rules: a code, once published, keeps its meaning. A code that is raised, or put into a result, stands here exactly once, and every
code here is raised somewhere: tests/gateway/test_codes.py reads the sources. docs/errors.md is made from this table
(`python -m gateway.codes`), `hatchway explain` prints it. The policy compiler's HPnnn codes have their own table
(`policy.text.diagnostics`). Standard library only: the command line and the tests read this without the service.

A row is two lines: `CODE STATUS cause`, then the remedy. `-` means that the code never is the code of an HTTP problem: it stands
in the result of a run, in a call, in a diagnostic or in a command's message.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Final, NamedTuple


class Code(NamedTuple):
    code: str
    statuses: tuple[int, ...]
    cause: str
    remedy: str
    area: str


_ROWS: Final = """
# Requests and authentication
UNAUTHORIZED 401 The request has no token, or the token is unknown, expired or revoked.
    Send `Authorization: Bearer hw_…` with a valid token; set HATCHWAY_TOKEN for the command line.
FORBIDDEN 403 The token's role does not permit this operation, or the token belongs to another tenant.
    Use a token with one of the roles that the hint names, or leave out Hatchway-Tenant.
NOT_FOUND 404 Nothing is at this path; in a call: the file or secret that the call names does not exist.
    Compare the path with /docs; in a call, check the name.
METHOD_NOT_ALLOWED 405 The path exists, but not with this HTTP method.
    Use one of the methods in the `Allow` header.
UPGRADE_REQUIRED 426 The path is for WebSockets and the request is plain HTTP.
    Connect with a WebSocket client.
MALFORMED_REQUEST 400 The head of the request is not valid HTTP.
    Use a standard HTTP client; check what a proxy in between sends.
INVALID_URL 400 The path or query has a bad escape, a NUL, a fragment or bytes that are not UTF-8.
    Percent-encode the URL.
URL_TOO_LONG 414 The path and query are longer than `url_bytes_max`.
    Shorten the query, or send the data in the body.
INVALID_HEADER 400 A header is repeated or its value is malformed.
    Send the header once, with a valid value.
HEADERS_TOO_LARGE 431 The request has more headers, or longer ones, than `headers_max` and `header_bytes_max` permit.
    Send fewer or shorter headers.
BODY_TOO_LARGE 413 The body is longer than this operation accepts.
    Send less at once; uploads of archives and snapshots accept more.
BODY_TOO_SLOW 408 The body did not arrive within its deadline.
    Send it again over a faster connection, or in smaller parts.
BODY_TOO_FRAGMENTED 400 The body arrives in a very large number of tiny pieces.
    Send it in larger chunks.
INVALID_BODY 400 The body is not valid JSON or CBOR, or does not have the shape that the operation expects.
    Correct the field that the message names; /docs shows the shape.
INVALID_ARGUMENT 400,422 A value is missing, unknown, of the wrong type or out of range.
    Correct the argument that the message names.
INVALID_IDENTIFIER 400 An id has characters or a length that ids of its kind cannot have.
    Use 1 to 120 of A-Z a-z 0-9 _ : -.
INVALID_CURSOR 400 The cursor does not belong to this list, or the place that it names is gone.
    Pass `next` of the previous page, or start from the first page.
INVALID_ETAG 400 `If-Match` or `If-None-Match` is not a list of quoted ETags.
    Send the ETag as the service gave it, in quotes.
PRECONDITION_FAILED 412 The object changed, disappeared or already exists, contrary to the request's condition.
    Read it again, then retry with the new ETag.
UNSUPPORTED_MEDIA_TYPE 415 The operation does not accept this content type.
    Send one of the types that the hint names.
UNSUPPORTED_CODING 415 The body has a `Content-Encoding`.
    Send the body uncompressed.
INVALID_IDEMPOTENCY_KEY 400 The Idempotency-Key is empty, too long or not visible ASCII.
    Use 1 to 255 visible ASCII characters.
IDEMPOTENCY_KEY_REUSED 422 The Idempotency-Key was used for a different request.
    Make a new key for each request.
IDEMPOTENCY_KEY_USED 409 Another request stored its answer under this Idempotency-Key first.
    Repeat the request: the stored answer comes back.
IDEMPOTENCY_IN_PROGRESS 409 The first request with this key is still running, or its outcome is unknown.
    Wait as `Retry-After` says and repeat it, or look at what it made.
IDEMPOTENCY_ANSWER_WITHHELD 409 The request was carried out before and its answer holds a secret that is shown once only.
    Look at what it made; use a new key to do it again.
RATE_EXCEEDED 429 The tenant's requests, or the policy's uses of this capability, come faster than permitted.
    Wait as `Retry-After` says, or ask the operator for a higher quota or rate.
BUSY 429,503 Too many requests, streams or compilations are in progress, of this tenant (429) or of the service (503).
    Wait for answers and retry; close streams that are not needed.
DEADLINE_EXCEEDED 503 The service did not answer within `request_deadline_ms`.
    Retry; start long work as an asynchronous run.
STOPPING 503 The service is shutting down.
    Retry in a moment, or use another gateway.
INTERNAL 500 The service failed in a way that it did not foresee.
    Give the request id to the operator: the log has the details.

# Programs and their results
SYNTAX_ERROR - The program is not valid in its language.
    Correct the line that the error's span points to.
TYPE_ERROR - The contract reserves this code for type errors that are found before a run; Hatchway erases types unchecked.
    Run a type checker before sending the program.
UNSUPPORTED_FEATURE 422 The program uses a language or a construct that this sandbox does not have.
    Use what the hint names instead; LIMITATIONS.md lists what is missing.
RUNTIME_ERROR - The program raised an error, or its guest stopped unexpectedly.
    Read the message and stderr and correct the program.
NAME_ERROR - The program uses a name that is not defined.
    Use the name that the hint suggests, or define it first.
RESULT_NOT_SERIALIZABLE - A warning: the last value is not plain JSON, or is too large; the program ran.
    Nothing is lost: `result` is the JSON that comes nearest, a display shows the value. Return plain data, or write it to a file.
DISPLAYS_EXCEEDED - A warning: the program showed more figures and tables than a result holds.
    Show less in one run, or write large data to a file.
RESULT_TOO_LARGE - The worker's answer is larger than one message between worker and gateway may be.
    Print and return less, or write the data to files.
TIMEOUT_WALL - The run took longer than `wall_ms` or `timeout_ms`.
    Raise the limit, or do less in one run.
TIMEOUT_CPU - The run used more CPU time than `cpu_ms`.
    Raise `limits.cpu_ms`, or compute less in one run.
MEMORY_EXCEEDED 400 The program with the files it wrote, or a snapshot to restore, needs more memory than `memory_mb`.
    Raise `limits.memory_mb`, hold less data at once, or remove files.
STDOUT_EXCEEDED - The program printed more than `max_stdout_bytes`; the rest was cut off.
    Raise `limits.max_stdout_bytes`, or print less.
EXTERNAL_CALLS_EXCEEDED - The run made more capability calls than `max_external_calls`.
    Raise `limits.max_external_calls`, or call less often.
EXTERNAL_CALLS_CUT - The run made more calls than a result lists.
    Read all of them in the audit log.
STACK_OVERFLOW - The program recursed deeper than `max_stack_depth`.
    Raise `limits.max_stack_depth`, or use a loop.
CANCELLED - The caller cancelled the run or the request.
    Nothing to do; start it again if that was a mistake.
INTERRUPTED 503 The service stopped, or the worker was lost, while the run was in progress; its changes are undone.
    Run it again.
WAITING_FOR_APPROVAL - The run is suspended until an approver decides about a call.
    Decide the approval; the run then resumes by itself.
JOURNAL_EXCEEDED - The run did more than its journal can hold, so it can neither be recorded nor be suspended.
    Run it without recording, or ask for approval earlier in the program.
REPLAY_MISMATCH - A replayed run did something else than its recording.
    Replay with the version that recorded it and with the same inputs.
NOT_READY 503 The language is still being compiled on this machine, or cannot be used here.
    Wait as `Retry-After` says; /readyz shows the progress.

# Sessions and snapshots
INVALID_SESSION_ID 400 The session id is empty, too long or has characters other than letters, digits, `_` and `-`.
    Use 1 to 64 letters, digits, `_` or `-`.
SESSION_NOT_FOUND 404 The session does not exist for this tenant, or it is closed.
    Create the session, or list those there are.
RUN_NOT_FOUND 404 The run does not exist for this tenant.
    Take the id from the answer that began the run, or list the runs.
SESSION_WAITING 409 A run of this session waits for an approval, and nothing else can run in it meanwhile.
    Decide the approval, cancel the run, or use another session.
SESSION_RESTARTED - The session's variables were lost with its worker; its files are there.
    Set the variables again; durable sessions keep them.
WORKER_LOST 503 The process that ran the session died.
    Retry; the message says whether the session's variables were kept.
RUN_NOT_WAITING 409 The run to resume does not wait for an approval.
    Read the run's state: it has ended or is in progress already.
TEMPLATE_NOT_FOUND 400 The template or snapshot to start from does not exist for this tenant.
    Use an id or label of a stored snapshot, or a template that the operator offers.
TEMPLATE_UNKNOWN 400 The worker does not hold the template that a session is to start from.
    Retry; the gateway sends the template again.
SNAPSHOT_NOT_FOUND 404 The snapshot does not exist for this tenant.
    List the snapshots.
SNAPSHOT_EXISTS 409 The same snapshot is stored already, under another label.
    Leave out the label, or use the snapshot that is stored.
SNAPSHOT_IN_USE 409 A session or another snapshot still needs this snapshot.
    Delete what depends on it first.
SNAPSHOT_MISSING 409 A session refers to a snapshot that is not stored.
    Retry; if it stays, start a new session and tell the operator.
SNAPSHOT_BASE_MISSING 409 The snapshot builds on another one that is not stored here.
    Upload the base first.
SNAPSHOT_TOO_LARGE 413 The snapshot is larger than the store accepts.
    Free memory in the session, or delete files before saving.
SNAPSHOT_CORRUPT 422 The snapshot or recording is damaged, was altered, or was sealed with another key.
    Use an intact copy on a machine with the key that sealed it.
SNAPSHOT_VERSION_MISMATCH 422 The snapshot or recording was made by another version of Hatchway or of a guest.
    Use the version that made it, or make it again.
SNAPSHOT_CAPABILITY_MISMATCH 422 The capabilities offered here differ from those that the snapshot was taken with.
    Register the same capabilities before restoring it.

# Files and values
FILE_NOT_FOUND 404 The file does not exist in this session.
    List the directory.
VALUE_NOT_FOUND 404 The session has no stored value of this name.
    List the session's values.
INVALID_PATH 400 The path is malformed, or is the root where a file is expected.
    Name a file with an absolute path.
IS_A_DIRECTORY 409 A directory is at this path.
    List it, take it as an archive, or name a file in it.
NOT_A_DIRECTORY 409 A file is where the path needs a directory.
    Name a path that does not go through a file.
DIRECTORY_NOT_EMPTY 409 The directory has entries.
    Delete it recursively.
NOT_DELETED 409 The entry is read-only, is the root, or is a directory with entries.
    Delete directories with `recursive=true`; read-only entries stay.
FILE_READ_ONLY 403 The file is read-only.
    Write to another path.
FILE_CHANGED 412 Another caller changed the file since it was read.
    Read it again, then write.
FILE_EXISTS 412 The file exists, and the request demands that it does not.
    Choose another path, or leave out the condition.
FILE_TOO_LARGE 413 The content is larger than one file may be.
    Split the content.
FILE_NOT_KEPT - A file that a call or a hook wrote conflicts with what the program left, and was dropped.
    Write to a path that the program does not use.
INVALID_CONTENT 400 The content is not valid in the encoding that the request names.
    Encode it again; binary content is base64.
INVALID_ENCODING 400 The encoding is unknown.
    Use `text` or `base64`.
INVALID_ARCHIVE 400 The archive is not a plain tar, or an entry leads out of it.
    Send a plain tar with files, directories and links inside of it.
ARCHIVE_TOO_LARGE 413 The archive has too many entries or bytes.
    Send it as several archives.
INVALID_PATTERN 400 The search pattern is not valid RE2.
    Correct it; RE2 has no look-around and no back-references.
PATTERN_TOO_LONG 400 The search pattern is too long.
    Shorten it.
PATTERN_TOO_COMPLEX 400 The search pattern compiles to too large a program.
    Repeat less: `{n,m}` multiplies its size.
VALUE_TOO_LARGE 413 The value is larger than the store accepts.
    Store it as a file.
QUOTA_EXCEEDED 400,413,429 The tenant has used up a quota.
    Delete what is not needed, or ask the operator for a larger quota.

# Capabilities and calls
UNKNOWN_TOOL - The program calls a capability that is not offered to it.
    Use the name that the message suggests, or list the capabilities.
CAPABILITY_NOT_FOUND 404 No capability of this name is offered to the tenant.
    List the capabilities.
INVALID_TOOL_NAME 400 A capability's name is not an identifier, or has a meaning of its own in policies.
    Use ASCII letters, digits and underscores.
PERMISSION_DENIED 403 The policy, the approver or the sandbox refused this.
    Read the reason in the message; `hatchway policy explain` shows the rule that decided.
TOOL_ERROR - The capability failed.
    Read the message: it comes from the capability or from the server that it calls.
TIMEOUT_TOOL - The call took longer than the capability permits.
    Call again, ask for less, or raise the capability's timeout.
RATE_LIMITED - The capability is called more often per minute than its declaration permits.
    Wait and call again.

# Approvals
APPROVAL_NOT_FOUND 404 The approval does not exist for this tenant, or no approval of the session is pending.
    List the approvals.
APPROVAL_DECIDED 409 The approval was decided or expired before.
    Run the program again to ask again.
APPROVAL_MISSING 409 The approval that the call would use was used, withdrawn or deleted.
    Run the program again to ask again.

# Connections that leave the service
URL_INVALID - The URL is malformed, too long, or carries a user name or password.
    Correct the URL; send credentials in a header.
SCHEME_REFUSED - The URL is neither http nor https.
    Use an https URL.
HOST_INVALID - The host is neither a host name nor an address in its usual form.
    Write the host in ASCII (xn--…), an address as four decimal numbers.
ADDRESS_REFUSED - The host has a private, local or otherwise non-public address.
    Use a public host; the operator can permit others in the equipment file.
PORT_REFUSED - The port is not among the permitted ones.
    Use one of the ports that the message names.
METHOD_REFUSED - The HTTP method is not one that can be sent.
    Use one of the methods that the message names.
HEADER_INVALID - A request header is malformed, or is one that the client sets itself.
    Leave the header out, or correct it.
REQUEST_TOO_LARGE - The body to send is larger than permitted.
    Send less in one request.
RESPONSE_TOO_LARGE - The server's answer is larger than permitted.
    Ask the server for less.
REDIRECT_REFUSED - A redirect leads from https to http, or would send the body to another origin.
    Call the final URL.
TOO_MANY_REDIRECTS - The server redirects again and again.
    Call the final URL.
DNS_FAILED - The host name has no usable address.
    Check the name and the resolver.
CONNECT_FAILED - The server does not accept connections.
    Check that it is up and reachable from the gateway.
TLS_FAILED - The server's certificate is not trusted.
    Correct the certificate, or configure its authority.
TIMEOUT - The server did not send a whole answer in time.
    Retry, or raise the timeout.
BROKEN_OFF - The connection was closed in the middle of an exchange.
    Retry if the request may be repeated.
ANSWER_INVALID - The server's answer is not valid HTTP, or is incomplete.
    Check the server.
NOT_SENT - `hatchway hook test` does not send requests unless told to.
    Add `--send`.

# Hooks
HOOK_NOT_FOUND 404 The hook does not exist for this tenant.
    List the hooks.
HOOK_EXISTS 409 A hook of this id exists, or no free id is left.
    Choose another id.
INVALID_HOOK 422 The hook's declaration is not valid, names a program that is not stored, or the program cannot be compiled.
    Correct the place that the message names; see docs/hooks.md.
INVALID_HOOKS 422 A list of hooks holds mistakes; the message lists all of them.
    Correct the places that the message names; see docs/hooks.md.
HOOK_BLOCKED 403 A hook blocked the run, the call or the command, or withheld its result.
    Read the hook's reason; the tenant's operator can change the hook.
HOOK_FAILED - A hook failed, and its `on_error` says to continue with a warning.
    Correct the hook; `hatchway hook test` shows each step.
HOOK_MESSAGE - A hook has a message for the user.
    Read it; nothing failed.
HOOK_PROGRAM_NOT_FOUND 404 No hook program of this name is stored.
    List the programs.
HOOK_PROGRAM_IN_USE 409 A hook runs this program.
    Remove the hook first.
HOOK_PROGRAM_MISSING - A policy's hook names a program that was not sent with the policy.
    Send the program with the policy's files, wasm as base64.
HOOK_SILENT - A policy's hook stands around something that never runs hooks, so it would guard nothing.
    Guard it with a rule instead.

# Policies
POLICY_NOT_FOUND 404 The policy does not exist for this tenant.
    List the policies.
POLICY_EXISTS 409 This name and version is deployed with another content.
    Raise the version.
POLICY_REFUSED 422 The policy does not compile, fails its tests, does not narrow its base, or costs too much to check.
    Correct what the diagnostics name; `hatchway policy check` finds the same.
POLICY_INVALID 422 A stored or given policy cannot be used; everything is denied.
    Deploy a policy that passes `hatchway policy check`.
TENANT_UNFIT - The policy declares a plan or facts that this tenant does not fulfil.
    An admin changes the tenant's plan and facts, or the author changes the policy.

# Tenants, tokens and secrets
TENANT_NOT_FOUND 404 The tenant does not exist.
    List the tenants; only admins can.
TENANT_IN_USE 409 The tenant holds the token of the request, which would be deleted with it.
    Use a token of another tenant.
TOKEN_NOT_FOUND 404 The token does not exist for this tenant.
    List the tokens.
TOKEN_EXISTS 409 The token is stored for another owner.
    Make a new token.
TOKEN_REVOKED 409 The token was revoked.
    Make a new token.
LAST_ADMIN 409 The last admin's token cannot be revoked, because no admin would be left.
    Make another admin token first.
SECRET_NOT_FOUND 404 The secret does not exist for this tenant.
    List the secrets, or set it.
SECRET_TOO_LARGE 413 The secret is longer than secrets may be.
    Store a shorter secret.
SECRET_DAMAGED 500 The stored secret cannot be decrypted.
    Set it again; the operator checks the master key.
KEY_EXISTS 409 The tenant's data key was made by another request at the same time.
    Retry the request.
KEY_DAMAGED 500 The tenant's data key cannot be decrypted.
    The operator restores the master key that sealed it.

# Stores and audit
STORE_BUSY 503 The database accepts no connection, or another process holds the store.
    Retry in a moment.
STORE_CLOSED 503 The store is closed because the service is stopping.
    Retry when the service is back.
STORE_UNAVAILABLE 503 The database cannot be reached; `/readyz` says so too. The gateway goes on by itself when it is back.
    Wait as `Retry-After` says and repeat the request; operators: the log has one line with the reason.
STORE_FULL 507 The disk is full; nothing was written.
    Free space; no restart is needed.
STORE_IO 507 The disk or the database failed; nothing was written.
    Check the disk or the database server; no restart is needed.
STORE_CORRUPT 507 The store's file is damaged.
    Restore it from a backup.
STORE_MISSING 507 No store is at this path.
    Name the gateway's data folder with `--data`.
STORE_IN_USE 503 Another gateway serves this store.
    Stop the other gateway, or give this one its own store.
STORE_VERSION 507 A newer release of Hatchway wrote the store.
    Use that release or a newer one.
STORE_UNCERTAIN 507 The connection was lost during a commit, or a change's audit record could not be written.
    Read it back before repeating the request.
RECORD_TOO_LARGE 413 A record is larger than the store accepts.
    Send less in one request.
TOO_MANY_CHANGES 413 One request changes more than one transaction may.
    Split the request.
AUDIT_TOO_LARGE 413 An audit record is larger than the log accepts.
    Send less in one request.
AUDIT_UNAVAILABLE 503 The audit log cannot be written, so nothing that must be audited is done.
    The operator frees space for the store.

# Runners
RUNNER_INVALID 400 A runner's configuration or command is not valid.
    Correct what the message names; see docs/runners.md.
RUNNER_UNKNOWN_PROVIDER 400 This gateway does not offer the runner provider.
    Use a provider that the hint names, or ask the operator to configure it.
RUNNER_SECRET_IN_CONFIG 400 A destination's configuration holds what looks like a secret.
    Store the secret and name it by reference: `{"id": …}`.
RUNNER_NOT_FOUND 404 The destination, session or command does not exist for this tenant, or was removed.
    List the destinations, or bind the thread to another one.
RUNNER_STALE 404 The runner session is gone.
    Use the runner again: that makes a new session.
RUNNER_BUSY 409 The runner session or the command id is in use.
    Wait, cancel the command, or use another command id.
RUNNER_PAUSED 409 The runner session is paused.
    Resume it first.
RUNNER_TOO_LARGE 413 A file, an archive or an output is larger than runners accept.
    Split it into smaller parts.
RUNNER_UNSUPPORTED 501 The provider cannot do this.
    Use a provider that can; docs/runners.md has the table.
RUNNER_UNAVAILABLE 503 The machine of the runner cannot be reached, or did not do what it was told.
    Retry; check the destination.
PATH_REQUIRED 400 The request names no path.
    Add the path.
PATH_NOT_FOUND 404 The path does not exist in the workspace.
    List the directory.
PATH_NOT_A_FILE 400 The path is not a regular file.
    Name a file.
PATH_READ_ONLY 403 The path is mounted read-only.
    Write to another path.
PATH_OUTSIDE_WORKSPACE 403 The path leads out of the workspace.
    Use a path inside of it.
PORT_NOT_EXPOSED 403 The port is not exposed.
    Expose it first.

# Registry
UNKNOWN_RUNTIME 404 The runtime does not exist for this tenant.
    List the runtimes.
UNKNOWN_HOST 404 The host does not exist for this tenant.
    List the hosts.
UNKNOWN_WORKER 404 The worker does not exist in this runtime.
    List the workers.
RUNTIME_EXISTS 409 A runtime of this id is registered.
    Choose another id.
RUNTIME_BUSY 409 The runtime has running workers.
    Stop them first.
RUNTIME_CAPABILITY_UNSUPPORTED 501 The runtime cannot do this.
    Use a runtime whose capabilities include it.
RESOURCE_EXHAUSTED 400 A worker holds as many wasm modules of hooks as it may.
    Use fewer different modules.

# Diagnostics of registry runtimes
embedded_runtime_projection - The answer shows a bounded view of the embedded runtime.
    Nothing to do.
embedded_runtime_host_boundary - The host shows bounded views of its runtime and workers.
    Nothing to do.
embedded_runtime_invalid_request - The request to the embedded runtime is not valid.
    Correct what the message names.
embedded_runtime_limit_too_large - The page that the request asks for is larger than permitted.
    Ask for a smaller page.
embedded_runtime_no_socket - The embedded runtime cannot give a worker a socket.
    Spawn the worker without one.
embedded_runtime_stopped - The embedded runtime is stopped; it can be read.
    Start it before sending input.
embedded_runtime_store_error - The embedded runtime could not read or write its records.
    The operator checks the store.
embedded_runtime_tools_less - The worker gets fewer tools than the request names.
    Use the tools that the message names.
embedded_worker_busy - The worker has a run in progress.
    Wait for it, or stop it.
embedded_worker_id_invalid - The worker's id is empty.
    Name a worker.
embedded_worker_name_ignored - Embedded workers get their names from the runtime.
    Nothing to do.
embedded_worker_not_found - The embedded runtime has no such worker.
    List the workers.
local_pod_metadata_invalid - A local worker's metadata is not valid.
    Correct the file that the message names.
local_pod_metadata_unreadable - A local worker's metadata cannot be read.
    Check the file's permissions.
local_pod_registry_unavailable - No directory of local workers is configured.
    The operator sets `registry_pods`.
local_pod_registry_unreadable - The directory of local workers cannot be read.
    Check the directory's permissions.
local_pod_workspace_not_visible - A local worker belongs to another workspace.
    Look for it from its own workspace.
local_pod_workspace_root_missing - A local worker's metadata names no workspace.
    Correct the worker's metadata.
remote_runtime_auth_failed 502 The remote runtime rejected the token.
    Store a valid token for it.
remote_runtime_degraded - The remote runtime reports that it is not fully available.
    Check the remote runtime.
remote_runtime_http_error 502 The remote runtime failed.
    Check the remote runtime's log.
remote_runtime_http_rejected 502 The remote runtime refused the request.
    Check what the remote runtime permits this token.
remote_runtime_malformed_response 502 The remote runtime's answer cannot be read.
    Check that the address is a Hatchway gateway of a compatible version.
remote_runtime_network_error 502 The remote runtime cannot be reached.
    Check its address and that it is up.
remote_runtime_timeout 504 The remote runtime did not answer in time.
    Retry; check its load.
remote_runtime_token_missing 502 The secret with the remote runtime's token does not exist.
    Set the secret.
remote_runtime_unavailable 502 The remote runtime was never reached.
    Check its address and that it is up.
remote_runtime_unsupported 502 The remote runtime cannot do this.
    Use a runtime that can.
remote_worker_not_found 502 The remote runtime has no such worker.
    List the workers.
runtime_capability_unsupported - The runtime cannot do this.
    Use a runtime whose capabilities include it.
worker_actions_not_implemented - Local workers can be seen, not controlled.
    Control the worker where it runs.
worker_input_pending - The worker accepts no input through this runtime.
    Send input where the worker runs.
worker_proxy_pending - The worker offers no proxy through this runtime.
    Connect to the worker where it runs.
worker_spawn_resolver_pending - The runtime cannot spawn workers yet.
    Spawn the worker in another runtime.
worker_spawn_unsupported - Workers cannot be spawned in this runtime.
    Spawn the worker in another runtime.
worker_transcript_pending - The worker shows no transcript through this runtime.
    Read the transcript where the worker runs.
"""


@cache
def table() -> dict[str, Code]:
    """All codes, in the order of the table."""
    found: dict[str, Code] = {}
    area = ""
    lines = iter(_ROWS.strip().splitlines())
    for line in lines:
        if line.startswith("# "):
            area = line[2:]
        elif line:
            code, statuses, cause = line.split(" ", 2)
            numbers = () if statuses == "-" else tuple(map(int, statuses.split(",")))
            if code in found:
                raise ValueError(f"{code} stands in the table twice")
            found[code] = Code(code, numbers, cause, next(lines).strip(), area)
    return found


def find(code: str) -> Code | None:
    """A code however it is written: `session_not_found` and `urn:hatchway:problem:session_not_found` too."""
    word = code.strip().rpartition(":")[2]
    return table().get(word) or table().get(word.upper()) or table().get(word.lower())


def suggest(code: str) -> list[str]:
    """The codes that look most like one that does not exist."""
    near = difflib.get_close_matches(code.strip().upper(), [known.upper() for known in table()], 3, 0.6)
    return [known for known in table() if known.upper() in near]


def reference() -> str:
    """docs/errors.md."""
    lines = [
        "# Error codes",
        "",
        "Every failure carries a code that keeps its meaning, a message that says what happened, and often a hint. This page",
        "lists every code with its HTTP status, its cause and its remedy. `hatchway explain CODE` prints one entry. A code",
        "without a status stands in the result of a run, in a call, in a diagnostic or in a command's message. The policy",
        "compiler's `HPnnn` codes are in [policy-reference.md](policy-reference.md). This page is made from `gateway/codes.py`",
        "(`python -m gateway.codes > docs/errors.md`).",
    ]
    area = ""
    for row in table().values():
        if row.area != area:
            area = row.area
            lines += ["", f"## {area}", "| code | HTTP | cause | remedy |", "|---|---|---|---|"]
        statuses = ", ".join(map(str, row.statuses)) or "–"
        lines.append(f"| `{row.code}` | {statuses} | {row.cause} | {row.remedy} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(reference(), end="")
