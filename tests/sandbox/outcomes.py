"""How tests look at results."""

from __future__ import annotations

from sandbox.wire import RunResult


def code_of(result: RunResult) -> str | None:
    """The error's code, None if there is no error."""
    return result.error.code if result.error else None
