"""The wire types of runners, as the contract spells them.

Rules: field names and defaults here are what clients see. What Hatchway adds to the contract's fields stands last in each
type and says so. Bytes are JSON arrays of integers, so these types go through `encode` and `decode` here, nowhere else.
Types only. INVARIANT: no type has room for the value of a secret; a `SecretRef` names one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

MAX_FILE_BYTES = 16 << 20
MAX_OUTPUT_BYTES = 1 << 20
DEFAULT_TIMEOUT_MS = 60_000
MAX_TIMEOUT_MS = 3_600_000
MAX_ARGUMENTS_BYTES = 1 << 20
T = TypeVar("T")


class Octets(bytes):
    """Bytes that travel as an array of integers."""


class MountSupport(msgspec.Struct, frozen=True, kw_only=True):
    s3: bool = False
    gcs: bool = False
    r2: bool = False
    azure_blob: bool = False
    box_storage: bool = False
    provider_native: bool = False


class RunnerCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The last six are ours."""

    command_exec: bool
    file_read: bool
    file_write: bool
    port_preview: bool
    snapshots: bool
    cancellation: bool
    artifact_export: bool = False
    mounts: MountSupport = MountSupport()
    pausable: bool = False
    detachable: bool = False
    streaming: bool = False
    terminals: bool = False
    keeps_commands: bool = False
    open_stdin: bool = False


class SecretRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str


class MountIntent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    kind: str = msgspec.field(default_factory=lambda: "provider_native")  # a factory's value is never left out
    uri: str = msgspec.field(default_factory=str)
    credentials: SecretRef | None = None


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    target: str
    writable: bool = False


class Mount(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    path: str
    read_only: bool = False
    intent: MountIntent = msgspec.field(default_factory=MountIntent)


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    entries: list[ManifestEntry] = []
    mounts: list[Mount] = []


class Destination(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    provider_id: str
    config: Any = None
    default_manifest: Manifest = msgspec.field(default_factory=Manifest)


class SnapshotRef(msgspec.Struct, frozen=True, kw_only=True):
    provider_id: str
    snapshot_id: str
    metadata: dict[str, Any] = {}


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a session: enough to find it again, never a secret or a path of the host."""

    provider_id: str
    session_id: str
    destination_id: str
    snapshot: SnapshotRef | None = None
    metadata: dict[str, Any] = {}


class ThreadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Ours. `snapshot_id`: its sessions begin with what is in that snapshot. It is stopped when it was idle for
    `idle_timeout_ms`, and deleted with all it has after `ttl_ms`, unless it is kept alive."""

    labels: dict[str, str] = {}
    snapshot_id: str | None = None
    idle_timeout_ms: int | None = None
    ttl_ms: int | None = None


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """Kept with the thread. `read_roots` widen reads only, never writes or the working directory."""

    destination: Destination
    workspace: str
    read_roots: list[str] = []


class Terminal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ours. How large it is."""

    rows: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 24
    columns: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 80


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`stdin`, the limits, `terminal` (the command has one, and no `stdin`), `on_restart` and `open_stdin` (its input is written
    while it runs, until its end is said) are ours; limits can only be lowered. `cpu_ms` and `memory_bytes` are of each process
    the command starts (of the program as a whole in `wasm`); `hatchway` has the other gateway's instead. When the gateway
    restarts, a command ends, is kept running, or is begun again."""

    command_id: str
    program: str
    args: list[str] = []
    cwd: str | None = None
    env: list[tuple[str, str]] = []
    stdin: str = ""
    timeout_ms: int | None = None
    max_output_bytes: int | None = None
    cpu_ms: int | None = None
    memory_bytes: int | None = None
    terminal: Terminal | None = None
    on_restart: Literal["end", "keep", "restart"] = "end"
    open_stdin: bool = False


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """`exit_code` is None for a command that did not end by itself. `status` (exited | timeout | cancelled | full | lost; running
    or waiting before), `dropped_bytes`, `warnings` (what could not be written back to a mounted store) and `approvals` (ids of
    what it waits for) are ours."""

    command_id: str
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    status: str = "exited"
    dropped_bytes: int = 0
    warnings: list[str] = []
    approvals: list[str] = []


class CommandInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Ours. `status` is that of a result, `running`, `waiting` for an approval, `refused` after that, or `failed`: its place
    could not carry it out."""

    command_id: str
    program: str
    status: str
    started_ms: int
    ended_ms: int | None = None
    exit_code: int | None = None


class ReadFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str


class FileContents(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    contents: Octets


class WriteFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    contents: Octets


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Ours. `kind` is file, directory, link or other; `path` is below what was listed."""

    path: str
    kind: str
    size_bytes: int
    mode: int
    modified_ms: int
    target: str | None = None


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """Ours. `kind` is created, changed or deleted."""

    kind: str
    path: str


class Port(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    port: int
    label: str | None = None


class PortPreview(msgspec.Struct, frozen=True, kw_only=True):
    port: int
    url: str | None = None


class ArtifactRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    recursive: bool = False


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    artifact_id: str
    url: str | None = None
    metadata: dict[str, Any] = {}


def _encode_octets(value: object) -> object:
    if isinstance(value, bytes):
        return list(value)
    raise NotImplementedError(type(value).__name__)


def _decode_octets(kind: type, value: object) -> object:
    if kind is not Octets:
        raise NotImplementedError(kind.__name__)
    if not isinstance(value, list) or not all(type(octet) is int and 0 <= octet <= 255 for octet in value):
        raise ValueError("Expected an array of bytes (integers from 0 to 255)")
    return Octets(value)


def encode(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=_encode_octets)


def decode(data: bytes, kind: type[T]) -> T:
    """Raises `msgspec.ValidationError` or `DecodeError`. The caller has capped the size of `data`."""
    return msgspec.json.decode(data, type=kind, dec_hook=_decode_octets)
