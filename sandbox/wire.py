"""The wire types of code-run sessions, as the contract spells them.

Rules: field names, enum values and defaults here are what clients see; nothing is renamed on its way out. What Hatchway adds
in addition to the contract's fields stands last in each type and says so. Types only: no behaviour beyond defaults and decoding.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from sandbox.languages import LANGUAGE_NAMES as LANGUAGE_NAMES
from sandbox.languages import Language as Language
from sandbox.limits import DEFAULT_LIMITS as DEFAULT_LIMITS
from sandbox.limits import SessionLimits as SessionLimits
from sandbox.result_view import ResultView

SNAPSHOT_VERSION = 2
DEFAULT_SESSION_ID = "default"
SESSION_ID = re.compile(r"[a-zA-Z0-9_\-]{1,64}")
MAX_CODE_BYTES = 10 << 20
MAX_STARTED_BYTES = 256 << 10
"""Of the code of a program that a program starts, where it is said which languages it may start."""
MAX_INPUTS_BYTES = 10 << 20
MAX_ENV_BYTES = 1 << 20
MAX_RESULT_BYTES = 4 << 20
MAX_OUTCOME_BYTES = 16 << 20
"""Of JSON, which takes up to twenty times as much memory when decoded."""
T = TypeVar("T")


class RunStatus(enum.StrEnum):
    OK = "ok"
    VALIDATION_ERROR = "validation_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    PERMISSION_DENIED = "permission_denied"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    INTERRUPTED = "interrupted"


_CODES_OF_STATUS: dict[RunStatus, str] = {
    RunStatus.VALIDATION_ERROR: """
        SYNTAX_ERROR TYPE_ERROR UNKNOWN_TOOL UNSUPPORTED_FEATURE RESULT_NOT_SERIALIZABLE SNAPSHOT_VERSION_MISMATCH
        SNAPSHOT_CAPABILITY_MISMATCH SNAPSHOT_CORRUPT INVALID_SESSION_ID INVALID_ARGUMENT INVALID_TOOL_NAME SESSION_NOT_FOUND
    """,
    RunStatus.TIMEOUT: "TIMEOUT_WALL TIMEOUT_CPU TIMEOUT_TOOL",
    RunStatus.RESOURCE_EXHAUSTED: "MEMORY_EXCEEDED STDOUT_EXCEEDED EXTERNAL_CALLS_EXCEEDED STACK_OVERFLOW",
    RunStatus.PERMISSION_DENIED: "PERMISSION_DENIED",
    RunStatus.WAITING_FOR_APPROVAL: "WAITING_FOR_APPROVAL",
    RunStatus.CANCELLED: "CANCELLED",
    RunStatus.RUNTIME_ERROR: "TOOL_ERROR RUNTIME_ERROR NAME_ERROR",
}
STATUS_OF_CODE = {code: status for status, codes in _CODES_OF_STATUS.items() for code in codes.split()}
"""The contract's codes and the status each gives. A code that is not here is a capability's own: a runtime error."""


class CallStatus(enum.StrEnum):
    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    DENIED = "denied"
    APPROVAL_PENDING = "approval_pending"


class OnLimit(enum.StrEnum):
    """What becomes of what a run did until a limit ended it."""

    UNDO = "undo"
    KEEP = "keep"

    __hash__ = str.__hash__


class Severity(enum.StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class SideEffect(enum.StrEnum):
    NONE = "none"
    READ = "read"
    WRITE = "write"
    NETWORK = "network"
    DATABASE = "database"
    EXTERNAL_SYSTEM = "external_system"


class SessionMeta(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    created_at: int
    last_used_at: int
    language: Language
    limits: SessionLimits
    snapshot_version: int = SNAPSHOT_VERSION


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """1-based; columns count Unicode code points."""

    line: int
    column: int
    end_line: int | None = None
    end_column: int | None = None


class ErrorObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    message: str
    hint: str | None = None
    span: Span | None = None


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    message: str
    severity: Severity = msgspec.field(default_factory=lambda: Severity.INFO)  # a factory's value is never left out
    code: str | None = None
    hint: str | None = None
    span: Span | None = None


class ExternalCallRecord(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    side_effect: SideEffect
    duration_ms: int
    status: CallStatus
    request_digest: str
    response_digest: str | None = None
    error: ErrorObject | None = None


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """`instructions` is counted in metered sessions only and is 0 otherwise. `cpu_ms` is ours."""

    duration_ms: int = 0
    memory_peak_bytes: int = 0
    instructions: int = 0
    external_calls_count: int = 0
    cpu_ms: float = 0.0


class Display(msgspec.Struct, frozen=True):
    """Something richer than text that a program showed: a figure, a table. Binary data is base64."""

    mime: str
    data: str


class Matches(list[T]):
    """Lines in which something was found. `complete` is False if not all was looked at; `skipped` counts those files."""

    def __init__(self, found: Iterable[T] = (), *, complete: bool = True, skipped: int = 0) -> None:
        super().__init__(found)
        self.complete = complete
        self.skipped = skipped


class RunRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`stdin`, `filename`, `env`, `starts` and `on_limit` are ours. `env` is put into the environment before the run. `starts`
    are the languages of programs that it may start (`python3 x.py` in a script); None: every one. `stdin_base64` is for an input
    that is no text."""

    session_id: str
    language: Language
    code: str
    inputs: dict[str, Any]
    return_snapshot: bool
    validate_only: bool
    timeout_ms: int | None = None
    limits: SessionLimits | None = None
    stdin: str = ""
    filename: str | None = None
    env: dict[str, str] = {}
    starts: list[Language] | None = None
    on_limit: OnLimit = OnLimit.UNDO
    stdin_base64: str = ""


class RunResult(ResultView, msgspec.Struct, frozen=True, kw_only=True):
    """`exit_code` and `displays` are ours, and `stdout_base64` and `stderr_base64`, which are there where a stream is no text."""

    status: RunStatus
    result: Any = None
    stdout: str = ""
    stderr: str = ""
    stdout_base64: str | msgspec.UnsetType = msgspec.UNSET
    stderr_base64: str | msgspec.UnsetType = msgspec.UNSET
    diagnostics: list[Diagnostic] = []
    external_calls: list[ExternalCallRecord] = []
    snapshot_id: str | None = None
    metrics: Metrics = Metrics()
    error: ErrorObject | None = None
    exit_code: int = 0
    displays: list[Display] = []

    __repr__ = ResultView.__repr__
