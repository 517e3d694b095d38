"""What can go wrong in `policy`: the caller's only safe answer is deny.

PolicyError                 the policy cannot be used; `.diagnostics` says why, all reasons at once
├── BundleError             a bundle is unsigned, altered, too large or not understood
└── UnsettledClaim          a claim could be neither proved nor refuted (treated as refuted)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policy.text.diagnostics import Diagnostic


class PolicyError(Exception):
    """The policy is not usable. `diagnostics` holds every finding, errors and warnings, in source order."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)

    @classmethod
    def from_diagnostics(cls, diagnostics: Sequence[Diagnostic]) -> PolicyError:
        errors = [d for d in diagnostics if d.severity == "error"]
        first = f"{errors[0].location()}: {errors[0].code}: {errors[0].message}" if errors else "policy refused"
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return cls(first + more, diagnostics)


class BundleError(PolicyError):
    """A bundle was refused before anything in it was believed."""


class UnsettledClaim(PolicyError):
    """No proof method settled a claim within its budget. INVARIANT: never counted as proved."""
