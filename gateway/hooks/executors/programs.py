"""Programs: hooks that run in a sandbox: bash, shell, python, javascript, wasm.

Rules: a hook's program runs as a side program in the session's worker: in a fork of the session's files, which is discarded. The
limits are the contract's dispatcher limits as far as our engine has their like (`_LIMITS`, docs/hooks.md). THREAT[TM-HOOK-003]: a
hook that never ends, floods its output or eats memory is ended by the same limits as any guest.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from gateway.hooks.outputs import MAX_OUTPUT_BYTES, Error, HookOutput, Ran, make_overrun, make_timeout, parse
from gateway.hooks.payloads import FOLDER, Letter
from gateway.hooks.specs import COMMAND_BYTES_MAX, ExecutorType, UserHookSpec
from gateway.hooks.wasm_compiler import compile_module
from sandbox.capabilities.registry import Capability
from sandbox.errors import SetupError
from sandbox.languages import LANGUAGE_OF_HOOK, LANGUAGES
from sandbox.limits import DEFAULT_LIMITS, SessionLimits
from sandbox.wire import RunStatus
from sandbox.workers.interface import Aside, AsideOutcome, FileChanges, FileEntry, OnCall, Worker, WorkerLost

MODULE_BYTES_MAX: Final = 4 << 20
WASM_MEMORY_MB: Final = 32
_LIMITS: Final[dict[ExecutorType, tuple[int, int]]] = {
    **{hook: LANGUAGES[language].hook_limits for hook, language in LANGUAGE_OF_HOOK.items()},
    "wasm": (WASM_MEMORY_MB, 256),
}
"""Memory in MiB and stack depth. Memory is growth over the image for interpreters, all of it for wasm."""
_CALLS_MAX: Final = 32
_LATE: Final = (RunStatus.TIMEOUT, RunStatus.CANCELLED)
_ROOT: Final = "/workspace"
_PAYLOADS: Final = FOLDER.removeprefix(_ROOT)
_KINDS: Final = ("directory", "file", "symlink")
"""In the order they are written."""
_ALONE: Final = "import sys; sys.path[:] = filter(None, sys.path); exec(compile({!r}, {!r}, 'exec'))"
"""THREAT[TM-HOOK-001]: programs start in /workspace, where Python looks for modules first: a session that has written a
`smtplib.py` there would be imported by its judge. One line around the program keeps its own line numbers. JavaScript's guest
loads no file for a program that has a hook's variables; other folders than /workspace and /tmp cannot be written to."""

LoadProgram = Callable[[str, str], Awaitable[bytes | None]]
"""The program of a source (`policy`, `user` or a capability) and name, or None. Never the session's own files: a program must not
write the hook that judges it."""
RunAside = Callable[[str, Aside, Sequence[str]], Awaitable[AsideOutcome]]
"""Runs a program next to a session; it may call the capabilities that are named. A module is wasm here. What it raises is the
hook's failure."""


async def run_program(
    spec: UserHookSpec,
    session_id: str,
    letter: Letter,
    run: RunAside | None,
    load: LoadProgram,
    changes: tuple[FileChanges, ...],
) -> Ran:
    kind = spec.executor.type
    if run is None:
        return Ran(Error(f"{kind} hook executor has no dispatcher; runtime did not wire it"))
    program = spec.executor.command if spec.executor.command is not None else await _load(spec, load)
    if isinstance(program, Error):
        return Ran(program)
    try:
        code = program.decode() if isinstance(program, bytes) and kind != "wasm" else program
    except UnicodeDecodeError:
        return Ran(Error(f"hook program {spec.executor.program!r} is not UTF-8 text"))
    filename = spec.executor.program or f"<{spec.id}>"
    aside = Aside(
        language=LANGUAGE_OF_HOOK.get(kind),
        code="" if isinstance(code, bytes) else _ALONE.format(code, filename) if kind == "python" else code,
        module=code if isinstance(code, bytes) else b"",
        filename=filename,
        stdin=letter.line,
        env={**letter.variables, **spec.executor.env},
        files=[FileEntry(path=letter.path.removeprefix(_ROOT), data=letter.text)],
        changes=list(changes),
        limits=_limits(kind, spec.timeout_ms, bool(spec.uses)),
    )
    return _judge(await run(session_id, aside, spec.uses), spec.timeout_ms, is_bash=kind in ("bash", "shell"))


