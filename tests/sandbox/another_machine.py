"""A snapshot restored by a process that shares nothing with the one that took it: another cache, whose images it builds itself.

    python -m tests.sandbox.another_machine                 Python, JavaScript and shell; compiles them all, some minutes
    python -m tests.sandbox.another_machine javascript

A snapshot names the image it is a difference to by digest, so this holds only if building an image twice gives the same bytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import hatchway
from sandbox.encoding.sealing import Keys

KEYS = Keys.of(bytes(range(32)))
PROGRAMS: dict[str, tuple[str, str, Any]] = {
    "python": (
        "import json, pandas\nseen = [0]\ndef numbers():\n    while True:\n        seen[0] += 1\n        yield seen[0]\n"
        "more = numbers()\nnext(more)\nfile = open('/workspace/a.txt', 'w+')\nfile.write('kept')\n"
        "frame = pandas.DataFrame({'a': [1, 2]})",
        "file.flush()\n[next(more), open('/workspace/a.txt').read(), int(frame.a.sum())]",
        [2, "kept", 3],
    ),
    "javascript": ("var seen = 40; function more() { return ++seen }; more()", "[more(), typeof more]", [42, "function"]),
    "shell": ("x=41; more() { echo $((++x)); }; echo kept > a.txt", "more; cat a.txt", None),
}
OUTPUT = {"shell": "42\nkept\n"}
"""What a program of whose result nothing is known prints."""
ELSEWHERE = """
import json, sys, hatchway
from sandbox.encoding.sealing import Keys
blob, keys, code = sys.stdin.buffer.read(), Keys.of(bytes(range(32))), sys.argv[1]
with hatchway.Sandbox.restore(blob, keys=keys, limits={"cpu_ms": 60000, "wall_ms": 60000}) as box:
    done = box.run(code)
print(json.dumps([done.status.value, done.result, done.stdout, done.stderr]))
"""


def take(language: str) -> bytes:
    """A session of this process, with something in it that only its memory has."""
    with hatchway.Sandbox(language=language, limits={"cpu_ms": 60_000, "wall_ms": 60_000}) as box:
        done = box.run(PROGRAMS[language][0])
        assert done.ok, done
        return box.snapshot(keys=KEYS)


def restore_elsewhere(blob: bytes, language: str, cache: Path) -> tuple[str, Any, str]:
    """Status, result and output of a run in a process that has only the blob, and `cache` for its images."""
    environ = {**os.environ, "HATCHWAY_CACHE": str(cache)}
    command = [sys.executable, "-c", ELSEWHERE, PROGRAMS[language][1]]
    ended = subprocess.run(command, input=blob, env=environ, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    status, result, stdout, _ = json.loads(ended.stdout)
    return status, result, stdout


def expected(language: str) -> tuple[str, Any, str]:
    return "ok", PROGRAMS[language][2], OUTPUT.get(language, "")


def main(languages: list[str]) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for language in languages or list(PROGRAMS):
            answer = restore_elsewhere(take(language), language, Path(folder) / "cache")
            right = answer == expected(language)
            failed += not right
            print(f"{language}: {'restored' if right else f'WRONG: {answer}'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
