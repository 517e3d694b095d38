"""pydantic-monty: a subset of Python in Rust, in pooled worker processes."""

# The package is installed in this script's own environment only.
# mypy: ignore-errors

from _loop import WARM_CALLS, check, serve
from pydantic_monty import Monty

pool = Monty(min_processes=1).__enter__()
live = pool.checkout().__enter__()


def new_session() -> None:
    with pool.checkout() as session:
        check(session.feed_run("1+1") == 2, "1+1")


def warm_call() -> None:
    for _ in range(WARM_CALLS):
        check(live.feed_run("1+1") == 2, "1+1")


serve(new_session=new_session, warm_call=warm_call)
