"""A snapshot goes on where nothing of this machine is but its bytes. Python: `python -m tests.sandbox.another_machine`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.guests.images import images
from tests.sandbox.another_machine import expected, restore_elsewhere, take


@pytest.mark.parametrize("language", ["javascript", "shell"])
def test_snapshot_goes_on_with_images_that_were_built_elsewhere(language: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert restore_elsewhere(take(language), language, cache) == expected(language)
    built = {path.name for path in cache.glob(f"{language}-*.mem")}
    mine = images.get(language)
    assert len(built) == 1 and (cache / built.pop()).stat().st_ino != Path(f"/proc/self/fd/{mine.descriptor}").stat().st_ino
