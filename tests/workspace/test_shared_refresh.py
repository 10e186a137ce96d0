from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from contextive.workspace.shared_refresh import SharedRefresh

WAIT_SECONDS = 10.0


class Refreshes:
    """Counts refreshes. The first one blocks until it is released."""

    def __init__(self) -> None:
        self.count = 0
        self.first_started = threading.Event()
        self.released = threading.Event()

    def refresh(self) -> None:
        self.count += 1
        if self.count == 1:
            self.first_started.set()
            assert self.released.wait(WAIT_SECONDS)


class ObservedLock:
    """A lock that counts the threads that try to acquire it."""

    def __init__(self) -> None:
        self.arrivals = threading.Semaphore(0)
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self.arrivals.release()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_callers_that_arrive_during_a_refresh_share_the_next_one() -> None:
    refreshes, lock = Refreshes(), ObservedLock()
    shared = SharedRefresh()
    shared._lock = lock  # type: ignore[assignment]
    with ThreadPoolExecutor(10) as pool:
        callers = [pool.submit(shared.run, refreshes.refresh) for _ in range(10)]
        for _ in callers:
            assert lock.arrivals.acquire(timeout=WAIT_SECONDS)
        refreshes.released.set()
        for caller in callers:
            caller.result(WAIT_SECONDS)
    assert refreshes.count == 2


def test_a_refresh_that_started_before_a_call_is_not_enough() -> None:
    refreshes = Refreshes()
    shared = SharedRefresh()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(shared.run, refreshes.refresh)
        assert refreshes.first_started.wait(WAIT_SECONDS)
        second = pool.submit(shared.run, refreshes.refresh)
        assert refreshes.count == 1, "one at a time"
        refreshes.released.set()
        first.result(WAIT_SECONDS)
        second.result(WAIT_SECONDS)
    assert refreshes.count == 2
    shared.run(refreshes.refresh)
    assert refreshes.count == 3


def test_an_exception_goes_to_its_caller_and_the_next_call_refreshes_again() -> None:
    outcomes = iter([OSError("gone"), None])
    calls: list[object] = []

    def refresh() -> None:
        calls.append(outcome := next(outcomes))
        if isinstance(outcome, OSError):
            raise outcome

    shared = SharedRefresh()
    with pytest.raises(OSError, match="gone"):
        shared.run(refresh)
    shared.run(refresh)
    assert len(calls) == 2
