"""A program as a command line names it: its code, language, arguments, input, files and limits, and how it is run with them.

Rules: host files are read only where a word of the command line names them. The program itself stands in /workspace under its own
name, so that it finds itself and what it imports; a file that --file puts there wins. Standard input is read when the program
asks for it, unless a person types there or the program itself came from it.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hatchway.box import Sandbox
from hatchway.cli import host_files
from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.filesystem.vfs import VfsError
from sandbox.guests.host_inputs import Source
from sandbox.languages import LANGUAGE_OF_SUFFIX, LANGUAGES
from sandbox.limits import LIMIT_OF_OPTION
from sandbox.sessions.request_checks import parse_language
from sandbox.sessions.session import OnOutput
from sandbox.wire import DEFAULT_LIMITS, MAX_CODE_BYTES, Language, OnLimit, RunResult


@dataclass(frozen=True, slots=True)
class Program:
    """`filename` is that of the file it came from, if it came from one."""

    code: str | bytes
    language: str
    filename: str | None = None


def read_program(options: argparse.Namespace) -> Program:
    if options.path is not None and options.code is not None:
        told = f"give a FILE or -c CODE, not both: {excerpt(options.path)} would be the file"
        raise RequestError("INVALID_ARGUMENT", told, "what is meant for the program stands behind --")
    if options.path is None and options.code is None:
        raise RequestError("INVALID_ARGUMENT", "give a FILE or -c CODE", "hatchway run app.py, or: hatchway run -c 'print(1)'")
    if options.code is not None:
        return Program(options.code, options.language or "python")
    if options.path == "-":
        return Program(sys.stdin.buffer.read(), options.language or "python")
    path = Path(options.path)
    if path.is_dir():
        raise RequestError("INVALID_ARGUMENT", f"{options.path} is a directory", "give the file of a program")
    language = options.language or LANGUAGE_OF_SUFFIX.get(path.suffix)
    if language is None:
        raise RequestError("INVALID_ARGUMENT", f"cannot tell the language of {path.name!r}", "add --language")
    return Program(host_files.read_bytes(path), language, path.name)


def run_program(
    box: Sandbox, program: Program, options: argparse.Namespace, on_output: OnOutput | None, *, check: bool = False
) -> RunResult:
    """Put everything in its place and run it; with `check` only look at it."""
    language = parse_language(program.language) if options.path or options.language else box.language
    recorded, box.record = box.record, False
    if program.filename is not None:
        _put_program(box, program.filename, program.code)
    for pair in options.file:
        host, _, guest = pair.partition(":")
        host_files.put(box.files, Path(host), guest)
    if not check:
        _give_arguments(box, program, language, options)
    code = program.code if check or getattr(options, "json", False) else _choose_code(box, program, language)
    box.record = recorded
    return box.run(
        code,
        language=language,
        inputs=parse_inputs(options),
        stdin=b"" if check else open_stdin(options),
        validate_only=check,
        filename=program.filename,
        on_output=on_output,
        on_limit=getattr(options, "on_limit", OnLimit.UNDO),
    )


def _choose_code(box: Sandbox, program: Program, language: Language) -> str | bytes:
    """As of a file, unless it has a mistake that would be found in what is added to it."""
    code = end_as_file(program, language)
    if code is program.code:
        return code
    checked = box.run(code, language=language, validate_only=True, filename=program.filename)
    return program.code if _is_behind(checked, program.code) else code


def end_as_file(program: Program, language: Language) -> str | bytes:
    """The code of a program from a file, so that its last expression is no result: where files are run, none is shown. What the
    program assigns to `result` is one. With --json the result is wanted as well, and given."""
    ending = LANGUAGES[language].ending
    if program.filename is None or not ending:
        return program.code
    return program.code + ending if isinstance(program.code, str) else program.code + ending.encode()


def _is_behind(result: RunResult, code: str | bytes) -> bool:
    """Is this a mistake that was found behind the last line of `code`?"""
    lines = code.count("\n") if isinstance(code, str) else code.count(b"\n")
    span = result.error.span if result.error is not None else None
    return span is not None and span.line > lines + 1


def _put_program(box: Sandbox, name: str, code: str | bytes) -> None:
    if len(code) <= MAX_CODE_BYTES:
        with contextlib.suppress(VfsError):  # a template has something else under this name, that cannot be replaced
            box.files.write_file(name, code)


def _give_arguments(box: Sandbox, program: Program, language: Language, options: argparse.Namespace) -> None:
    """Also without any, a program from a file finds its own name, where its language has one next to them."""
    if options.arguments:
        name = program.filename or ("-" if options.path else "-c")
        _set_arguments(box, language, [name, *options.arguments])
    elif program.filename is not None and language is not Language.SHELL:
        with contextlib.suppress(RequestError):  # limits so small that not even this fits: the program itself will tell
            _set_arguments(box, language, [program.filename])


def _set_arguments(box: Sandbox, language: Language, words: list[str]) -> None:
    """A request has no field for them: a program of one line sets `sys.argv`, `process.argv` or `$1 …` in the session first, so
    the real one's line numbers stay. A word is data: it is written as a literal of the language."""
    try:
        setting = LANGUAGES[language].place(None, (), words if language is not Language.SHELL else words[1:], True)
    except UnicodeEncodeError:
        raise RequestError("INVALID_ARGUMENT", "an argument of the program is not valid UTF-8") from None
    done = box.run(setting, language=language)
    if done.error is not None:
        raise RequestError(done.error.code, f"the program's arguments cannot be given to it: {done.error.message}")


def open_stdin(options: argparse.Namespace) -> bytes | Source:
    """What the program reads: ours, unless a person types there or the program itself came from it."""
    if options.path == "-" or sys.stdin is None or sys.stdin.isatty():
        return b""
    try:
        return Source(sys.stdin.fileno())
    except (OSError, ValueError):  # a stream without a descriptor
        return sys.stdin.buffer.read()


def read_stdin(options: argparse.Namespace) -> bytes:
    """The same for a gateway, which is sent all of it."""
    stdin = open_stdin(options)
    return stdin.read_all() if isinstance(stdin, Source) else stdin


def choose_limits(options: argparse.Namespace) -> dict[str, int]:
    """On the command line a limit may be raised: its user owns the machine."""
    given = {name: getattr(options, option) for option, name in LIMIT_OF_OPTION.items()}
    chosen = {name: value for name, value in given.items() if value is not None}
    if "wall_ms" in chosen and "cpu_ms" not in chosen:
        chosen["cpu_ms"] = max(DEFAULT_LIMITS.cpu_ms, chosen["wall_ms"])
    if "cpu_ms" in chosen and "wall_ms" not in chosen:
        chosen["wall_ms"] = max(DEFAULT_LIMITS.wall_ms, chosen["cpu_ms"])
    return chosen


def parse_inputs(options: argparse.Namespace) -> dict[str, Any]:
    return dict(parse_pair("--input", pair, "--input x=21") for pair in options.input)


def parse_pair(option: str, pair: str, example: str) -> tuple[str, Any]:
    """NAME=JSON."""
    name, equals, value = pair.partition("=")
    if not equals:
        hint = f"write {option} name=JSON, for example {example}"
        raise RequestError("INVALID_ARGUMENT", f"{option} {pair!r} has no value", hint)
    return name, parse_json(value)


def parse_json(text: str) -> Any:
    """What is not JSON is a text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
