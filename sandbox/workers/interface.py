"""Where a tenant's sessions live, seen from outside: the verbs of a worker and the messages they take.

`local.worker.LocalWorker` runs sessions on threads of this process; `process_worker.ProcessWorker` speaks to a jailed process of
its own. The gateway uses nothing else of the sandbox to run programs.

Rules: everything in a message is plain data; paths of files are absolute within /workspace (`/a/b.txt` is /workspace/a/b.txt for
guests). A worker holds no key, no secret, no store and no policy. Whatever a worker sends is untrusted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from sandbox.capabilities.registry import Capability
from sandbox.errors import SandboxError
from sandbox.snapshots.diff import Difference
from sandbox.wire import ErrorObject, Language, RunRequest, RunResult, SessionLimits

FileKind = Literal["file", "directory", "symlink"]


class WorkerLost(SandboxError):
    """The process died or did not answer: what was acknowledged is stored, what was under way is lost."""


def usual_mode(kind: FileKind, readonly: bool) -> int:
    """The permissions that a file has unless it was given others."""
    return {"directory": 0o755, "symlink": 0o777}.get(kind, 0o444 if readonly else 0o644)


class FileName(msgspec.Struct, frozen=True, kw_only=True):
    """A file as the store knows it. `digest` is the SHA-256 of its contents (or of a link's target), empty for a directory;
    `mode` is None for the usual permissions."""

    path: str
    kind: FileKind = "file"
    digest: bytes = b""
    readonly: bool = False
    mode: int | None = None


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file with its contents; a link's are its target."""

    path: str
    kind: FileKind = "file"
    data: bytes = b""
    readonly: bool = False
    mode: int | None = None


class FileChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to /workspace. Removed paths come first: something else may be written in their place."""

    removed: list[str] = []
    written: list[FileEntry] = []

    def __bool__(self) -> bool:
        return bool(self.removed or self.written)


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """How a session starts. `packs` is its heap: a whole pack and the differences that follow it, oldest first; none means fresh.
    With `template` the packs are kept under that name and later openings need not send them (`is_known`). `free_bytes` is what
    the `Frozen` of the last pack said: memory of it that is not charged, because it was not when the session was evicted."""

    session_id: str
    language: Language
    limits: SessionLimits
    total_bytes: int = 100 << 20
    entries_max: int = 10_000
    tools: list[Capability] = []
    packs: list[bytes] = []
    template: str | None = None
    metered: bool = False
    free_bytes: int = 0


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """A heap: `pack` is whole, or a difference to `base`. `id` is the snapshot's (the digest of its manifest). `free_bytes` goes
    into the `Opening` that starts from it."""

    id: str
    base: str | None
    pack: bytes
    free_bytes: int = 0


class CallReply(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a capability call: a value, an error, or it waits for an approver and the run is suspended."""

    value: Any = None
    error: ErrorObject | None = None
    suspended: bool = False


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """`changes` are what the run did to /workspace since the store last knew it. `frozen` is the heap, if it was asked for
    and the run does not wait (then it is as before).
    `recording` is there when the run waits: bytes (not sealed) from which `resume` lets it go on, here or anywhere."""

    result: RunResult
    changes: FileChanges = FileChanges()
    frozen: Frozen | None = None
    recording: bytes | None = None


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """A program that is run next to a session: in a fork of its files, with fresh interpreters, thrown away afterwards. How hooks
    run. `module` is set for a wasm module (WASI preview 1, a command): its native code, which the sender has had made of an
    inspected module, because a worker cannot start a compiler. `language` and `code` are for everything else. `files` are put
    there first and are no change of the program's, nor are `changes`, which earlier asides left."""

    language: Language | None = None
    code: str = ""
    module: bytes = b""
    filename: str = ""
    stdin: bytes = b""
    env: dict[str, str] = {}
    files: list[FileEntry] = []
    changes: list[FileChanges] = []
    limits: SessionLimits
    tools: list[Capability] = []


class AsideOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """`changes` are what the program did to /workspace of the fork; none if it failed. `is_cut`: it was ended because it printed
    more than it may."""

    result: RunResult
    changes: FileChanges = FileChanges()
    is_cut: bool = False


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """Files without a session, in which operations and commands follow one another: where a runner works. `top` is where its
    paths start, a directory at or below /workspace; what lies below `read_roots` can be read too."""

    id: str
    top: str = "/workspace"
    read_roots: list[str] = []
    total_bytes: int = 100 << 20
    entries_max: int = 10_000


FileVerb = Literal["read", "list", "stat", "survey", "directory", "write", "seed", "link", "mkdir", "move", "delete", "drop"]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to one path of a folder. `target` is where a file is moved to; `contents` are a link's target too. `seed`
    writes over what is read-only, and `drop` removes it; `survey` reads all files below a directory."""

    verb: FileVerb
    path: str
    contents: bytes = b""
    target: str = ""
    recursive: bool = False
    readonly: bool = False
    mode: int | None = None


class Performed(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is what was asked for: a file's contents, JSON of entries, MessagePack of a survey. `changes` are what happened to
    /workspace since they were last told; every name that is gone is told, also those below a directory."""

    data: bytes = b""
    changes: FileChanges = FileChanges()


class CommandOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """`changes` are as in `Performed`; if they are large (`has_more`), there are none, and `tell_folder` gives them."""

    result: RunResult
    changes: FileChanges = FileChanges()
    has_more: bool = False


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A program that a fresh interpreter runs over the files of a folder. `preparation` is code that is run before it, and
    sets what it finds; `cwd` must be a directory of it."""

    language: Language
    code: str
    preparation: str = ""
    cwd: str | None = None
    filename: str | None = None
    stdin: str = ""
    limits: SessionLimits


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot says of itself."""

    id: str
    session_id: str
    language: Language
    label: str
    created_at: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """`memory_bytes` is what each live session takes: the private memory of its guests, and its files; and each folder."""

    memory_bytes: dict[str, int]
    running: list[str]


OnOutput = Callable[[int, bytes], None]
OnCall = Callable[[str, list[Any], dict[str, Any]], Awaitable[CallReply]]
Fetch = Callable[[Sequence[bytes]], Awaitable[Mapping[bytes, bytes]]]


class Worker(Protocol):
    """The sessions of one tenant. INVARIANT: `sandbox.workers.protocol` makes a message of each method's parameters."""

    async def ping(self) -> None:
        """Give a sign of life."""

    async def open(self, opening: Opening) -> None:
        """Open a session; one that is open already is replaced."""

    async def is_open(self, session_id: str) -> bool: ...

    async def is_known(self, template: str) -> bool:
        """If so, the next `open` from it needs no packs."""
        ...

    async def forget(self, template: str) -> None:
        """Let go of a template that was deleted; sessions that began with it go on."""

    async def sync(self, session_id: str, tree: Sequence[FileName], *, fetch: Fetch) -> None:
        """Make /workspace exactly `tree`; contents it lacks are fetched by digest."""

    async def apply(self, session_id: str, changes: FileChanges) -> None:
        """Carry out changes that the store has already."""

    async def tree(self, session_id: str) -> FileChanges:
        """All of /workspace, as the changes that would make it from nothing; the store knows it from now on. For a session that
        was opened from a template."""

    async def aside(self, session_id: str, aside: Aside, *, on_call: OnCall | None = None) -> AsideOutcome:
        """Run a program next to the session, which is between two runs or waits in a capability call. Its files are seen as they
        are at this moment; nothing of the session changes."""

    async def run(
        self,
        request: RunRequest,
        *,
        on_output: OnOutput | None = None,
        on_call: OnCall | None = None,
        tools: Sequence[Capability] | None = None,
        freeze: bool = False,
        base: str | None = None,
    ) -> RunOutcome:
        """Run a program. With `freeze` the heap comes back too, as a difference to `base` if the worker still knows it.
        A capability call goes to `on_call`; if it is suspended, the run ends with `recording` and the session as before it."""

    async def resume(
        self,
        opening: Opening,
        recording: bytes,
        reply: CallReply | None,
        *,
        on_output: OnOutput | None = None,
        on_call: OnCall | None = None,
        freeze: bool = False,
    ) -> RunOutcome:
        """Let a run go on that waits: it is replayed to its waiting call, which gets `reply`, or is made again through `on_call`
        without one. The session (opened by `opening`, which has no packs) has its state afterwards."""

    async def freeze(self, session_id: str, *, label: str = "", parent: str | None = None, base: str | None = None) -> Frozen: ...

    async def fork(self, session_id: str, new_id: str) -> None:
        """Open `new_id` as an independent session with everything `session_id` has."""

    async def verify(self, pack: bytes) -> Facts:
        """Look at a whole pack: every page and file in it is what its digest says."""
        ...

    async def read_capabilities(self, pack: bytes) -> dict[str, str]:
        """What could be called where a whole pack was taken: the digest of each declaration."""
        ...

    async def describe(self, snapshot_id: str, pack: bytes) -> None:
        """Look at a whole pack, and remember for `compare` what a comparison needs of it."""

    async def compare(self, old: str, new: str) -> Difference:
        """Two snapshots that were described, not long ago: otherwise it is refused."""
        ...

    async def open_folder(self, folder: Folder, changes: FileChanges) -> None:
        """Open a folder with the files that the store has; one of this id that is open already is replaced."""

    async def perform(self, folder_id: str, operation: Operation) -> Performed:
        """One operation on its files. Reading waits for no command, and sees the files as they were before it."""
        ...

    async def command(self, folder_id: str, command: Command, *, on_output: OnOutput | None = None) -> CommandOutcome:
        """Run a program over its files, which are afterwards as it left them; as they were, if a limit or a cancel ended it."""
        ...

    async def tell_folder(self, folder_id: str) -> Performed:
        """What happened to its files since that was last told."""
        ...

    async def cancel_command(self, folder_id: str) -> bool: ...

    async def pack_folder(self, folder_id: str) -> Frozen:
        """All its files, whole."""
        ...

    async def replace_folder(self, folder_id: str, pack: bytes, source_id: str | None, kept: Sequence[str]) -> Performed:
        """Give it the files of a pack, or of another folder; but for the directories that are `kept`, by their paths."""
        ...

    async def close_folder(self, folder_id: str) -> None: ...

    async def cancel(self, session_id: str) -> bool:
        """Stop the run under way; False if there is none."""

    async def close(self, session_id: str) -> bool: ...

    async def status(self) -> Status: ...


class Workers(Protocol):
    """The pool. `live` workers are there; `lost` is how many were killed or died, so far."""

    @property
    def live(self) -> int: ...
    @property
    def lost(self) -> int: ...

    def read_cpu(self) -> Mapping[str, float]:
        """The CPU seconds that each tenant's sessions have used, as the kernel counts; "" is what cannot be told apart."""

    async def start(self) -> Sequence[str]:
        """Make ready; the guests that are."""

    async def refresh(self) -> Sequence[str]:
        """Take in guests that were compiled meanwhile."""

    async def of(self, tenant: str) -> Worker:
        """The tenant's worker, started if there is none. Raises `WorkerLost` if none can be had."""

    async def forget(self, tenant: str) -> None:
        """End the tenant's worker with everything in it; what runs there is lost."""

    async def aclose(self) -> None: ...
