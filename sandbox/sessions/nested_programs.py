"""Programs that a program starts: `python3 x.py` in a shell script, `subprocess.run` in Python.

How: each runs in a fresh guest of its language, on the session's files, to its end, while the guest that started it waits in a
host call. It runs on a thread of its own, because a stack with a guest on it has no room for another.

Rules: it is part of the run around it: what is left of its time, CPU and calls bounds it, what it uses is charged to the run, and
a limit that ends it ends the whole run, with its files. It leaves nothing but files and output. On tape its inputs are the run's:
it is run again when the run is replayed. Programs nest a few levels deep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from sandbox.capabilities.registry import Calls
from sandbox.confinement.privileges import lower_priority
from sandbox.engine import stacks
from sandbox.engine.limits import Run
from sandbox.engine.wasmtime import Trap
from sandbox.errors import RequestError, Stop
from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.file_locks import FileLocks
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.guest import Guest
from sandbox.guests.host_inputs import World
from sandbox.guests.images import Images
from sandbox.guests.tape import Tape
from sandbox.languages import GUEST_OF, LANGUAGES, NAME_OF, Language
from sandbox.sessions.command_lines import CannotStart, Program, format_reply, parse
from sandbox.sessions.guest_answers import CALL, answer_guest, erase_types
from sandbox.sessions.outcome import read_outcome
from sandbox.wasi.wasi import GuestExit
from sandbox.wire import MAX_CODE_BYTES, MAX_STARTED_BYTES, RunStatus, SessionLimits

DEPTH_MAX: Final = 4
_OUTPUT_SHARE: Final = 4
"""Of the run's memory: the output of a program is held by the one that started it, more than once."""
_FIELDS_MAX: Final = 20_000
_TRAPPED: Final = 134
_encode = msgspec.json.Encoder().encode


