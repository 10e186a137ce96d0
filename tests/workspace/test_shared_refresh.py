from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from contextive.workspace.shared_refresh import SharedRefresh

WAIT_SECONDS = 10.0


class Looks:
    """Counts looks. The first one lasts until it is let go."""

    def __init__(self) -> None:
        self.made = 0
        self.first_is_under_way = threading.Event()
        self.let_go = threading.Event()

    def refresh(self) -> None:
        self.made += 1
        if self.made == 1:
            self.first_is_under_way.set()
            assert self.let_go.wait(WAIT_SECONDS)


class CountedLock:
    """A lock that says when somebody comes to it."""

    def __init__(self) -> None:
        self.comers = threading.Semaphore(0)
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self.comers.release()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_all_who_come_during_a_look_share_the_next_one() -> None:
    looks, lock = Looks(), CountedLock()
    shared = SharedRefresh()
    shared._lock = lock  # type: ignore[assignment]
    with ThreadPoolExecutor(10) as pool:
        callers = [pool.submit(shared.run, looks.refresh) for _ in range(10)]
        for _ in callers:
            assert lock.comers.acquire(timeout=WAIT_SECONDS)
        looks.let_go.set()
        for caller in callers:
            caller.result(WAIT_SECONDS)
    assert looks.made == 2


def test_a_look_that_began_before_a_call_is_not_enough_for_it() -> None:
    looks = Looks()
    shared = SharedRefresh()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(shared.run, looks.refresh)
        assert looks.first_is_under_way.wait(WAIT_SECONDS)
        second = pool.submit(shared.run, looks.refresh)
        assert looks.made == 1, "one at a time"
        looks.let_go.set()
        first.result(WAIT_SECONDS)
        second.result(WAIT_SECONDS)
    assert looks.made == 2
    shared.run(looks.refresh)
    assert looks.made == 3


def test_what_a_look_raises_is_for_who_made_it_and_the_next_looks_anew() -> None:
    outcomes = iter([OSError("gone"), None])
    made: list[object] = []

    def refresh() -> None:
        made.append(outcome := next(outcomes))
        if isinstance(outcome, OSError):
            raise outcome

    shared = SharedRefresh()
    with pytest.raises(OSError, match="gone"):
        shared.run(refresh)
    shared.run(refresh)
    assert len(made) == 2
