"""The table of limits: whole, and the same wherever limits have names of their own."""

from __future__ import annotations

import msgspec
import pytest

from policy.model.settings import SETTINGS
from sandbox.limits import DEFAULT_LIMITS, LIMIT_OF_CODE, LIMITS, MOST, SessionLimits, lower, lower_to_settings
from sandbox.wire import STATUS_OF_CODE


def test_every_field_has_a_row_with_bounds() -> None:
    assert set(LIMITS) == set(SessionLimits.__struct_fields__)
    assert all(limit.least <= limit.default <= limit.most for limit in LIMITS.values())


def test_every_limit_has_a_setting_in_policies() -> None:
    settings = {setting.wire for setting in SETTINGS.values()}
    assert {limit.setting for limit in LIMITS.values()} <= settings


def test_the_code_of_a_limit_is_one_of_the_contract() -> None:
    assert set(LIMIT_OF_CODE) <= set(STATUS_OF_CODE)


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_is_lowered_and_never_raised(name: str) -> None:
    less = msgspec.structs.replace(DEFAULT_LIMITS, **{name: 1})
    assert lower(DEFAULT_LIMITS, less) == less == lower(less, MOST)
    limit = LIMITS[name]
    assert lower_to_settings(DEFAULT_LIMITS, {limit.setting: limit.per_unit}) == less
    assert lower_to_settings(DEFAULT_LIMITS, {limit.setting: limit.most * limit.per_unit}) is DEFAULT_LIMITS


def test_a_timeout_takes_the_place_of_the_wall_clock() -> None:
    assert lower(DEFAULT_LIMITS, None, 7).wall_ms == 7
    assert lower(DEFAULT_LIMITS, msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=3), 7).wall_ms == 7
    assert lower(DEFAULT_LIMITS, None, 1 << 40) == DEFAULT_LIMITS
