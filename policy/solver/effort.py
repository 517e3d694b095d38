"""What may be spent on answering questions about one policy."""

from __future__ import annotations

from dataclasses import dataclass

MAX_STEPS = 5_000_000


@dataclass(slots=True)
class Effort:
    """What may be spent on all questions about one policy together. THREAT[TM-POL-005]: a policy cannot buy endless proofs."""

    left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise OutOfBudget


class OutOfBudget(Exception):
    """Neither found nor excluded within the budget."""
