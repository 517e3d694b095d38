"""pyeryx: CPython as a WebAssembly component."""

# The package is installed in this script's own environment only.
# mypy: ignore-errors

from typing import Any

import eryx
from _loop import WARM_CALLS, check, late, serve, timed

live: list[eryx.Session] = []
kept: list[eryx.Session] = []
numbers: list[eryx.Session] = []
saved: list[bytes] = []
plain: list[eryx.Session] = []
small: list[bytes] = []


def ask(session: eryx.Session) -> None:
    check(session.execute("print(1+1)").stdout_text.strip() == "2", "print(1+1)")


def session() -> eryx.Session:
    if not live:
        live.append(eryx.Session())
    return live[0]


def new_session() -> None:
    ask(eryx.Session())


def warm_call() -> None:
    for _ in range(WARM_CALLS):
        ask(session())


def setup(code: str) -> None:
    session().execute(code)


def run(code: str) -> dict[str, Any]:
    """Its last line is an expression, which is printed."""
    body, _, last = code.strip().rpartition("\n")
    return {"value": session().execute(f"{body}\nprint({last})").stdout_text.strip()}


def tool_calls(count: int) -> dict[str, Any]:
    made: list[int] = []

    def give(value: int) -> int:
        made.append(value)
        return value

    caller = eryx.Session(callbacks=[{"name": "give", "fn": give, "description": "gives its argument back"}])
    ask(caller)
    taken_ms = timed(lambda: caller.execute(f"for i in range({count}):\n    await give(value=i)"))
    check(len(made) == count, len(made))
    return {"ms": taken_ms}


def open_sessions(count: int) -> None:
    for _ in range(count):
        kept.append(eryx.Session())
        ask(kept[-1])


def integers() -> eryx.Session:
    """A session with something to save."""
    if not numbers:
        numbers.append(eryx.Session())
        numbers[0].execute("import json, re\nx = list(range(100_000))")
    return numbers[0]


def save_integers() -> dict[str, Any]:
    saved[:] = [integers().snapshot_state()]
    return {"bytes": len(saved[0])}


def restore_integers() -> None:
    if not saved:
        save_integers()
    restored = eryx.Session()
    restored.restore_state(saved[0])
    check(restored.execute("print(len(x))").stdout_text.strip() == "100000", "len(x)")


def save_small() -> dict[str, Any]:
    if not plain:
        plain.append(eryx.Session())
        ask(plain[0])
    small[:] = [plain[0].snapshot_state()]
    return {"bytes": len(small[0])}


def restore_small() -> None:
    if not small:
        save_small()
    restored = eryx.Session()
    restored.restore_state(small[0])
    ask(restored)


def deadline(code: str, deadline_ms: int) -> dict[str, Any]:
    limited = eryx.Session(execution_timeout_ms=deadline_ms)
    return late(deadline_ms, lambda: limited.execute(code))


def memory(code: str, limit_mb: int) -> dict[str, Any]:
    limits = eryx.ResourceLimits(max_memory_bytes=limit_mb << 20, execution_timeout_ms=20_000)
    try:
        return {"said": f"ended: {eryx.Sandbox(resource_limits=limits).execute(code).stdout_text}"[:200], "stopped": False}
    except Exception as error:
        return {"said": f"{type(error).__name__}: {error}"[-200:], "stopped": True}


serve(
    new_session=new_session, warm_call=warm_call, setup=setup, run=run, tool_calls=tool_calls, open_sessions=open_sessions,
    save_integers=save_integers, restore_integers=restore_integers, save_small=save_small, restore_small=restore_small,
    deadline=deadline, memory=memory,
)  # fmt: skip
