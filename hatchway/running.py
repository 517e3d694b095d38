"""`hatchway run`: from a command line to a run and back to a terminal.

Rules: the program's output appears as it is produced; nothing else is written to stdout except the result, and with --json only
the result. Host files are read and written only where an option names them.
"""

from __future__ import annotations

import argparse
import base64
import sys
from pathlib import Path
from typing import Any

import msgspec

from hatchway import program_arguments
from hatchway.arguments import text_of
from hatchway.box import Sandbox
from hatchway.cli import _LANGUAGE_OF_SUFFIX, _STATUS_EXIT, complain, paint, show_progress
from sandbox.errors import RequestError
from sandbox.session import failure, parse_language
from sandbox.vfs import VfsError
from sandbox.wire import DEFAULT_LIMITS, RunResult

_SUFFIX_OF_MIME = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/svg+xml": ".svg",
    "text/html": ".html",
    "text/markdown": ".md",
}


def run(options: argparse.Namespace) -> int:
    try:
        result, copied = _run(options)
    except RequestError as refused:
        if not options.json:
            raise
        say(msgspec.json.encode(failure(refused.error)).decode())
        return 2
    if options.json:
        say(msgspec.json.encode(result).decode())
    else:
        _show(result, options)
    saved = not options.displays or _save_displays(result, Path(options.displays))
    return exit_status(result) or int(not (copied and saved))


def exit_status(result: RunResult) -> int:
    """The program's own, or what tells how it was ended."""
    return _STATUS_EXIT.get(result.status.value, result.exit_code) if result.error else result.exit_code


def _run(options: argparse.Namespace) -> tuple[RunResult, bool]:
    """The result, and whether all files were copied that were asked for."""
    if options.path is None and options.code is None and options.arguments:
        options.path = options.arguments.pop(0)
    code, told, filename = read_program(options)
    language = None if options.template and options.path is None and not options.language else told
    limits = _limits(options)
    if options.fact and not options.policy:
        raise RequestError("INVALID_ARGUMENT", "--fact is told to a policy, and there is none", "add --policy FILE")
    if options.displays:
        _make_folder(Path(options.displays))
    if options.policy:
        return _run_governed(options, code, told, filename, limits)
    return _run_freely(options, code, language, filename, limits)


def _run_freely(
    options: argparse.Namespace, code: str | bytes, language: str | None, filename: str | None, limits: dict[str, int]
) -> tuple[RunResult, bool]:
    with Sandbox(
        language=language, limits=limits, metered=options.metered, template=options.template, progress=show_progress
    ) as box:
        for pair in options.file:
            host, _, guest = pair.partition(":")
            _put(box, Path(host), guest or Path(host).name)
        if options.arguments and not options.check:
            program_arguments.give(box, box.language, filename or ("-" if options.path else "-c"), options.arguments)
        result = box.run(
            code,
            inputs=dict(parse_input(pair) for pair in options.input),
            stdin=_stdin(options),
            validate_only=options.check,
            filename=filename,
            on_output=None if options.json else write_output,
        )
        return result, _get_files(box, options.get)


def _run_governed(
    options: argparse.Namespace, code: str | bytes, language: str, filename: str | None, limits: dict[str, int]
) -> tuple[RunResult, bool]:
    from gateway.runs import RunBody
    from hatchway import governed

    if options.arguments:
        raise RequestError("INVALID_ARGUMENT", "arguments of the program do not go together with --policy", "use --input")
    body = RunBody(
        code=text_of(code),
        language=parse_language(language),
        inputs=dict(parse_input(pair) for pair in options.input),
        stdin=read_stdin(options),
        validate_only=options.check,
        filename=filename,
    )
    return governed.run(options, body, limits)


def _stdin(options: argparse.Namespace) -> bytes:
    """What the program reads: ours, unless a person types there or the program itself came from it."""
    return b"" if options.path == "-" or sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()


def read_stdin(options: argparse.Namespace) -> str:
    """The same for a gateway, whose requests are text."""
    try:
        return _stdin(options).decode()
    except UnicodeDecodeError as error:
        raise RequestError("INVALID_ARGUMENT", f"standard input is not valid UTF-8 at byte {error.start}", "use --file") from None


def read_program(options: argparse.Namespace) -> tuple[str | bytes, str, str | None]:
    """Code, language and name."""
    if (options.path is None) == (options.code is None):
        raise RequestError("INVALID_ARGUMENT", "give a FILE or -c CODE", "hatchway run app.py, or: hatchway run -c 'print(1)'")
    if options.code is not None:
        return options.code, options.language or "python", None
    if options.path == "-":
        return sys.stdin.buffer.read(), options.language or "python", None
    path = Path(options.path)
    if path.is_dir():
        raise RequestError("INVALID_ARGUMENT", f"{options.path} is a directory", "give the file of a program")
    language = options.language or _LANGUAGE_OF_SUFFIX.get(path.suffix)
    if language is None:
        raise RequestError("INVALID_ARGUMENT", f"cannot tell the language of {path.name!r}", "add --language")
    try:
        return path.read_bytes(), language, path.name
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot read {path}: {error.strerror}") from None


