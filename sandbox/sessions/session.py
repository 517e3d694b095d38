"""A session: one filesystem, up to one live guest per language, and the one function that shows the whole way of a run.

Rules: `run` never raises for anything a request or a guest does; it answers with a `RunResult`. Two runs of one session never
interleave, and a run cannot wait for its own session: a capability or an output callback that asks for it is refused.
After a limit ends a run, the session goes on with its state from before that run, unless the request says that what it did is
kept; a program's own failure keeps what it did.

Does not know: tenants, policy, HTTP.
"""

from __future__ import annotations

import base64
import contextlib
import contextvars
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from sandbox.capabilities.registry import Calls, Registry
from sandbox.engine import stacks
from sandbox.engine.limits import Cancel, Queued, Run, check, lower
from sandbox.engine.wasmtime import NativeError, Trap
from sandbox.errors import RequestError, SandboxError, Stop
from sandbox.excerpts import excerpt
from sandbox.filesystem.inode_table import UNLIMITED, VfsLimits, exceed_memory
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.guest import Guest, is_limit
from sandbox.guests.host_inputs import Source, World
from sandbox.guests.images import Images, Progress, images
from sandbox.guests.state import GuestState, SessionState
from sandbox.guests.tape import Tape
from sandbox.languages import GUEST_OF
from sandbox.sessions.limit_errors import FILES_KEPT, KEPT, UNDONE, explain_end, say_who_raises, tell_lowered
from sandbox.sessions.nested_programs import NestedPrograms, reply_ended
from sandbox.sessions.outcome import Outcome, add_hint, first_error, judge_status, read_outcome
from sandbox.sessions.request_checks import CodeRefused, check_request, stdin_bytes
from sandbox.wasi.wasi import GuestExit
from sandbox.wire import (
    DEFAULT_LIMITS,
    DEFAULT_SESSION_ID,
    LANGUAGE_NAMES,
    MAX_CODE_BYTES,
    SESSION_ID,
    STATUS_OF_CODE,
    Diagnostic,
    ErrorObject,
    Language,
    Metrics,
    OnLimit,
    RunRequest,
    RunResult,
    RunStatus,
    SessionLimits,
    SessionMeta,
    Severity,
)

_TYPESCRIPT = Language.TYPESCRIPT
_DONE, _CALL, _NAMES, _ERASE, _START = b"DCNEX"
_OVERFLOW_HINT = "nest calls and data less deeply: this stack has one size, and no limit changes it"
_FIELDS = (
    "stdout",
    "stderr",
    "stdout_base64",
    "stderr_base64",
    "external_calls",
    "metrics",
    "diagnostics",
    "displays",
    "exit_code",
)
"""What a run that failed leaves behind like any other."""
OnOutput = Callable[[int, bytes], None]
_running: contextvars.ContextVar[tuple[Session, ...]] = contextvars.ContextVar("hatchway_running", default=())
"""The sessions whose runs are under way around this code, outermost first."""


_encode = msgspec.json.Encoder().encode


def check_session_id(session_id: object) -> str:
    if not isinstance(session_id, str) or not SESSION_ID.fullmatch(session_id):
        raise RequestError("INVALID_SESSION_ID", "a session id is 1 to 64 letters, digits, '_' or '-'")
    return session_id


def parse_language(name: object) -> Language:
    if isinstance(name, Language):
        return name
    language = LANGUAGE_NAMES.get(name) if isinstance(name, str) else None
    if language is None:
        known = ", ".join(sorted(set(LANGUAGE_NAMES)))
        raise RequestError("UNSUPPORTED_FEATURE", f"the language {excerpt(name)} is not known", f"use one of: {known}")
    return language


def failure(error: ErrorObject, **fields: Any) -> RunResult:
    """The result of a run that failed: one error diagnostic mirrors the error."""
    mirrored = Diagnostic(severity=Severity.ERROR, code=error.code, message=error.message, hint=error.hint, span=error.span)
    status = fields.pop("status", None) or STATUS_OF_CODE.get(error.code, RunStatus.RUNTIME_ERROR)
    diagnostics = [mirrored, *(found for found in fields.pop("diagnostics", []) if found != mirrored)]
    exit_code = fields.pop("exit_code", 0) or 1
    return RunResult(status=status, error=error, diagnostics=diagnostics, exit_code=exit_code, **fields)


