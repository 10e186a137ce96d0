"""A failed call is retried if that may help, within its time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from contextive.errors import UpstreamError
from contextive.retry import Failure, Retries, with_retries, with_retries_async

FAULT = Failure(UpstreamError("down"), retryable=True)


def test_the_first_success_is_returned_and_pauses_grow() -> None:
    outcomes: Iterator[str | Failure] = iter([FAULT, FAULT, "up"])
    pauses: list[float] = []
    assert with_retries(lambda: next(outcomes), Retries(4, 1.0), pauses.append) == "up"
    assert 0.5 <= pauses[0] <= 1.0 <= pauses[1] <= 2.0


def test_async_attempts_follow_the_same_rules() -> None:
    outcomes: Iterator[str | Failure] = iter([FAULT, "up"])
    pauses: list[float] = []

    async def attempt() -> str | Failure:
        return next(outcomes)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    assert asyncio.run(with_retries_async(attempt, Retries(4, 1.0), sleep)) == "up"
    assert len(pauses) == 1


@pytest.mark.parametrize(
    ("failure", "retries", "attempts"),
    [
        (FAULT, Retries(3, 0.0), 3),
        (Failure(UpstreamError("down")), Retries(3, 0.0), 1),
        (FAULT, Retries(3, 60.0, deadline=time.monotonic()), 1),
    ],
    ids=["last attempt", "not retryable", "no time left"],
)
def test_the_error_of_the_last_attempt_is_raised(failure: Failure, retries: Retries, attempts: int) -> None:
    attempted: list[None] = []

    def attempt() -> str | Failure:
        attempted.append(None)
        return failure

    with pytest.raises(UpstreamError, match="down"):
        with_retries(attempt, retries, lambda _: None)
    assert len(attempted) == attempts


def test_the_pause_requested_by_the_service_is_used_up_to_the_maximum() -> None:
    asked = Failure(UpstreamError("busy"), retryable=True, retry_after_seconds=7.0)
    assert Retries(2, 1.0).pause_after(asked) == 7.0
    assert Retries(2, 1.0, longest_pause_seconds=3.0).pause_after(asked) == 3.0
