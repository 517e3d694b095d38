"""The `hatchway` command.

Rules: `--help` teaches; a mistake gets one clear line with a hint and exit status 2, never a traceback. A command is a module
with `add_command(commands)` and `run(options) -> int`, imported when it is asked for: most of a cold start is imports.

Exit status of `hatchway run`: the program's own; 1 if it failed, 124 if a time limit ended it, 137 if another limit did, 130 if
cancelled, 126 if its policy refused it.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import io
import os
import sys
from types import ModuleType
from typing import NoReturn

from hatchway.cli.terminal import complain

COMMANDS = {
    "run": ("hatchway.cli.run", "run a program in a fresh sandbox"),
    "doctor": ("hatchway.cli.doctor", "check this machine: what works, what is missing, what is compiled already"),
    "images": ("hatchway.cli.guest_images", "build, list or prune the compiled guests"),
    "completion": ("hatchway.cli.completion", "print a tab-completion script"),
    "snapshot": ("hatchway.cli.snapshots", "save, inspect, compare and replay sessions"),
    "template": ("hatchway.cli.templates", "prepare a session once, and start any number from it"),
    "packages": ("hatchway.cli.packages", "packages for programs to import: locked, brought here once"),
    "serve": ("hatchway.cli.serve", "run the gateway: an HTTP service for many tenants"),
    "hook": ("hatchway.cli.hooks", "try hooks on an event, step by step, without a gateway"),
    "audit": ("hatchway.cli.audit", "verify or export the audit log"),
    "secrets": ("hatchway.cli.owner", "rotate the keys of tenants' secrets"),
    "tokens": ("hatchway.cli.owner", "make a token while the gateway is stopped"),
    "explain": ("hatchway.cli.explain", "what an error code means and what to do about it"),
    "mcp": ("hatchway.mcp.command", "serve a gateway to agents over MCP"),
    "remote": ("hatchway.remote.command", "use a running gateway: programs, files, snapshots, approvals, policies, tenants"),
}
"""A command's module, with `add_command` and `run`, and its line in --help. Only the module that is asked for is imported."""
_OTHERS = {
    "policy": "check, test, format, explain, prove and compare policies",
    "bench": "measure speed here, compared with native programs and other projects",
}
"""Commands with command lines of their own."""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hatchway",
        description="Run untrusted Python, JavaScript, TypeScript and shell in a WebAssembly sandbox.",
        epilog="try:\n  hatchway run -c 'print(1 + 1)'\n  hatchway run app.ts\n  hatchway serve\n  hatchway doctor",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, about in [*((name, about) for name, (_, about) in COMMANDS.items()), *_OTHERS.items()]:
        commands.add_parser(name, help=about, add_help=False)
    return parser


@functools.cache
def build_command_parser(*modules: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hatchway")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in modules:
        module.add_command(commands)
    return parser


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
    command = words[0] if words else ""
    if command == "policy":
        from policy.tools.commands import main as policy_main

        return policy_main(words[1:])
    if command == "bench":
        return run_bench(words[1:])
    if command in COMMANDS:
        return run_command(importlib.import_module(COMMANDS[command][0]), words)
    parser = build_parser()
    options, _ = parser.parse_known_args(words)
    if options.version:
        from hatchway import __version__

        print(f"hatchway {__version__}")
    else:
        parser.print_help()
    return 0


def run_command(module: ModuleType, words: list[str]) -> int:
    own, after = split_arguments(words)
    options, unknown = build_command_parser(module).parse_known_args(own)
    if unknown:
        refuse_words(options, unknown)
    if after is not None:
        options.arguments = [*options.arguments, *after]
    return int(module.run(options))


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