def read_output(run: Run) -> dict[str, Any]:
    """Both streams as a result has them: as text, and in base64 too where that would lose something."""
    stdout, stderr = run.output
    try:
        return {"stdout": stdout.decode(), "stderr": stderr.decode()}
    except UnicodeDecodeError:
        return _read_bytes(run)


def _read_bytes(run: Run) -> dict[str, Any]:
    said = {}
    for name, raw in zip(("stdout", "stderr"), run.output, strict=True):
        try:
            said[name] = raw.decode()
        except UnicodeDecodeError as error:
            said[name] = raw.decode("utf-8", "replace")
            is_cut = run.output_dropped_bytes and error.end == len(raw) > error.start >= len(raw) - 3
            if is_cut:  # by the limit, inside of a character
                said[name] = raw[: error.start].decode()
            else:
                said[f"{name}_base64"] = base64.b64encode(raw).decode()
    return said


class Session:
    def __init__(
        self,
        session_id: str = DEFAULT_SESSION_ID,
        *,
        language: Language = Language.PYTHON,
        limits: SessionLimits = DEFAULT_LIMITS,
        files: VfsLimits | None = None,
        registry: Registry | None = None,
        metered: bool = False,
        state: SessionState | None = None,
        store: Images = images,
    ) -> None:
        self.id = check_session_id(session_id)
        self.language = language
        self.limits = check(limits)
        self.registry = registry if registry is not None else Registry()
        self.metered = metered
        self.vfs = Vfs.at(store.files() if state is None else state.files, files)
        self.created_at = self.last_used_at = time.time_ns() // 1_000_000
        self._images = store
        self._guests: dict[str, Guest] = {}
        self._frozen: dict[str, GuestState] = {} if state is None else dict(state.guests)
        self._told: dict[str, tuple[str, ...]] = {name: frozen.tools for name, frozen in self._frozen.items()}
        self._seeded: set[str] = set()
        self._written_bytes = 0
        """By how much runs have made files grow: charged to the memory of later runs. Not what the session started with."""
        self._ahead_ns = 0 if state is None else max(0, state.monotonic_ns - time.monotonic_ns())
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._closed = False
        if GUEST_OF[language] in self._frozen:
            self._guest(language, None)

    @property
    def meta(self) -> SessionMeta:
        return SessionMeta(
            id=self.id, created_at=self.created_at, last_used_at=self.last_used_at, language=self.language, limits=self.limits
        )

    def run(
        self,
        request: RunRequest,
        *,
        on_output: OnOutput | None = None,
        progress: Progress | None = None,
        tape: Tape | None = None,
        cancel: Cancel | None = None,
        source: Source | None = None,
    ) -> RunResult:
        """Validate, erase types, take a turn, and say what happened. `tape` records the run, or plays it again. `source` is
        its standard input, in place of the request's, to be read as the program asks; a run on tape cannot have one."""
        if not stacks.is_enough():
            options = {"on_output": on_output, "progress": progress, "tape": tape, "cancel": cancel, "source": source}
            return stacks.on_large_stack(lambda: self.run(request, **options))  # type: ignore[arg-type]
        around = _running.get()
        token = _running.set((*around, self))
        try:
            if self in around and self._run is not None:
                raise RequestError("INVALID_ARGUMENT", f"the session {self.id!r} cannot run a program from within its own run")
            with self._lock if cancel is None else Queued(self._lock, cancel):
                if self._closed:
                    raise RequestError("SESSION_NOT_FOUND", f"the session {self.id!r} is closed")
                self.last_used_at = time.time_ns() // 1_000_000
                check_request(request)
                if request.language is _TYPESCRIPT:
                    from sandbox.typescript.child_parsers import prepare

                    prepare(request.code)
                guest = self._guest(request.language, progress)
                guest.prepare()
                run = self._run = Run(self.limits_of(request), on_output=on_output, keeps=request.on_limit is OnLimit.KEEP)
                if cancel is not None:
                    cancel.attach(run)
                vfs = self.vfs
                files_bytes = vfs.used_bytes
                vfs.run_bytes_max = files_bytes + (run.limits.memory_mb << 20)
                try:
                    if tape is None:
                        return self._take_turn(request, guest, run, None, source)
                    if source is not None:
                        raise RequestError("INVALID_ARGUMENT", "a run on tape has its standard input beforehand")
                    with tape.record_clock(self.vfs, guest, run):
                        return self._take_turn(request, guest, run, tape)
                finally:
                    self._run = None
                    vfs.run_bytes_max = UNLIMITED
                    if vfs.used_bytes != files_bytes:
                        self._written_bytes = max(0, self._written_bytes + vfs.used_bytes - files_bytes)
        except RequestError as refused:
            return failure(refused.error, diagnostics=refused.more)
        except Stop as stop:
            return failure(stop.error, status=stop.status)
        except (SandboxError, NativeError) as broken:
            return failure(ErrorObject(code="INTERNAL", message=str(broken)), status=RunStatus.INTERRUPTED)
        finally:
            _running.reset(token)

    def _erase(self, code: str, filename: str, run: Run) -> tuple[str, list[Diagnostic]]:
        """The code without types, and what is to be said about it. Takes the run's time, and ends by `Stop` like it."""
        from sandbox.typescript.child_parsers import erase_bounded

        erased = erase_bounded(code, filename, run.check)
        run.charge_cpu(erased.cpu_ns)
        errors = [d for d in erased.diagnostics if d.severity is Severity.ERROR]
        if errors:
            first = errors[0]
            raise CodeRefused(first.code or "SYNTAX_ERROR", first.message, first.span, first.hint, errors[1:])
        return erased.code, list(erased.diagnostics)

    def _guest(self, language: Language, progress: Progress | None) -> Guest:
        name = GUEST_OF[language]
        guest = self._guests.get(name)
        if guest is None and name in self._frozen:
            guest = self._guests[name] = Guest(self._frozen[name].image, self.vfs, self._frozen[name])
            del self._frozen[name]
        elif guest is None:
            image = self._images.get(name, metered=self.metered, **({"progress": progress} if progress else {}))
            guest = self._guests[name] = Guest(image, self.vfs)
        return guest

    def _request(
        self, request: RunRequest, code: str, name: str, tools: tuple[str, ...], run: Run, source: Source | None
    ) -> bytes:
        message: dict[str, Any] = {"code": code, "max_stack_depth": run.limits.max_stack_depth}
        if request.inputs:
            message["inputs"] = request.inputs
        if request.filename:
            message["filename"] = request.filename
        if request.validate_only:
            message["validate_only"] = True
        if request.stdin or source is not None:
            message["stdin"] = True
        if request.env:
            message["env"] = request.env
        if run.keeps:
            message["interruptible"] = True
        # THREAT[TM-SNAP-CLONE]: until it has its own seed, a fork would draw its siblings' random numbers.
        if name not in self._seeded:
            message["seed"] = secrets.token_hex(32)
        if tools != self._told.get(name, ()):
            message["tools"] = tools
        return _encode(message)

    def _take_turn(
        self, request: RunRequest, guest: Guest, run: Run, tape: Tape | None, source: Source | None = None
    ) -> RunResult:
        approved = None if tape is None else tape.approved
        calls, name, tools = Calls(self.registry, run, approved), guest.image.name, self.registry.names()
        reported: list[bytes] = []
        files_bytes = self.vfs.used_bytes
        answer = self._answer_guest(calls, run, reported, lambda: self._nest(request, run, calls, tape))
        end, outcome, code = _ENDED_WELL, Outcome(), request.code
        found = tell_lowered(request.limits, request.timeout_ms, self.limits)
        try:
            if run.is_cancelled:
                run.check()
            if request.language is _TYPESCRIPT:
                code, more = self._erase(code, request.filename or "<run>", run)
                found += more
            message, stdin = self._request(request, code, name, tools, run, source), stdin_bytes(request)
            if tape is None:
                guest.turn(message, run, answer, World(run, stdin if source is None else source, self._ahead_ns))
            else:
                listen = tape.listen(answer, lambda opcode, body, reply: calls.recall(body, reply) if opcode == _CALL else None)
                guest.turn(tape.message(message), run, listen, tape.world(run, stdin, self._ahead_ns))
            outcome = read_outcome(reported, calls.records)
            end = _judge(request, run, outcome, self.vfs.used_bytes - files_bytes, guest, is_reported=len(reported) == 1)
            if end.is_kept:
                self._seeded.add(name)
                self._told[name] = tools
        except Stop as stop:
            is_undone = stop.status is not RunStatus.WAITING_FOR_APPROVAL
            end = _End(stop.error, stop.status, _describe_lost(run, is_limit(stop)) if is_undone else None)
            if tape is not None:
                tape.stopped = stop
        except GuestExit as left:
            outcome.exit_code = left.code & 255
            end = _End(ErrorObject(code="RUNTIME_ERROR", message="the program ended its interpreter"), None, UNDONE)
        except Trap as trap:
            # A guest that has no way back to its turn reports first and traps then.
            outcome = read_outcome(reported, calls.records) if reported else outcome
            end = _End(outcome.error or _describe_trap(trap), None, _describe_lost(run, is_limit(trap)))
        done = self._describe(guest, run, calls, outcome, found, self.vfs.used_bytes - files_bytes)
        if end.error is None:
            return done
        error = self._explain_end(request, run, end.error, end.became, len(calls.records))
        return failure(error, status=end.status, **{name: getattr(done, name) for name in _FIELDS})

    def _explain_end(self, request: RunRequest, run: Run, error: ErrorObject, became: str | None, calls: int) -> ErrorObject:
        if became is None:
            return error
        asked = request.limits
        if request.timeout_ms is not None:
            asked = msgspec.structs.replace(asked or self.limits, wall_ms=request.timeout_ms)
        limits = lower(self.limits, asked)
        hint = say_who_raises(error, asked, self.limits)
        return explain_end(error, limits, hint, became, calls, limits.memory_mb - run.limits.memory_mb)

    def _nest(self, request: RunRequest, run: Run, calls: Calls, tape: Tape | None) -> NestedPrograms:
        return NestedPrograms(
            permitted=request.starts,
            images=self._images,
            vfs=self.vfs,
            registry=self.registry,
            run=run,
            calls=calls,
            tape=tape,
            make_answer=self._answer_guest,
            erase=self._erase,
            ahead_ns=self._ahead_ns,
            is_metered=self.metered,
        )

    def _answer_guest(
        self, calls: Calls, run: Run, reported: list[bytes], nest: Callable[[], NestedPrograms]
    ) -> Callable[[int, bytes], bytes]:
        """What answers the guest's messages during one turn; its report is put into `reported`."""

        def answer(opcode: int, body: bytes) -> bytes:
            if opcode == _DONE:
                if reported:
                    raise Trap("the program reported a second time")
                reported.append(body)
                return b""
            try:
                if opcode == _CALL:
                    return calls.call(body)
                if opcode == _NAMES:
                    return _encode(self.registry.names())
                if opcode == _ERASE:
                    return self._erase_module(body, run)
                if opcode == _START:
                    return nest().start(body)
            except Stop as stop:
                if run.ended_by is None and not run.ask_to_end(stop):
                    raise
                return reply_ended(stop) if opcode == _START else _encode({"error": stop.error})
            raise Trap("the guest sent an unknown message")

        return answer

    def _describe(
        self, guest: Guest, run: Run, calls: Calls, outcome: Outcome, found: list[Diagnostic], written_bytes: int
    ) -> RunResult:
        """The result of a run that did not fail."""
        return RunResult(
            status=RunStatus.OK,
            result=outcome.result,
            **read_output(run),
            external_calls=calls.records,
            metrics=Metrics(
                duration_ms=run.measure_ns() // 1_000_000,
                memory_peak_bytes=guest.own_bytes + run.started_bytes + max(0, written_bytes),
                instructions=guest.fuel_used if self.metered else 0,
                external_calls_count=len(calls.records),
                cpu_ms=run.measure_cpu_ns() // 1000 / 1000,
            ),
            diagnostics=[*found, *outcome.diagnostics, *_output_warning(run)],
            displays=outcome.displays,
            exit_code=outcome.exit_code,
        )

    def _erase_module(self, body: bytes, run: Run) -> bytes:
        """A program imports a TypeScript file: erase its types too."""
        try:
            asked = msgspec.json.decode(body, type=dict[str, str])
            if len(asked["source"]) > MAX_CODE_BYTES:
                raise RequestError("INVALID_ARGUMENT", "the imported file is too large")
            code, _ = self._erase(asked["source"], asked["path"], run)
            return _encode({"code": code})
        except RequestError as refused:
            return _encode({"error": refused.error})
        except (ValueError, KeyError, RecursionError):
            return _encode({"error": {"code": "INVALID_ARGUMENT", "message": "a malformed message"}})

    def limits_of(self, request: RunRequest) -> SessionLimits:
        """What a run of `request` may use: of memory, what files that runs have written leave of it."""
        limits = lower(self.limits, request.limits, request.timeout_ms)
        if self._written_bytes < 1 << 20:
            return limits
        taken_mb = min(self._written_bytes, self.vfs.used_bytes) >> 20
        return msgspec.structs.replace(limits, memory_mb=max(1, limits.memory_mb - taken_mb))

    @contextlib.contextmanager
    def files_held(self) -> Iterator[Vfs]:
        """The filesystem, while no program uses it. Waits for the run under way, unless the caller is part of that run."""
        is_within = self._run is not None and self in _running.get()
        with contextlib.nullcontext() if is_within else self._lock:
            yield self.vfs

    def freeze(self) -> SessionState:
        """The session as it is now. Waits for the run under way."""
        if self in _running.get():
            raise RequestError("INVALID_ARGUMENT", f"the session {self.id!r} cannot be frozen from within its own run")
        with self._lock:
            if self._closed:
                raise RequestError("SESSION_NOT_FOUND", f"the session {self.id!r} is closed")
            guests = {name: guest.freeze(self._told.get(name, ())) for name, guest in self._guests.items()}
            now_ns = time.monotonic_ns() + self._ahead_ns
            return SessionState(self.language, self.vfs.checkpoint(), now_ns, {**self._frozen, **guests}, self.metered)

    def fork(self, state: SessionState | None = None, session_id: str | None = None) -> Session:
        """An independent session that starts from this one's state of now, or of when `state` was taken."""
        return Session(
            session_id or self.id,
            language=self.language,
            limits=self.limits,
            files=self.vfs.limits,
            registry=self.registry.copy(),
            metered=self.metered,
            state=state or self.freeze(),
            store=self._images,
        )

    def cancel(self) -> bool:
        """From any thread: stop the run under way. False if there is none. The next run is not affected."""
        run = self._run
        if run is None:
            return False
        run.cancel()
        return True

    def close(self) -> None:
        self.cancel()
        with self._lock:
            self._closed = True
            for guest in self._guests.values():
                guest.close()
            self._guests.clear()


