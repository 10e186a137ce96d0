"""Detect unwanted growth: the last third of the samples is compared with the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_FEWEST = 9


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much larger the last third may be than the first: a share of it, plus a constant for small values."""

    share: float
    more: float


MEGABYTE = 1024 * 1024
ALLOWANCES = {
    "private memory": Allowance(0.05, 4 * MEGABYTE),
    "mapped files": Allowance(0.25, 32 * MEGABYTE),
    "descriptors": Allowance(0.0, 4),
    "write-ahead log": Allowance(0.5, 8 * MEGABYTE),
    "p99": Allowance(1.0, 0.1),
}
"""How much a server may grow. A leak of a kilobyte per call exceeds this."""


@dataclass(frozen=True, slots=True)
class Slope:
    """The medians of the first and the last third, and whether the growth is too large."""

    name: str
    first: float
    last: float
    is_too_steep: bool

    def __str__(self) -> str:
        verdict = " TOO MUCH" if self.is_too_steep else ""
        return f"{self.name}: {self.first:.4g} at the start, {self.last:.4g} at the end{verdict}"


def slope_of(name: str, samples: Sequence[float], allowance: Allowance) -> Slope:
    """Return the growth over samples taken at equal intervals after the warm-up."""
    if len(samples) < _FEWEST:
        raise ValueError(f"{name} has {len(samples)} samples; {_FEWEST} are needed")
    third = len(samples) // 3
    first, last = median(samples[:third]), median(samples[-third:])
    return Slope(name, first, last, last > first * (1 + allowance.share) + allowance.more)
