"""Rate limits: windows, and the limit on the number of keys."""

from __future__ import annotations

import pytest

from contextive.config import Config
from contextive.config.sections import Limits
from contextive.errors import RateLimited
from contextive.server.rate_limits import _MAX_KEYS, CallerLimits, RateLimiter


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def refused(limiter: RateLimiter, key: str) -> int | None:
    """The seconds to wait, or None if the event is allowed."""
    try:
        limiter.count(key)
    except RateLimited as error:
        return error.retry_after_seconds
    return None


def test_a_window_is_full_until_it_ends() -> None:
    clock = Clock()
    limiter = RateLimiter(2, 60, clock)
    assert [refused(limiter, "a") for _ in range(3)] == [None, None, 60]
    clock.now = 59
    assert refused(limiter, "a") == 1
    assert refused(limiter, "b") is None
    with pytest.raises(RateLimited):
        limiter.check("a")
    limiter.check("b")
    clock.now = 60
    limiter.check("a")
    assert refused(limiter, "a") is None


def test_memory_is_bounded_and_the_window_that_ends_soonest_is_dropped_first() -> None:
    clock = Clock()
    limiter = RateLimiter(1, 60, clock)
    limiter.count("first")
    clock.now = 1
    limiter.count("second")
    for number in range(_MAX_KEYS - 1):
        limiter.count(f"flood-{number}")
        assert len(limiter._windows) <= _MAX_KEYS
    assert refused(limiter, "second") == 60
    assert refused(limiter, "first") is None, "its window was dropped"
    clock.now = 61
    limiter.count("later")
    assert len(limiter._windows) <= 2


def test_a_flood_of_addresses_gains_no_more_tries_with_wrong_tokens() -> None:
    clock = Clock()
    limiter = CallerLimits.of(Config(limits=Limits(auth_failures=3, rate_window_seconds=60)), clock).failures
    for _ in range(3):
        limiter.count("guesser")
    tries = sum(refused(limiter, f"flood-{number}") is None for number in range(3 * _MAX_KEYS))
    assert tries <= _MAX_KEYS + 3
    assert refused(limiter, "guesser") == 60, "the count of an address is not evicted"
    with pytest.raises(RateLimited):
        limiter.check("another")
    assert len(limiter._windows) <= _MAX_KEYS
    clock.now = 60
    limiter.check("another")
    assert refused(limiter, "guesser") is None
