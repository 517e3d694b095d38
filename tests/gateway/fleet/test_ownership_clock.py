"""Until when a gateway may act as an owner."""

from __future__ import annotations

from gateway.fleet.ownership_clock import OwnershipClock


def test_it_runs_for_four_fifths_of_the_lease_counted_from_before_the_renewal_was_asked_for() -> None:
    now_s = 100.0
    clock = OwnershipClock(4_000, lambda: now_s)
    assert not clock.is_running
    clock.extend(98.0)
    assert clock.is_running and round(clock.left_s, 6) == 1.2
    clock.extend(97.0)  # an answer that came late takes nothing away
    now_s = 101.19
    assert clock.is_running
    now_s = 101.2
    assert not clock.is_running and clock.left_s <= 0
    clock.extend(101.0)
    clock.end()
    assert not clock.is_running
