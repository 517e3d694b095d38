"""pydantic-monty: a subset of Python in Rust, in pooled worker processes."""

# The package is installed in this script's own environment only.
# mypy: ignore-errors

from typing import Any

from _loop import WARM_CALLS, check, late, serve, timed
from pydantic_monty import Monty

pool = Monty(min_processes=1, max_processes=256).__enter__()
live = pool.checkout().__enter__()
kept: list[Any] = []
saved: list[bytes] = []
numbers: list[Any] = []
plain: list[Any] = []
small: list[bytes] = []


def new_session() -> None:
    with pool.checkout() as session:
        check(session.feed_run("1+1") == 2, "1+1")


def warm_call() -> None:
    for _ in range(WARM_CALLS):
        check(live.feed_run("1+1") == 2, "1+1")


def setup(code: str) -> None:
    live.feed_run(code)


def run(code: str) -> dict[str, Any]:
    return {"value": str(live.feed_run(code))}


def tool_calls(count: int) -> dict[str, Any]:
    with pool.checkout(limits={"max_suspensions": 10_000_000}) as session:
        made: list[int] = []
        script = f"for i in range({count}):\n    give(i)"
        taken_ms = timed(lambda: session.feed_run(script, external_lookup={"give": made.append}))
        check(len(made) == count, len(made))
        return {"ms": taken_ms}


def open_sessions(count: int) -> None:
    for _ in range(count):
        session = pool.checkout().__enter__()
        session.feed_run("1+1")
        kept.append(session)


def save_integers() -> dict[str, Any]:
    if not numbers:
        numbers.append(pool.checkout().__enter__())
        numbers[0].feed_run("x = list(range(100000))")
    saved[:] = [numbers[0].dump()]
    return {"bytes": len(saved[0])}


def restore_integers() -> None:
    if not saved:
        save_integers()
    with pool.checkout() as session:
        session.load_session(saved[0])
        check(session.feed_run("len(x)") == 100_000, "len(x)")


def save_small() -> dict[str, Any]:
    if not plain:
        plain.append(pool.checkout().__enter__())
        plain[0].feed_run("1+1")
    small[:] = [plain[0].dump()]
    return {"bytes": len(small[0])}


def restore_small() -> None:
    if not small:
        save_small()
    with pool.checkout() as session:
        session.load_session(small[0])
        check(session.feed_run("1+1") == 2, "1+1")


def deadline(code: str, deadline_ms: int) -> dict[str, Any]:
    with pool.checkout(limits={"max_feed_duration_secs": deadline_ms / 1000}) as session:
        return late(deadline_ms, lambda: session.feed_run(code))


def memory(code: str, limit_mb: int) -> dict[str, Any]:
    with pool.checkout(limits={"max_memory": limit_mb << 20}) as session:
        try:
            return {"said": f"ended: {session.feed_run(code)!r}"[:200], "stopped": False}
        except Exception as error:
            return {"said": f"{type(error).__name__}: {error}"[:200], "stopped": True}


serve(
    new_session=new_session, warm_call=warm_call, setup=setup, run=run, tool_calls=tool_calls, open_sessions=open_sessions,
    save_integers=save_integers, restore_integers=restore_integers, save_small=save_small, restore_small=restore_small,
    deadline=deadline, memory=memory,
)  # fmt: skip
