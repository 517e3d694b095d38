"""How tests look at results."""

from __future__ import annotations

from sandbox.wire import Diagnostic, RunResult, Severity


def code_of(result: RunResult) -> str | None:
    """The error's code, None if there is no error."""
    return result.error.code if result.error else None


def warning_of(result: RunResult) -> Diagnostic:
    """The one warning of a run that ended well."""
    assert result.ok and result.error is None, result
    (warning,) = [found for found in result.diagnostics if found.severity is Severity.WARNING]
    return warning
