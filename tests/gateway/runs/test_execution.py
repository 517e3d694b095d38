"""What a program may start in the service: only what the policy permits on the run's own terms."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.wire import Language
from tests.gateway.house import housed, new, run

TRY = "python3 -c 'print(1)'; echo $?; node -e 'console.log(2)'; echo $?"


@pytest.mark.parametrize(
    ("rules", "printed"),
    [
        ("", "1 0 2 0"),
        ("deny run when bytes > 256KiB", "1 0 2 0"),
        ("deny run when bytes > 100KiB", "126 126"),
        ("deny run when language == javascript", "1 0 126"),
        ("limit run when language == python { cpu 100ms }", "126 2 0"),
    ],
)
def test_tm_pol_start_only_languages_permitted_on_the_runs_terms(rules: str, printed: str) -> None:
    async def scene() -> None:
        async with housed(rules) as house:
            done = await run(house, await new(house), TRY, language=Language.SHELL)
        assert done.result is not None and done.result.stdout.split() == printed.split()
        assert ("may not be started here" in done.result.stderr) == ("126" in printed)

    asyncio.run(scene())
