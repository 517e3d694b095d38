"""Excerpts: what a message shows of a value that a caller handed over.

Rules: an excerpt is short whatever the value is, and making one never raises: a number can have more digits than Python is
willing to write, and the `repr` of a caller's own object may do anything. Messages about values use this, never `{value!r}`.
"""

from __future__ import annotations

from typing import Final

CHARS_MAX: Final = 80


def excerpt(value: object, chars_max: int = CHARS_MAX) -> str:
    """The value as a program would write it, or the beginning of that, or what kind of thing it is."""
    try:
        if isinstance(value, str | bytes):
            value = value[:chars_max]
        return repr(value)[:chars_max]
    except Exception:  # whatever another's `repr` raises
        if isinstance(value, int):
            return f"a whole number of {value.bit_length()} bits"
        return f"an object of type {type(value).__name__[:chars_max]}"
