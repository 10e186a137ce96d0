"""Whether something grows that should not: samples over time, judged by their first third against their last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_FEWEST = 9


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much the last third may lie over the first: a share of it, and a little more for what is small."""

    share: float
    more: float


MEGABYTE = 1024 * 1024
ALLOWANCES = {
    "own memory": Allowance(0.05, 4 * MEGABYTE),
    "mapped files": Allowance(0.25, 32 * MEGABYTE),
    "descriptors": Allowance(0.0, 4),
    "log of the database": Allowance(0.5, 8 * MEGABYTE),
    "p99": Allowance(1.0, 0.1),
}
"""What a server may grow by. A kilobyte that each call leaves behind is more."""


@dataclass(frozen=True, slots=True)
class Slope:
    """The middle of the first third and of the last, and whether the last is too much."""

    name: str
    first: float
    last: float
    is_too_steep: bool

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.first:.4g} at first, {self.last:.4g} at last{' TOO MUCH' if self.is_too_steep else ''}"
        )


def slope_of(name: str, samples: Sequence[float], allowance: Allowance) -> Slope:
    """Judge samples that were taken at even intervals, without those of the start."""
    if len(samples) < _FEWEST:
        raise ValueError(f"{name} has {len(samples)} samples; {_FEWEST} are needed to tell a slope")
    third = len(samples) // 3
    first, last = median(samples[:third]), median(samples[-third:])
    return Slope(name, first, last, last > first * (1 + allowance.share) + allowance.more)
