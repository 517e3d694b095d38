"""`hatchway images`: build, list and prune the compiled guests."""

from __future__ import annotations

import argparse
from typing import Any

from hatchway.cli.options import add_parser
from hatchway.cli.terminal import show_progress
from sandbox.errors import RequestError
from sandbox.guests.images import images, source_of
from sandbox.languages import GUESTS
from sandbox.snapshots.templates import templates


def add_command(commands: Any) -> None:
    about = "Guests are the interpreters that programs run in. They are compiled to native code once per machine and kept."
    parser = add_parser(commands, "images", description=about)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    build = verbs.add_parser("build", help="compile what is missing (Python takes one to two minutes, once per machine)")
    build.add_argument("names", nargs="*", metavar="GUEST", help="python, javascript, shell (default: all)")
    build.add_argument("--metered", action="store_true", help="the images that count instructions")
    verbs.add_parser("list", help="what is there, and where")
    verbs.add_parser("prune", help="delete images that no installed guest uses any more")


def run(options: argparse.Namespace) -> int:
    if options.verb == "build":
        for name in options.names or GUESTS:
            if name not in GUESTS:
                raise RequestError("INVALID_ARGUMENT", f"there is no guest {name!r}", f"there are: {', '.join(GUESTS)}")
            images.get(name, metered=options.metered, progress=show_progress)
        return 0
    known = {entry: name for name in GUESTS for metered in (False, True) for entry in images.names(source_of(name), metered)}
    if options.verb == "prune":
        freed = images.cache.prune({*known, images.figures_name(), *templates.cache_names()})
        print(f"freed {freed / 1e6:.0f} MB in {images.cache.directory}")
        return 0
    print(images.cache.directory)
    for entry, name in sorted(known.items()):
        found = images.cache.find(entry)
        if found is not None:
            print(f"  {name:11} {found.stat().st_blocks * 512 / 1e6:8.1f} MB  {entry}")
    return 0
