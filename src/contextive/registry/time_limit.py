"""How long work may take, for work of which nearly all ends long before: a limit that is kept costs next to nothing."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Self


class TimeLimit:
    """Cancels the work of its block when its time is over, as `asyncio.timeout` does, and leaves the error to the caller.

    The timer of the loop is not set and taken back for each block: one timer watches all of them.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.is_over = False
        """Whether the time was over before the work was."""

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None, "a time limit needs a task that it can cancel"
        self._task = task
        loop = asyncio.get_running_loop()
        watch = _here.watch
        if watch is None or watch.loop is not loop:
            watch = _here.watch = _Watch(loop)
        self._watch = watch
        self.ends = loop.time() + self._seconds
        watch.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.running.discard(self)
        if self.is_over:
            self._task.uncancel()

    def end(self) -> None:
        self.is_over = True
        self._task.cancel()


class _Watch:
    """The limits of one loop, and one timer for the first of them that ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.running: set[TimeLimit] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, limit: TimeLimit) -> None:
        self.running.add(limit)
        if self._timer is None or limit.ends < self._timer.when():
            self._set_timer(limit.ends)

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_at(when, self._look)

    def _look(self) -> None:
        """End what is over. The timer may be that of a limit which was kept: then it goes on to the next one."""
        self._timer = None
        now = self.loop.time()
        for limit in [limit for limit in self.running if limit.ends <= now]:
            self.running.discard(limit)
            limit.end()
        if self.running:
            self._set_timer(min(limit.ends for limit in self.running))


class _Here(threading.local):
    """A thread runs one loop at a time."""

    watch: _Watch | None = None


_here = _Here()
