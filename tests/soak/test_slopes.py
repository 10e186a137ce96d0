"""Steady growth is detected; noise is not reported."""

from __future__ import annotations

import random

import pytest

from .slopes import ALLOWANCES, MEGABYTE, Allowance, slope_of

ALLOWANCE = Allowance(0.1, 8)


def test_steady_growth_is_detected() -> None:
    assert slope_of("memory", [100 + number for number in range(60)], ALLOWANCE).is_too_steep


def test_noise_is_not_reported_as_growth() -> None:
    rng = random.Random(1)
    assert not slope_of("memory", [100 + rng.uniform(-9, 9) for _ in range(60)], ALLOWANCE).is_too_steep


def test_a_leak_of_a_kilobyte_per_call_is_detected() -> None:
    """20,000 calls in ten minutes, without the warm-up, and an occasional writer."""
    rng = random.Random(1)

    def private_memory(leak_per_call: int) -> list[float]:
        calls = [20_000 * (0.2 + 0.8 * number / 60) for number in range(60)]
        return [80 * MEGABYTE + leak_per_call * count + rng.choice((0, 0, 10 * MEGABYTE)) for count in calls]

    assert slope_of("private memory", private_memory(1024), ALLOWANCES["private memory"]).is_too_steep
    assert not slope_of("private memory", private_memory(0), ALLOWANCES["private memory"]).is_too_steep


def test_a_few_outliers_are_not_reported_as_growth() -> None:
    assert not slope_of("p99", [100.0] * 50 + [900.0] * 3 + [100.0] * 7, ALLOWANCE).is_too_steep


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="samples"):
        slope_of("memory", [1.0] * 8, ALLOWANCE)
