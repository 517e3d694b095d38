"""Programs: hooks that run in a sandbox: bash, shell, python, javascript, wasm.

Rules: the program's text is the spec's own or a stored one, never a file of the session. The limits are the contract's
dispatcher limits as far as our engine has their like: see `_LIMITS` and docs/hooks.md.
THREAT[TM-HOOK-003]: a hook that never ends, floods its output or eats memory is ended by the same limits as any guest.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Final

import msgspec

from gateway.hooks.executors.ports import ExecutorOpts, Programs, Ran
from gateway.hooks.jobs import Changes, Done, Forks, Job
from gateway.hooks.outputs import Error, HookOutput, overran, parse, timed_out
from gateway.hooks.payloads import Letter
from gateway.hooks.specs import COMMAND_BYTES_MAX, ExecutorType, UserHookSpec
from sandbox.languages import LANGUAGE_OF_HOOK, LANGUAGES
from sandbox.limits import DEFAULT_LIMITS, SessionLimits

MODULE_BYTES_MAX: Final = 4 << 20
_LIMITS: Final[dict[ExecutorType, tuple[int, int]]] = {
    **{hook: LANGUAGES[language].hook_limits for hook, language in LANGUAGE_OF_HOOK.items()},
    "wasm": (32, 256),
}
"""Memory in MiB and stack depth. Memory is growth over the image for interpreters, all of it for wasm."""
_CALLS_MAX: Final = 32
_ALONE: Final = "import sys; sys.path[:] = filter(None, sys.path); exec(compile({!r}, {!r}, 'exec'))"
"""THREAT[TM-HOOK-001]: programs start in /workspace, where Python looks for modules first: a session that has written a
`smtplib.py` there would be imported by its judge. One line around the program keeps its own line numbers."""


async def run_program(
    spec: UserHookSpec,
    session_id: str,
    letter: Letter,
    opts: ExecutorOpts,
    forks: Forks | None,
    programs: Programs | None,
    changes: tuple[Changes, ...],
) -> Ran:
    kind = spec.executor.type
    if forks is None:
        return Ran(Error(f"{kind} hook executor has no dispatcher; runtime did not wire it"))
    program = spec.executor.command if spec.executor.command is not None else await _load(spec, programs)
    if isinstance(program, Error):
        return Ran(program)
    try:
        code = program.decode() if isinstance(program, bytes) and kind != "wasm" else program
    except UnicodeDecodeError:
        return Ran(Error(f"hook program {spec.executor.program!r} is not UTF-8 text"))
    filename = spec.executor.program or f"<{spec.id}>"
    job = Job(
        language=LANGUAGE_OF_HOOK.get(kind),
        code="" if isinstance(code, bytes) else _ALONE.format(code, filename) if kind == "python" else code,
        module=code if isinstance(code, bytes) else b"",
        filename=filename,
        stdin=letter.line,
        env={**letter.variables, **spec.executor.env},
        letter=(letter.path, letter.text),
        changes=changes,
        limits=_limits(kind, opts.timeout_ms, opts.max_output_bytes, bool(spec.uses)),
        uses=spec.uses,
    )
    done = await forks.run(session_id, job)
    return Ran(_judge(done, opts), done.changes, done.stdout, done.stderr, done.exit_code)


@functools.lru_cache(maxsize=256)
def _limits(kind: ExecutorType, timeout_ms: int, max_output_bytes: int, may_call: bool) -> SessionLimits:
    memory_mb, depth = _LIMITS[kind]
    return msgspec.structs.replace(
        DEFAULT_LIMITS,
        memory_mb=memory_mb,
        cpu_ms=timeout_ms,
        wall_ms=timeout_ms,
        max_stdout_bytes=max_output_bytes,
        max_external_calls=_CALLS_MAX if may_call else 0,
        max_stack_depth=depth,
    )


@functools.lru_cache(maxsize=16)
def _measure(program: bytes) -> str:
    """Hooks fire often, and the programs they run are the same objects each time."""
    return hashlib.sha256(program).hexdigest()


def _judge(done: Done, opts: ExecutorOpts) -> HookOutput:
    if done.is_cut:
        return overran(opts.max_output_bytes)
    if done.is_late:
        return timed_out(opts.timeout_ms)
    if done.failure is not None:
        return Error(done.failure)
    return parse(done.stdout, done.stderr, done.exit_code)


async def _load(spec: UserHookSpec, programs: Programs | None) -> bytes | Error:
    name = spec.executor.program or ""
    program = await programs.load(spec.source, name) if programs is not None else None
    if program is None:
        return Error(f"hook program not found: {name}")
    if spec.sha256 and _measure(program) != spec.sha256:
        return Error(f"hook program {name} is not the one that the policy names by its digest")
    most = MODULE_BYTES_MAX if spec.executor.type == "wasm" else COMMAND_BYTES_MAX
    if len(program) > most:
        return Error(f"hook program {name} has more than {most} bytes")
    return program
