"""Public suites of shells and tools: `python -m tests.guests.suite_campaign --suite NAME --path LOCAL_COPY`.

A long-running command, not part of the suite: LOCAL_COPY is a checkout of the named suite, of which nothing is kept here. Each
of its units runs in a session of our shell, and natively on a copy in a temporary folder (as `nobody` when started by root). The
share is that of the tests which the real tools pass; `--tools` puts a folder with more real tools (gawk) before PATH.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypeAlias

import hatchway
from tests.guests.suites import SUITES, Suite, Unit

PASSED = re.compile(r"^(?:PASS: |ok (?:\d+ )?(?:- )?)(?!.*# skip)(.*)$", re.MULTILINE | re.IGNORECASE)
LIMITS = {"memory_mb": 512, "cpu_ms": 120_000, "wall_ms": 300_000, "max_stdout_bytes": 8 << 20}
NATIVE_S = 60

Passes: TypeAlias = "collections.Counter[str]"


def collect_files(suite: Suite, path: Path) -> dict[str, tuple[bytes, int]]:
    """Contents and permissions by name."""
    found: dict[str, tuple[bytes, int]] = {}
    for folder in suite.folders:
        top = path / folder
        for file in [top] if top.is_file() else sorted(top.rglob("*")):
            if file.is_file() and ".git" not in file.relative_to(path).parts:
                found[str(file.relative_to(path))] = (file.read_bytes(), file.stat().st_mode & 0o777)
    return found | {name: (data, 0o755) for name, data in suite.make_files(path).items()}


def count_passes(output: str) -> Passes:
    return collections.Counter(match.strip() for match in PASSED.findall(output))


def run_natively(unit: Unit, files: Path, tools: str) -> Passes:
    """What passes in a copy of the files of its own."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "workspace"
        shutil.copytree(files, work, symlinks=True)
        is_root = os.getuid() == 0
        if is_root:
            subprocess.run(["chown", "-R", "nobody", folder], check=True)
        env = {
            "PATH": f"{tools}:/usr/bin:/bin".lstrip(":"),
            "HOME": str(work),
            "LANG": "C.UTF-8",
            "TMPDIR": folder,
            "USER": "nobody",
        }
        process = subprocess.Popen(
            ["bash", "-c", unit.script], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, user="nobody" if is_root else None, start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=NATIVE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
    return count_passes(output.decode("utf-8", "replace"))


def run_in_sandbox(unit: Unit, box: hatchway.Sandbox) -> tuple[Passes, str, str]:
    """What passes, how the run ended where it did not end well, and all it printed."""
    with box.fork() as fork:
        done = fork.run(unit.script)
        why = f"{done.error.code}: {done.error.message.splitlines()[0]}" if done.error is not None else ""
        return count_passes(done.stdout), why, done.stdout + done.stderr


def run_suite(suite: Suite, path: Path, tools: str, match: str, show: str) -> tuple[int, int, list[str]]:
    """Tests that ours passes of those the real tool passes, how many these are, and runs that ended badly."""
    files = collect_files(suite, path)
    ours_n = real_n = 0
    faults = []
    with tempfile.TemporaryDirectory() as folder, hatchway.Sandbox(language="shell", limits=LIMITS) as box:
        for name, (data, mode) in files.items():
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(mode)
            box.files.write_file(name, data, mode=mode)
        for unit in suite.units(path):
            if not re.search(match, unit.name):
                continue
            real = collections.Counter(unit.tests) or run_natively(unit, Path(folder), tools)
            ours, why, output = run_in_sandbox(unit, box)
            missing = real - ours
            ours_n, real_n = ours_n + (real & ours).total(), real_n + real.total()
            if why:
                faults.append(f"{unit.name}: {why}")
            if show and (missing or why):
                print(f"{unit.name}: {(real & ours).total()} of {real.total()} {why}", flush=True)
                print("".join(f"  - {name}\n" for name in sorted(missing)), end="")
            if show == "output" and (missing or why):
                print(output)
    return ours_n, real_n, faults


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.guests.suite_campaign", description=__doc__)
    parser.add_argument("--suite", choices=sorted(SUITES), required=True)
    parser.add_argument("--path", type=Path, required=True, help="a local copy of the suite")
    parser.add_argument("--tools", default="", metavar="FOLDER", help="more real tools for the native runs")
    parser.add_argument("--match", default="", metavar="REGEX", help="only units whose names match")
    parser.add_argument("--show", choices=("tests", "output"), default="", help="what fails, or also what it printed")
    options = parser.parse_args()
    ours, real, faults = run_suite(SUITES[options.suite], options.path, options.tools, options.match, options.show)
    for fault in faults:
        print(f"ended badly: {fault}")
    print(f"{options.suite}: {ours} of {real} ({100 * ours / max(real, 1):.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
