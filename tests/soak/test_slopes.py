"""What grows is found, and what only moves is let through."""

from __future__ import annotations

import random

import pytest

from .slopes import ALLOWANCES, MEGABYTE, Allowance, slope_of

ALLOWANCE = Allowance(0.1, 8)


def test_what_grows_all_the_time_is_too_steep() -> None:
    assert slope_of("memory", [100 + number for number in range(60)], ALLOWANCE).is_too_steep


def test_what_stays_is_not() -> None:
    chance = random.Random(1)
    assert not slope_of("memory", [100 + chance.uniform(-9, 9) for _ in range(60)], ALLOWANCE).is_too_steep


def test_a_kilobyte_that_each_call_leaves_behind_is_too_much() -> None:
    """Twenty thousand calls in ten minutes, the first fifth of which is not counted, and a writer now and then."""
    chance = random.Random(1)

    def own_memory(left_by_a_call: int) -> list[float]:
        calls = [20_000 * (0.2 + 0.8 * number / 60) for number in range(60)]
        return [80 * MEGABYTE + left_by_a_call * count + chance.choice((0, 0, 10 * MEGABYTE)) for count in calls]

    assert slope_of("own memory", own_memory(1024), ALLOWANCES["own memory"]).is_too_steep
    assert not slope_of("own memory", own_memory(0), ALLOWANCES["own memory"]).is_too_steep


def test_a_few_outliers_make_no_slope() -> None:
    assert not slope_of("p99", [100.0] * 50 + [900.0] * 3 + [100.0] * 7, ALLOWANCE).is_too_steep


def test_too_few_samples_tell_nothing() -> None:
    with pytest.raises(ValueError, match="samples"):
        slope_of("memory", [1.0] * 8, ALLOWANCE)
