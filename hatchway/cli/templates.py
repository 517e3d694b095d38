"""`hatchway template`: sessions that were warmed up once, for others to start from.

Rules: a setup program runs without capabilities and without anything of the caller's but the files named; what it prints goes to
stderr. A setup that fails leaves no template.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from hatchway.cli.host_files import list_pairs, read_bytes
from hatchway.cli.options import add_many, add_parser
from hatchway.cli.terminal import complain, show_progress
from sandbox.errors import RequestError
from sandbox.languages import LANGUAGE_OF_SUFFIX
from sandbox.packages.layers import layers
from sandbox.packages.locks import read_lock_file
from sandbox.sessions.request_checks import parse_language
from sandbox.snapshots.templates import SETUP_TIMEOUT_MS, templates


def add_command(commands: Any) -> None:
    template = add_parser(
        commands,
        "template",
        description="Templates: sessions with imports done and functions defined, kept in the cache.",
        epilog="example:\n  hatchway template build pandas --setup setup.py\n  hatchway run --template pandas -c 'df.describe()'",
    )
    verbs = template.add_subparsers(dest="verb", metavar="VERB", required=True)
    build = verbs.add_parser("build", help="run a setup program and keep the session", description="Build a template.")
    build.add_argument("name", metavar="NAME")
    build.add_argument("--setup", metavar="FILE", help="the setup program")
    build.add_argument("-c", "--code", metavar="CODE", help="the setup program itself")
    build.add_argument("-l", "--language", metavar="L", help="python (default), javascript, typescript or shell")
    add_many(build, "--file", "HOST[:GUEST]", "copy a file or a folder into /workspace first")
    build.add_argument("--packages", metavar="LOCK", help="packages of a lock file (hatchway packages lock)")
    build.add_argument("--timeout-ms", type=int, metavar="N", help="how long the setup may take (default 60000)")
    verbs.add_parser("list", help="templates in the cache")
    remove = verbs.add_parser("rm", help="delete a template")
    remove.add_argument("name", metavar="NAME")


def run(options: argparse.Namespace) -> int:
    if options.verb == "build":
        return _build(options)
    if options.verb == "rm":
        if not templates.remove(options.name):
            raise RequestError("INVALID_ARGUMENT", f"there is no template {options.name!r}", "hatchway template list")
        return 0
    for found in templates.list():
        state = "stale: build it again" if found.stale else "ready"
        size = f"{found.pages:6} pages  {found.stored_bytes / 1e6:7.1f} MB"
        print(f"{found.name:20} {found.language.value:12} {found.id[:12]}  {size}  {state}")
    return 0


def _build(options: argparse.Namespace) -> int:
    if (options.setup is None) == (options.code is None):
        raise RequestError("INVALID_ARGUMENT", "give --setup FILE or -c CODE")
    language = options.language or (LANGUAGE_OF_SUFFIX.get(Path(options.setup).suffix) if options.setup else None) or "python"
    setup = options.code if options.code is not None else read_bytes(Path(options.setup)).decode()
    result = templates.build(
        options.name,
        setup,
        language=parse_language(language),
        files={place: read_bytes(path) for path, place in list_pairs(options.file)},
        base=layers.open_lock(read_lock_file(Path(options.packages))) if options.packages else None,
        progress=show_progress,
        timeout_ms=SETUP_TIMEOUT_MS if options.timeout_ms is None else options.timeout_ms,
    )
    sys.stderr.write(result.stdout + result.stderr)
    if not result.ok:
        reason = result.error.message if result.error else f"it exited with status {result.exit_code}"
        complain(f"the setup failed, so there is no template {options.name!r}: {reason}")
        return 1
    print(f"template {options.name} is ready", file=sys.stderr)
    return 0
