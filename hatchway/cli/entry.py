"""The `hatchway` command.

Rules: `--help` teaches; a mistake gets one clear line with a hint and exit status 2, never a traceback. Colours and progress
bars only on a terminal. Imports happen inside the commands, because most of a cold start is imports. Each command is one
function `run_NAME(options) -> int`.

Exit status of `hatchway run`: the program's own; 1 if it failed, 124 if a time limit ended it, 137 if another limit did, 130 if
cancelled, 126 if its policy refused it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import io
import os
import sys
from types import ModuleType
from typing import Any, NoReturn

from hatchway.cli import snapshots, templates
from hatchway.cli.options import add_parser, add_program
from hatchway.cli.terminal import complain, show_progress

_LATE = {
    "serve": ("hatchway.cli.serve", "run the gateway: an HTTP service for many tenants"),
    "hook": ("hatchway.cli.hooks", "show step by step what a hook would do"),
    "audit": ("hatchway.cli.audit", "verify or export the audit log"),
    "secrets": ("hatchway.cli.secrets", "rotate the keys of tenants' secrets"),
    "tokens": ("hatchway.cli.tokens", "make a token while the gateway is stopped"),
    "explain": ("hatchway.cli.explain", "what an error code means and what to do about it"),
    "mcp": ("hatchway.mcp.command", "serve a gateway to agents over MCP"),
    "remote": ("hatchway.remote.command", "use a gateway: run programs, files, snapshots, approvals, policies, tenants"),
}
"""Commands whose modules are imported only when they are asked for: they would slow down every `hatchway run`."""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hatchway",
        description="Run untrusted Python, JavaScript, TypeScript and shell in a WebAssembly sandbox.",
        epilog="try:\n  hatchway run -c 'print(1 + 1)'\n  hatchway run app.ts\n  hatchway serve\n  hatchway doctor",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_run(commands)
    doctor = commands.add_parser(
        "doctor", help="what works here, what is compiled, what it would take", description="Look at this machine."
    )
    doctor.add_argument("--json", action="store_true", help="machine-readable")
    doctor.add_argument("--verify", action="store_true", help="hash every cached file again (takes a second)")
    doctor.set_defaults(function="doctor")
    _add_images(commands)
    completion = commands.add_parser(
        "completion", help="print a tab-completion script", description='Add  eval "$(hatchway completion bash)"  to ~/.bashrc'
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    completion.set_defaults(function="completion")
    snapshots.add_command(commands)
    templates.add_command(commands)
    for name, (_, about) in _LATE.items():
        commands.add_parser(name, help=about, add_help=False)
    commands.add_parser("policy", help="check, test, format, explain, prove and compare policies", add_help=False)
    commands.add_parser("bench", help="measure this machine, with ratios to native and to peers", add_help=False)
    return parser


@functools.cache
def late_parser(*modules: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hatchway")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in modules:
        module.add_command(commands)
    return parser


def _add_run(commands: Any) -> None:
    run = add_parser(
        commands,
        "run",
        help="run a program in a fresh sandbox",
        description="Run a file, or code given with -c, in a fresh sandbox. Standard input goes to the program.",
        epilog="examples:\n  hatchway run -c 'import pandas as pd; print(pd.Series([1,2,3]).sum())'\n"
        "  hatchway run -c 'echo hi | tr a-z A-Z' --language shell\n  hatchway run app.ts --file data.json --timeout-ms 10000\n"
        "  hatchway run -c 'x * 2' --input x=21 --json\n  hatchway run app.py --timeout-ms 10000 -- --verbose data.csv\n"
        "  hatchway run app.py --policy acme.hatch --fact tenant=acme --fact session.role=lead\n"
        "under a policy a gateway's rules hold: whether the program may run and with which limits, which tools it may call\n"
        "(tools.fetch_json, …), where it may connect, which files --file and --get may copy, what hooks do; refused: status 126",
    )
    add_program(run)
    run.add_argument(
        "--get",
        action="append",
        default=[],
        metavar="GUEST[:HOST]",
        help="copy a file out of the sandbox afterwards (repeatable)",
    )
    run.add_argument("--policy", metavar="FILE", help="a .hatch file that decides about the run and all it does (default: none)")
    run.add_argument(
        "--fact",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="what the policy is told: tenant, plan, user, session.NAME, … (repeatable; with --policy)",
    )
    run.add_argument("--displays", metavar="DIR", help="save figures and other displays there")
    run.add_argument("--check", action="store_true", help="only check the program, run nothing")
    run.add_argument(
        "--metered", action="store_true", help="count instructions (slower; compiles separate images the first time)"
    )
    run.add_argument("--json", action="store_true", help="print the whole result as JSON")


def _add_images(commands: Any) -> None:
    images = commands.add_parser(
        "images", help="build, list or prune the compiled guests", description="The cache of compiled guests."
    )
    verbs = images.add_subparsers(dest="verb", metavar="VERB", required=True)
    build = verbs.add_parser("build", help="compile what is missing (Python takes one to two minutes, once per machine)")
    build.add_argument("names", nargs="*", metavar="GUEST", help="python, javascript, shell (default: all)")
    build.add_argument("--metered", action="store_true", help="the images that count instructions")
    verbs.add_parser("list", help="what is there, and where")
    verbs.add_parser("prune", help="delete images that no installed guest uses any more")
    images.set_defaults(function="images")


def main(arguments: list[str] | None = None) -> int:
    from sandbox.errors import RequestError, SandboxError

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = dispatch(sys.argv[1:] if arguments is None else arguments)
        if sys.stdout is not None:  # it is None where the parent process has closed it
            sys.stdout.flush()
        return status
    except RequestError as error:
        complain(str(error), error.error.hint)
        return 2
    except SandboxError as error:
        complain(str(error))
        return 2
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] in ("hatchway", "gateway", "sandbox", "policy"):
            raise
        complain(f"this command needs the package {missing.name}", "pip install 'hatchway[gateway]'")
        return 2
    except BrokenPipeError:
        _silence()
        return 141
    except OSError as error:
        _silence()
        complain(f"{error.filename}: {error.strerror}" if error.filename else f"cannot read or write: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _silence() -> None:
    """If nothing more can be written, let it go to nowhere: the interpreter flushes once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def dispatch(words: list[str]) -> int:
    # Two commands have command lines of their own, whose imports are none of a run's business.
    if words[:1] == ["policy"]:
        from policy.tools.commands import main as policy_main

        return policy_main(words[1:])
    if words[:1] == ["bench"]:
        return run_bench(words[1:])
    if words[:1] and words[0] in _LATE:
        module = importlib.import_module(_LATE[words[0]][0])
        options, unknown = late_parser(module).parse_known_args(words)
        if unknown:
            refuse_words(options, unknown)
        return int(module.run(options))
    parser = build_parser()
    own, after = split_arguments(words)
    options, unknown = parser.parse_known_args(own)
    if unknown:
        refuse_words(options, unknown)
    if after is not None:
        options.arguments = [*options.arguments, *after]
    if options.version:
        from hatchway import __version__

        print(f"hatchway {__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 0
    return int(globals()[f"run_{options.function}"](options))


def run_bench(words: list[str]) -> int:
    """The benches stand in a checkout and are not installed."""
    try:
        from benches.__main__ import main as bench_main
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "benches":
            raise
        complain("`hatchway bench` needs the package benches, which is not installed", "run it in a checkout of Hatchway")
        return 2
    return bench_main(words)


def refuse_words(options: argparse.Namespace, unknown: list[str]) -> NoReturn:
    from sandbox.errors import RequestError

    said = (options.command, getattr(options, "verb", None), getattr(options, "action", None))
    hint = f"hatchway {' '.join(word for word in said if word)} --help shows what there is"
    if getattr(options, "arguments", None) is not None and options.path:
        hint = f"what is meant for the program stands behind --: hatchway … {options.path} -- {unknown[0]}"
    raise RequestError("INVALID_ARGUMENT", f"unrecognized arguments: {' '.join(unknown)}", hint)


def split_arguments(words: list[str]) -> tuple[list[str], list[str] | None]:
    """The command's own words, and where there is a program those behind `--`, which are its own."""
    runs = words[:1] == ["run"] or words[:2] in (["snapshot", "save"], ["snapshot", "record"])
    if not runs or "--" not in words:
        return words, None
    place = words.index("--")
    return words[:place], words[place + 1 :]


def run_run(options: argparse.Namespace) -> int:
    from hatchway.cli import run

    return run.run(options)


def run_doctor(options: argparse.Namespace) -> int:
    from hatchway.cli import doctor

    return doctor.run(options)


def run_snapshot(options: argparse.Namespace) -> int:
    return snapshots.run(options)


def run_template(options: argparse.Namespace) -> int:
    return templates.run(options)


def run_completion(options: argparse.Namespace) -> int:
    from hatchway.cli.completion import script

    print(script(_all_parsers(), options.shell))
    return 0


def _all_parsers() -> list[tuple[str, argparse.ArgumentParser]]:
    """Parsers by what is typed before their words."""
    from policy.tools.commands import add_commands

    others = []
    with contextlib.suppress(ModuleNotFoundError):  # only a checkout has benches
        from benches.__main__ import parser as bench_parser

        others.append(("bench", bench_parser()))
    policy = argparse.ArgumentParser()
    add_commands(policy.add_subparsers())
    late = late_parser(*(importlib.import_module(module) for module, _ in _LATE.values()))
    return [("", build_parser()), ("", late), ("policy", policy), *others]


def run_images(options: argparse.Namespace) -> int:
    from sandbox.errors import RequestError
    from sandbox.guests.images import images, source_of
    from sandbox.languages import GUESTS

    if options.verb == "build":
        for name in options.names or GUESTS:
            if name not in GUESTS:
                raise RequestError("INVALID_ARGUMENT", f"there is no guest {name!r}", f"there are: {', '.join(GUESTS)}")
            images.get(name, metered=options.metered, progress=show_progress)
        return 0
    known = {entry: name for name in GUESTS for metered in (False, True) for entry in images.names(source_of(name), metered)}
    if options.verb == "prune":
        from sandbox.snapshots.templates import templates

        freed = images.cache.prune({*known, images.figures_name(), *templates.cache_names()})
        print(f"freed {freed / 1e6:.0f} MB in {images.cache.directory}")
        return 0
    print(images.cache.directory)
    for entry, name in sorted(known.items()):
        found = images.cache.find(entry)
        if found is not None:
            print(f"  {name:11} {found.stat().st_blocks * 512 / 1e6:8.1f} MB  {entry}")
    return 0
