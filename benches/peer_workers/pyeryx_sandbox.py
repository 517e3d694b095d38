"""pyeryx: CPython as a WebAssembly component."""

# The package is installed in this script's own environment only.
# mypy: ignore-errors

import eryx
from _loop import WARM_CALLS, check, serve

live: list[eryx.Session] = []


def ask(session: eryx.Session) -> None:
    check(session.execute("print(1+1)").stdout.strip() in (b"2", "2"), "print(1+1)")


def new_session() -> None:
    ask(eryx.Session())


def warm_call() -> None:
    if not live:
        live.append(eryx.Session())
    for _ in range(WARM_CALLS):
        ask(live[0])


serve(new_session=new_session, warm_call=warm_call)
