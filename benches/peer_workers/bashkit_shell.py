"""bashkit: bash in Rust, in process. Its session ends after a thousand calls by default, so it is renewed before that."""

# The package is installed in this script's own environment only.
# mypy: ignore-errors

import time
from typing import Any

from _loop import WARM_CALLS, check, late, serve, timed
from bashkit import Bash

_MANY = 10_000_000
live: list[Bash] = []
kept: list[Bash] = []
plain: list[Bash] = []
saved: list[bytes] = []
seeded: dict[str, str] = {}
calls = 0


def roomy(**options: Any) -> Bash:
    return Bash(max_commands=_MANY, max_loop_iterations=_MANY, **options)


def new_session() -> None:
    check(Bash().execute_sync("echo hi").stdout == "hi\n", "echo hi")


def warm_call() -> None:
    global calls
    if calls % 50 == 0:
        live[:] = [Bash()]
    calls += 1
    for _ in range(WARM_CALLS):
        check(live[0].execute_sync("echo hi").stdout == "hi\n", "echo hi")


def setup(files: dict[str, str] | None = None) -> None:
    seeded.clear()
    seeded.update(files or {})


def run(code: str) -> dict[str, Any]:
    """In a session of its own, made before the clock starts: a session ends after 100,000 commands, whatever it is told."""
    bash = roomy(timeout_seconds=60, files=dict(seeded))
    started = time.perf_counter_ns()
    done = bash.execute_sync(code)
    taken_ms = (time.perf_counter_ns() - started) / 1e6
    check(done.exit_code == 0, done)
    return {"value": done.stdout.strip(), "ms": taken_ms}


def tool_calls(count: int) -> dict[str, Any]:
    made = 0

    def give(context: Any) -> str:
        nonlocal made
        made += 1
        return context.argv[0] + "\n"

    bash = roomy(custom_builtins={"give": give})
    script = f"i=0; while [ $i -lt {count} ]; do give $i >/dev/null; i=$((i+1)); done"
    taken_ms = timed(lambda: bash.execute_sync(script))
    check(made == count, made)
    return {"ms": taken_ms}


def open_sessions(count: int) -> None:
    for _ in range(count):
        bash = Bash()
        bash.execute_sync("echo hi")
        kept.append(bash)


def save_small() -> dict[str, Any]:
    if not plain:
        plain.append(Bash())
        plain[0].execute_sync("x=1; f() { echo $x; }")
    saved[:] = [plain[0].snapshot()]
    return {"bytes": len(saved[0])}


def restore_small() -> None:
    if not saved:
        save_small()
    check(Bash.from_snapshot(saved[0]).execute_sync("f").stdout == "1\n", "f")


def deadline(code: str, deadline_ms: int) -> dict[str, Any]:
    bash = roomy(timeout_seconds=deadline_ms / 1000, python=True)
    return late(deadline_ms, lambda: bash.execute_sync(code))


def memory(code: str, limit_mb: int) -> dict[str, Any]:
    done = roomy(timeout_seconds=20, max_memory=limit_mb << 20).execute_sync(code)
    return {"said": f"status {done.exit_code}: {done.stderr or done.error or ''}"[:200], "stopped": done.exit_code != 0}


serve(
    new_session=new_session, warm_call=warm_call, setup=setup, run=run, tool_calls=tool_calls, open_sessions=open_sessions,
    save_small=save_small, restore_small=restore_small, deadline=deadline, memory=memory,
)  # fmt: skip