class _End(NamedTuple):
    """How a run ended, if not well; `became` is said of what it did where that is in question."""

    error: ErrorObject | None = None
    status: RunStatus | None = None
    became: str | None = None

    @property
    def is_kept(self) -> bool:
        return self.became in (None, KEPT)


_ENDED_WELL: Final = _End()


def _judge(request: RunRequest, run: Run, outcome: Outcome, written_bytes: int, guest: Guest, *, is_reported: bool) -> _End:
    """Of a turn that came to its end. One that met a limit is undone, unless it is to be kept."""
    if is_reported and outcome.error is None and run.ended_by is None and written_bytes <= 0 and not request.validate_only:
        return _ENDED_WELL
    error, status = outcome.error or (first_error(outcome.diagnostics) if request.validate_only else None), None
    if error is not None:
        error = add_hint(error, request.language)
        status = judge_status(error, outcome.ran and not request.validate_only)
    if run.ended_by is not None:
        error = msgspec.structs.replace(run.ended_by.error, span=None if error is None else error.span)
        status = run.ended_by.status
    elif written_bytes > 0 and written_bytes + guest.grown_bytes > run.limits.memory_mb << 20:
        error, status = exceed_memory().error, None
    is_exhausted = error is not None and STATUS_OF_CODE.get(error.code) is RunStatus.RESOURCE_EXHAUSTED
    met_limit = run.ended_by is not None or is_exhausted  # what a capability had no time for is the program's own failure
    if is_reported and not met_limit:
        return _End(error, status)
    if is_reported and run.keeps:
        return _End(error, status, KEPT)
    guest.undo(keeps_files=run.keeps and met_limit)
    return _End(error, status, _describe_lost(run, met_limit))


def _describe_lost(run: Run, met_limit: bool) -> str:
    return FILES_KEPT if run.keeps and met_limit else UNDONE


def _describe_trap(trap: Trap) -> ErrorObject:
    if trap.overflow:
        return ErrorObject(code="STACK_OVERFLOW", message="the program recursed too deeply", hint=_OVERFLOW_HINT)
    reason = str(trap).strip().splitlines()[-1].strip() if str(trap).strip() else "no reason given"
    return ErrorObject(code="RUNTIME_ERROR", message=f"the guest broke off: {reason}")


def _output_warning(run: Run) -> list[Diagnostic]:
    if not run.output_dropped_bytes:
        return []
    limit = run.limits.max_stdout_bytes
    message = f"output was cut after {limit} bytes; {run.output_dropped_bytes} more were dropped"
    return [Diagnostic(severity=Severity.WARNING, code="STDOUT_EXCEEDED", message=message, hint="raise limits.max_stdout_bytes")]
