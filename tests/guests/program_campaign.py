"""Programs as language models write them, here and natively: `python -m tests.guests.program_campaign [--only GLOB]`.

`programs/LANGUAGE/NAME.SUFFIX` is a program; a first comment `args: …` holds its words, `NAME.stdin` what it reads,
`NAME.expected` what it did natively: `status N`, then its stdout. Those that do something else here are listed with the reason in
`programs/disagreeing.txt`. `--natively` runs programs on this machine instead (as `nobody`, in a folder of their own) and writes
what is expected; it needs python3 with numpy, pandas, scipy and scikit-learn, node, tsx, jq and gawk on the PATH.
The whole takes minutes; a sample of it is in the suite.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import fnmatch
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import hatchway
from sandbox.languages import LANGUAGE_OF_SUFFIX, LANGUAGES, Language

FOLDER = Path(__file__).parent / "programs"
LISTED = FOLDER / "disagreeing.txt"
SHARE_MIN = 0.97
PATIENT = {"wall_ms": 120_000, "cpu_ms": 60_000}
"""Answers are compared here, not speed: a busy machine may take its time."""
NATIVE_COMMAND = {"python": "python3", "javascript": "node", "typescript": "tsx", "shell": "bash"}
NATIVE_SECONDS_MAX = 120
DIFF_LINES_MAX = 12


@dataclass(frozen=True)
class Ending:
    stdout: str
    status: int
    note: str = ""
    """What else is known, for the reader of a report."""


@dataclass(frozen=True)
class Program:
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(FOLDER).as_posix()

    @property
    def language(self) -> str:
        return LANGUAGE_OF_SUFFIX[self.path.suffix]

    @cached_property
    def code(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def words(self) -> list[str]:
        comment = self.code.partition("\n")[0].lstrip("#/ ")
        return shlex.split(comment.removeprefix("args:")) if comment.startswith("args:") else []

    @property
    def stdin(self) -> bytes:
        path = self.path.with_suffix(".stdin")
        return path.read_bytes() if path.exists() else b""

    @property
    def expected(self) -> Ending:
        first, _, stdout = self.path.with_suffix(".expected").read_text("utf-8").partition("\n")
        return Ending(stdout, int(first.removeprefix("status ")))


def find_programs(only: str = "*") -> list[Program]:
    found = (Program(path) for path in sorted(FOLDER.glob("*/*")) if path.suffix in LANGUAGE_OF_SUFFIX)
    return [program for program in found if fnmatch.fnmatch(program.name, only)]


def read_disagreeing() -> dict[str, str]:
    """Reasons by the names of programs."""
    lines = LISTED.read_text("utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def run_here(base: hatchway.Sandbox, program: Program) -> Ending:
    """As `hatchway run FILE` does, in a fork of a started session."""
    language = Language(program.language)
    facts = LANGUAGES[language]
    with base.fork() as box:
        box.files.write_file(program.path.name, program.code)
        words = program.words if language is Language.SHELL else [program.path.name, *program.words]
        if placed := facts.place(None, (), words, True):
            box.run(placed, language=language)
        done = box.run(program.code + facts.ending, language=language, stdin=program.stdin, filename=program.path.name)
    note = "" if done.error is None else f"{done.error.code}: {done.error.message}"
    return Ending(done.stdout, done.exit_code, note)


def run_natively(program: Program) -> Ending:
    """The interpreter of this machine, as a user that owns nothing besides the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "workspace"
        folder.mkdir()
        shutil.copy(program.path, folder)
        command = [NATIVE_COMMAND[program.language], program.path.name, *program.words]
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TZ": "UTC"}
        if os.geteuid() == 0:
            shutil.chown(scratch, "nobody", "nogroup")
            shutil.chown(folder, "nobody", "nogroup")
        done = subprocess.run(
            command, input=program.stdin, cwd=folder, env=env, capture_output=True, timeout=NATIVE_SECONDS_MAX,
            **({"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}),
        )  # fmt: skip
    return Ending(done.stdout.decode("utf-8", "replace"), done.returncode, done.stderr.decode("utf-8", "replace"))


def compare(expected: Ending, got: Ending) -> str:
    """'' when they agree, else how they differ."""
    if (expected.stdout, expected.status) == (got.stdout, got.status):
        return ""
    lines = list(
        difflib.unified_diff(expected.stdout.splitlines(), got.stdout.splitlines(), "natively", "here", lineterm="", n=0)
    )
    lines = lines or ["one has a last newline, the other none"] * (expected.stdout != got.stdout)
    if expected.status != got.status:
        lines.append(f"exit status {got.status}, natively {expected.status}")
    shown = lines[:DIFF_LINES_MAX] + [f"… {len(lines) - DIFF_LINES_MAX} more lines"] * (len(lines) > DIFF_LINES_MAX)
    return "\n".join([*shown, *(f"  {line}" for line in got.note.splitlines()[-3:])])


def run_all(programs: Sequence[Program]) -> Iterator[tuple[Program, str]]:
    """Each program with how it differs; one sandbox for each language."""
    for language in NATIVE_COMMAND:
        chosen = [program for program in programs if program.language == language]
        if chosen:
            with hatchway.Sandbox(language=language, limits=PATIENT) as base:
                base.run(LANGUAGES[Language(language)].warm_up or "1")
                yield from ((program, compare(program.expected, run_here(base, program))) for program in chosen)


def record_natively(programs: Sequence[Program]) -> None:
    for number, program in enumerate(programs, 1):
        ending = run_natively(program)
        program.path.with_suffix(".expected").write_text(f"status {ending.status}\n{ending.stdout}", "utf-8")
        print(f"{number} of {len(programs)} {program.name}: status {ending.status}", flush=True)
        if ending.status:
            print("\n".join(f"  {line}" for line in ending.note.splitlines()[-3:]), flush=True)


def report(differences: dict[Program, str], listed: dict[str, str]) -> str:
    counts: dict[str, collections.Counter[bool]] = collections.defaultdict(collections.Counter)
    for program, difference in differences.items():
        counts[program.language][not difference] += 1
        counts["all"][not difference] += 1
    shares = ((name, count[True], count.total()) for name, count in counts.items())
    rows = [f"{name:12} {agreeing:4} of {total:4}  {agreeing / total:6.1%}" for name, agreeing, total in shares]
    wrong = [
        f"--- {program.name}: {listed.get(program.name, 'NOT LISTED')}\n{difference}"
        for program, difference in differences.items()
        if difference
    ]
    stale = [f"--- {one.name}: agrees, but is listed" for one, how in differences.items() if one.name in listed and not how]
    return "\n".join([*wrong, *stale, *rows])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.guests.program_campaign", description=__doc__)
    parser.add_argument("--only", default="*", metavar="GLOB", help="programs whose names (python/x.py) match")
    parser.add_argument("--natively", action="store_true", help="run them on this machine and write what is expected here")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report there as well")
    options = parser.parse_args()
    programs = find_programs(options.only)
    if options.natively:
        record_natively(programs)
        return 0
    differences: dict[Program, str] = {}
    for program, difference in run_all(programs):
        differences[program] = difference
        print(f"{len(differences)} of {len(programs)} {program.name}{': differs' if difference else ''}", file=sys.stderr)
    listed = read_disagreeing()
    text = report(differences, listed)
    print(text)
    if options.report:
        options.report.write_text(text + "\n", "utf-8")
    share = sum(not difference for difference in differences.values()) / max(len(differences), 1)
    return int(share < SHARE_MIN or any(bool(how) is not (one.name in listed) for one, how in differences.items()))


if __name__ == "__main__":
    sys.exit(main())
