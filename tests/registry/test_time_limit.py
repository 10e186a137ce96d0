"""A time limit ends what takes too long, and nothing else: not its neighbours, not what comes after it."""

from __future__ import annotations

import asyncio
import time

import pytest

from contextive.registry.time_limit import TimeLimit
from tests.loops import in_loop


async def limited(seconds: float, work_seconds: float) -> str:
    limit = TimeLimit(seconds)
    try:
        with limit:
            await asyncio.sleep(work_seconds)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        return "over" if limit.is_over and not task.cancelling() else "cancelled"
    return "kept"


@in_loop
async def test_each_of_many_limits_holds_by_itself_whichever_was_set_first() -> None:
    asked = [(60.0, 0.0), (0.1, 60.0), (60.0, 0.3), (0.2, 60.0), (0.05, 60.0), (0.4, 0.0)]
    started = time.monotonic()
    assert await asyncio.gather(*(limited(*each) for each in asked)) == [
        "kept", "over", "kept", "over", "over", "kept",
    ]  # fmt: skip
    assert time.monotonic() - started < 30


@in_loop
async def test_a_limit_after_many_that_were_kept_ends_in_its_own_time() -> None:
    for _ in range(3):
        assert await limited(0.1, 0.0) == "kept"
    await asyncio.sleep(0.2)  # the timer of the first has looked, and found nothing
    started = time.monotonic()
    assert await limited(0.2, 60.0) == "over"
    assert time.monotonic() - started >= 0.2


@in_loop
async def test_a_kept_limit_does_not_end_what_comes_after_it_in_the_same_task() -> None:
    assert await limited(0.05, 0.0) == "kept"
    await asyncio.sleep(0.2)


@in_loop
async def test_a_cancellation_from_outside_stays_one() -> None:
    task = asyncio.create_task(limited(60.0, 60.0))
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "cancelled"


@in_loop
async def test_work_that_swallows_its_end_gives_what_it_has_and_may_go_on() -> None:
    limit = TimeLimit(0.05)
    with limit:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended = "swallowed"
    assert (ended, limit.is_over) == ("swallowed", True)
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@in_loop
async def test_limits_in_each_other_end_at_the_smaller_one() -> None:
    outer, inner = TimeLimit(60), TimeLimit(0.05)
    with pytest.raises(asyncio.CancelledError), outer, inner:
        await asyncio.sleep(60)
    assert (outer.is_over, inner.is_over) == (False, True)


def test_every_loop_has_its_own_timer() -> None:
    for _ in range(2):
        assert asyncio.run(limited(0.05, 60.0)) == "over"
