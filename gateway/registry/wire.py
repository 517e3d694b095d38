"""The wire types of the registry, as the contract spells them.

Rules: field names, values and what is left out when it is absent are what clients see. What Hatchway adds to the contract's
fields stands last in each type and says so. Types only; times are RFC 3339 texts, as in the original.
INVARIANT: nothing that is answered has room for a path, an address, a session or a secret; `RemoteSpec` is only ever taken.
"""

from __future__ import annotations

from typing import Annotated, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sandbox.wire import Language, SessionLimits

LOCAL_RUNTIME: Final = "local-worker-runtime"
EMBEDDED_RUNTIME: Final = "embedded-worker-runtime"
LOCAL_HOST: Final = "local-worker-host"
EMBEDDED_HOST: Final = "embedded-worker-runtime-host"
REMOTE_HOST: Final = "remote-worker-runtime-host"
MAX_DIAGNOSTICS: Final = 16
MAX_HOST_SCAN: Final = 256
MAX_LIMIT: Final = 200
ENTRY_CHARS_MAX: Final = 64 << 10
T = TypeVar("T")
Name = Annotated[str, Meta(min_length=1, max_length=120)]
Label = Annotated[str, Meta(max_length=120)]

Severity = Literal["info", "warning", "error"]
State = Literal["accepted", "unsupported", "rejected"]
StopMode = Literal["graceful", "force"]
TicketRole = Literal["intake", "orchestrator", "coder", "reviewer"]


class _Shape(msgspec.Struct, frozen=True, kw_only=True):
    pass


class RuntimeDiagnostic(_Shape, frozen=True, kw_only=True):
    code: str
    severity: Severity
    message: str


def diagnostic(code: str, severity: str, message: str) -> RuntimeDiagnostic:
    """A severity that is not known is `info`."""
    known: Severity = "error" if severity == "error" else "warning" if severity == "warning" else "info"
    return RuntimeDiagnostic(code=code, severity=known, message=message)


class RuntimeSource(_Shape, frozen=True, kw_only=True):
    kind: Literal["local_compatibility", "embedded_worker_runtime", "remote_http"]
    status: Literal["active", "reserved"] = "active"
    identity_authority: Literal["runtime_registry_projection"] = "runtime_registry_projection"
    note: str


class RuntimeCapabilities(_Shape, frozen=True, kw_only=True):
    """Of a runtime and of its hosts. `max_workers` is how many a tenant may have there."""

    can_list_hosts: bool = True
    can_list_workers: bool = False
    can_get_worker: bool = False
    can_spawn_worker: bool = False
    can_stop_worker: bool = False
    can_accept_input: bool = False
    can_stream_events: bool = False
    can_read_bounded_transcript: bool = False
    has_workspace_fs: bool = False
    has_shell: bool = False
    has_git: bool = False
    supports_worktrees: bool = False
    supports_backend_internal_tools: bool = False
    local_pod_inspection: str
    workspace_scope: str
    max_workers: int
    os: str
    arch: str


class RuntimeSummary(_Shape, frozen=True, kw_only=True):
    runtime_id: str
    label: str
    kind: str
    status: str
    source: RuntimeSource
    host_ids: list[str]
    capabilities: RuntimeCapabilities
    diagnostics: list[RuntimeDiagnostic] = []


class HostSummary(_Shape, frozen=True, kw_only=True):
    runtime_id: str
    host_id: str
    label: str
    kind: str
    status: str
    observed_at: str
    last_seen_at: str | None = None
    capabilities: RuntimeCapabilities
    diagnostics: list[RuntimeDiagnostic] = []


class WorkerWorkspace(_Shape, frozen=True, kw_only=True):
    visibility: str
    identity: str


class WorkerImplementation(_Shape, frozen=True, kw_only=True):
    kind: str
    display_hint: str


class WorkerCapabilities(_Shape, frozen=True, kw_only=True):
    can_accept_input: bool = False
    can_stream_events: bool = False
    can_stop: bool = False
    can_spawn_followup: bool = False
    can_read_bounded_transcript: bool = False


class WorkerSummary(_Shape, frozen=True, kw_only=True):
    """`labels` are ours."""

    runtime_id: str
    worker_id: str
    host_id: str
    label: str
    role: str | None = None
    profile: str | None = None
    workspace: WorkerWorkspace
    state: str
    status: str
    last_seen_at: str | None = None
    implementation: WorkerImplementation
    capabilities: WorkerCapabilities
    diagnostics: list[RuntimeDiagnostic] = []
    labels: dict[str, str] = {}


class Listing(_Shape, Generic[T], frozen=True, kw_only=True):
    """What a runtime or the registry lists. `next` is ours: where the next page begins, for `after`."""

    items: list[T]
    diagnostics: list[RuntimeDiagnostic] = []
    next: str | None = None


class WorkerLookup(_Shape, frozen=True, kw_only=True):
    worker: WorkerSummary | UnsetType = UNSET
    diagnostics: list[RuntimeDiagnostic] = []


# Spawning


class WorkspaceCompanion(_Shape, frozen=True, kw_only=True, tag_field="kind", tag="workspace_companion"):
    pass


class WorkspaceOrchestrator(_Shape, frozen=True, kw_only=True, tag_field="kind", tag="workspace_orchestrator"):
    pass


class TicketIntent(_Shape, frozen=True, kw_only=True, tag_field="kind", tag="ticket_role"):
    ticket_id: Annotated[str, Meta(min_length=1, max_length=120)]
    role: TicketRole


