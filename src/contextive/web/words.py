"""The words and signs of a status, and how numbers, dates and paths are written on every page."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from contextive.trace.ranking import STATUS_WORDS
from contextive.trace.requirement import Requirement

STATUSES: Final = ("not started", "todo", "in progress", "needs tests", "exception", "done")
"""The words in the order in which a person wants to see them: what is open first."""
LEVELS: Final = ("MUST", "SHOULD", "MAY", "unspecified")
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_LARGE = 10_000


@dataclass(frozen=True, slots=True)
class Count:
    """How many requirements have a status."""

    status: str
    number: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far some requirements are."""

    done: int
    total: int
    counts: tuple[Count, ...]
    """Only the statuses that occur, the finished ones first."""

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 means all."""
        return 100 * self.done // self.total if self.total else 0


def progress_of(requirements: Iterable[Requirement]) -> Progress:
    """How far these requirements are."""
    numbers = dict.fromkeys(reversed(STATUSES), 0)
    for requirement in requirements:
        numbers[STATUS_WORDS[requirement.status]] += 1
    counts = tuple(Count(word, number) for word, number in numbers.items() if number)
    return Progress(numbers["done"] + numbers["exception"], sum(numbers.values()), counts)


def css_class(status: str) -> str:
    """A status as the name of a class and of a sign."""
    return status.replace(" ", "-")


def short_number(number: int) -> str:
    """A number for a narrow column: 12,345 is 12k."""
    if number < _LARGE:
        return f"{number:,}"
    return f"{number / 1_000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def plural(number: int, singular: str, several: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {singular if number == 1 else several or singular + 's'}"


def ago(moment: float, now: float | None = None) -> str:
    """How long ago something was, in words."""
    seconds = max(0, (time.time() if now is None else now) - moment)
    if seconds < 2 * _MINUTE:
        return "just now" if seconds < 5 else f"{seconds:.0f} s ago"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min ago"
    return f"{seconds / _HOUR:.0f} h ago" if seconds < 2 * _DAY else f"{seconds / _DAY:.0f} days ago"


def exact_time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def short_path(path: str, longest: int = 56) -> str:
    """A path, shortened in the middle; its file name stays whole if it can."""
    if len(path) <= longest:
        return path
    name = path.rpartition("/")[2]
    if len(name) + 4 >= longest:
        return f"…{path[-(longest - 1) :]}"
    return f"{path[: longest - len(name) - 2]}…/{name}"
