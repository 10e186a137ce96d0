"""How often one caller may come: fixed windows, counted per key, in bounded memory."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from contextive.errors import RateLimited

_MAX_KEYS = 10_000


class RateLimiter:
    """Counts per key and window. The clock is a parameter so that tests need not wait."""

    def __init__(self, allowed: int, window_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.allowed = allowed
        self.window_seconds = window_seconds
        self._clock = clock
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()

    ##= docs/spec/host.md#limits
    ##% A caller that sends more requests than `limits.rateRequests` in a window MUST be refused with 429 and the
    ##% seconds to wait.
    def count(self, key: str) -> None:
        """Count one event. Raises `RateLimited`, with the seconds to wait, when the window is full."""
        if self.allowed <= 0:
            return
        now = self._clock()
        started, seen = self._windows.get(key, (now, 0))
        if now - started >= self.window_seconds:
            started, seen = now, 0
        self._windows[key] = (started, seen + 1)
        self._windows.move_to_end(key)
        while len(self._windows) > _MAX_KEYS:
            self._windows.popitem(last=False)
        if seen >= self.allowed:
            self._refuse(started, now)

    def check(self, key: str) -> None:
        """Refuse without counting: for keys that have already used up their window."""
        started, seen = self._windows.get(key, (0.0, 0))
        now = self._clock()
        if 0 < self.allowed <= seen and now - started < self.window_seconds:
            self._refuse(started, now)

    def _refuse(self, started: float, now: float) -> None:
        wait = max(1, math.ceil(started + self.window_seconds - now))
        raise RateLimited("Rate limit exceeded.", retry_after_seconds=wait, hint=f"Wait {wait} seconds.")
