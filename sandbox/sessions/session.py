"""A session: one filesystem, up to one live guest per language, and the one function that shows the whole way of a run.

Rules: `run` never raises for anything a request or a guest does; it answers with a `RunResult`. Two runs of one session never
interleave, and a run cannot wait for its own session: a capability or an output callback that asks for it is refused.
After a limit ends a run, the session goes on with its state from before that run, unless the request says that what it did is
kept; a program's own failure keeps what it did.

Does not know: tenants, policy, HTTP.
"""

from __future__ import annotations

import contextlib
import contextvars
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from sandbox.capabilities.registry import Calls, Registry
from sandbox.engine import stacks
from sandbox.engine.limits import Cancel, Queued, Run, lower
from sandbox.engine.wasmtime import NativeError, Trap
from sandbox.errors import RequestError, SandboxError, Stop, failure
from sandbox.filesystem.inode_table import UNLIMITED, VfsLimits
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.guest import Guest, is_limit
from sandbox.guests.host_inputs import Source, World
from sandbox.guests.images import Images, Progress, images
from sandbox.guests.state import GuestState, SessionState
from sandbox.guests.tape import Tape
from sandbox.languages import GUEST_OF
from sandbox.sessions.guest_answers import CALL, answer_guest, erase_types
from sandbox.sessions.limit_errors import UNDONE, explain_end, say_who_raises, tell_lowered, tell_refused
from sandbox.sessions.nested_programs import NestedPrograms
from sandbox.sessions.outcome import Outcome, read_outcome
from sandbox.sessions.request_checks import check_limits, check_request, check_session_id, stdin_bytes
from sandbox.sessions.results import End, describe, describe_lost, describe_trap, fail, judge
from sandbox.wasi.wasi import GuestExit
from sandbox.wire import (
    DEFAULT_LIMITS,
    DEFAULT_SESSION_ID,
    ErrorObject,
    Language,
    OnLimit,
    RunRequest,
    RunResult,
    RunStatus,
    SessionLimits,
    SessionMeta,
)

_TYPESCRIPT, _KEEP = Language.TYPESCRIPT, OnLimit.KEEP
OnOutput = Callable[[int, bytes], None]
_running: contextvars.ContextVar[tuple[Session, ...]] = contextvars.ContextVar("hatchway_running", default=())
"""The sessions whose runs are under way around this code, outermost first."""
_encode = msgspec.json.Encoder().encode


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
        self.limits = check_limits(limits)
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
            if self._run is not None and self in around:
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
                run = self._run = Run(self.limits_of(request), on_output=on_output, keeps=request.on_limit is _KEEP)
                if cancel is not None:
                    cancel.attach(run)
                vfs, files_bytes = self.vfs, self.vfs.used_bytes
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
        answer = answer_guest(calls, run, reported, lambda: self._nest(request, run, calls, tape))
        code = request.code
        found = tell_lowered(request.limits, request.timeout_ms, self.limits)
        self.vfs.refused.clear()
        try:
            if run.is_cancelled:
                run.check()
            if request.language is _TYPESCRIPT:
                code, more = erase_types(code, request.filename or "<run>", run)
                found += more
            message, stdin = self._request(request, code, name, tools, run, source), stdin_bytes(request)
            if tape is None:
                guest.turn(message, run, answer, World(run, stdin if source is None else source, self._ahead_ns))
            else:
                listen = tape.listen(answer, lambda opcode, body, reply: calls.recall(body, reply) if opcode == CALL else None)
                guest.turn(tape.message(message), run, listen, tape.world(run, stdin, self._ahead_ns))
            outcome = read_outcome(reported, calls.records)
            end = judge(request, run, outcome, self.vfs.used_bytes - files_bytes, guest, is_reported=len(reported) == 1)
            if end.is_kept:
                self._seeded.add(name)
                self._told[name] = tools
        except Stop as stop:
            outcome, is_undone = Outcome(), stop.status is not RunStatus.WAITING_FOR_APPROVAL
            end = End(stop.error, stop.status, describe_lost(run, is_limit(stop)) if is_undone else None)
            if tape is not None:
                tape.stopped = stop
        except GuestExit as left:
            outcome = Outcome(exit_code=left.code & 255)
            end = End(ErrorObject(code="RUNTIME_ERROR", message="the program ended its interpreter"), None, UNDONE)
        except Trap as trap:
            # A guest that has no way back to its turn reports first and traps then.
            outcome = read_outcome(reported, calls.records) if reported else Outcome()
            end = End(outcome.error or describe_trap(trap), None, describe_lost(run, is_limit(trap)))
        found += tell_refused(self.vfs.refused, self.vfs.limits)
        done = describe(guest, run, calls.records, outcome, found, self.vfs.used_bytes - files_bytes)
        if end.error is None:
            return done
        return fail(done, self._explain_end(request, run, end.error, end.became, len(calls.records)), end.status)

    def _explain_end(self, request: RunRequest, run: Run, error: ErrorObject, became: str | None, calls: int) -> ErrorObject:
        if became is None:
            return error
        asked = request.limits
        if request.timeout_ms is not None:
            asked = msgspec.structs.replace(asked or self.limits, wall_ms=request.timeout_ms)
        limits = lower(self.limits, asked)
        hint = say_who_raises(error, asked, self.limits)
        return explain_end(error, limits, hint, became, calls, limits.memory_mb - run.limits.memory_mb, run.unfinished)

    def _nest(self, request: RunRequest, run: Run, calls: Calls, tape: Tape | None) -> NestedPrograms:
        return NestedPrograms(
            permitted=request.starts,
            images=self._images,
            vfs=self.vfs,
            run=run,
            calls=calls,
            tape=tape,
            ahead_ns=self._ahead_ns,
            is_metered=self.metered,
            locks=tuple(guest.locks for guest in self._guests.values()),
        )

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

    @property
    def guests_bytes(self) -> int:
        """The memory that its guests have to themselves. Memory of a guest never shrinks."""
        return sum([guest.memory_use.own_bytes for guest in list(self._guests.values())])

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
