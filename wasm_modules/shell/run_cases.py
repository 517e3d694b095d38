#!/usr/bin/env python3
"""Runs the shell's `.test` cases: `run_cases.py [--shell PATH] [--record] [-k TEXT] [FILE ...]`.

Purpose: each case is a script with the standard output and exit status that real bash gives. The runner starts the given shell
once per case, in an empty directory of its own, and compares. `--record --shell bash` writes into the files what bash says
instead, so a new case is a name and a script. Cases lie in `cases/` and `tools/cases/`.

Format: `### name`, the script, then the sections `--- stdin` (optional), `--- stdout` and `--- status N` (0 when absent). A case
ends at the next `### ` line. A section `--- stdout (no newline)` stands for output without the newline that ends its text.

Does not know: wasm. The guest runs the same files in the test suite.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).parent
NO_NEWLINE = "--- stdout (no newline)"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    script: str
    stdin: str = ""
    stdout: str = ""
    status: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    stdout: str
    stderr: str
    status: int


def parse(text: str) -> list[Case]:
    """The cases of one file, in order."""
    cases: list[Case] = []
    section = ""
    parts: dict[str, list[str]] = {}
    name, first, status, bare = "", 0, 0, False

    def finish() -> None:
        if name:
            stdout = "".join(parts.get("stdout", []))
            if bare:
                stdout = stdout.removesuffix("\n")
            script = "".join(parts.get("script", []))
            cases.append(Case(name, script, "".join(parts.get("stdin", [])), stdout, status, first))

    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if line.startswith("### "):
            finish()
            name, first, status, bare, section, parts = line[4:].strip(), number, 0, False, "script", {}
        elif line.startswith("--- status "):
            status, section = int(line.split()[2]), "after"
        elif line.rstrip() in ("--- stdin", "--- stdout", NO_NEWLINE):
            bare = line.rstrip() == NO_NEWLINE or bare
            section = line.split()[1]
            parts[section] = []
        elif section:
            parts.setdefault(section, []).append(line)
    finish()
    return cases


def render(cases: list[Case]) -> str:
    """The text of a file with these cases; parse(render(cases)) gives them back."""
    out: list[str] = []
    for case in cases:
        out.append(f"### {case.name}\n{case.script}")
        if case.stdin:
            out.append(f"--- stdin\n{case.stdin}")
        whole = not case.stdout or case.stdout.endswith("\n")
        out.append(("--- stdout\n" if whole else NO_NEWLINE + "\n") + case.stdout + ("" if whole else "\n"))
        if case.status:
            out.append(f"--- status {case.status}\n")
    return "".join(out)


def run(shell: str, case: Case, timeout_s: float) -> Answer:
    """One case in an empty directory; a shell that does not end in time gives status -1."""
    with tempfile.TemporaryDirectory() as folder:
        work = os.path.join(folder, "workspace")
        os.mkdir(work)
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": work,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "ASAN_OPTIONS": "detect_leaks=0",
        }
        try:
            done = subprocess.run(
                [shell, "-c", case.script.removesuffix("\n"), "bash"],
                input=case.stdin.encode(),
                capture_output=True,
                cwd=work,
                env=env,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            return Answer("", "timeout", -1)
        stdout = done.stdout.decode("utf-8", "replace").replace(folder, "")
        return Answer(stdout, done.stderr.decode("utf-8", "replace"), done.returncode)


def check(path: Path, cases: list[Case], options: argparse.Namespace, pool: ThreadPoolExecutor) -> int:
    """Compare, or record; returns how many failed."""
    chosen = [case for case in cases if options.k in case.name or options.k in case.script]
    answers = list(pool.map(lambda case: run(options.shell, case, options.timeout), chosen))
    if options.record:
        by_line = {case.line: replace(case, stdout=a.stdout, status=a.status) for case, a in zip(chosen, answers, strict=True)}
        path.write_text(render([by_line.get(case.line, case) for case in cases]), encoding="utf-8")
        return 0
    failed = 0
    for case, answer in zip(chosen, answers, strict=True):
        broken = "Sanitizer" in answer.stderr or "runtime error:" in answer.stderr
        if (answer.stdout, answer.status) == (case.stdout, case.status) and not broken:
            continue
        failed += 1
        if not options.quiet:
            print(f"FAIL {path.name}:{case.line} {case.name}\n{case.script}--- expected ({case.status})\n{case.stdout}")
            print(f"--- got ({answer.status})\n{answer.stdout}--- stderr\n{answer.stderr[: options.stderr]}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the shell's cases, or record what bash answers.")
    parser.add_argument("files", nargs="*", type=Path, help="case files (default: cases/*.test and tools/cases/*.test)")
    parser.add_argument("--shell", default="bash", help="the shell to run: hatchsh, or bash (default)")
    parser.add_argument("--record", action="store_true", help="write the shell's answers into the files")
    parser.add_argument("-k", default="", help="only cases whose name or script contains this text")
    parser.add_argument("--timeout", type=float, default=20, help="seconds per case")
    parser.add_argument("--stderr", type=int, default=600, help="characters of stderr to show")
    parser.add_argument("--quiet", action="store_true", help="only the summary")
    options = parser.parse_args()
    files = options.files or sorted([*HERE.glob("cases/*.test"), *HERE.glob("tools/cases/*.test")])
    if "/" in options.shell:
        options.shell = os.path.abspath(options.shell)
    total = failed = 0
    with ThreadPoolExecutor(2) as pool:
        for path in files:
            cases = parse(path.read_text(encoding="utf-8"))
            bad = check(path, cases, options, pool)
            total += len(cases)
            failed += bad
            print(f"{path.name}: {len(cases)} cases, {bad} failed")
    print(f"{total} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
