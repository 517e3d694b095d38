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
from msgspec.structs import replace

from hatchway.arguments import decode_code
from hatchway.box import Sandbox
from hatchway.cli.options import add_many, add_on_limit, add_parser, add_program
from hatchway.cli.program import Program, choose_limits, end_as_file, parse_inputs, read_program, read_stdin, run_program
from hatchway.cli.terminal import STATUS_EXIT, complain, paint, say, show_progress, write_output
from sandbox.errors import RequestError, failure
from sandbox.filesystem.vfs import VfsError
from sandbox.limits import LIMITS
from sandbox.sessions.limit_errors import find_limit
from sandbox.sessions.request_checks import parse_language
from sandbox.wire import Display, OnLimit, RunResult

_TEXT = "text/plain"
_SUFFIX_OF_MIME = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/svg+xml": ".svg",
    "text/html": ".html",
    "text/markdown": ".md",
}


def add_command(commands: Any) -> None:
    run = add_parser(
        commands,
        "run",
        description="Run a file, or code given with -c, in a fresh sandbox. Standard input goes to the program.",
        epilog="examples:\n  hatchway run -c 'import pandas as pd; print(pd.Series([1,2,3]).sum())'\n"
        "  hatchway run -c 'echo hi | tr a-z A-Z' --language shell\n  hatchway run app.ts --file data.json --timeout-ms 10000\n"
        "  hatchway run -c 'x * 2' --input x=21 --json\n  hatchway run app.py --timeout-ms 10000 -- --verbose data.csv\n"
        "  hatchway run app.py --policy acme.hatch --fact tenant=acme --fact session.role=lead\n"
        "under a policy a gateway's rules hold: whether the program may run and with which limits, which tools it may call\n"
        "(tools.fetch_json, …), where it may connect, which files --file and --get may copy, what hooks do; refused: status 126",
    )
    add_program(run)
    add = run.add_argument
    add_many(run, "--get", "GUEST[:HOST]", "copy a file out of the sandbox afterwards")
    add("--policy", metavar="FILE", help="a .hatch file that decides about the run and all it does (default: none)")
    add_many(run, "--fact", "NAME=JSON", "what the policy is told: tenant, plan, user, session.NAME, …; with --policy")
    add_on_limit(run)
    add("--displays", metavar="DIR", help="save figures and other displays there")
    add("--check", action="store_true", help="only check the program, run nothing")
    add("--metered", action="store_true", help="count instructions (slower; compiles separate images the first time)")
    add("--json", action="store_true", help="print the whole result as JSON")


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
    return choose_exit_status(result) or int(not (copied and saved))


def choose_exit_status(result: RunResult) -> int:
    """The program's own, or what tells how it was ended."""
    return STATUS_EXIT.get(result.status.value, result.exit_code) if result.error else result.exit_code


def _run(options: argparse.Namespace) -> tuple[RunResult, bool]:
    """The result, and whether all files were copied that were asked for."""
    if options.path is None and options.code is None and options.arguments:
        options.path = options.arguments.pop(0)
    program = read_program(options)
    limits = choose_limits(options)
    if options.fact and not options.policy:
        raise RequestError("INVALID_ARGUMENT", "--fact is told to a policy, and there is none", "add --policy FILE")
    if options.displays:
        _make_folder(Path(options.displays))
    if options.policy:
        return _run_governed(options, program, limits)
    return _run_freely(options, program, limits)


def _run_freely(options: argparse.Namespace, program: Program, limits: dict[str, int]) -> tuple[RunResult, bool]:
    language = None if options.template and options.path is None and not options.language else program.language
    with Sandbox(
        language=language,
        limits=limits,
        metered=options.metered,
        template=options.template,
        packages=options.packages,
        progress=show_progress,
    ) as box:
        result = run_program(box, program, options, None if options.json else write_output, check=options.check)
        result = _name_option(result)
        return result, _get_files(box, options.get)


