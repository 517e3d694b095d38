"""Command lines as programs of the sandbox: which language runs, which code, with which arguments.

    sh | bash    -c CODE [name] [args…]   or  FILE [args…]
    python[3]    -c CODE [args…]          or  FILE [args…]   or  -  (code on stdin)
    node | js    -e CODE [args…]          or  FILE [args…]
    anything else is a command of the sandbox's shell

Rules: each command starts from nothing but the files: variables of one are not there for the next. What a program finds (working
directory, environment, arguments) is set by a first small run, so that line numbers in its own messages are right. A program has
no result, only output: a last expression that is not JSON is no failure (`NO_RESULT`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from gateway.runners.errors import invalid, unsupported
from gateway.runners.wire import Command
from sandbox.languages import LANGUAGE_OF_COMMAND, LANGUAGES, Language

_SHELL_CODE = re.compile(r"-[eux]*c|-lc")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

NO_RESULT = "RESULT_NOT_SERIALIZABLE"

_DROPPED = re.compile(r"(\d+) more were dropped")
ReadFile = Callable[[str], Awaitable[bytes]]


def count_dropped_bytes(diagnostics: Any) -> int:
    """How much output a sandbox says it has dropped. Another gateway's word may be anything."""
    listed = diagnostics if isinstance(diagnostics, list) else []
    told = [str(note.get("message")) for note in listed if isinstance(note, dict) and note.get("code") == "STDOUT_EXCEEDED"]
    return sum(int(found[1][:18]) for text in told if (found := _DROPPED.search(text)))


@dataclass(frozen=True, slots=True)
class Program:
    language: Language
    code: str
    arguments: list[str]
    filename: str | None = None
    stdin: str = ""


async def parse(command: Command, read: ReadFile) -> Program:
    """`read` gives the contents of a file of the workspace, relative to the command's working directory."""
    name, args = command.program.rpartition("/")[2], command.args
    language = LANGUAGE_OF_COMMAND.get(name)
    if language is not None:
        return await _parse(command, language, LANGUAGES[language].code_flag, read)
    return Program(Language.SHELL, shlex.join([command.program, *args]), [], stdin=command.stdin)


async def _parse(command: Command, language: Language, flag: str, read: ReadFile) -> Program:
    args = command.args
    if not args or args[0] == "-":
        return Program(language, command.stdin, args[:1] + args[1:])
    first, rest = args[0], args[1:]
    if first == flag or (language is Language.SHELL and _SHELL_CODE.fullmatch(first)):
        if not rest:
            raise invalid(f"{command.program} {first} needs code")
        options = "".join(f"set -{option}\n" for option in first[1:-1] if option in "eux")
        given = rest[2:] if language is Language.SHELL else [first, *rest[1:]]
        return Program(language, options + rest[0], given, stdin=command.stdin)
    if first.startswith("-"):
        raise unsupported(f"{command.program} {first[:40]} is not supported by provider wasm", f"use {flag} CODE or a file")
    try:
        code = (await read(first)).decode()
    except UnicodeDecodeError:
        raise invalid(f"{first[:200]} is not a text file") from None
    given = rest if language is Language.SHELL else [first, *rest]
    return Program(language, code, given, filename=first, stdin=command.stdin)


def preparation(program: Program, cwd: str | None, env: list[tuple[str, str]]) -> str:
    """Code that sets what the program finds; empty if there is nothing to set."""
    for name, _ in env:
        if not _NAME.fullmatch(name):
            raise invalid("an env name is letters, digits and '_' here")
    return LANGUAGES[program.language].place(cwd, env, program.arguments, program.filename is not None)