SpawnIntent = WorkspaceCompanion | WorkspaceOrchestrator | TicketIntent


class SocketReady(_Shape, frozen=True, kw_only=True, tag_field="kind", tag="socket_ready"):
    pass


class RunAccepted(_Shape, frozen=True, kw_only=True, tag_field="kind", tag="run_accepted"):
    expected_segments: Annotated[int, Meta(ge=0)]


class SpawnRequest(_Shape, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From `language` on all is ours: two requests with one `fingerprint` make one worker; the others say what it runs, in place
    of what its profile says (`gateway.registry.profiles`): with `destination_id` at a runner."""

    intent: SpawnIntent
    requested_worker_name: str | None = None
    acceptance: SocketReady | RunAccepted
    language: Language | None = None
    fingerprint: Annotated[str, Meta(min_length=1, max_length=120)] | None = None
    profile: Name | None = None
    entry: Annotated[str, Meta(max_length=ENTRY_CHARS_MAX)] | None = None
    limits: SessionLimits | None = None
    template: Name | None = None
    destination_id: Name | None = None
    labels: Annotated[dict[Label, Label], Meta(max_length=64)] = {}


class AcceptanceEvidence(_Shape, frozen=True, kw_only=True):
    kind: str
    detail: str


class SpawnResult(_Shape, frozen=True, kw_only=True):
    state: State
    worker: WorkerSummary | UnsetType = UNSET
    acceptance_evidence: list[AcceptanceEvidence] = []
    diagnostics: list[RuntimeDiagnostic] = []


# Interaction and life


class InputRequest(_Shape, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Literal["user", "system"] = "user"
    content: str


class LifecycleResult(_Shape, frozen=True, kw_only=True):
    """What stop, cancel, restore and delete answer."""

    state: State
    runtime_id: str
    worker_id: str
    event_id: int | UnsetType = UNSET
    diagnostics: list[RuntimeDiagnostic] = []


class InputResult(LifecycleResult, frozen=True, kw_only=True):
    transcript_sequence: int | UnsetType = UNSET


class TranscriptItem(_Shape, frozen=True, kw_only=True):
    sequence: int
    role: str
    content: str
    event_id: int


class Transcript(_Shape, frozen=True, kw_only=True):
    state: State
    runtime_id: str
    worker_id: str
    start: int
    limit: int
    total_items: int = 0
    next_start: int | UnsetType = UNSET
    items: list[TranscriptItem] = []
    diagnostics: list[RuntimeDiagnostic] = []


class StopRequest(_Shape, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mode: StopMode = "graceful"
    reason: Annotated[str, Meta(max_length=500)] | None = None


class ProxyPoint(_Shape, frozen=True, kw_only=True):
    kind: str = "stream_proxy"
    status: str = "not_implemented"
    diagnostics: list[RuntimeDiagnostic] = []


# Ours: what can be spawned, and runtimes that a tenant adds


class ProfileSummary(_Shape, frozen=True, kw_only=True):
    """`takes`: an input is a `program` in its language, or a `message` that the profile's own program reads."""

    name: str
    about: str
    language: Language
    takes: Literal["program", "message"]
    limits: SessionLimits
    destination_id: str | None = None
    template: str | None = None


class LaunchOptions(_Shape, frozen=True, kw_only=True):
    """What a spawn request may choose from."""

    runtime_ids: list[str]
    profiles: list[ProfileSummary]
    destination_ids: list[str]
    template_ids: list[str]


class RemoteTest(_Shape, frozen=True, kw_only=True):
    """Whether a remote runtime answers now, and what is wrong if it does not."""

    runtime_id: str
    ok: bool
    status: str
    diagnostics: list[RuntimeDiagnostic] = []


class SecretName(_Shape, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A secret of the tenant's vault, by its name."""

    id: Annotated[str, Meta(min_length=1, max_length=255)]


class RemoteSpec(_Shape, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another gateway's runtime. `token` names a secret; neither it nor the address is shown again."""

    runtime_id: str
    label: Annotated[str, Meta(max_length=200)] = ""
    url: Annotated[str, Meta(min_length=1, max_length=2000)]
    token: SecretName
    target_runtime_id: str = EMBEDDED_RUNTIME


# What stands for a worker where there is none


def placeholder_worker(host_id: str) -> WorkerSummary:
    message = "worker control is outside of what this registry offers here"
    return WorkerSummary(
        runtime_id="placeholder",
        worker_id="worker-placeholder",
        host_id=host_id,
        label="Worker runtime actions are not implemented",
        workspace=WorkerWorkspace(visibility="none", identity="unsupported"),
        state="unsupported",
        status="Worker runtime control is not wired yet",
        implementation=WorkerImplementation(kind="placeholder", display_hint="unsupported"),
        capabilities=WorkerCapabilities(),
        diagnostics=[diagnostic("runtime_capability_unsupported", "info", message)],
    )


def placeholder_spawn(host_id: str) -> SpawnResult:
    return SpawnResult(
        state="unsupported",
        worker=placeholder_worker(host_id),
        diagnostics=[diagnostic("worker_spawn_unsupported", "info", "workers cannot be spawned here")],
    )


def proxy_points(worker_id: str) -> list[ProxyPoint]:
    message = f"there is nothing to connect to for {worker_id!r}"
    return [ProxyPoint(diagnostics=[diagnostic("worker_proxy_pending", "info", message)])]
