"""Builds the native fuzzing program and its seed inputs.

Rules: the compiler is the machine's own gcc, for its sanitizers and `-fsanitize-coverage=trace-pc`. Objects are kept in
`wasm_modules/build/fuzz` by a digest of all they are made of. Seeds are the scripts and programs of the `.test` cases.

Does not know: time budgets, and what is done with what is found.
"""

from __future__ import annotations

import concurrent.futures
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from wasm_modules.shell.run_cases import parse

SHELL = Path(__file__).parent.parent
WORK = SHELL.parent / "build" / "fuzz"
TARGETS = ("parse", "script", "regex", "awk", "sed", "jq", "bc")
HOST_ONLY = {"main_native.c", "turn.c", "capability.c", "json.c"}
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
FLAGS = ("-O0", "-g1", "-std=gnu2x", "-D_GNU_SOURCE", *SANITIZE)
WRAPPED = ("-Wl,--wrap=open", "-Wl,--wrap=tool_find")


class CannotBuild(Exception):
    """There is no usable C compiler, or the sources do not compile."""


def compiler() -> str:
    found = shutil.which("gcc")
    if found is None:
        raise CannotBuild("gcc is not installed")
    return found


def sources() -> list[Path]:
    own = [path for path in [*SHELL.glob("*.c"), *SHELL.glob("tools/*.c")] if path.name not in HOST_ONLY]
    return [*sorted(own), SHELL / "fuzz" / "target.c", SHELL / "fuzz" / "driver.c"]


def build() -> Path:
    """The program, compiled where something changed. Of two that ask at once one waits, and finds it done."""
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _build()


def _build() -> Path:
    headers = sorted([*SHELL.glob("*.h"), *SHELL.glob("tools/*.h"), *SHELL.glob("tools/*.def")])
    common = hashlib.sha256(b"".join(path.read_bytes() for path in headers) + repr(FLAGS).encode()).digest()
    objects = {WORK / f"{_digest(common, source)}.o": source for source in sources()}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_compile, objects.items()))
    program = WORK / f"fuzz-{hashlib.sha256(repr(sorted(objects)).encode()).hexdigest()[:16]}"
    if not program.exists():
        fresh = program.with_suffix(".new")
        run([compiler(), *SANITIZE, *WRAPPED, "-o", str(fresh), *map(str, objects), "-lm"])
        fresh.rename(program)
    return program


def _digest(common: bytes, source: Path) -> str:
    return hashlib.sha256(common + source.name.encode() + source.read_bytes()).hexdigest()[:24]


def _compile(job: tuple[Path, Path]) -> None:
    target, source = job
    if target.exists():
        return
    # the driver must not trace itself
    trace = () if source.name == "driver.c" else ("-fsanitize-coverage=trace-pc",)
    fresh = target.with_suffix(".new")
    run([compiler(), *FLAGS, *trace, "-I", str(SHELL), "-c", str(source), "-o", str(fresh)])
    fresh.rename(target)


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotBuild(done.stderr[-2000:])


def write_seeds(target: str, folder: Path) -> int:
    """One file per seed; how many."""
    texts: set[str] = set()
    for path in [*SHELL.glob("cases/*.test"), *SHELL.glob("tools/cases/*.test")]:
        for case in parse(path.read_text("utf-8")):
            texts.update(_programs(target, case.script))
    for number, text in enumerate(sorted(texts)):
        (folder / f"seed-{number}").write_bytes(text.encode())
    return len(texts)


def _programs(target: str, script: str) -> list[str]:
    if target in ("parse", "script"):
        return [script]
    if target == "regex":
        return ["\1" + found for found in re.findall(r"(?:grep|sed|=~)[^'\n]*'([^'\n]{1,200})'", script)]
    if target == "bc":
        return re.findall(r"'([^']+)' \| bc", script)
    return re.findall(target + r"(?: -[a-zA-Z]+)* '([^']+)'", script)