def _name_option(result: RunResult) -> RunResult:
    """Who runs a program here owns its sandbox: of a limit that ended it, say which option raises it."""
    limit = None if result.error is None else find_limit(result.error)
    option = None if limit is None else LIMITS[limit].option
    if result.error is None or limit is None or option is None:
        return result
    hint = f"--{option.replace('_', '-')} N raises it, to at most {LIMITS[limit].most}"
    told = [replace(one, hint=hint) if one.code == result.error.code else one for one in result.diagnostics]
    return replace(result, error=replace(result.error, hint=hint), diagnostics=told)


def _run_governed(options: argparse.Namespace, program: Program, limits: dict[str, int]) -> tuple[RunResult, bool]:
    from gateway.runs.runs import RunBody
    from hatchway.cli import run_governed
    from hatchway.client.run_requests import spell_stdin

    if options.arguments:
        raise RequestError("INVALID_ARGUMENT", "arguments of the program do not go together with --policy", "use --input")
    language = parse_language(program.language)
    text, encoded = spell_stdin(read_stdin(options)).values()
    body = RunBody(
        code=decode_code(program.code if options.check or options.json else end_as_file(program, language)),
        language=language,
        inputs=parse_inputs(options),
        stdin=text,
        stdin_base64=encoded,
        validate_only=options.check,
        filename=program.filename,
        on_limit=OnLimit(options.on_limit),
    )
    return run_governed.run(options, body, limits)


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


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"displays cannot be saved in {folder}: {error.strerror}") from None


def _save_displays(result: RunResult, folder: Path) -> bool:
    try:
        for number, display in enumerate(result.displays, 1):
            suffix = _SUFFIX_OF_MIME.get(display.mime, ".txt")
            data = base64.b64decode(display.data) if display.mime in ("image/png", "image/jpeg") else display.data.encode()
            (folder / f"display-{number}{suffix}").write_bytes(data)
    except OSError as error:
        complain(f"displays cannot be saved in {folder}: {error.strerror}")
        return False
    return True


def show_result(result: RunResult) -> None:
    """Displayed texts and the result on stdout, on lines of their own; what went wrong, where and what would help, on stderr."""
    shown = [display.data for display in result.displays if display.mime == _TEXT]
    if (shown or result.result is not None) and result.stdout and not result.stdout.endswith("\n"):
        say("")
    for text in shown:
        say(text.removesuffix("\n"))
    if result.result is not None:
        text = result.result if isinstance(result.result, str) else msgspec.json.encode(result.result).decode()
        say(text)
    for diagnostic in result.diagnostics if sys.stderr is not None else ():
        colour = {"error": "red", "warning": "yellow"}.get(diagnostic.severity.value, "dim")
        place = f" (line {diagnostic.span.line}, column {diagnostic.span.column})" if diagnostic.span else ""
        label = paint(f"{diagnostic.severity.value}[{diagnostic.code}]", colour, sys.stderr)
        print(f"{label}: {diagnostic.message}{place}", file=sys.stderr)
        if diagnostic.hint:
            print(f"{paint('hint', 'yellow', sys.stderr)}: {diagnostic.hint}", file=sys.stderr)


def count_unseen(displays: list[Display]) -> int:
    """Those that a terminal does not show. What stands next to a plain text is the same thing in another form."""
    texts = {number for number, display in enumerate(displays) if display.mime == _TEXT}
    told = {number + side for number in texts for side in (-1, 1) if _is_text(displays, number + side)}
    return len(set(range(len(displays))) - texts - told)


def _is_text(displays: list[Display], number: int) -> bool:
    return 0 <= number < len(displays) and displays[number].mime.startswith("text/")


def _show(result: RunResult, options: argparse.Namespace) -> None:
    show_result(result)
    if sys.stderr is None:
        return
    unseen = count_unseen(result.displays)
    if unseen and not options.displays:
        note = f"{unseen} display(s) not shown; --displays DIR saves them"
        print(paint(note, "dim", sys.stderr), file=sys.stderr)
    if options.check and result.ok:
        print("no problems found", file=sys.stderr)
