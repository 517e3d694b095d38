"""Popular packages of npm, here and under Node: `python -m tests.guests.npm_campaign --path FOLDER [--only GLOB]`.

A long-running command, not part of the suite: FOLDER is one in which `npm i --ignore-scripts` has installed the packages that
`npm_packages.txt` names (`--names` prints them), of which nothing is kept here. Each has a small program there, behind a line
`# PACKAGE`; one whose first line is an `import` is a module. It runs natively (as `nobody`, in a folder of its own) and in a
session that has the package and what it depends on.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import hatchway
from tests.guests.program_campaign import PATIENT, Ending, compare

PROGRAMS = Path(__file__).parent / "npm_packages.txt"
AGREEING_MIN = 66 / 70
LEFT_OUT = (".map", ".d.ts", ".d.mts", ".d.cts", ".md", ".markdown")
FILE_BYTES_MAX = 4 << 20
NATIVE_SECONDS_MAX = 60
LIMITS = {**PATIENT, "memory_mb": 512}


class Program(NamedTuple):
    package: str
    code: str

    @property
    def filename(self) -> str:
        return "program.mjs" if re.match(r"import\b", self.code) else "program.js"


def read_programs() -> list[Program]:
    blocks = ("\n" + PROGRAMS.read_text("utf-8")).split("\n# ")[1:]
    return [Program(name, code + "\n") for name, _, code in (block.partition("\n") for block in blocks)]


def find_packages(modules: Path, name: str) -> Iterator[Path]:
    """The folder of a package, and those of what it depends on."""
    waiting, found = [(name, modules)], set[Path]()
    while waiting:
        wanted, beside = waiting.pop()
        nearest = (folder / wanted for folder in (beside, *beside.parents) if folder.name == "node_modules")
        place = next((folder for folder in nearest if (folder / "package.json").exists()), None)
        if place is None or place in found:
            continue
        found.add(place)
        yield place
        told = json.loads((place / "package.json").read_text("utf-8"))
        needed = {**told.get("dependencies", {}), **told.get("optionalDependencies", {}), **told.get("peerDependencies", {})}
        waiting += [(other, place / "node_modules") for other in needed]


def read_files(modules: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """What a session needs of a package, by the path under the folder of all packages."""
    for folder in find_packages(modules, name):
        for path in folder.rglob("*"):
            inside = path.relative_to(folder).parts
            if "node_modules" in inside or path.name.endswith(LEFT_OUT) or path.stat().st_size > FILE_BYTES_MAX:
                continue
            if path.is_file():
                yield path.relative_to(modules).as_posix(), path.read_bytes()


def run_here(modules: Path, program: Program) -> Ending:
    with hatchway.Sandbox(language="javascript", limits=LIMITS) as box:
        for path, data in read_files(modules, program.package):
            box.files.write_file(f"node_modules/{path}", data)
        box.files.write_file(program.filename, program.code)
        done = box.run(f"node {program.filename}", language="shell")
    return Ending(done.stdout, done.exit_code, done.stderr)


def run_natively(modules: Path, program: Program) -> Ending:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "workspace"
        folder.mkdir()
        (folder / "node_modules").symlink_to(modules)
        (folder / program.filename).write_text(program.code, "utf-8")
        command = ["node", program.filename]
        if is_root := os.geteuid() == 0:
            shutil.chown(scratch, "nobody", "nogroup")
            shutil.chown(folder, "nobody", "nogroup")
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TZ": "UTC"}
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, timeout=NATIVE_SECONDS_MAX, check=False,
            **({"user": "nobody", "group": "nogroup", "extra_groups": []} if is_root else {}),
        )  # fmt: skip
    return Ending(done.stdout.decode("utf-8", "replace"), done.returncode, done.stderr.decode("utf-8", "replace"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.guests.npm_campaign", description=__doc__)
    parser.add_argument("--path", type=Path, help="where the packages were installed")
    parser.add_argument("--only", default="*", metavar="GLOB", help="packages whose names match")
    parser.add_argument("--names", action="store_true", help="print the packages' names, to install them")
    options = parser.parse_args()
    programs = [one for one in read_programs() if fnmatch.fnmatch(one.package, options.only)]
    if options.names or options.path is None:
        print(" ".join(one.package for one in programs))
        return 0
    modules = options.path.resolve() / "node_modules"
    agreeing = 0
    for program in programs:
        expected = run_natively(modules, program)
        if expected.status:
            print(f"--- {program.package}: fails natively\n{expected.note}")
            continue
        difference = compare(expected, run_here(modules, program))
        agreeing += not difference
        if difference:
            print(f"--- {program.package}\n{difference}", flush=True)
    print(f"{agreeing} of {len(programs)} packages behave as under Node")
    return int(agreeing < AGREEING_MIN * len(programs))


if __name__ == "__main__":
    sys.exit(main())
