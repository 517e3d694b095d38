"""Habits of other languages get the right spelling."""

from __future__ import annotations

import pytest

from tests.policy.policy_texts import judge, small


def hints(text: str) -> list[str | None]:
    return [d.hint for d in judge(text).diagnostics if d.severity == "error"]


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("session.mfa && session.tainted", "write `and`"),
        ("session.mfa || session.tainted", "write `or`"),
        ("!session.mfa", "write `not`"),
        ("tenant = acme", "write `==` to compare"),
        ("tenant == 'acme'", 'write text in double quotes, as in "text"'),
        ("bytes <= 4KB", "units are B, KiB, MiB, GiB for sizes and ms, s, m, h, d for durations"),
    ],
)
def test_habits_of_other_languages_get_the_right_spelling(condition: str, hint: str) -> None:
    assert hints(small(f"allow fs.write when {condition}")) == [hint]
