"""Runs blocking work in threads that do not delay the end of the process.

`asyncio.to_thread` waits for its threads at exit, so one hanging handler would keep the server from stopping, and a few would
fill its pool. These threads are daemons, and the pool is larger.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_MAX_THREADS = 64


class _Pool:
    """A pool that starts a thread when none is idle, up to a limit. Use it only from the thread of the event loop."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    def submit(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)
        if not self._idle.acquire(blocking=False) and self._started < _MAX_THREADS:
            self._started += 1
            threading.Thread(target=self._work, name=f"handler-{self._started}", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            self._idle.release()


_handler_pool = _Pool()
_service_pool = _Pool()


async def run_in_thread(work: Callable[[], T]) -> T:
    """Returns or raises what `work` does. Cancelling stops the waiting, not the work."""
    return await _run(work, _handler_pool)


async def run_in_service_thread(work: Callable[[], T]) -> T:
    """Like `run_in_thread`, in a separate pool for the server itself, which busy or hanging handlers cannot fill."""
    return await _run(work, _service_pool)


async def _run(work: Callable[[], T], pool: _Pool) -> T:
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not outcome.done():
            setter(value)

    def job() -> None:
        report: tuple[Callable[[Any], None], Any]
        try:
            report = outcome.set_result, context.run(work)
        except BaseException as failure:  # noqa: BLE001 - raised again for the caller
            report = outcome.set_exception, _without_stop_iteration(failure)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, *report)

    pool.submit(job)
    return await outcome


def _without_stop_iteration(failure: BaseException) -> BaseException:
    """A future cannot hold StopIteration, so it becomes a RuntimeError."""
    return RuntimeError("the work raised StopIteration") if isinstance(failure, StopIteration) else failure
