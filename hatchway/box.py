"""`Sandbox`: a session in this process, with the verbs people use.

Rules: the surface of DESIGN.md stays as it is. `run` answers with a `RunResult` whatever the code does; wrong arguments to
Python functions are answered the same way, with the contract's code, so that an embedder has one place to look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, overload

import msgspec

from sandbox.capabilities import Capability, Registry
from sandbox.errors import RequestError
from sandbox.generations import VfsLimits
from sandbox.images import Progress
from sandbox.session import OnOutput, Session, failure, parse_language
from sandbox.vfs import Vfs
from sandbox.wire import DEFAULT_LIMITS, DEFAULT_SESSION_ID, Language, RunRequest, RunResult, SessionLimits

Limits = SessionLimits | Mapping[str, int] | None
_MANY = 16
"""From so many forks on, writing the memory out once costs less than copying its pages for each."""


def _limits(given: Limits, base: SessionLimits) -> SessionLimits | None:
    """A whole `SessionLimits`, or a mapping with some of the six."""
    if given is None or isinstance(given, SessionLimits):
        return given
    unknown = set(given) - set(SessionLimits.__struct_fields__) if isinstance(given, Mapping) else {type(given).__name__}
    if unknown:
        known = ", ".join(SessionLimits.__struct_fields__)
        raise RequestError("INVALID_ARGUMENT", f"unknown limit {sorted(map(str, unknown))[0]!r}", f"the limits are: {known}")
    return msgspec.structs.replace(base, **given)


class Sandbox:
    """A session of its own: one filesystem, Python, JavaScript, TypeScript and shell.

    `limits` are the session's ceiling; a run may lower them. `tools` are functions its programs may call. `metered` counts
    instructions (slower; its images are compiled separately). `files` bounds the filesystem.
    """

    def __init__(
        self,
        *,
        session_id: str = DEFAULT_SESSION_ID,
        language: str | Language = Language.PYTHON,
        limits: Limits = None,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        files: VfsLimits | None = None,
        metered: bool = False,
        progress: Progress | None = None,
    ) -> None:
        registry = Registry()
        for name, function in (tools or {}).items():
            registry.register(Capability(name=name, description=(function.__doc__ or "").strip()), function)
        self._progress = progress
        self._session = Session(
            session_id,
            language=parse_language(language),
            limits=_limits(limits, DEFAULT_LIMITS) or DEFAULT_LIMITS,
            files=files,
            registry=registry,
            metered=metered,
        )

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def files(self) -> Vfs:
        """The session's filesystem: read_file, write_file, list_dir, … with paths as programs see them."""
        return self._session.vfs

    @property
    def registry(self) -> Registry:
        """The session's capabilities; `box.registry.tool` is a decorator."""
        return self._session.registry

    def run(
        self,
        code: str | bytes,
        *,
        language: str | Language | None = None,
        inputs: Mapping[str, Any] | None = None,
        stdin: str = "",
        timeout_ms: int | None = None,
        limits: Limits = None,
        validate_only: bool = False,
        filename: str | None = None,
        on_output: OnOutput | None = None,
    ) -> RunResult:
        """Run a program in the session; its variables, functions and files stay for the next one."""
        session = self._session
        try:
            if isinstance(code, bytes):
                code = _text(code)
            if not isinstance(code, str) or not isinstance(stdin, str):
                raise RequestError("INVALID_ARGUMENT", f"code and stdin must be text, not {type(code).__name__}")
            if not (inputs is None or isinstance(inputs, Mapping)):
                raise RequestError(
                    "INVALID_ARGUMENT", f"inputs must be a mapping of names to values, not {type(inputs).__name__}"
                )
            request = RunRequest(
                session_id=session.id,
                language=session.language if language is None else parse_language(language),
                code=code,
                inputs=dict(inputs or {}),
                return_snapshot=False,
                validate_only=bool(validate_only),
                timeout_ms=timeout_ms,
                limits=_limits(limits, session.limits),
                stdin=stdin,
                filename=filename,
            )
        except RequestError as refused:
            return failure(refused.error)
        return session.run(request, on_output=on_output, progress=self._progress)

    @overload
    def fork(self) -> Self: ...
    @overload
    def fork(self, count: int) -> list[Self]: ...
    def fork(self, count: int | None = None) -> Self | list[Self]:
        """A sandbox that starts with everything this one has, and is independent of it from then on; or `count` of them."""
        if count is None:
            return self._of(self._session.fork())
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise RequestError("INVALID_ARGUMENT", f"the number of forks must be a whole number, not {count!r}")
        state = self._session.freeze()
        if count >= _MANY:
            state = state.solidify()
        return [self._of(self._session.fork(state)) for _ in range(count)]

    def _of(self, session: Session) -> Self:
        other = self.__class__.__new__(self.__class__)
        other._progress, other._session = self._progress, session
        return other

    def cancel(self) -> bool:
        """From another thread: stop the run under way; False if there is none."""
        return self._session.cancel()

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _text(code: bytes) -> str:
    try:
        return code.decode()
    except UnicodeDecodeError as error:
        raise RequestError("INVALID_ARGUMENT", f"the code is not valid UTF-8 at byte {error.start}") from None
