"""Files of Node's own test suite: `python -m tests.guests.node_campaign --node PATH [--match REGEX] [--show]`.

A long-running command, not part of the suite: PATH is a local copy of Node's repository, of which nothing is kept here. Each file
of `test/parallel` that is about a module we have runs as a program in a session of its own, with the suite's own `common` and
fixtures. A file that needs what no sandbox has (processes, the network, flags, V8's internals) is left out, and counted. A file
that fails is run once more with assertions that go on, so that each of them counts.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
from pathlib import Path

import hatchway

MODULES = (
    "assert|async|buffer|console|diagnostics-channel|events?|fs|hash|next-tick|path|process|promise|querystring|readline|require|"
    "stream|string-decoder|stringbytes|timers|url|util|webstreams|whatwg|zlib|crypto-(?:hash|hmac|pbkdf2|scrypt|hkdf|random|timing)"
)
OUT_OF_REACH = re.compile(
    r"internalBinding|// Flags:|child_process|internal/|common\.spawn|fork\(|createCipher|createSign|generateKey|webcrypto|"
    r"require\('(?:node:)?(?:http|https|http2|net|tls|dgram|cluster|inspector|repl|wasi|v8|vm|worker_threads|domain|test|sqlite|sea)'\)|"
    r"createDiffieHellman|createECDH|Certificate|KeyObject|Brotli|brotli|[zZ]std|watchFile|fs\.watch|process\.binding|globalThis\.gc"
)
COMMON = Path(__file__).parent / "node_common.js"
COUNT = Path(__file__).parent / "node_count.js"
LEFT_OUT = {"wpt", "test426", "es-modules", "test-runner", "source-map", "postject-copy", "x509-escaping"}
LIMITS = {"memory_mb": 256, "cpu_ms": 20_000, "wall_ms": 30_000}


def choose(folder: Path, match: str) -> tuple[list[Path], int]:
    """The files to run, and how many were left out."""
    named = re.compile(rf"test-(?:{MODULES})\b")
    files = [path for path in sorted(folder.glob("test-*.js")) if named.match(path.name) and re.search(match, path.name)]
    reachable = [path for path in files if not OUT_OF_REACH.search(path.read_text("utf-8", "replace"))]
    return reachable, len(files) - len(reachable)


def fill(box: hatchway.Sandbox, tests: Path) -> None:
    """What files require from the suite itself. Large folders (certificates, other suites) stay out."""
    for name in ("common", "fixtures"):
        for path in (tests / name).rglob("*"):
            relative = path.relative_to(tests)
            if path.is_file() and not set(relative.parts) & LEFT_OUT and path.stat().st_size < 512 * 1024:
                box.files.write_file(f"test/{relative}", path.read_bytes())
    box.files.write_file("test/common/index.js", COMMON.read_bytes())
    box.files.write_file("test/common/count.js", COUNT.read_bytes())


def start(path: Path, prepared: hatchway.Sandbox, soft: bool) -> hatchway.RunResult:
    with prepared.fork() as box:
        box.files.write_file(f"test/parallel/{path.name}", path.read_bytes())
        count = f"require('/workspace/test/common/count.js')({json.dumps(soft)})"
        return box.run(f"process.chdir('/workspace/test/parallel'); {count}; require('./{path.name}'); void 0")


def explain(path: Path, done: hatchway.RunResult) -> str:
    """'' when the file passes, else why not."""
    if "SKIPPED" in done.stdout:
        return "skipped"
    if done.error is not None:
        place = re.search(re.escape(path.name) + r":(\d+)", done.stderr)
        return f"{done.error.code}: {(done.error.message.splitlines() or [''])[0][:150]}" + (
            f" (line {place[1]})" if place else ""
        )
    return "" if done.exit_code == 0 else f"exit status {done.exit_code}"


def count_assertions(done: hatchway.RunResult) -> tuple[int, int]:
    """Those that passed and those that failed; a file that ended before it could tell is one that failed."""
    found = re.findall(r"^ASSERTIONS (\d+) (\d+)$", done.stdout, re.MULTILINE)
    passed, failed = map(int, found[-1]) if found else (0, 0)
    return passed, failed or (not done.ok)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.guests.node_campaign", description=__doc__)
    parser.add_argument("--node", type=Path, required=True, metavar="PATH", help="a local copy of Node's repository")
    parser.add_argument("--match", default="", metavar="REGEX", help="only files whose names match")
    parser.add_argument("--show", action="store_true", help="say why each file fails")
    options = parser.parse_args()
    tests = options.node / "test"
    chosen, left_out = choose(tests / "parallel", options.match)
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    assertions: collections.Counter[str] = collections.Counter()
    with hatchway.Sandbox(language="javascript", limits=LIMITS) as prepared:
        fill(prepared, tests)
        for path in chosen:
            done = start(path, prepared, soft=False)
            why = explain(path, done)
            if why != "skipped":
                passed, failed = count_assertions(start(path, prepared, soft=True) if why else done)
                assertions["passed"] += passed
                assertions["failed"] += failed
            kind = "skipped" if why == "skipped" else "failed" if why else "passed"
            counts[path.name.split("-")[1].removesuffix(".js")][kind] += 1
            if why and options.show:
                print(f"{path.name}: {why}", flush=True)
    for module, count in sorted(counts.items()):
        print(f"{module:20} {count['passed']:4} of {count['passed'] + count['failed']:4}  skipped {count['skipped']}")
    passed, failed = (sum(count[kind] for count in counts.values()) for kind in ("passed", "failed"))
    print(f"{'all':20} {passed:4} of {passed + failed:4}  left out {left_out}")
    print(f"{'assertions':20} {assertions['passed']:4} of {assertions.total():4}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
