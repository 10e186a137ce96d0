"""Blocking work off the event loop, in threads that cannot hold up the end of the process.

`asyncio.to_thread` waits for its threads at exit, and a handler that hangs would hang the server's end with it; after a few
such handlers its pool would be full. These threads are daemons, and there are more of them.
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
    """Workers that are started when none is idle, up to a limit. Only ever used from the event loop's thread."""

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
    """What `work` gives or raises. A caller that is cancelled stops waiting; the work itself cannot be stopped."""
    return await _run(work, _handler_pool)


async def run_in_service_thread(work: Callable[[], T]) -> T:
    """The same for what looks after the server: it waits for no handler, however many are at work or hang."""
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
        except BaseException as failure:  # noqa: BLE001 - carried over to the caller, whatever it is
            report = outcome.set_exception, _without_stop_iteration(failure)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, *report)

    pool.submit(job)
    return await outcome


def _without_stop_iteration(failure: BaseException) -> BaseException:
    """A future refuses to carry StopIteration."""
    return RuntimeError("the work raised StopIteration") if isinstance(failure, StopIteration) else failure
