"""What messages show of values."""

from __future__ import annotations

import pytest

from sandbox.excerpts import CHARS_MAX, excerpt


class Unshowable:
    def __repr__(self) -> str:
        raise LookupError("no words for it")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (5, "5"),
        ("a\nb", r"'a\nb'"),
        (Unshowable(), "an object of type Unshowable"),
        (pytest.param(10**5000, "a whole number of 16610 bits", id="huge")),
        (pytest.param([10**5000], "an object of type list", id="a list of huge")),
    ],
)
def test_an_excerpt_is_what_a_program_would_write_or_what_kind_it_is(value: object, shown: str) -> None:
    assert excerpt(value) == shown


def test_an_excerpt_is_short_whatever_the_value() -> None:
    for value in ("x" * 10_000, b"x" * 10_000, list(range(10_000))):
        assert len(excerpt(value)) == CHARS_MAX