class _Command(msgspec.Struct, frozen=True):
    argv: list[str]
    cwd: str
    env: list[tuple[str, str]]
    stdin: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedPrograms:
    """Those of one run, or of one of its programs. THREAT[TM-POL-START]: `permitted` are the languages in which it may start
    some, of bounded size; None: any. A command of ours that is written in Python is a tool of the shell like the others, and runs
    no program of the tenant's: it needs no permission."""

    permitted: list[Language] | None
    images: Images
    vfs: Vfs
    run: Run
    calls: Calls
    tape: Tape | None
    ahead_ns: int
    is_metered: bool
    locks: tuple[FileLocks, ...]
    """Of the guests that wait meanwhile, and of the session's others."""
    depth: int = 0

    def start(self, body: bytes) -> bytes:
        """The message `X` (ABI.md): runs a command line and answers with its exit status, how much it read, and its output."""
        try:
            command = _decode(body)
        except (ValueError, IndexError) as error:
            raise Trap(f"a malformed command: {error}") from None
        try:
            if self.depth >= DEPTH_MAX:
                raise CannotStart(126, f"{command.argv[0][:80]}: programs start programs more than {DEPTH_MAX} deep")
            program = parse(command.argv, command.stdin, lambda path: self._read(command.cwd, path))
            if self.permitted is not None and program.language not in self.permitted and not program.is_ours:
                raise CannotStart(126, f"{command.argv[0][:80]}: programs in {NAME_OF[program.language]} may not be started here")
            if self.permitted is not None and len(program.code.encode()) > MAX_STARTED_BYTES:
                raise CannotStart(
                    126, f"{command.argv[0][:80]}: more than {MAX_STARTED_BYTES} bytes of code may not be started here"
                )
            left = self.run.limits_left()  # by the clock of this thread, on which the run computes
            return stacks.on_large_stack(lambda: self._run(program, command, left), is_kept=False)
        except CannotStart as refused:
            return format_reply(refused.exit_code, 0, b"", f"{refused}\n".encode())
        except RequestError as refused:
            return format_reply(1, 0, b"", f"{refused}\n".encode())
        except Stop:
            self.run.check()  # says it with the run's own limits
            raise

    def _read(self, cwd: str, path: str) -> bytes | None:
        try:
            place = path if path.startswith("/") else f"{cwd}/{path}"
            return self.vfs.read_file(place) if self.vfs.stat(place).size_bytes <= MAX_CODE_BYTES else None
        except VfsError:
            return None

    def _run(self, program: Program, command: _Command, left: SessionLimits) -> bytes:
        lower_priority()  # THREAT[TM-LIM-STARVE]: what is started yields to what others begin
        most_bytes = (self.run.limits.memory_mb << 20) // _OUTPUT_SHARE
        limits = msgspec.structs.replace(left, max_stdout_bytes=most_bytes)
        stdin = b"" if program.reads_code else command.stdin
        with self.run.nest(Run(limits, keeps=self.run.keeps)) as run:
            calls = Calls(self.calls.registry, run)
            run.calls_started = self.run.calls_started
            image = self.images.get(GUEST_OF[program.language], metered=self.is_metered)
            guest = Guest(image, self.vfs)
            guest.locks.others = self.locks
            try:
                exit_code, read = self._take_turns(guest, program, command, stdin, run, calls)
            finally:
                run.guest_bytes = guest.memory_use.own_bytes
                guest.close()
                self.calls.records.extend(calls.records)
        if run.output_dropped_bytes:  # to go on with a part of it would be to work on wrong data
            told = f"a program that the run started printed more than {most_bytes} bytes"
            hint = f"write large data to a file; it may print a quarter of limits.memory_mb, which is {self.run.limits.memory_mb}"
            raise Stop(RunStatus.RESOURCE_EXHAUSTED, "STDOUT_EXCEEDED", told, hint)
        return format_reply(exit_code, len(command.stdin) if program.reads_code else read, *map(bytes, run.output))

    def _take_turns(
        self, guest: Guest, program: Program, command: _Command, stdin: bytes, run: Run, calls: Calls
    ) -> tuple[int, int]:
        """The exit status, and how much of its input the program read."""
        code, place = program.code, LANGUAGES[program.language].place
        if program.language is Language.TYPESCRIPT:
            code, _ = erase_types(code, program.filename or "<stdin>", run)
        inner = replace(self, run=run, calls=calls, locks=(*self.locks, guest.locks), depth=self.depth + 1)
        world = self._world(run, b"")
        seed = world.random(32).hex()
        first = {"code": place(command.cwd, command.env, program.words, program.filename is not None), "seed": seed}
        message: dict[str, object] = {"code": code, "stdin": bool(stdin)}
        if program.filename:
            message["filename"] = program.filename
        exit_code = 0
        for asked, given in ((first, b""), (message, stdin)):
            asked |= {"max_stack_depth": run.limits.max_stack_depth, "tools": calls.registry.names()}
            reported: list[bytes] = []
            world = self._world(run, given)
            answer = answer_guest(calls, run, reported, lambda: inner)
            if self.tape is not None:
                answer = self.tape.listen(
                    answer, lambda opcode, body, reply: calls.recall(body, reply) if opcode == CALL else None
                )
            try:
                guest.turn(_encode(asked), run, answer, world)
                outcome = read_outcome(reported, calls.records)
                exit_code = outcome.exit_code or (1 if outcome.error is not None else 0)
                if outcome.error is not None and not run.output[1]:
                    run.output[1].extend(f"{command.argv[0][:80]}: {outcome.error.message}\n".encode())
            except GuestExit as left:
                exit_code = left.code & 255
            except Trap as trap:
                run.output[1].extend(f"{command.argv[0][:80]}: the program was ended: {str(trap).splitlines()[-1]}\n".encode())
                exit_code = _TRAPPED
            if exit_code:
                break
        return exit_code, world.read_bytes

    def _world(self, run: Run, stdin: bytes) -> World:
        return World(run, stdin, self.ahead_ns) if self.tape is None else self.tape.world(run, stdin, self.ahead_ns)


def _decode(body: bytes) -> _Command:
    """Fields that each end with a NUL: how many words, the words, the folder, how many variables, those as NAME=value; the rest
    is standard input."""
    place = 0

    def field() -> str:
        nonlocal place
        end = body.index(b"\0", place)
        text, place = body[place:end].decode("utf-8", "replace"), end + 1
        return text

    def fields() -> list[str]:
        count = int(field())
        if not 0 <= count <= _FIELDS_MAX:
            raise ValueError("too many words")
        return [field() for _ in range(count)]

    argv, cwd, env = fields(), field(), fields()
    if not argv or not cwd.startswith("/"):
        raise ValueError("no command")
    return _Command(argv, cwd, [(name, value) for name, _, value in (one.partition("=") for one in env)], body[place:])
