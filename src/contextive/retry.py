"""Repeats a call that failed with something that may pass: the one place that counts attempts and chooses pauses."""

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
    """An attempt that failed: the error to raise, whether another attempt may help, and the pause that the service asks for."""

    error: Exception
    retryable: bool = False
    retry_after_seconds: float | None = None


@dataclass(slots=True)
class Retries:
    """The attempts of one call. No pause begins that would end after `deadline`, a time of `time.monotonic`."""

    attempts: int
    first_pause_seconds: float
    longest_pause_seconds: float = math.inf
    deadline: float = math.inf
    _attempts_made: int = 0

    def pause_after(self, failure: Failure) -> float:
        """The seconds to wait before the next attempt; raises the error where there is none."""
        self._attempts_made += 1
        pause = failure.retry_after_seconds
        if pause is None:
            # A random part keeps many clients that failed together from coming back together.
            pause = self.first_pause_seconds * 2.0 ** (self._attempts_made - 1) * random.uniform(0.5, 1.0)  # noqa: S311
        pause = min(pause, self.longest_pause_seconds)
        if self._attempts_made >= self.attempts or not failure.retryable or time.monotonic() + pause >= self.deadline:
            raise failure.error
        return pause


def with_retries(
    attempt: Callable[[], Result | Failure], retries: Retries, sleep: Callable[[float], None] = time.sleep
) -> Result:
    """The answer of the first attempt that succeeds; raises the error of the last one."""
    while isinstance(outcome := attempt(), Failure):
        sleep(retries.pause_after(outcome))
    return outcome


async def with_retries_async(
    attempt: Callable[[], Awaitable[Result | Failure]],
    retries: Retries,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Result:
    """As `with_retries`, for attempts that are awaited."""
    while isinstance(outcome := await attempt(), Failure):
        await sleep(retries.pause_after(outcome))
    return outcome
