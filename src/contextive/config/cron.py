"""Cron expressions: minute, hour, day of month, month, day of week. In UTC, so daylight saving time does not matter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORTHANDS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS: Final = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_PART: Final = re.compile(r"(\*|[A-Za-z0-9]+)(?:-([A-Za-z0-9]+))?(?:/([0-9]{1,4}))?")
_MAX_DAYS: Final = 366 * 9
"""The next 29 February is at most eight years away."""


class CronError(ValueError):
    """The text is not a valid cron expression; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed cron expression."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either_day: bool
    """If day of month and day of week are both restricted, a day that matches either is enough, as in standard cron."""

    @classmethod
    def parse(cls, text: str) -> Cron:
        """The parsed expression; raises `CronError`, also for a date that never occurs."""
        words = _SHORTHANDS.get(text.strip().lower(), text).split()
        if len(words) != len(_FIELDS):
            raise CronError("expected five fields: minute, hour, day of month, month, day of week")
        minutes, hours, days, months, weekdays = (
            _values(word, name, low, high) for word, (name, low, high) in zip(words, _FIELDS, strict=True)
        )
        weekdays = frozenset(day % 7 for day in weekdays)
        either = not words[2].startswith("*") and not words[4].startswith("*")
        cron = cls(minutes, hours, days, months, weekdays, either)
        if cron._next(datetime(2024, 1, 1, tzinfo=UTC)) is None:
            raise CronError("the date never occurs")
        return cron

    def next_after(self, moment: datetime) -> datetime:
        """The first scheduled time after this moment."""
        found = self._next(moment.astimezone(UTC))
        assert found is not None, "parse() refuses dates that never occur"
        return found

    def _next(self, moment: datetime) -> datetime | None:
        start = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        day = start.replace(hour=0, minute=0)
        for _ in range(_MAX_DAYS):
            if self._is_day(day):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        candidate = day.replace(hour=hour, minute=minute)
                        if candidate >= start:
                            return candidate
            day += timedelta(days=1)
        return None

    def _is_day(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (by_date or by_weekday) if self.either_day else (by_date and by_weekday)


def _values(word: str, name: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in word.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise CronError(f"the {name} is invalid")
        first, last, step_text = match.groups()
        if first == "*":
            if last is not None:
                raise CronError(f"the {name} is invalid")
            start, end = low, high
        else:
            start = _number(first, name)
            end = _number(last, name) if last is not None else (high if step_text else start)
        step = int(step_text or "1")
        if not (low <= start <= end <= high) or step < 1:
            raise CronError(f"the {name} must be from {low} to {high}")
        found.update(range(start, end + 1, step))
    return frozenset(found)


def _number(word: str, name: str) -> int:
    if word.isascii() and word.isdigit():
        return int(word[:4])
    names = {"month": _MONTHS, "day of week": _DAYS}.get(name, ())
    if word.lower() not in names:
        raise CronError(f"the {name} is invalid")
    return names.index(word.lower()) + (1 if name == "month" else 0)
