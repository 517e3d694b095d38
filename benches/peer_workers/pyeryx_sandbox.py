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


saved: list[bytes] = []


def integers() -> eryx.Session:
    """A live session with something to save."""
    if len(live) < 2:
        live.extend([eryx.Session(), eryx.Session()])
        live[1].execute("import json, re\nx = list(range(100_000))")
    return live[1]


def save_integers() -> None:
    saved[:] = [integers().snapshot_state()]


def restore_integers() -> None:
    if not saved:
        save_integers()
    session = eryx.Session()
    session.restore_state(saved[0])
    check(session.execute("print(len(x))").stdout.strip() in (b"100000", "100000"), "len(x)")


serve(new_session=new_session, warm_call=warm_call, save_integers=save_integers, restore_integers=restore_integers)