def _limits(options: argparse.Namespace) -> dict[str, int]:
    """On the command line a limit may be raised: whoever types it owns the machine."""
    given = {
        "wall_ms": options.timeout_ms,
        "cpu_ms": options.cpu_ms,
        "memory_mb": options.memory_mb,
        "max_stdout_bytes": options.max_output_bytes,
        "max_stack_depth": options.max_stack_depth,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    if "wall_ms" in chosen and "cpu_ms" not in chosen:
        chosen["cpu_ms"] = max(DEFAULT_LIMITS.cpu_ms, chosen["wall_ms"])
    if "cpu_ms" in chosen and "wall_ms" not in chosen:
        chosen["wall_ms"] = max(DEFAULT_LIMITS.wall_ms, chosen["cpu_ms"])
    return chosen


def parse_input(pair: str) -> tuple[str, Any]:
    return parse_pair("--input", pair, "--input x=21")


def parse_pair(option: str, pair: str, example: str) -> tuple[str, Any]:
    """NAME=JSON; what is not JSON is a text."""
    name, equals, value = pair.partition("=")
    if not equals:
        hint = f"write {option} name=JSON, for example {example}"
        raise RequestError("INVALID_ARGUMENT", f"{option} {pair!r} has no value", hint)
    try:
        return name, msgspec.json.decode(value)
    except msgspec.DecodeError:
        return name, value


def _put(box: Sandbox, host: Path, guest: str) -> None:
    try:
        box.files.write_file(guest, host.read_bytes())
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot copy {host} into the sandbox: {error.strerror}") from None
    except VfsError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot write {guest} in the sandbox: {error}") from None


def _get_files(box: Sandbox, pairs: list[str]) -> bool:
    """Were all of them there, and could be written?"""
    complete = True
    for pair in pairs:
        guest, _, host = pair.partition(":")
        try:
            Path(host or Path(guest).name).write_bytes(box.files.read_file(guest))
        except (OSError, VfsError) as error:
            complain(f"cannot copy {guest} out of the sandbox: {error}")
            complete = False
    return complete


def write_output(stream: int, data: bytes) -> None:
    target = (sys.stdout, sys.stderr)[stream]
    target.buffer.write(data)
    target.flush()


def say(text: str) -> None:
    """A line on stdout, in UTF-8 like the programs' own output, whatever the terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write((text + "\n").encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"displays cannot be saved in {folder}: {error.strerror}") from None


def _save_displays(result: RunResult, folder: Path) -> bool:
    try:
        _write_displays(result, folder)
    except OSError as error:
        complain(f"displays cannot be saved in {folder}: {error.strerror}")
        return False
    return True


def _write_displays(result: RunResult, folder: Path) -> None:
    for number, display in enumerate(result.displays, 1):
        suffix = _SUFFIX_OF_MIME.get(display.mime, ".txt")
        data = base64.b64decode(display.data) if display.mime in ("image/png", "image/jpeg") else display.data.encode()
        (folder / f"display-{number}{suffix}").write_bytes(data)


def show_result(result: RunResult) -> None:
    """The result on stdout; what went wrong, where and what would help, on stderr."""
    if result.result is not None:
        text = result.result if isinstance(result.result, str) else msgspec.json.encode(result.result).decode()
        say(text)
    for diagnostic in result.diagnostics:
        colour = {"error": "red", "warning": "yellow"}.get(diagnostic.severity.value, "dim")
        place = f" (line {diagnostic.span.line}, column {diagnostic.span.column})" if diagnostic.span else ""
        label = paint(f"{diagnostic.severity.value}[{diagnostic.code}]", colour, sys.stderr)
        print(f"{label}: {diagnostic.message}{place}", file=sys.stderr)
        if diagnostic.hint:
            print(f"{paint('hint', 'yellow', sys.stderr)}: {diagnostic.hint}", file=sys.stderr)


def _show(result: RunResult, options: argparse.Namespace) -> None:
    show_result(result)
    if result.displays and not options.displays:
        note = f"{len(result.displays)} display(s) not shown; --displays DIR saves them"
        print(paint(note, "dim", sys.stderr), file=sys.stderr)
    if options.check and result.ok:
        print("no problems found", file=sys.stderr)
