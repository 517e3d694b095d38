"""Stamps: an instant as text, whatever the second."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gateway.clock import stamp


@pytest.mark.parametrize("at_ms", [0, 1, 999, 1000, 1_767_225_599_999, 1_767_225_600_000, 4_102_444_800_007])
def test_an_instant_is_written_as_the_library_would_write_it(at_ms: int) -> None:
    told = datetime.fromtimestamp(at_ms // 1000, UTC).replace(microsecond=at_ms % 1000 * 1000)
    assert stamp(at_ms) == told.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_instants_of_one_second_differ_in_their_milliseconds() -> None:
    told = [stamp(1_767_225_600_000 + ms) for ms in (5, 50, 500)]
    assert told == [f"2026-01-01T00:00:00.{ms}Z" for ms in ("005", "050", "500")]
