"""`Sandbox`: a session in this process, with the verbs people use.

Rules: the surface of DESIGN.md stays as it is. `run` answers with a `RunResult` whatever the code does; wrong arguments to
Python functions are answered the same way, with the contract's code, so that an embedder has one place to look.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack, overload

import msgspec

from hatchway.arguments import (
    Limits,
    Sealed,
    build_request,
    check_callable,
    check_count,
    check_kind,
    check_label,
    check_sealed,
    complete_limits,
)
from hatchway.local_arguments import Tools, build_registry, check_files, check_path, choose_keys, start_limits
from hatchway.values import Values
from sandbox.capabilities.registry import Registry
from sandbox.engine.limits import Cancel
from sandbox.engine.wasmtime import NativeError
from sandbox.errors import RequestError, failure
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.host_inputs import Source
from sandbox.guests.images import Progress
from sandbox.limits import MOST
from sandbox.sessions.host_files import Files
from sandbox.sessions.request_checks import check_limits, parse_language
from sandbox.sessions.session import OnOutput, Session
from sandbox.wire import DEFAULT_SESSION_ID, Language, OnLimit, RunResult, RunStatus, SessionMeta

if TYPE_CHECKING:
    from sandbox.encoding.sealing import Keys
    from sandbox.guests.state import SessionState
    from sandbox.snapshots.history import History
    from sandbox.snapshots.recordings import Recording
    from sandbox.snapshots.snapshot_format import Origin

_TENANT = "local"
_MANY = 16
"""From this many forks on, writing the memory out once costs less than copying its pages for each."""


class Start(TypedDict, total=False):
    """What a sandbox starts from. `template` is the name of a session that was warmed up before (`hatchway template build`),
    `packages` a lock file (`hatchway packages lock`) whose wheels can be imported."""

    template: str | None
    packages: str | os.PathLike[str] | None


class Sandbox:
    """A session of its own: one filesystem, Python, JavaScript, TypeScript and shell.

    `limits` are the session's ceiling; a run may lower them. `tools` are functions its programs may call. `metered` counts
    instructions (slower; its images are compiled separately). `files` bounds the filesystem.
    With `record` every run leaves a recording that can be replayed. `history` is where `save` keeps snapshots.
    """

    record: bool = False
    recording: Recording | None = None
    """The last run, if `record` is set: to be replayed, sealed and kept, or resumed. None if that run was refused."""
    history: History | None = None
    values: Values
    secrets: Values
    snapshot_id: str | None = None
    """The snapshot this sandbox was last saved as: the parent of the next one."""

    def __init__(
        self,
        *,
        session_id: str = DEFAULT_SESSION_ID,
        language: str | Language | None = None,
        limits: Limits = None,
        tools: Tools = None,
        files: VfsLimits | None = None,
        metered: bool = False,
        history: History | None = None,
        record: bool = False,
        progress: Progress | None = None,
        **start: Unpack[Start],
    ) -> None:
        check_callable("progress", progress)
        check_kind("metered", metered, bool)
        check_kind("record", record, bool)
        _check_history(history)
        state = _load_start(**start)
        chosen = state.language if state is not None else Language.PYTHON
        self._progress = progress
        self.values, self.secrets = Values(), Values()
        self.record, self.history = record, history
        self._session = Session(
            session_id,
            language=chosen if language is None else parse_language(language),
            limits=start_limits(limits),
            files=check_files(files),
            registry=build_registry(tools),
            metered=metered if state is None else state.metered,
            state=state,
        )

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def language(self) -> Language:
        """What a program is written in unless a run says otherwise."""
        return self._session.language

    @property
    def meta(self) -> SessionMeta:
        return self._session.meta

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} {self.language.value}, {len(self.registry.names())} tools>"

    @property
    def files(self) -> Files:
        """The session's filesystem: read_file, write_file, list_dir, … with paths as programs see them. A caller outside of
        the run under way waits for its end."""
        return Files(self._session)

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
        stdin: str | bytes | Source = "",
        timeout_ms: int | None = None,
        limits: Limits = None,
        validate_only: bool = False,
        filename: str | None = None,
        env: Mapping[str, str] | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
        return_snapshot: bool = False,
        on_limit: str | OnLimit = OnLimit.UNDO,
    ) -> RunResult:
        """Run a program in the session; its variables, functions and files stay for the next one.

        `cancel.ask()` ends this run alone, from any thread, also while it waits for another run of the session. A `stdin` that
        is a `Source` is read as the program asks for it. After a limit ended the run, files and variables are as before it
        (`on_limit="undo"`), or as it left them (`"keep"`; its variables only if it could be interrupted).
        """
        session, source = self._session, None
        if isinstance(stdin, Source):
            stdin, source = (stdin.read_all(), None) if self.record else ("", stdin)
        try:
            check_callable("on_output", on_output)
            check_kind("cancel", cancel, Cancel, type(None))
            request = build_request(
                session.id,
                code,
                session.limits,
                session.language,
                is_recorded=self.record,
                language=language,
                inputs=inputs,
                stdin=stdin,
                timeout_ms=timeout_ms,
                limits=limits,
                validate_only=validate_only,
                filename=filename,
                env=env,
                return_snapshot=return_snapshot,
                on_limit=on_limit,
            )
            _check_history(self.history, is_needed=return_snapshot)
        except RequestError as refused:
            if self.record:
                self.recording = None
            return failure(refused.error)
        if not self.record:
            result = session.run(request, on_output=on_output, progress=self._progress, cancel=cancel, source=source)
        else:
            from sandbox.snapshots.recordings import record

            result, self.recording = record(session, request, on_output=on_output, progress=self._progress, cancel=cancel)
        if return_snapshot and result.status is RunStatus.OK:
            result = msgspec.structs.replace(result, snapshot_id=self.save())
        return result

    @overload
    def fork(self) -> Self: ...
    @overload
    def fork(self, count: int) -> list[Self]: ...
    def fork(self, count: int | None = None) -> Self | list[Self]:
        """A sandbox that starts with everything this one has, and is independent of it from then on; or `count` of them."""
        if count is None:
            return self._fork_one(None)
        check_count(count)
        state = self._session.freeze()
        if count >= _MANY:
            state = state.solidify()
        forks: list[Self] = []
        try:
            while len(forks) < count:
                forks.append(self._fork_one(state))
        except BaseException as error:
            for fork in forks:
                fork.close()
            if not isinstance(error, NativeError | OSError | MemoryError):
                raise
            told = f"this machine has no room for {count} forks: number {len(forks) + 1} failed ({error}); none was kept"
            raise RequestError("INVALID_ARGUMENT", told, "ask for fewer, or raise vm.max_map_count") from None
        return forks

    def _fork_one(self, state: SessionState | None) -> Self:
        child = self._around(self._session.fork(state), self._progress)
        child.record = self.record
        child.history, child.snapshot_id = self.history, self.snapshot_id
        child.values, child.secrets = self.values.copy(), self.secrets.copy()
        return child

    def snapshot(self, *, keys: Keys | None = None, tenant: str = _TENANT, label: str = "", policy: str | None = None) -> bytes:
        """Everything this sandbox has, as sealed bytes. Without `keys` they are sealed with this user's own."""
        from sandbox.snapshots.snapshot_format import save

        check_kind("tenant", tenant, str)
        check_kind("policy", policy, str, type(None))
        return save(self._session.freeze(), self._describe_origin(label, policy=policy), choose_keys(keys), tenant=tenant)

    def _describe_origin(self, label: str, **more: str | None) -> Origin:
        from sandbox.snapshots.snapshot_format import Origin, capability_digests

        session = self._session
        return Origin(session.id, session.limits, capability_digests(session.registry), label=check_label(label), **more)

    def save(self, label: str = "") -> str:
        """Keep everything this sandbox has in its history, as a child of what was saved before; the new snapshot's id."""
        history = _check_history(self.history, is_needed=True)
        assert history is not None
        origin = self._describe_origin(label, parent=self.snapshot_id)
        self.snapshot_id = history.save(self._session.freeze(), origin)
        return self.snapshot_id

    @classmethod
    def restore(
        cls,
        blob: Sealed,
        *,
        keys: Keys | None = None,
        tenant: str = _TENANT,
        session_id: str | None = None,
        limits: Limits = None,
        tools: Tools = None,
        files: VfsLimits | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """A sandbox from a snapshot. The limits and tools given here rule, not those it was taken with; all of those it was
        taken with must be there, and with `strict` no others. Raises `RequestError` with a SNAPSHOT_… code."""
        from sandbox.snapshots.snapshot_format import check_capabilities, open_snapshot, thaw

        check_callable("progress", progress)
        check_kind("tenant", tenant, str)
        chosen = start_limits(limits)
        registry, files = build_registry(tools), check_files(files)
        sealed = check_sealed("a snapshot", blob)
        found = open_snapshot(sealed, choose_keys(keys), tenant=tenant, memory_mb=check_limits(chosen).memory_mb, files=files)
        check_capabilities(found.manifest.capabilities, registry, strict=strict)
        session = Session(
            session_id or found.manifest.session_id,
            language=found.manifest.language,
            limits=chosen,
            files=files,
            registry=registry,
            metered=found.manifest.metered,
            state=thaw(found, files=files),
        )
        return cls._around(session, progress)

    @staticmethod
    def can_restore(blob: Sealed, *, keys: Keys | None = None, tenant: str = _TENANT, memory_mb: int = MOST.memory_mb) -> bool:
        """Would `restore` take this snapshot, given the tools that it was taken with?"""
        from sandbox.snapshots.snapshot_format import open_snapshot

        try:
            open_snapshot(check_sealed("a snapshot", blob), choose_keys(keys), tenant=tenant, memory_mb=memory_mb, files=None)
        except RequestError:
            return False
        return True

    @classmethod
    def resume(
        cls,
        recording: Recording | Sealed,
        *,
        answer: Any = msgspec.UNSET,
        keys: Keys | None = None,
        tenant: str = _TENANT,
        limits: Limits = None,
        tools: Tools = None,
        on_output: OnOutput | None = None,
        progress: Progress | None = None,
    ) -> tuple[Self, RunResult]:
        """Resume a run that was suspended for an approval, here or in another process. The waiting call gets `answer`
        (an exception if it is refused), or is made now, with `tools`. Gives the sandbox it runs in, and the result."""
        from sandbox.snapshots.recordings import Recording, resume

        check_callable("on_output", on_output)
        check_callable("progress", progress)
        check_kind("tenant", tenant, str)
        if not isinstance(recording, Recording):
            recording = Recording.open(check_sealed("a recording", recording), choose_keys(keys), tenant=tenant)
        chosen = complete_limits(limits, recording.journal.limits)
        done = resume(recording, answer=answer, registry=build_registry(tools), limits=chosen, on_output=on_output)
        box = cls._around(done.session, progress)
        box.record, box.recording = True, done.recording
        return box, done.result

    @classmethod
    def _around(cls, session: Session, progress: Progress | None) -> Self:
        box = cls.__new__(cls)
        box._session, box._progress = session, progress
        box.values, box.secrets = Values(), Values()
        return box

    def cancel(self) -> bool:
        """From another thread: stop the run under way; False if there is none."""
        return self._session.cancel()

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _load_start(template: str | None = None, packages: str | os.PathLike[str] | None = None) -> SessionState | None:
    """What a session starts from, if it is not the plain image."""
    if template is not None and packages is not None:
        hint = "build the template with them: hatchway template build NAME --packages LOCK"
        raise RequestError("INVALID_ARGUMENT", "a session starts from a template or with packages, not both", hint)
    if template is not None:
        from sandbox.snapshots.templates import templates

        return templates.load(template)
    if packages is not None:
        from sandbox.guests.state import SessionState
        from sandbox.packages.layers import layers
        from sandbox.packages.locks import read_lock_file

        files = layers.open_lock(read_lock_file(check_path("packages", packages)))
        return SessionState(Language.PYTHON, files, 0)
    return None


def _check_history(history: History | None, *, is_needed: bool = False) -> History | None:
    if history is None:
        if is_needed:
            raise RequestError("INVALID_ARGUMENT", "this sandbox has no history", "open it with Sandbox(history=…)")
        return None
    from sandbox.snapshots.history import History

    return check_kind("history", history, History)
