"""`python -m wasm_modules.shell.fuzz [--target NAME] [--seconds N] [--seed N]`: looks for crashes in the shell's C sources.

Every target (or the one named) first runs what is kept in `regressions/`, then mutates seeds for its share of the time.
Inputs that crash are written to `build/fuzz/faults/TARGET`; mend the fault, then keep the input in `regressions/TARGET-WHAT`.
The exit status is 1 when anything crashed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from wasm_modules.shell.fuzz import harness

REGRESSIONS = Path(__file__).parent / "regressions"
FAULT_STATUS = 99
STACK_BYTES = 1 << 30


def environment(target: str) -> dict[str, str]:
    asan = (f"exitcode={FAULT_STATUS}", "detect_leaks=0", "max_allocation_size_mb=512", "allocator_may_return_null=1")
    return {
        "HATCH_FUZZ_TARGET": target,
        "ASAN_OPTIONS": ":".join(asan),
        "UBSAN_OPTIONS": f"exitcode={FAULT_STATUS}:print_stacktrace=1",
        "PATH": os.environ["PATH"],
    }


def deep_stack() -> None:
    """A sanitizer's frames are several times larger than the guest's."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    wanted = STACK_BYTES if hard == resource.RLIM_INFINITY else min(STACK_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))


def start(program: Path, target: str, arguments: list[str], folder: Path) -> int:
    return subprocess.run([str(program), *arguments], env=environment(target), cwd=folder, preexec_fn=deep_stack).returncode


def replay(program: Path, target: str, folder: Path) -> int:
    kept = sorted(REGRESSIONS.glob(f"{target}-*"))
    return start(program, target, [str(path) for path in kept], folder) if kept else 0


def explore(program: Path, target: str, seconds: int, seed: int, folder: Path) -> int:
    corpus, faults = folder / "corpus", harness.WORK / "faults" / target
    corpus.mkdir()
    shutil.rmtree(faults, ignore_errors=True)
    faults.mkdir(parents=True)
    count = harness.write_seeds(target, corpus)
    print(f"{target}: {count} seeds, {seconds} s, seed {seed}", flush=True)
    status = start(program, target, ["--seconds", str(seconds), "--seed", str(seed), str(corpus), str(faults)], folder)
    for path in sorted(faults.iterdir()):
        print(f"  fault: {path}")
    return status


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wasm_modules.shell.fuzz", description="Fuzz the shell's C sources.")
    parser.add_argument("--target", choices=harness.TARGETS, action="append", help="only this part (may be repeated)")
    parser.add_argument("--seconds", type=int, default=60, help="time for each target (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same choices")
    parser.add_argument("--replay", action="store_true", help="only run the kept inputs")
    options = parser.parse_args()
    try:
        program = harness.build()
    except harness.CannotBuild as error:
        parser.error(f"cannot build the fuzzing program: {error}")
    bad = 0
    for target in options.target or harness.TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            bad |= replay(program, target, Path(folder))
            if not options.replay:
                bad |= explore(program, target, options.seconds, options.seed, Path(folder))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
