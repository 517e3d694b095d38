"""bashkit: bash in Rust, in process. Its session ends after a thousand calls by default, so it is renewed before that."""

# The package is installed in this script's own environment only.
# mypy: ignore-errors

from _loop import WARM_CALLS, check, serve
from bashkit import Bash

live: list[Bash] = []
calls = 0


def new_session() -> None:
    check(Bash().execute_sync("echo hi").stdout == "hi\n", "echo hi")


def warm_call() -> None:
    global calls
    if calls % 50 == 0:
        live[:] = [Bash()]
    calls += 1
    for _ in range(WARM_CALLS):
        check(live[0].execute_sync("echo hi").stdout == "hi\n", "echo hi")


serve(new_session=new_session, warm_call=warm_call)
