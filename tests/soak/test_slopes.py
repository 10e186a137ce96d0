"""What grows is found, and what only moves is let through."""

from __future__ import annotations

import random

import pytest

from .slopes import Allowance, slope_of

ALLOWANCE = Allowance(0.1, 8)


def test_what_grows_all_the_time_is_too_steep() -> None:
    assert slope_of("memory", [100 + number for number in range(60)], ALLOWANCE).is_too_steep


def test_what_stays_is_not() -> None:
    chance = random.Random(1)
    assert not slope_of("memory", [100 + chance.uniform(-9, 9) for _ in range(60)], ALLOWANCE).is_too_steep


def test_a_few_outliers_make_no_slope() -> None:
    assert not slope_of("p99", [100.0] * 50 + [900.0] * 3 + [100.0] * 7, ALLOWANCE).is_too_steep


def test_too_few_samples_tell_nothing() -> None:
    with pytest.raises(ValueError, match="samples"):
        slope_of("memory", [1.0] * 8, ALLOWANCE)
