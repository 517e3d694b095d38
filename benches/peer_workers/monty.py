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


saved: list[bytes] = []


def save_integers() -> None:
    if not saved:
        live.feed_run("x = list(range(100000))")
    saved[:] = [live.dump()]


def restore_integers() -> None:
    if not saved:
        save_integers()
    with pool.checkout() as session:
        session.load_session(saved[0])
        check(session.feed_run("len(x)") == 100_000, "len(x)")


serve(new_session=new_session, warm_call=warm_call, save_integers=save_integers, restore_integers=restore_integers)
