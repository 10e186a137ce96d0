"""Retries calls that failed with a temporary error. All counting of attempts and choosing of pauses is here."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt: the error to raise, whether a retry may help, and the pause that the service asked for."""

    error: Exception
    retryable: bool = False
    retry_after_seconds: float | None = None


@dataclass(slots=True)
class Retries:
    """The attempts of one call. A pause never ends after `deadline`, which is a time of `time.monotonic`."""

    attempts: int
    first_pause_seconds: float
    longest_pause_seconds: float = math.inf
    deadline: float = math.inf
    _attempts_made: int = 0

    def pause_after(self, failure: Failure) -> float:
        """The seconds to wait before the next attempt; raises the error if there is no further attempt."""
        self._attempts_made += 1
        pause = failure.retry_after_seconds
        if pause is None:
            # The random factor spreads the retries of clients that failed at the same time.
            pause = self.first_pause_seconds * 2.0 ** (self._attempts_made - 1) * random.uniform(0.5, 1.0)  # noqa: S311
        pause = min(pause, self.longest_pause_seconds)
        if self._attempts_made >= self.attempts or not failure.retryable or time.monotonic() + pause >= self.deadline:
            raise failure.error
        return pause


def with_retries(
    attempt: Callable[[], Result | Failure], retries: Retries, sleep: Callable[[float], None] = time.sleep
) -> Result:
    """The result of the first successful attempt; raises the error of the last one if all fail."""
    while isinstance(outcome := attempt(), Failure):
        sleep(retries.pause_after(outcome))
    return outcome


async def with_retries_async(
    attempt: Callable[[], Awaitable[Result | Failure]],
    retries: Retries,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Result:
    """Like `with_retries`, for async attempts."""
    while isinstance(outcome := await attempt(), Failure):
        await sleep(retries.pause_after(outcome))
    return outcome
