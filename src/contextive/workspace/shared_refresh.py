"""A refresh of a project's files, shared by concurrent callers."""

from __future__ import annotations

import threading
from collections.abc import Callable


class SharedRefresh:
    """Runs one refresh at a time.

    Callers that arrive during a refresh share the next one, which sees everything saved before.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._begun = 0
        self._ended = 0

    def run(self, refresh: Callable[[], None]) -> None:
        """Return after a refresh that started after this call. Only the caller that ran it gets its exceptions."""
        begun_before = self._begun
        with self._lock:
            if self._ended > begun_before:
                return
            self._begun += 1
            number = self._begun
            refresh()
            self._ended = number
