"""A refresh at a project's files that many callers share."""

from __future__ import annotations

import threading
from collections.abc import Callable


class SharedRefresh:
    """One refresh at a time. Whoever comes while one is under way has a part in the next, which sees all that was saved before."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._begun = 0
        self._ended = 0

    def run(self, refresh: Callable[[], None]) -> None:
        """Returns after a refresh that began after this call. What the refresh raises, the caller who made it gets."""
        begun_before = self._begun
        with self._lock:
            if self._ended > begun_before:
                return
            self._begun += 1
            number = self._begun
            refresh()
            self._ended = number