@functools.lru_cache(maxsize=256)
def _limits(kind: ExecutorType, timeout_ms: int, may_call: bool) -> SessionLimits:
    memory_mb, depth = _LIMITS[kind]
    return msgspec.structs.replace(
        DEFAULT_LIMITS,
        memory_mb=memory_mb,
        cpu_ms=timeout_ms,
        wall_ms=timeout_ms,
        max_stdout_bytes=MAX_OUTPUT_BYTES,
        max_external_calls=_CALLS_MAX if may_call else 0,
        max_stack_depth=depth,
    )


@functools.lru_cache(maxsize=16)
def _measure(program: bytes) -> str:
    """Hooks fire often, and the programs they run are the same objects each time."""
    return hashlib.sha256(program).hexdigest()


def _judge(outcome: AsideOutcome, timeout_ms: int, *, is_bash: bool) -> Ran:
    result = outcome.result
    if outcome.is_cut:
        output: HookOutput = make_overrun()
    elif result.status in _LATE:
        output = make_timeout(timeout_ms)
    elif result.error is not None and not (is_bash and result.error.code == "SYNTAX_ERROR"):  # `bash -c` just ends with 2
        output = Error(result.error.message)
    else:
        output = parse(result.stdout, result.stderr, result.exit_code)
    return Ran(output, _select(outcome.changes), result.stdout, result.stderr, result.exit_code)


def _select(changes: FileChanges) -> FileChanges:
    """Without the hook's own payload, in an order in which they can be applied."""
    if not changes:
        return changes
    kept = [file for file in changes.written if not _is_payload(file.path)]
    removed = [path for path in changes.removed if not _is_payload(path)]
    return FileChanges(removed=removed, written=sorted(kept, key=lambda file: _KINDS.index(file.kind)))


def _is_payload(path: str) -> bool:
    return path == _PAYLOADS or path.startswith(_PAYLOADS + "/")


async def _load(spec: UserHookSpec, load: LoadProgram) -> bytes | Error:
    name = spec.executor.program or ""
    program = await load(spec.source, name)
    if program is None:
        return Error(f"hook program not found: {name}")
    if spec.sha256 and _measure(program) != spec.sha256:
        return Error(f"hook program {name} is not the one that the policy names by its digest")
    most = MODULE_BYTES_MAX if spec.executor.type == "wasm" else COMMAND_BYTES_MAX
    if len(program) > most:
        return Error(f"hook program {name} has more than {most} bytes")
    return program


@dataclass(frozen=True, slots=True)
class WorkerForks:
    """Runs a session's hooks in its worker. `uses` gives the capabilities a hook may call, what answers the calls, and the list
    that receives the files they write."""

    worker: Callable[[], Awaitable[Worker]]
    uses: Callable[[Sequence[str]], tuple[list[Capability], OnCall | None, list[FileChanges]]] | None = None
    tenant: str = ""

    async def run(self, session_id: str, aside: Aside, names: Sequence[str]) -> AsideOutcome:
        tools, on_call, left = self.uses(names) if self.uses is not None and names else ([], None, [])
        if tools:
            aside = msgspec.structs.replace(aside, tools=tools)
        if aside.module:  # workers compile nothing
            code = await compile_module(self.tenant, aside.module, aside.limits.memory_mb << 20)
            aside = msgspec.structs.replace(aside, module=code)
        try:
            outcome = await (await self.worker()).aside(session_id, aside, on_call=on_call)
        except WorkerLost:
            raise WorkerLost("the worker process died while the hook ran") from None
        except SetupError:
            what = aside.language.value if aside.language else "it"
            raise SetupError(f"{what} is not ready here yet; see /readyz") from None
        return msgspec.structs.replace(outcome, changes=_join([*left, outcome.changes])) if left else outcome


def _join(every: Sequence[FileChanges]) -> FileChanges:
    """Each path as it was written last."""
    written = {file.path: file for changes in every for file in changes.written}
    return FileChanges(removed=[path for changes in every for path in changes.removed], written=list(written.values()))
